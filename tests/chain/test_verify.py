"""`periplus verify` on our own sample site, from the outside: files in, verdicts, reports and tests out."""

from __future__ import annotations

import json
import re
import signal
import xml.etree.ElementTree as ET

import pytest

from agent.verification.graph.graph_nodes import EXECUTED_AGAIN
from tests.support import warm
from tests.support.foreign_sites import spadeworks_site

ACCOUNT = {"SPADEWORKS_PASSWORD": "spadeworks-demo"}
SIGN_IN = """# sign_in: Sign in
URL: /login

Email | fill | demo@spadeworks.example | field_value:demo@spadeworks.example
Password | fill | {secret:SPADEWORKS_PASSWORD} | field_populated
Sign In | click | | navigates_to:Dashboard
"""
REFUSED = """# refused: A name nobody has
URL: /login

Email | fill | nobody {unique} | field_populated
Password | fill | not-the-password-at-all | field_populated
Sign In | click | | navigates_to:Dashboard
"""


@pytest.fixture(scope="module")
def site():
    with spadeworks_site() as base:
        yield base


def verify(cwd, *arguments, env=None, timeout=110):
    given = {"COLUMNS": "200", **ACCOUNT, **(env or {})}
    return warm.run("periplus", "verify", *arguments, cwd=cwd, env=given, timeout=timeout)


def test_what_passes_and_what_does_not_are_told_apart_in_every_report(site, tmp_path):
    (tmp_path / "both.txt").write_text(SIGN_IN + "\n" + REFUSED)
    done = verify(tmp_path, "both.txt", "--base-url", site, "--website", "spadeworks", "--out", "o", "--json")
    assert done.returncode == 1, done.stderr
    told = json.loads(done.stdout)
    first, second = told["requirements"]
    assert (first["req_id"], first["verdict"], first["rca"]["class"]) == ("sign_in", "pass", "success")
    assert (second["req_id"], second["verdict"]) == ("refused", "fail")
    assert second["rca"]["class"] != "success"
    difference = "expected navigates_to:Dashboard, the page is /login, titled"
    assert second["rca"]["evidence"][0].startswith(difference)
    assert second["steps"][-1]["difference"]["expected"] == "navigates_to:Dashboard"
    out = tmp_path / "o"
    assert json.loads((out / "verdict_sign_in.json").read_text()) == first
    assert {"req_id", "verdict", "timestamp", "summary", "rca", "steps", "artifacts"} <= first.keys()
    assert first["summary"] == {"total_steps": 3, "executed_steps": 3, "failed_steps": 0, "heal_rounds": 0}
    assert first["artifacts"]["test_file"] == "generated_tests/test_sign_in.py"
    assert re.fullmatch(r"sha256:[0-9a-f]{64}", first["artifacts"]["test_hash"])
    assert not (out / "generated_tests" / "test_refused.py").exists(), "missing: reported before any test"
    suite = ET.parse(out / "junit.xml").getroot()[0]
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("2", "1", "0")
    assert difference in (out / "junit.xml").read_text()
    page = (out / "report.html").read_text()
    assert difference in page
    assert page.count("data:image/jpeg;base64,") >= 3
    assert "<script" not in page
    assert "def test_sign_in" in page
    everything = "".join(each.read_bytes().decode("utf-8", "replace") for each in tmp_path.rglob("*") if each.is_file()
                         and each.name != "both.txt")  # fmt: skip
    assert "spadeworks-demo" not in everything
    assert "not-the-password-at-all" not in everything


@pytest.mark.sampled(0.35)
def test_a_pass_is_recorded_and_its_plan_is_used_the_next_time(site, tmp_path):
    (tmp_path / "sign_in.txt").write_text(SIGN_IN)
    more = ["--base-url", site, "--website", "spadeworks"]
    assert verify(tmp_path, "sign_in.txt", *more, "--out", "a").returncode == 0
    shown = json.loads(warm.run("periplus", "runs", "show", "last", "--json", cwd=tmp_path).stdout)
    assert (shown["kind"], shown["req_id"], shown["verdict"]) == ("verification", "sign_in", "pass")
    assert [(step["element"], step["status"]) for step in shown["steps"]] == [
        ("Email", "success"), ("Password", "success"), ("Sign In", "success"),
    ]  # fmt: skip
    assert {each["artifact_type"] for each in shown["artifacts"]} == {"verdict_report", "test_file"}
    again = verify(tmp_path, "sign_in.txt", *more, "--out", "b")
    assert again.returncode == 0
    assert "using the plan of the last pass" in again.stdout
    anew = verify(tmp_path, "sign_in.txt", *more, "--out", "c", "--rediscover", "--no-tests")
    assert anew.returncode == 0
    assert "is used" not in anew.stdout
    assert not (tmp_path / "c" / "generated_tests").exists()


