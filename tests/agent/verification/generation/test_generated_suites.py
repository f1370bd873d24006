"""Generated suites: what they look like, that plain pytest runs them, that they can fail, what is never in them."""

from __future__ import annotations

import ast
import functools
import http.server
import json
import os
import re
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from agent.browser.browser_profile import BrowserProfile
from agent.verification.generation import (
    CannotBeWritten,
    ChangedByHand,
    FileMissing,
    PlansIncomplete,
    generate,
)
from agent.verification.generation.outcome_assertions import ASSERTION_WRITERS
from agent.verification.generation.ruff_format import find_ruff, format_source
from kb_schema.expected_outcomes import JUDGED, OUTCOMES
from kb_schema.verification import MissingItem
from tests.agent.verification.generation import shop_plans as shop
from tests.agent.verification.generation.outcome_pages import KINDS
from tests.agent.verification.generation.plain_pytest import run
from tests.support.foreign_sites import plain_python

HERE = Path(__file__).parent
GOLDEN = HERE / "golden"
REWRITE = "PERIPLUS_REWRITE_GOLDEN"
"""Set it to 1 to keep what is generated now as what is right; read the diff."""
SECRETS = {"SHOP_PASSWORD": "x", "PASSWORD": "y"}


@pytest.fixture(scope="module")
def plain() -> Path:
    return plain_python()


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Nobody reads it."""


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """The base URL of a folder's pages."""
    handler = functools.partial(_Quiet, directory=folder)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def site(folder: Path, *, good: bool) -> Path:
    """The shop, and a page per kind of outcome."""
    for page in (HERE / "shop").iterdir():
        (folder / page.name).write_bytes(page.read_bytes())
    (folder / "kinds").mkdir()
    for kind in KINDS:
        (folder / kind.page.lstrip("/")).write_text(kind.html(good=good))
    return folder


def the_shop(folder: Path, **how: object) -> Path:
    generate(shop.PLANS, folder, login=shop.LOGIN, base_url=shop.BASE, title="the shop", **how)
    return folder


def test_the_suite_reads_as_it_was_accepted_in_review(tmp_path):
    suite = the_shop(tmp_path)
    written = {
        str(path.relative_to(suite)): path.read_text()
        for path in sorted(suite.rglob("*"))
        if path.suffix in (".py", ".ini")
    }
    if os.environ.get(REWRITE):
        for old in GOLDEN.rglob("*.golden"):
            old.unlink()
        for name, text in written.items():
            (GOLDEN / f"{name}.golden").parent.mkdir(parents=True, exist_ok=True)
            (GOLDEN / f"{name}.golden").write_text(text)
    kept = {
        str(path.relative_to(GOLDEN)).removesuffix(".golden"): path.read_text()
        for path in GOLDEN.rglob("*.golden")
    }
    assert written == kept, f"if that is better than before: {REWRITE}=1"


def test_plain_pytest_runs_a_suite_with_every_action_a_login_and_shared_pages(tmp_path, plain, chromium_path):
    suite = the_shop(tmp_path / "suite")
    with served(HERE / "shop") as base_url:
        done = run(plain, suite, base_url, chromium_path, secrets=SECRETS)
    assert f"{len(shop.PLANS)} passed" in done.stdout, done.stdout[-4000:]


PHONE = BrowserProfile(
    device="iPhone 13", viewport=(600, 900), device_options={"viewport": {"width": 390, "height": 664}}
)


@pytest.mark.parametrize("login", [shop.LOGIN, None])
def test_a_suite_is_run_with_the_device_and_the_viewport_it_was_verified_with(
    tmp_path, plain, chromium_path, login
):
    suite = tmp_path / "suite"
    plans = [each for each in shop.PLANS if login or each.signed_in_by is None]
    generate(plans, suite, login=login, base_url=shop.BASE, profile=PHONE)
    (suite / "test_its_size.py").write_text(
        "def test_its_size(page):\n"
        "    assert page.viewport_size == {'width': 600, 'height': 900}\n"
        "    assert 'iPhone' in page.evaluate('navigator.userAgent')\n"
    )
    with served(HERE / "shop") as base_url:
        done = run(plain, suite, base_url, chromium_path, secrets=SECRETS)
    assert f"{len(plans) + 1} passed" in done.stdout, done.stdout[-4000:]


