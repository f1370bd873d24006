"""Reads a session's folder into a trace: `manifest.json`, `turn_001/session.jsonl` and its `.parts/` (MA).

The counterpart of `session_writer`. A damaged folder is read as far as possible; the problems are in the
trace's metadata under `problems`. A session without its manifest counts as failed, because nothing shows that
it ended normally.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from kb_schema.execution_traces import (
    EXPECTED,
    SOURCE,
    ExecutionTrace,
    TraceActionResult,
    TraceStep,
    chain_pages,
)
from kb_schema.step_metadata import read_step_metadata

MANIFEST = "manifest.json"
PARTS_KEY = "__parts_file__"
_FAILED = frozenset({"failure", "failed", "error", "partial", "degraded", "needs_person"})
"""Statuses of a turn in which not everything was done."""
_RESULT_FIELDS = frozenset(TraceActionResult.model_fields)


class Turn(BaseModel):
    """One turn of a session. Other fields of the manifest are ignored."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    turn: int = 1
    path: str | None = None
    task_id: str = ""
    task_description: str = ""
    status: str | None = None


class SessionManifest(BaseModel):
    """The manifest of a session."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    session_id: str = ""
    website_id: str | None = None
    complete: bool | None = None
    """None if the writer did not say."""
    created_at: datetime | None = None
    ended_at: datetime | None = None
    task_description: str = ""
    input_data: dict[str, Any] | None = None
    error: str | None = None
    imported: dict[str, Any] = Field(default_factory=dict)
    """What an import knows of the recording besides its steps."""
    problems: tuple[str, ...] = ()
    """What the recorder could not record, or asks about, in sentences."""
    turns: tuple[Turn, ...] = Field(default=())


class SessionUnreadable(ValueError):
    """There is no session in the folder. `folder` and `reason` say where and why."""

    def __init__(self, folder: Path, reason: str) -> None:
        self.folder, self.reason = folder, reason
        super().__init__(f"{folder} is no session: {reason}; a session is a folder with a {MANIFEST}")


def read_manifest(folder: Path) -> SessionManifest:
    """Return the manifest of a session. Raises `SessionUnreadable`."""
    try:
        return SessionManifest.model_validate_json((folder / MANIFEST).read_bytes())
    except OSError as exc:
        raise SessionUnreadable(folder, f"{MANIFEST} cannot be read ({exc.strerror})") from exc
    except ValidationError as exc:
        first = exc.errors()[0]
        where = ".".join(map(str, first["loc"])) or "the file"
        raise SessionUnreadable(folder, f"{MANIFEST}: {where}: {first['msg']}") from exc


def read_session(folder: Path, *, trace_id: str | None = None) -> ExecutionTrace:
    """Return the trace of a session, with large texts read from `.parts/`.

    Raises `SessionUnreadable` if there is neither a manifest nor a turn.
    """
    problems: list[str] = []
    manifest = _manifest(folder, problems)
    problems += manifest.problems
    steps: list[TraceStep] = []
    for turn in manifest.turns:
        steps += _turn_steps(folder, turn, problems)
    failed = [turn for turn in manifest.turns if turn.status in _FAILED]
    error = manifest.error or (f"turn {failed[0].turn} ended with {failed[0].status}" if failed else None)
    if error is None and manifest.complete is False:
        error = "the session did not end normally"
    expected = manifest.imported.get(EXPECTED)
    described = manifest.task_description or "; ".join(
        turn.task_description for turn in manifest.turns if turn.task_description
    )
    return ExecutionTrace(
        trace_id=trace_id or manifest.session_id or folder.name,
        task_description=described,
        steps=chain_pages(tuple(steps)),
        input_data=manifest.input_data,
        success=error is None,
        error=error,
        start_time=manifest.created_at,
        end_time=manifest.ended_at,
        session_dir=str(folder),
        turn_count=len(manifest.turns),
        metadata={
            "website_id": manifest.website_id,
            **({SOURCE: source} if isinstance(source := manifest.imported.get(SOURCE), str) else {}),
            **({"problems": problems} if problems else {}),
            **({EXPECTED: expected} if isinstance(expected, list) else {}),
        },
    )


def _manifest(folder: Path, problems: list[str]) -> SessionManifest:
    try:
        return read_manifest(folder)
    except SessionUnreadable as exc:
        logs = sorted(folder.glob("turn_*/session.jsonl"))
        if not logs:
            raise
        problems.append(f"{exc.reason}; the turns that are there were read")
        turns = tuple(
            Turn(turn=number, path=str(log.relative_to(folder))) for number, log in enumerate(logs, 1)
        )
        return SessionManifest(session_id=folder.name, complete=False, turns=turns)


def _turn_steps(folder: Path, turn: Turn, problems: list[str]) -> list[TraceStep]:
    log = folder / (turn.path or f"turn_{turn.turn:03d}/session.jsonl")
    if not _within(folder, log):
        problems.append(f"turn {turn.turn}: {turn.path} is not a file of the session; not read")
        return []
    entries = list(_entries(folder, log, problems))
    # A planned action and its result are two entries about one action: the result is what happened.
    done = any(entry.get("type") == "AgentActionResults" for _, entry in entries)
    steps: list[TraceStep] = []
    reasoning: str | None = None
    for number, entry in entries:
        planned = entry.get("type") == "AgentResponse"
        if planned and done:
            text_given = entry.get("reasoning")
            reasoning = text_given if isinstance(text_given, str) and text_given else reasoning
            continue
        data = _first_planned(entry) if planned else _data(entry)
        if not data or not (data.get("action_type") or data.get("type")):
            continue
        try:
            step = _step(data)
        except ValidationError as exc:
            where = ".".join(map(str, exc.errors()[0]["loc"]))
            problems.append(
                f"{log.relative_to(folder)}:{number}: {where}: {exc.errors()[0]['msg']}; left out"
            )
            continue
        metadata, broken = read_step_metadata(step.metadata)
        problems += [f"{log.relative_to(folder)}:{number}: {each}" for each in broken]
        step = step.model_copy(update={"metadata": metadata})
        steps.append(step if step.reasoning else step.model_copy(update={"reasoning": reasoning}))
        reasoning = None
    return steps


def _entries(folder: Path, log: Path, problems: list[str]) -> Iterator[tuple[int, dict[str, Any]]]:
    try:
        lines = log.read_bytes().decode("utf-8", "replace").split("\n")
    except OSError as exc:
        problems.append(f"{log.relative_to(folder)}: cannot be read ({exc.strerror})")
        return
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            entry = json.loads(line)
        except ValueError:
            problems.append(f"{log.relative_to(folder)}:{number}: not JSON; left out")
            continue
        if isinstance(entry, dict) and PARTS_KEY not in entry:
            yield number, _resolved(entry, folder, log, number, problems)
        else:
            problems.append(f"{log.relative_to(folder)}:{number}: not an object; left out")


def _resolved(node: Any, folder: Path, log: Path, number: int, problems: list[str]) -> Any:
    """Return JSON with every `{"__parts_file__": path}` replaced by that file's text."""
    if isinstance(node, list):
        return [_resolved(each, folder, log, number, problems) for each in node]
    if not isinstance(node, dict):
        return node
    if PARTS_KEY not in node:
        return {key: _resolved(each, folder, log, number, problems) for key, each in node.items()}
    where = f"{log.relative_to(folder)}:{number}: {node[PARTS_KEY]}"
    path = log.parent / str(node[PARTS_KEY])
    if not _within(folder, path):
        problems.append(f"{where}: outside the session folder; not read")
        return None
    try:
        return path.read_bytes().decode("utf-8", "replace")
    except OSError as exc:
        problems.append(f"{where}: cannot be read ({exc.strerror})")
        return None


