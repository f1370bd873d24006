"""What `periplus verify` runs, and with which times."""

from __future__ import annotations

import pytest

from kb_schema.verification import Requirement, RequirementStep
from periplus.cli import main
from periplus.errors import UserError
from periplus.settings import load_settings
from periplus.verification.requirement_verifier import choose_timeouts
from periplus.verification.verification_run import keep_chosen
from periplus.verification.verifier_settings import VerifierSettings

STEP = RequirementStep(intent="Go", element="Go", action="click")


def make_requirement(req_id, login=None, tags=()):
    return Requirement(req_id=req_id, url="/", login=login, tags=tags, steps=(STEP,))


FOUND = [
    make_requirement("admin"), make_requirement("sign_in", login="admin"), make_requirement("other"),
    make_requirement("buy", login="sign_in", tags=("shop",)), make_requirement("look", tags=("shop",)),
]  # fmt: skip


@pytest.mark.parametrize(
    ("only", "login", "kept"),
    [
        (["buy"], None, ["admin", "sign_in", "buy"]),
        (["look"], None, ["look"]),
        (["shop"], None, ["admin", "sign_in", "buy", "look"]),
        (["look"], "other", ["other", "look"]),
        (["nothing"], "other", []),
    ],
)
def test_what_was_chosen_is_kept_with_what_it_signs_in_by(only, login, kept):
    assert [each.req_id for each in keep_chosen(FOUND, only, login)] == kept


def test_times_are_those_of_the_command_else_of_the_environment(monkeypatch):
    settings = VerifierSettings()
    assert choose_timeouts(settings, load_settings()).outcome_s == 5
    monkeypatch.setenv("PERIPLUS_PLAYWRIGHT_TIMEOUT", "12000")
    monkeypatch.setenv("PERIPLUS_HEAL_TIMEOUT_MS", "1500")
    policy = choose_timeouts(settings, load_settings())
    assert (policy.find_s, policy.gate_s, policy.outcome_s, policy.heal_s) == (12, 12, 12, 1.5)
    assert choose_timeouts(VerifierSettings(timeout_s=2.5), load_settings()).gate_s == 2.5
    monkeypatch.setenv("PERIPLUS_PLAYWRIGHT_TIMEOUT", "forever")
    with pytest.raises(UserError, match="PERIPLUS_PLAYWRIGHT_TIMEOUT"):
        load_settings()


def test_rounds_of_healing_are_those_of_the_command_else_of_the_environment(monkeypatch):
    assert choose_timeouts(VerifierSettings(), load_settings()).max_heal_rounds == 3
    monkeypatch.setenv("PERIPLUS_MAX_HEAL_ROUNDS", "1")
    assert choose_timeouts(VerifierSettings(), load_settings()).max_heal_rounds == 1
    assert choose_timeouts(VerifierSettings(max_heal_rounds=0), load_settings()).max_heal_rounds == 0


@pytest.mark.parametrize(("headless", "options", "said"), [
    ("false", (), "no display to show the browser on"),
    ("true", (), "does not answer"),
    ("false", ("--headless",), "does not answer"),
])  # fmt: skip
def test_whether_the_browser_is_shown_is_a_setting_and_an_option(
    monkeypatch, tmp_path, capsys, headless, options, said
):
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PERIPLUS_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("PERIPLUS_PLAYWRIGHT_HEADLESS", headless)
    file = tmp_path / "requirements.json"
    file.write_text('{"req_id": "REQ-1", "url": "/", "steps": ["Sign in | click"]}', encoding="utf-8")
    out = str(tmp_path / "out")
    with pytest.raises(SystemExit) as ended:
        main(["verify", str(file), "--base-url", "http://127.0.0.1:9", "--out", out, *options])
    told = capsys.readouterr()
    assert ended.value.code
    assert said in told.out + told.err