def test_a_suite_starts_the_engine_it_was_verified_with(tmp_path, plain, chromium_path):
    suite = tmp_path / "suite"
    generate([shop.SEARCH_HELP], suite, base_url=shop.BASE, profile=BrowserProfile(engine="firefox"))
    assert "addopts = --strict-markers --browser firefox\n" in (suite / "pytest.ini").read_text()
    done = run(plain, suite, shop.BASE, chromium_path, "--setup-plan", secrets=SECRETS)
    assert "[firefox]" in done.stdout, done.stdout[-4000:]


@pytest.mark.sampled(0.15)
@pytest.mark.timeout(400)
def test_every_outcome_is_green_where_it_holds(tmp_path, plain, chromium_path):
    suite = tmp_path / "suite"
    generate([kind.plan for kind in KINDS], suite, base_url=shop.BASE)
    (tmp_path / "site").mkdir()
    with served(site(tmp_path / "site", good=True)) as base_url:
        done = run(plain, suite, base_url, chromium_path, secrets={})
    assert f"{len(KINDS)} passed" in done.stdout, done.stdout[-4000:]


@pytest.mark.sampled(0.15)
@pytest.mark.timeout(400)
def test_every_outcome_is_red_where_it_does_not_hold(tmp_path, plain, chromium_path):
    suite = tmp_path / "suite"
    generate([kind.plan for kind in KINDS], suite, base_url=shop.BASE)
    hasty = (suite / "conftest.py").read_text().replace("timeout=10_000", "timeout=150")
    (suite / "conftest.py").write_text(hasty)
    (tmp_path / "site").mkdir()
    with served(site(tmp_path / "site", good=False)) as base_url:
        done = run(plain, suite, base_url, chromium_path, secrets=SECRETS)
    failed = set(re.findall(r"FAILED test_kind_(\w+)\.py", done.stdout))
    assert failed == {kind.name for kind in KINDS}, done.stdout[-4000:]
    assert done.stdout.count("AssertionError") >= len(KINDS), "each for what it asserts, not by accident"