def test_a_verification_that_is_killed_is_carried_on(site, tmp_path):
    (tmp_path / "both.txt").write_text(SIGN_IN + "\n" + SIGN_IN.replace("sign_in", "sign_in_again"))
    process = warm.start(
        "periplus", "verify", "both.txt", "--base-url", site, "--website", "spadeworks", "--out", "o",
        "--workers", "1", cwd=tmp_path, env=ACCOUNT, streamed=True,
    )  # fmt: skip
    for line in process.stdout:
        if line.startswith("sign_in_again:   + 1/3"):
            process.kill()
    process.wait()
    plan = tmp_path / "o" / "plans" / "sign_in_again.json"
    written = plan.stat().st_mtime_ns
    done = verify(tmp_path, "--resume", "last", "--json")
    assert done.returncode == 0, done.stderr
    assert "sign_in: pass (finished before)" in done.stderr
    assert "sign_in_again: finding elements" not in done.stderr
    first, second = json.loads(done.stdout)["requirements"]
    assert first["notes"] == []
    assert [step["step_idx"] for step in second["steps"]] == [0, 1, 2]
    assert second["notes"] == [EXECUTED_AGAIN]
    assert plan.stat().st_mtime_ns == written, "what was written is not written twice"


@pytest.mark.sampled(0.4)
@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ([], "no requirement files given"),
        (["none.txt", "--base-url", "http://127.0.0.1:9"], "none.txt"),
        (["good.txt"], "no site is given"),
        (["good.txt", "--seed", "nowhere"], "no demo 'nowhere'"),
        (["good.txt", "--base-url", "http://127.0.0.1:9", "--only", "other"], "known: sign_in"),
        (
            ["good.txt", "--base-url", "http://127.0.0.1:9", "--no-tests", "--run-tests"],
            "--run-tests needs tests",
        ),
        (["--resume", "last"], "no verification 'last'"),
        (["good.txt", "--resume", "last"], "--resume cannot be combined with files"),
    ],
)
def test_what_a_person_can_put_right_is_one_message(tmp_path, arguments, told):
    (tmp_path / "good.txt").write_text(SIGN_IN)
    done = verify(tmp_path, *arguments)
    assert done.returncode == 2, done.stderr
    assert told in done.stdout + done.stderr
    assert "Traceback" not in done.stderr


def test_every_problem_of_the_requirements_is_told_with_its_place(tmp_path):
    (tmp_path / "bad.csv").write_text(
        "Element@Region,Action,Value,Expected Outcome\n"
        "Email,flil,x,field_populated\n"
        "Password,fill,{secret},field_populated\n"
        "Sign In,click,,frobnicates:Dashboard\n"
    )
    done = verify(tmp_path, "bad.csv", "--base-url", "http://127.0.0.1:9")
    assert done.returncode == 2
    told = done.stdout + done.stderr
    assert "3 problems" in told
    for words in ("line 2", "flil", "line 3", "{secret}", "line 4", "frobnicates"):
        assert words in told


def test_a_secret_that_is_missing_is_told_before_anything_starts(tmp_path):
    (tmp_path / "good.txt").write_text(SIGN_IN)
    done = verify(tmp_path, "good.txt", "--base-url", "http://127.0.0.1:9", env={"SPADEWORKS_PASSWORD": ""})
    assert done.returncode == 2
    assert "SPADEWORKS_PASSWORD (sign_in)" in done.stderr + done.stdout
    assert not (tmp_path / "out").exists()


@pytest.mark.sampled(0.35)
def test_a_site_that_is_down_is_an_environment_fault(tmp_path):
    (tmp_path / "good.txt").write_text(SIGN_IN)
    done = verify(tmp_path, "good.txt", "--base-url", "http://127.0.0.1:9", "--out", "o", "--json")
    assert done.returncode == 1, done.stderr
    (report,) = json.loads(done.stdout)["requirements"]
    assert (report["verdict"], report["rca"]["class"]) == ("fail", "env_fault")
    suite = ET.parse(tmp_path / "o" / "junit.xml").getroot()[0]
    assert suite.get("errors") == "1"


