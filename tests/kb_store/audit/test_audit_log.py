"""The audit log: it is only appended to, and what is changed later is found."""

from __future__ import annotations

import json
import multiprocessing
import stat
from datetime import UTC, datetime, timedelta

import pytest
from mcp.server.auth.middleware.auth_context import auth_context_var
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken

from kb_store.audit.audit_entry import BEGINNING, AuditEntry, AuditEvent
from kb_store.audit.audit_log import AuditFilter, AuditLog
from kb_store.audit.audit_recorder import acting_as, build_event, current_actor, record, use_audit_log


@pytest.fixture
def log(tmp_path):
    return AuditLog(tmp_path / "audit")


@pytest.fixture
def recording(log):
    use_audit_log(log, lambda text: text.replace("s3cret", "•••"))
    yield log
    use_audit_log(None)


def _event(about: str = "run-1", actor: str = "key ci", action="run_submitted") -> AuditEvent:
    return AuditEvent(action, actor, about)


def _lines(log: AuditLog) -> list[str]:
    return (log.folder / "audit.jsonl").read_text().splitlines()


def _write(log: AuditLog, lines: list[str]) -> None:
    (log.folder / "audit.jsonl").write_text("".join(f"{line}\n" for line in lines))


def _changed(line: str, **fields) -> str:
    return json.dumps(json.loads(line) | fields)


def test_entries_are_chained_and_only_the_owner_reads_them(log):
    first, second = log.append(_event()), log.append(_event("run-2"))
    assert (first.number, first.previous) == (1, BEGINNING)
    assert (second.number, second.previous) == (2, first.hash)
    assert [each.about.text for each in log.entries()] == ["run-1", "run-2"]
    modes = {each.name: stat.S_IMODE(each.stat().st_mode) for each in log.folder.iterdir()}
    assert modes == {"audit.jsonl": 0o600, "head.json": 0o600, "lock": 0o600}
    assert stat.S_IMODE(log.folder.stat().st_mode) == 0o700
    check = log.verify()
    assert (check.entries, check.problems, check.head) == (2, [], second.hash)


def test_a_log_without_entries_is_whole_and_is_not_created_by_reading(log):
    assert log.verify().problems == []
    assert log.newest(5) == []
    assert log.prune(datetime.now(UTC), _event) == 0
    assert not log.folder.exists()


CHANGES = {
    "text": lambda line: _changed(line, about=json.loads(line)["about"] | {"text": "run-9"}),
    "action": lambda line: _changed(line, action="run_finished"),
    "outcome": lambda line: _changed(line, outcome="refused"),
    "time": lambda line: _changed(line, time="2020-01-01T00:00:00Z"),
    "salt": lambda line: _changed(line, actor=json.loads(line)["actor"] | {"salt": None, "text": None}),
    "digest": lambda line: _changed(line, website=json.loads(line)["website"] | {"digest": "0" * 64}),
    "damage": lambda line: line[:40],
}


@pytest.mark.parametrize("name", CHANGES)
@pytest.mark.parametrize("place", [0, 2, 4])
def test_a_changed_entry_is_found(log, name, place):
    for number in range(5):
        log.append(_event(f"run-{number}"))
    lines = _lines(log)
    lines[place] = CHANGES[name](lines[place])
    _write(log, lines)
    assert log.verify().problems != []


def test_a_changed_entry_with_a_new_hash_is_found_at_the_next_one(log):
    for number in range(3):
        log.append(_event(f"run-{number}"))
    lines = _lines(log)
    old = AuditEntry.model_validate_json(lines[1])
    lines[1] = AuditEntry.chain(_event("run-9"), 2, old.previous, old.time).to_line()
    _write(log, lines)
    assert log.verify().problems == [
        "entry 3 does not follow entry 2: one of them was changed, removed or inserted"
    ]


