"""`periplus audit`, and what commands write into the audit log."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest

from kb_store.audit.audit_entry import AuditEvent
from kb_store.audit.audit_log import AuditLog
from periplus.commands.audit import parse_since
from periplus.errors import UserError
from periplus.seed_sites.seed_manifests import find_seed
from tests.support import warm


@pytest.fixture
def env(tmp_path):
    return {"PERIPLUS_DATA_DIR": str(tmp_path / "data"), "PERIPLUS_MONGODB_URL": "", "COLUMNS": "300"}


@pytest.fixture
def log(tmp_path):
    return AuditLog(tmp_path / "data" / "audit")


def run(env, *arguments):
    return warm.run("periplus", *arguments, env=env)


def test_commands_are_recorded_listed_exported_and_checked(env, log, tmp_path):
    knowledge = str(find_seed("spadeworks").knowledge_folder)
    assert run(env, "kb", "load", knowledge).returncode == 0
    made = run(env, "mcp", "token", "new", "--name", "ci")
    assert run(env, "mcp", "token", "revoke", "ci").returncode == 0
    assert made.stdout.strip() not in (log.folder / "audit.jsonl").read_text()
    listed = run(env, "audit", "list", "--json")
    found = json.loads(listed.stdout)
    assert [(each["action"], each["about"], each["website"]) for each in found] == [
        ("token_revoked", "token ci", ""),
        ("token_made", "token ci (read)", ""),
        ("knowledge_changed", "generation 1", "spadeworks"),
    ]
    assert {each["actor"].split(":")[0] for each in found} == {"local"}
    shown = run(env, "audit", "list", "--action", "knowledge_changed", "--since", "1d", "--actor", "LOCAL")
    assert "generation 1" in shown.stdout
    assert "token" not in shown.stdout
    file = tmp_path / "export.jsonl"
    assert run(env, "audit", "export", str(file)).returncode == 0
    assert len(file.read_text().splitlines()) == 3
    again = run(env, "audit", "export", str(file))
    assert (again.returncode, "exists already" in again.stderr) == (2, True)
    checked = run(env, "audit", "verify")
    assert (checked.returncode, "4 entries: unchanged" in checked.stdout) == (0, True)


def test_a_changed_log_fails_the_check(env, log):
    for number in range(3):
        log.append(AuditEvent("run_submitted", "key ci", f"run-{number}"))
    head = json.loads(run(env, "audit", "verify", "--json").stdout)["head"]
    assert run(env, "audit", "verify", "--head", head).returncode == 0
    path = log.folder / "audit.jsonl"
    path.write_text(path.read_text().replace("run-1", "run-7"))
    checked = run(env, "audit", "verify")
    assert checked.returncode == 1
    assert "entry 2: about was changed" in checked.stdout


@pytest.mark.parametrize(
    ("option", "said"),
    [(["--since", "yesterday"], "--since: expected a time"), (["--action", "run_submited"], "run_submitted")],
)
def test_a_filter_that_cannot_be_is_one_clear_error(env, option, said):
    refused = run(env, "audit", "list", *option)
    assert (refused.returncode, said in refused.stderr) == (2, True)


def test_a_time_is_a_date_or_a_duration():
    now = datetime(2026, 11, 28, 12, tzinfo=UTC)
    assert parse_since("7d", lambda: now) == now - timedelta(days=7)
    assert parse_since("30m", lambda: now) == now - timedelta(minutes=30)
    assert parse_since("2026-11-22") == datetime(2026, 11, 22, tzinfo=UTC)
    assert parse_since("2026-11-22T10:00:00+02:00") == datetime(2026, 11, 22, 8, tzinfo=UTC)
    with pytest.raises(UserError):
        parse_since("d")
