"""`periplus erase-person`: afterwards nothing that was written has the person, and all else is there."""

from __future__ import annotations

import asyncio
import gzip
import hashlib
import json
import sqlite3
import zipfile
from datetime import UTC, datetime
from pathlib import Path

import pytest

from kb_schema import parse_document
from kb_schema.proposals import Proposal, ScreenChange, Support, proposal_id
from kb_schema.run_records import Artifact, EvidenceLevel, RunEnding, RunStatus, StoredRun
from kb_schema.run_storage import StoredEvent
from kb_store import load_knowledge, open_stores, read_knowledge
from kb_store.audit.audit_entry import AuditEvent
from kb_store.audit.audit_log import AuditLog
from kb_store.store_factory import open_runs
from tests.kb_store.sample_knowledge import knowledge_of
from tests.support import warm

MAIL = "ann@example.com"
NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
PICTURE = b"\x89PNG\r\n\x1a\n" + bytes(range(256))


@pytest.fixture
def data(tmp_path):
    return tmp_path / "data"


@pytest.fixture
def outside(tmp_path):
    return tmp_path / "outside"


async def _fill(data: Path, outside: Path, mongodb_url: str | None = None) -> None:
    """Two runs, of which `with` mentions the person, with their files, and all else that is written."""
    async with open_stores(data, mongodb_url=mongodb_url) as stores:
        knowledge = knowledge_of()
        await load_knowledge(stores.documents, stores.graph, knowledge)
        screen = parse_document(
            {"type": "screen", "screen_id": "reports", "name": f"Reports of {MAIL}", "url_patterns": ["^/r$"]}
        )
        change = ScreenChange(type="screen", screen=screen)
        made = Proposal(
            proposal_id=proposal_id("shop", change),
            website_id="shop",
            change=change,
            before=None,
            proposed_at=NOW,
        )
        await stores.proposals.support(made, Support(run_id="with", score=0.8, note=f"saw {MAIL}", at=NOW))
    async with open_runs(data, mongodb_url, audited=False) as runs:
        for name in ("with", "without"):
            run = StoredRun(
                run_id=name,
                url="https://shop.example/",
                started_at=NOW,
                website_id="shop",
                kind="task",
                subject="buy",
            )
            await runs.begin_run(run)
            folder = data / "runs" / name
            folder.mkdir(parents=True)
            (folder / "step.png").write_bytes(PICTURE)
            (folder / "page.html").write_text(f"<p>{name}</p>")
            (outside / name).mkdir(parents=True)
            (outside / name / "film.mp4").write_bytes(PICTURE)
            for kind, path in (("film", outside / name / "film.mp4"), ("page", folder / "page.html")):
                content = path.read_bytes()
                await runs.put_artifact(
                    Artifact(
                        run_id=name, name=kind, artifact_type=kind, file_path=str(path), size_bytes=len(content),
                        file_hash=hashlib.sha256(content).hexdigest(), created_at=NOW,
                    )
                )  # fmt: skip
            ending = RunEnding(
                status=RunStatus.SUCCESS, evidence=EvidenceLevel.VERIFIED, finished_at=NOW, duration_ms=1,
                outputs={"owner": MAIL} if name == "with" else {"owner": "bob@example.com"},
            )  # fmt: skip
            await runs.finish_run(name, ending)
        event = StoredEvent(
            run_id="with", seq=0, type="visitor_spoke.words", data={"text": f"I am {MAIL}"}, at=NOW
        )
        await runs.append_events([event], keep_s=10**9)
    (data / "runs/with/page.html").write_text("<p>with ann%40example.com</p>")
    (data / "logs").mkdir()
    (data / "logs/error-1.log").write_text("KeyError: 'ANN@example.com'")
    (data / "maps/shop").mkdir(parents=True)
    (data / "maps/shop/p1.html").write_text(f"<p>{MAIL}</p>")
    (data / "maps/shop/p1.jpg").write_bytes(PICTURE)
    (data / "maps/other").mkdir()
    (data / "maps/other/p1.jpg").write_bytes(PICTURE)
    with zipfile.ZipFile(data / "report.xlsx", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("sheet.xml", f"<v>{MAIL}</v>" * 50)
    log = AuditLog(data / "audit")
    log.append(AuditEvent("signed_in", f"console {MAIL}"))
    log.append(AuditEvent("run_submitted", "key ci", "without"))
    with sqlite3.connect(data / "verifications.sqlite3") as db:
        db.execute("CREATE TABLE checkpoints (thread_id TEXT, checkpoint BLOB)")
        db.execute("INSERT INTO checkpoints VALUES ('with', ?)", (b"\x81\xa4mail\xaf" + MAIL.encode(),))
        db.execute("INSERT INTO checkpoints VALUES ('without', ?)", (b"\x80",))
    db.close()


def _erase(data, *arguments, **env):
    told = {"PERIPLUS_DATA_DIR": str(data), "PERIPLUS_MONGODB_URL": "", "COLUMNS": "200", **env}
    return warm.run("periplus", "erase-person", MAIL, *arguments, env=told)


def _left(*folders: Path) -> list[str]:
    """The files that have the person, by their bytes."""
    found = []
    for folder in folders:
        for path in folder.rglob("*"):
            content = path.read_bytes().lower() if path.is_file() else b""
            if any(each in content for each in (b"ann@example.com", b"ann%40example.com")):
                found.append(str(path.relative_to(folder)))
    return found


def test_a_person_is_listed_by_kind_and_place_and_nothing_is_changed_before(data, outside):
    asyncio.run(_fill(data, outside))
    before = {
        path: path.read_bytes()
        for path in data.rglob("*")
        if path.suffix not in (".sqlite3-shm", ".sqlite3-wal") and path.is_file()
    }
    listed = _erase(data, "--dry-run")
    assert listed.returncode == 0
    for said in (
        "store: runs (1)", "store: events (1)", "store: proposals (1)", "store: proposal_supports (1)",
        "store: checkpoints (1)", "with (deleted)", "page.html", "files: picture, deleted (2)", "files: film, deleted (1)",
        "files: archive, deleted (1)", "audit log (1)",
    ):  # fmt: skip
        assert said in listed.stdout, (said, listed.stdout)
    refused = _erase(data)
    assert (refused.returncode, "--yes" in refused.stderr) == (2, True)
    after = {path: path.read_bytes() for path in before}
    assert {path.name for path in before if before[path] != after.get(path)} <= {"knowledge.sqlite3"}
    assert _left(data) != []


def test_what_could_not_be_searched_is_listed_and_is_no_success(data, outside):
    """An encrypted, a damaged and an unread archive may have the person: nobody is told that all is gone."""
    asyncio.run(_fill(data, outside))
    with zipfile.ZipFile(data / "damaged.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("note.txt", f"{MAIL} " * 50)
    content = bytearray((data / "damaged.zip").read_bytes())
    content[40:44] = b"\xff\xff\xff\xff"
    (data / "damaged.zip").write_bytes(content)
    (data / "old.log.gz").write_bytes(gzip.compress(MAIL.encode()))
    for arguments in (("--dry-run",), ("--yes",)):
        done = _erase(data, *arguments)
        assert done.returncode == 1, done.stderr
        assert "could not be searched (2)" in done.stdout
        assert "damaged.zip" in done.stdout
        assert "old.log.gz" in done.stdout
    assert _left(data, outside) == []  # what could be searched is erased


def test_an_erased_person_is_nowhere_and_the_rest_stays(data, outside):
    asyncio.run(_fill(data, outside))
    done = _erase(data, "--yes")
    assert done.returncode == 0, done.stderr
    assert _left(data, outside) == []
    assert not (data / "runs/with/step.png").exists()
    assert not (outside / "with/film.mp4").exists()
    assert not (data / "maps/shop/p1.jpg").exists()
    for kept in ("runs/without/step.png", "maps/other/p1.jpg"):
        assert (data / kept).read_bytes() == PICTURE
    assert (outside / "without/film.mp4").read_bytes() == PICTURE
    assert (data / "runs/with/page.html").read_text() == "<p>with ERASED</p>"
    log = AuditLog(data / "audit")
    assert log.verify().problems == []
    first, *_, last = log.entries()
    assert (first.actor.text, last.action, last.covers) == (None, "person_erased", ((1, 1),))

    async def look():
        async with open_runs(data) as runs:
            run, other = await runs.run("with"), await runs.run("without")
            artifacts = {each.name: each for each in await runs.artifacts("with")}
        async with open_stores(data) as stores:
            (proposal,) = await stores.proposals.proposals("shop")
            await read_knowledge(stores.documents, stores.graph, "shop")
        return run, other, artifacts, proposal

    run, other, artifacts, proposal = asyncio.run(look())
    assert (run.outputs, other.outputs) == ({"owner": "ERASED"}, {"owner": "bob@example.com"})
    page = (data / "runs/with/page.html").read_bytes()
    assert artifacts["page"].file_hash == hashlib.sha256(page).hexdigest()
    assert proposal.change.screen.name == "Reports of ERASED"
    with sqlite3.connect(data / "verifications.sqlite3") as db:
        assert db.execute("SELECT thread_id FROM checkpoints").fetchall() == [("without",)]
    db.close()
    again = _erase(data, "--yes", "--json")
    assert json.loads(again.stdout) == {"rows": [], "files": [], "audit_entries": [], "unsearched": []}


def test_pictures_of_a_run_whose_record_alone_mentions_the_person_are_deleted(data, outside):
    asyncio.run(_fill(data, outside))
    (data / "runs/with/page.html").write_text("<p>nobody</p>")
    assert _erase(data, "--yes").returncode == 0
    assert not (data / "runs/with/step.png").exists()
    assert not (outside / "with/film.mp4").exists()
    assert (data / "runs/without/step.png").exists()


def test_other_names_and_other_folders_are_searched_too(data, outside):
    recording = outside / "session-1"
    recording.mkdir(parents=True)
    (recording / "session.jsonl").write_text('{"value": "Ann Lee"}\n')
    (recording / "p1.webp").write_bytes(PICTURE)
    (outside / "alone.webp").write_bytes(PICTURE)
    (outside / "Ann Lee.txt").write_text("a file of hers")
    done = _erase(data, "--also", "Ann Lee", "--folder", str(outside), "--yes")
    assert done.returncode == 0, done.stderr
    found = {str(path.relative_to(outside)) for path in outside.rglob("*") if path.is_file()}
    assert found == {"session-1/session.jsonl", "alone.webp", "ERASED.txt"}
    assert (recording / "session.jsonl").read_text() == '{"value": "ERASED"}\n'


def test_pictures_beside_a_report_that_mentions_the_person_are_deleted(data, outside):
    for name, said in (("verified", MAIL), ("other", "nobody")):
        (outside / name / "screenshots" / "pin").mkdir(parents=True)
        (outside / name / "screenshots" / "pin" / "step-01.jpg").write_bytes(PICTURE)
        (outside / name / "report.html").write_text(f"<p>{said}</p>")
    done = _erase(
        data, *(word for name in ("verified", "other") for word in ("--folder", str(outside / name))), "--yes"
    )
    assert done.returncode == 0, done.stderr
    assert [path.parts[-4] for path in outside.rglob("*.jpg")] == ["other"]


def test_what_a_verification_wrote_beside_its_verdict_is_searched_without_naming_its_folder(data, outside):
    asyncio.run(_fill(data, outside))
    kept = outside / "verified"
    for name in (
        "screenshots/pin/build/1.jpg",
        "report.html",
        "plans/pin.json",
        "verdict_pin.json",
        "mine.txt",
    ):
        (kept / name).parent.mkdir(parents=True, exist_ok=True)
        (kept / name).write_bytes(PICTURE if name.endswith("jpg") else f'["{MAIL}"]'.encode())

    async def note() -> None:
        async with open_runs(data, audited=False) as runs:
            verdict = Artifact(
                run_id="without", name="verdict_pin.json", artifact_type="verdict_report", created_at=NOW,
                file_path=str(kept / "verdict_pin.json"), size_bytes=1, file_hash="0" * 64,
            )  # fmt: skip
            await runs.put_artifact(verdict)

    asyncio.run(note())
    assert _erase(data, "--yes").returncode == 0
    assert not (kept / "screenshots/pin/build/1.jpg").exists()
    for name in ("report.html", "plans/pin.json", "verdict_pin.json"):
        assert (kept / name).read_text() == '["ERASED"]'
    assert MAIL in (kept / "mine.txt").read_text(), "a file of another's is left alone"


@pytest.mark.mongodb
async def test_a_person_is_erased_from_every_collection(data, outside, emptied_mongodb_url):
    await _fill(data, outside, emptied_mongodb_url)
    done = await asyncio.to_thread(_erase, data, "--yes", PERIPLUS_MONGODB_URL=emptied_mongodb_url)
    assert done.returncode == 0, done.stderr
    assert _left(data, outside) == []
    assert not (outside / "with/film.mp4").exists()
    again = await asyncio.to_thread(
        _erase, data, "--dry-run", "--json", PERIPLUS_MONGODB_URL=emptied_mongodb_url
    )
    assert json.loads(again.stdout)["rows"] == []
    async with open_runs(data, emptied_mongodb_url) as runs:
        assert (await runs.run("with")).outputs == {"owner": "ERASED"}
        assert (await runs.run("without")).outputs == {"owner": "bob@example.com"}