@pytest.mark.parametrize("removed", [[0], [1], [2, 3], [4], [3, 4], [0, 1, 2, 3, 4]])
def test_removed_entries_are_found_and_stay_found_when_more_are_added(log, removed):
    for number in range(5):
        log.append(_event(f"run-{number}"))
    lines = _lines(log)
    _write(log, [line for place, line in enumerate(lines) if place not in removed])
    assert log.verify().problems != []
    log.append(_event("later"))
    assert log.verify().problems != []


def test_entries_in_another_order_are_found(log):
    for number in range(4):
        log.append(_event(f"run-{number}"))
    lines = _lines(log)
    _write(log, [lines[0], lines[2], lines[1], lines[3]])
    assert log.verify().problems != []


def test_a_whole_new_log_is_found_by_a_hash_that_was_kept(log, tmp_path):
    kept = log.append(_event()).hash
    log.append(_event("run-2"))
    assert log.verify(kept).problems == []
    other = AuditLog(tmp_path / "other")
    other.append(_event("run-2"))
    assert other.verify().problems == []
    assert other.verify(kept).problems == [
        "no entry has the hash that was given with --head: the log was replaced or cut"
    ]


def test_an_entry_that_was_not_written_whole_is_cut_off(log):
    log.append(_event())
    with (log.folder / "audit.jsonl").open("a") as file:
        file.write('{"number":2,"ti')
    assert [each.number for each in log.entries()] == [1]
    log.append(_event("run-2"))
    assert log.verify().problems == []
    assert [each.about.text for each in log.entries()] == ["run-1", "run-2"]


def test_a_writer_that_was_killed_before_it_wrote_the_head_leaves_a_whole_log(log):
    log.append(_event())
    head = (log.folder / "head.json").read_text()
    log.append(_event("run-2"))
    (log.folder / "head.json").write_text(head)
    assert log.verify().problems == []
    assert log.append(_event("run-3")).number == 3
    assert log.verify().problems == []


def _append_many(folder, many):
    log = AuditLog(folder)
    for number in range(many):
        log.append(_event(f"run-{number}"))


def test_processes_that_write_at_once_lose_nothing(log):
    context = multiprocessing.get_context("fork")
    writers = [context.Process(target=_append_many, args=(log.folder, 40)) for _ in range(4)]
    for each in writers:
        each.start()
    for each in writers:
        each.join()
    assert [each.exitcode for each in writers] == [0] * 4
    check = log.verify()
    assert (check.entries, check.problems) == (160, [])
    assert [each.number for each in log.entries()] == list(range(1, 161))


def test_entries_are_selected_by_time_actor_and_action(log):
    log.append(_event("a", "key ci"))
    log.append(_event("b", "console Ann", "proposal_accepted"))
    middle = log.append(_event("c", "console Bob", "proposal_accepted")).time
    log.append(_event("d", "console ann"))

    def found(**wanted):
        return [each.about.text for each in log.newest(9, AuditFilter(**wanted))]

    assert found() == ["d", "c", "b", "a"]
    assert found(actor="ann") == ["d", "b"]
    assert found(action="proposal_accepted") == ["c", "b"]
    assert found(since=middle) == ["d", "c"]
    assert [each.about.text for each in log.newest(2)] == ["d", "c"]


# -- erasing and pruning ---------------------------------------------------------------------------


def _erasure() -> AuditEvent:
    return AuditEvent("person_erased", "local:root", "a person")


def test_an_erased_text_is_gone_and_the_chain_holds(log):
    log.append(_event("run-1", "console ann@example.com"))
    log.append(_event("run-2", "key ci"))
    log.append(_event("report of ann@example.com", "key ci"))
    before = log.append(_event("run-4")).hash
    covers = log.erase(lambda text: "ann@example.com" in text, _erasure)
    assert covers == ((1, 1), (3, 3))
    assert "ann@example.com" not in (log.folder / "audit.jsonl").read_text()
    first, _, third, _, last = log.entries()
    assert (first.actor.text, first.actor.salt, first.about.text) == (None, None, "run-1")
    assert (third.actor.text, third.about.text) == ("key ci", None)
    assert (last.action, last.covers) == ("person_erased", ((1, 1), (3, 3)))
    check = log.verify(before)
    assert (check.problems, check.erased) == ([], 2)
    assert log.erase(lambda text: "ann@example.com" in text, _erasure) == ()
    assert log.verify().entries == 5


