"""Notes the run that `periplus run` begins, before a browser starts and before the run is recorded.

A process that is killed in between leaves no record. Without the note, `--resume last` would take the run before it.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

from pydantic import AwareDatetime, BaseModel, ValidationError

from kb_schema.owner_folders import make_owner_folder
from kb_store.runs.run_store import RunStore
from periplus.errors import UserError

FILE = "begun-run.json"
VALID_FOR = timedelta(days=1)


class BegunRun(BaseModel):
    """A run that began on this machine."""

    run_id: str
    subject: str
    at: AwareDatetime


def note_begun_run(data_dir: Path, run_id: str, subject: str) -> None:
    """Write the note; a folder that cannot be written has none."""
    note = BegunRun(run_id=run_id, subject=subject, at=datetime.now(UTC))
    with suppress(OSError):
        make_owner_folder(data_dir)
        (data_dir / FILE).write_text(note.model_dump_json(), encoding="utf-8")


async def check_last_run_recorded(data_dir: Path, store: RunStore) -> None:
    """Raise `UserError` if the last run that began here was never recorded, and none has begun since."""
    try:
        note = BegunRun.model_validate_json((data_dir / FILE).read_text(encoding="utf-8"))
    except (OSError, ValidationError, UnicodeDecodeError):
        return
    newest = next(iter(await store.runs(limit=1)), None)
    if datetime.now(UTC) - note.at > VALID_FOR or (newest is not None and newest.started_at > note.at):
        return
    if await store.run(note.run_id) is None:
        before = "there is no other run" if newest is None else f"the run before it is {newest.run_id}"
        raise UserError(
            f"the last run ({note.subject}) was ended before anything was done or recorded; {before}",
            fix=f"start it again: periplus run {note.subject}; to resume another run, give its id",
        )
