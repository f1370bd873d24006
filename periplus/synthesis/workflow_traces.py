"""Notes in the data folder from which traces a published workflow was made, so that it can be refined with more.

The traces themselves stay where they are; the notes hold their folders.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

from pydantic import ValidationError

from kb_schema.base import Model
from kb_schema.execution_traces import ExecutionTrace
from kb_schema.owner_folders import make_owner_folder
from periplus.settings import load_settings

FOLDER = "workflow_traces"


class WorkflowTraces(Model):
    """The traces of one workflow."""

    website_id: str
    workflow_id: str
    task: str = ""
    folders: tuple[str, ...] = ()
    """Absolute paths of their session folders."""


def note_workflow_traces(
    website_id: str, workflow_id: str, task: str, traces: Sequence[ExecutionTrace]
) -> None:
    """Note the traces of a workflow; replaces an earlier note."""
    folders = tuple(str(Path(each.session_dir).absolute()) for each in traces if each.session_dir)
    path = _find_path(website_id, workflow_id)
    make_owner_folder(path.parent)
    note = WorkflowTraces(website_id=website_id, workflow_id=workflow_id, task=task, folders=folders)
    path.write_text(note.model_dump_json(indent=2), encoding="utf-8")


def read_workflow_traces(website_id: str, workflow_id: str) -> WorkflowTraces | None:
    """Return the noted traces of a workflow; None if there is no note."""
    try:
        text = _find_path(website_id, workflow_id).read_text(encoding="utf-8")
        return WorkflowTraces.model_validate_json(text)
    except (OSError, ValidationError):
        return None


def _find_path(website_id: str, workflow_id: str) -> Path:
    """Return the file of the note: ids may have characters that file names may not."""
    name = hashlib.sha256(f"{website_id}/{workflow_id}".encode()).hexdigest()[:24]
    return load_settings().data_dir / FOLDER / f"{name}.json"