def _within(folder: Path, path: Path) -> bool:
    try:
        return path.resolve().is_relative_to(folder.resolve())
    except (OSError, ValueError):  # not a valid path
        return False


def _data(entry: dict[str, Any]) -> dict[str, Any]:
    """Return an entry's data about an action; empty if it is about something else."""
    inner = entry.get("data")
    if entry.get("type") == "AgentActionResults":
        return inner if isinstance(inner, dict) else entry
    return entry if entry.get("action_type") else {}


def _first_planned(entry: dict[str, Any]) -> dict[str, Any]:
    """Return the first action that a response plans: groups of parallel actions, in order."""
    groups = entry.get("next_actions")
    for group_index, group in enumerate(groups if isinstance(groups, list) else ()):
        for parallel_index, action in enumerate(group if isinstance(group, list) else [group]):
            if isinstance(action, dict):
                place = {"action_group_index": group_index, "parallel_index": parallel_index}
                return {
                    **place,
                    "reasoning": entry.get("reasoning"),
                    "timestamp": entry.get("timestamp"),
                    **action,
                }
    return {}


def _step(data: dict[str, Any]) -> TraceStep:
    args = data.get("args", data.get("arguments"))
    return TraceStep(
        action_type=str(data.get("action_type") or data.get("type")),
        target=data.get("target"),
        args=args if isinstance(args, dict) else None,
        result=_result(data.get("result")),
        timestamp=data.get("timestamp"),
        html_before=data.get("body_html_before_last_action"),
        html_after=data.get("body_html_after_last_action"),
        source_url=data.get("source_url"),
        action_group_index=data.get("action_group_index") or 0,
        parallel_index=data.get("parallel_index") or 0,
        reasoning=data.get("reasoning"),
        metadata=data.get("metadata") or {},
    )


def _result(data: Any) -> TraceActionResult | None:
    if not isinstance(data, dict):
        return None
    return TraceActionResult.model_validate({key: data[key] for key in data.keys() & _RESULT_FIELDS})