@pytest.mark.nightly
def test_the_seed_requirements_pass_and_so_does_the_suite_that_is_written(tmp_path):
    files = str(warm.ROOT / "seeds/spadeworks/requirements/spadeworks.csv")
    done = verify(tmp_path, files, "--seed", "spadeworks", "--out", "o", "--run-tests", "--json", timeout=400)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert [each["verdict"] for each in told["requirements"]] == ["pass"] * 6
    assert told["tests"]["passed"], told["tests"]["summary"]
    assert "6 passed" in told["tests"]["summary"]
    everything = b"".join(each.read_bytes() for each in (tmp_path / "o").rglob("*") if each.is_file())
    assert b"spadeworks-demo" not in everything


@pytest.mark.nightly
@pytest.mark.timeout(2400)
def test_ten_verifications_of_everything_pass_ten_times(tmp_path):
    files = str(warm.ROOT / "seeds/spadeworks/requirements/spadeworks.csv")
    with spadeworks_site() as base:
        for number in range(10):
            anew = ["--rediscover"] if number % 2 else []  # by known plans, and found anew
            done = verify(
                tmp_path, files, "--base-url", base, "--seed", "spadeworks", "--out", f"o{number}", "--json", *anew,
                timeout=400,
            )  # fmt: skip
            told = json.loads(done.stdout)
            assert [each["verdict"] for each in told["requirements"]] == ["pass"] * 6, (number, done.stderr)


@pytest.mark.sampled(0.35)
def test_ctrl_c_ends_it_between_two_steps_and_it_can_be_carried_on(site, tmp_path):
    (tmp_path / "sign_in.txt").write_text(SIGN_IN)
    process = warm.start(
        "periplus", "verify", "sign_in.txt", "--base-url", site, "--website", "spadeworks", "--out", "o",
        cwd=tmp_path, env=ACCOUNT, streamed=True,
    )  # fmt: skip
    said = []
    for line in process.stdout:
        said.append(line)
        if line.startswith("sign_in: finding elements"):
            process.send_signal(signal.SIGINT)
    assert process.wait() == 130, said
    assert "resume with: periplus verify --resume" in "".join(said)
    report = json.loads((tmp_path / "o" / "verdict_sign_in.json").read_text())
    assert (report["verdict"], report["notes"]) == ("partial", ["stopped: interrupted"])
    done = verify(tmp_path, "--resume", "last", "--json")
    assert done.returncode == 0, done.stderr
    assert "sign_in: finding elements" not in done.stderr


@pytest.mark.sampled(0.35)
def test_requirements_sign_in_by_another_one(site, tmp_path):
    for name in ("first", "second"):
        text = f"# {name}: Inside\nURL: /agent\n\nCreate Agent | click | | heading:Agent Info\n"
        (tmp_path / f"{name}.txt").write_text(text)
    (tmp_path / "sign_in.txt").write_text(SIGN_IN)
    files = [f"{name}.txt" for name in ("sign_in", "first", "second")]
    done = verify(tmp_path, *files, "--base-url", site, "--login", "sign_in", "--out", "o", "--json")
    assert done.returncode == 0, done.stderr + done.stdout
    fixture = (tmp_path / "o" / "generated_tests" / "conftest.py").read_text()
    assert "def signed_in_state" in fixture
    assert 'secret("SPADEWORKS_PASSWORD")' in fixture


def test_an_unknown_login_is_an_error_to_correct_and_no_fault_of_the_site(site, tmp_path):
    (tmp_path / "refused.txt").write_text(REFUSED)
    env = {"PERIPLUS_DATA_DIR": str(tmp_path / "data")}
    loaded = warm.run("periplus", "kb", "load", "seeds/spadeworks/kb", env=env)
    assert loaded.returncode == 0, loaded.stderr
    done = verify(tmp_path, "refused.txt", "--base-url", site, "--login", "nope", env=env)
    assert done.returncode == 2, done.stdout + done.stderr
    assert "no task or requirement 'nope'" in done.stderr
    assert "-> known: " in done.stderr
    assert not (tmp_path / "out").exists(), "no folder is left behind"


def test_a_requirement_that_takes_too_long_is_ended_and_fails(site, tmp_path):
    (tmp_path / "sign_in.txt").write_text(SIGN_IN)
    more = ("--base-url", site, "--website", "spadeworks", "--out", "o", "--json")
    done = verify(tmp_path, "sign_in.txt", *more, "--requirement-timeout", "0.01")
    assert done.returncode == 1, done.stderr
    (told,) = json.loads(done.stdout)["requirements"]
    assert (told["verdict"], told["rca"]["class"]) == ("fail", "env_fault")
    assert told["rca"]["message"] == "the requirement took more than 0.01 s and was ended"