@pytest.mark.sampled(0.15)
def test_it_is_clean_under_strict_types_and_the_default_rules(tmp_path, plain):
    suite = tmp_path / "suite"
    generate([*shop.PLANS, *(kind.plan for kind in KINDS)], suite, login=shop.LOGIN, base_url=shop.BASE)
    typed = subprocess.run(
        [plain, "-m", "mypy", "--strict", "--cache-dir", tmp_path / "cache", "."],
        cwd=suite, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert typed.returncode == 0, typed.stdout
    program = find_ruff()
    assert program is not None
    for command in (["check"], ["format", "--check"]):
        style = subprocess.run(
            [program, *command, "--isolated", "--no-cache", "."],
            cwd=suite, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert style.returncode == 0, style.stdout


def test_every_kind_of_outcome_has_its_assertion():
    assert set(ASSERTION_WRITERS) == set(OUTCOMES)
    assert {check.outcome.kind for kind in KINDS for check in kind.checks} == set(OUTCOMES) - {JUDGED}


def test_the_same_plans_give_the_same_bytes_and_touch_nothing_the_second_time(tmp_path):
    first = generate(shop.PLANS, tmp_path, login=shop.LOGIN, base_url=shop.BASE)
    before = {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in first.files}
    second = generate(shop.PLANS, tmp_path, login=shop.LOGIN, base_url=shop.BASE)
    assert second == first
    assert {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in second.files} == before
    assert all(said.startswith("sha256:") and len(said) == 71 for said in first.hashes.values())


def test_a_file_that_somebody_changed_is_not_overwritten(tmp_path):
    suite = the_shop(tmp_path)
    mine = suite / "test_sign_in.py"
    mine.write_text(mine.read_text() + "\n# what I know better\n")
    (suite / "test_search_help.py").unlink()
    with pytest.raises(ChangedByHand, match=r"test_sign_in\.py changed since .* another name") as refused:
        the_shop(suite)
    assert refused.value.files == ("test_sign_in.py",)
    assert not (suite / "test_search_help.py").exists(), "all files are written, or none"
    the_shop(suite, overwrite=True)
    assert "what I know better" not in mine.read_text()


def test_a_file_that_was_never_generated_is_not_overwritten_either(tmp_path):
    (tmp_path / "conftest.py").write_text("# mine\n")
    with pytest.raises(ChangedByHand, match=r"conftest\.py"):
        the_shop(tmp_path)


def test_a_generated_file_that_nobody_touched_follows_its_requirement(tmp_path):
    the_shop(tmp_path)
    renamed = shop.SIGN_IN.model_copy(
        update={"requirement": shop.SIGN_IN.requirement.model_copy(update={"title": "Sign in, again"})}
    )
    generate([renamed, *shop.PLANS[1:]], tmp_path, login=shop.LOGIN, base_url=shop.BASE)
    assert "Sign in, again." in (tmp_path / "test_sign_in.py").read_text()


def test_a_password_is_in_no_file_whether_it_was_literal_or_not(tmp_path):
    made = generate(shop.PLANS, tmp_path, login=shop.LOGIN, base_url=shop.BASE)
    everything = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert b"correct-horse-7" not in everything
    assert made.environment == ("PASSWORD", "SHOP_PASSWORD")
    assert made.hidden == {"PASSWORD": "correct-horse-7"}
    assert "correct-horse-7" not in repr(made)


def test_without_its_secret_a_test_says_which_variable_to_set(tmp_path, plain, chromium_path):
    suite = tmp_path / "suite"
    generate([shop.SIGN_IN], suite, base_url=shop.BASE)
    with served(HERE / "shop") as base_url:
        done = run(plain, suite, base_url, chromium_path, secrets={})
    assert "set the environment variable SHOP_PASSWORD to run this test" in done.stdout


def test_what_is_missing_in_a_plan_is_told_before_any_file_is_written(tmp_path):
    lost = MissingItem(step_idx=1, intent="Password@Sign in", what="element", reason="nothing is called so")
    broken = shop.SIGN_IN.model_copy(update={"missing": (lost,), "steps": shop.SIGN_IN.steps[:1]})
    with pytest.raises(PlansIncomplete, match="sign_in: Password@Sign in: nothing is called so"):
        generate([broken], tmp_path / "suite", base_url=shop.BASE)
    assert not (tmp_path / "suite").exists()


def test_a_step_without_a_proven_locator_is_told_by_its_place(tmp_path):
    step = shop.SIGN_IN.steps[0].model_copy(update={"expression": ()})
    broken = shop.SIGN_IN.model_copy(update={"steps": (step, *shop.SIGN_IN.steps[1:])})
    with pytest.raises(CannotBeWritten, match=r"requirements\.csv, line 2: 'Email@Sign in': no locator"):
        generate([broken], tmp_path, base_url=shop.BASE)


def test_a_file_to_upload_that_is_not_there_is_told_with_where_it_was_looked_for(tmp_path):
    lost = shop.plan(
        "upload",
        "/",
        shop.step("Picture", "upload", "no-such.png", shop.label("Picture"), shop.check("field_populated")),
    )
    with pytest.raises(
        FileMissing, match=r"line 2: there is no file 'no-such.png' \(looked at .*shop/no-such.png"
    ):
        generate([lost], tmp_path, base_url=shop.BASE)


def test_without_ruff_the_code_is_valid_all_the_same(tmp_path, monkeypatch):
    monkeypatch.setattr("agent.verification.generation.ruff_format.find_ruff", lambda: None)
    format_source.cache_clear()
    made = generate(shop.PLANS, tmp_path, login=shop.LOGIN, base_url=shop.BASE)
    for path in made.files:
        if path.suffix == ".py":
            compile(path.read_text(), str(path), "exec")
    format_source.cache_clear()


@pytest.mark.parametrize("tag", ["skip", "xfail", "parametrize", "signed_out", "class"])
def test_a_tag_that_means_something_to_pytest_is_only_a_tag(tag, tmp_path):
    requirement = shop.SIGN_IN.requirement.model_copy(update={"tags": (tag,)})
    made = generate(
        [shop.SIGN_IN.model_copy(update={"requirement": requirement})], tmp_path, base_url=shop.BASE
    )
    assert f"@pytest.mark.tag_{tag}\n" in made.tests["sign_in"].read_text()


def test_two_requirements_whose_names_differ_in_marks_or_case_have_two_files(tmp_path):
    plans = [
        shop.SIGN_IN.model_copy(
            update={"requirement": shop.SIGN_IN.requirement.model_copy(update={"req_id": name})}
        )
        for name in ("TC-1.a", "TC_1_a", "tc-1-A")
    ]
    made = generate(plans, tmp_path, base_url=shop.BASE)
    assert [path.name for path in made.tests.values()] == [
        "test_TC_1_a.py",
        "test_tc_1_a_2.py",
        "test_tc_1_a_3.py",
    ]


@pytest.mark.sampled(0.3)
def test_without_a_way_to_sign_in_a_session_is_asked_for(tmp_path, plain, chromium_path):
    suite = tmp_path / "suite"
    made = generate([shop.CREATE_ORDER, shop.SEARCH_HELP], suite, base_url=shop.BASE)
    assert made.environment == ("PLAYWRIGHT_STORAGE_STATE",)
    with served(HERE / "shop") as base_url:
        done = run(plain, suite, base_url, chromium_path, secrets={})
        assert "set the environment variable PLAYWRIGHT_STORAGE_STATE" in done.stdout
        assert "1 passed" in done.stdout, "who begins as a new visitor needs none"
        cookie = {"name": "session", "value": "1", "domain": "127.0.0.1", "path": "/"}
        state = tmp_path / "state.json"
        state.write_text(json.dumps({"cookies": [cookie], "origins": []}))
        done = run(plain, suite, base_url, chromium_path, secrets={"PLAYWRIGHT_STORAGE_STATE": str(state)})
    assert "2 passed" in done.stdout, done.stdout[-3000:]


def test_a_step_that_answers_a_notice_itself_is_not_forestalled(tmp_path):
    notice = next(kind for kind in KINDS if kind.obstacle)
    itself = shop.plan(
        "declines", "/", shop.step("Decline", "click", None, shop.role("button", "Decline"), tag="button")
    )
    made = generate([notice.plan, itself], tmp_path, base_url=shop.BASE)
    assert "put_away_notices(page)" in made.tests[notice.plan.requirement.req_id].read_text()
    assert "put_away_notices" not in made.tests["declines"].read_text()


def test_a_base_url_with_a_path_is_kept_when_pages_are_opened(tmp_path):
    base = "http://shop.example/store"
    plan = shop.plan("start", f"{base}/login.html", shop.step("", "navigate", "/help.html"))
    made = generate([plan], tmp_path, base_url=base)
    written = made.tests["start"].read_text()
    assert 'page.goto("login.html")' in written
    assert 'page.goto("help.html")' in written
    assert "base_url = http://shop.example/store/\n" in (tmp_path / "pytest.ini").read_text()


WORDS = st.text(st.characters(exclude_categories=("Cs",)), max_size=30)


@example(title="\x00", element="\x00", value="\x00", said="\x0c")
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(title=WORDS, element=WORDS, value=WORDS.filter(lambda text: "{" not in text), said=WORDS)
def test_whatever_a_requirement_says_becomes_valid_python(
    title, element, value, said, monkeypatch, tmp_path_factory
):
    monkeypatch.setattr("agent.verification.generation.ruff_format.find_ruff", lambda: None)
    format_source.cache_clear()
    checks = (shop.check("shows:x"), shop.check("field_populated"))
    named = checks[0].model_copy(
        update={"outcome": checks[0].outcome.model_copy(update={"value": said or "x"})}
    )
    step = shop.step("Field", "fill", value, shop.label(element or "x"), named, checks[1])
    step = step.model_copy(
        update={"intent": step.intent.model_copy(update={"element": element, "intent": element})}
    )
    plan = shop.plan("any", "/", step, step, title=title)
    made = generate([plan], tmp_path_factory.mktemp("any"), base_url=shop.BASE, title=title)
    tree = ast.parse(made.tests["any"].read_text())
    literals = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)}
    assert value in literals
    assert (said or "x") in literals
    format_source.cache_clear()