def test_a_text_that_somebody_took_out_is_found(log):
    log.append(_event("run-1", "console ann@example.com"))
    log.append(_event("run-2"))
    (line, other), gone = _lines(log), {"text": None, "salt": None}
    _write(log, [_changed(line, actor=json.loads(line)["actor"] | gone), other])
    assert log.verify().problems == ["entry 1: a text is missing, and no erasure names it"]


def test_a_damaged_line_is_erased_too(log):
    log.append(_event())
    _write(log, [*_lines(log), '{"half": "ann@example.com"'])
    log.append(_event("run-2", "console ann@example.com"))
    log.erase(lambda text: "ann@example.com" in text, _erasure)
    assert "ann@example.com" not in (log.folder / "audit.jsonl").read_text()


def test_old_entries_are_deleted_and_the_rest_still_verifies(log):
    for number in range(3):
        log.append(_event(f"run-{number}"))
    kept = log.append(_event("run-3"))

    def pruning() -> AuditEvent:
        return AuditEvent("audit_pruned", "local:root", "entries older than 1 day")

    assert log.prune(kept.time, pruning, dry_run=True) == 3
    assert log.verify().entries == 4
    assert log.prune(kept.time, pruning) == 3
    assert [each.about.text for each in log.entries()] == ["run-3", "entries older than 1 day"]
    assert log.verify().problems == []
    later = log.append(_event("run-5"))
    assert log.prune(later.time, pruning) == 2
    assert log.verify().problems == []
    _write(log, _lines(log)[1:])
    assert log.verify().problems != [], "somebody removed the first entry"


def test_a_pruning_needs_its_own_hash(log):
    for number in range(3):
        log.append(_event(f"run-{number}"))
    _write(log, _lines(log)[1:])
    log.append(AuditEvent("audit_pruned", "local:root", covers=((1, 1),), covered_hash="0" * 64))
    assert log.verify().problems == ["entries 1 to 1 are missing, and no pruning names them"]


# -- recording -------------------------------------------------------------------------------------


def test_without_a_log_nothing_is_recorded(log):
    record("run_submitted", "run-1")
    assert not log.folder.exists()


def test_an_entry_names_who_acts_and_holds_neither_secrets_nor_query_strings(recording):
    with acting_as("key ci", "req-7"):
        record("artifact_opened", "https://u:p@shop.example.com/a?mail=ann#x and s3cret", website="shop")
    record("run_submitted", "x" * 900)
    first, second = recording.entries()
    assert (first.actor.text, first.request_id.text, first.website.text) == ("key ci", "req-7", "shop")
    assert first.about.text == "https://shop.example.com/a and •••"
    assert second.actor.text.startswith("local:")
    assert len(second.about.text) == 500
    assert datetime.now(UTC) - first.time < timedelta(minutes=1)


def test_an_actor_ends_with_its_context():
    with acting_as("key ci"):
        assert current_actor().name == "key ci"
    assert current_actor().name.startswith("local:")
    assert build_event("signed_in", actor="console ann").actor == "console ann"


def test_the_client_of_an_mcp_call_is_the_actor():
    token = AccessToken(token="t", client_id="ci", scopes=["write"])
    held = auth_context_var.set(AuthenticatedUser(token))
    try:
        with acting_as("service"):
            assert current_actor().name == "key ci"
    finally:
        auth_context_var.reset(held)


def test_a_log_that_cannot_be_written_stops_nothing_and_is_reported(recording, capsys):
    recording.folder.parent.joinpath("audit").write_text("a file")
    record("run_submitted", "run-1")
    assert "the audit log cannot be written" in capsys.readouterr().err