def test_a_password_that_is_a_word_of_the_site_does_not_spoil_its_addresses(tmp_path):
    password = shop.step("Password", "fill", "admin", shop.label("Password"), password=True)
    go = shop.step("Go", "click", None, shop.role("link", "Shop administration"), tag="a")
    made = generate([shop.plan("weak", "/admin/login/", password, go)], tmp_path, base_url=shop.BASE)
    written = made.tests["weak"].read_text()
    assert 'page.goto("/admin/login/")' in written
    assert 'name="Shop administration"' in written
    assert 'fill(secret("PASSWORD"))' in written
    assert made.hidden == {"PASSWORD": "admin"}


def test_a_password_inside_another_text_is_read_from_the_environment_there_too(tmp_path):
    password = shop.step("Password", "fill", "tr0ub4dor", shop.label("Password"), password=True)
    told = shop.step(
        "Note", "fill", "my password is tr0ub4dor!", shop.label("Note"), shop.check("field_populated")
    )
    made = generate(
        [shop.plan("tells", "/", password, told, title="With tr0ub4dor")], tmp_path, base_url=shop.BASE
    )
    written = made.tests["tells"].read_text()
    assert "tr0ub4dor" not in written
    assert """.fill(f"my password is {secret('PASSWORD')}!")""" in written
    assert 'not_to_have_value("")' in written, "what is expected would be printed when it fails"
