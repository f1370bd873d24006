"""Finds the stored pages of a trace's steps on disk, so that a report can link to them."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

from kb_schema.execution_traces import ExecutionTrace, TraceStep
from kb_schema.session_reader import PARTS_KEY, SessionUnreadable, read_manifest


@dataclass(frozen=True, slots=True)
class StepPageLinks:
    """Links to the pages before and after a step; None if a page has no file."""

    before: str | None = None
    after: str | None = None


NONE = StepPageLinks()


class TracePageLinks:
    """The pages of traces, as links relative to a report in `folder`."""

    def __init__(self, traces: Iterable[ExecutionTrace], folder: Path) -> None:
        self._folder = folder
        self._known = {trace.trace_id: dict(self._links(trace)) for trace in traces}

    def of(self, trace_id: str, step: TraceStep) -> StepPageLinks:
        """Return the links of a step. Steps are matched by time and action type."""
        return self._known.get(trace_id, {}).get((step.timestamp, step.action_type), NONE)

    def _links(self, trace: ExecutionTrace) -> Iterator[tuple[tuple[datetime | None, str], StepPageLinks]]:
        last: str | None = None
        types = {step.timestamp: step.action_type for step in trace.steps}
        for log, entry in _entries(trace.session_dir):
            at = _parse_moment(entry.get("timestamp"))
            if at not in types:
                continue
            before = self._link(log, entry.get("body_html_before_last_action")) or last
            last = self._link(log, entry.get("body_html_after_last_action"))
            action = str(entry.get("action_type"))
            yield (at, action), StepPageLinks(before, last)

    def _link(self, log: Path, reference: Any) -> str | None:
        if not isinstance(reference, dict) or PARTS_KEY not in reference:
            return None
        file = log.parent / str(reference[PARTS_KEY])
        if not file.is_file():
            return None
        return quote(Path(os.path.relpath(file, self._folder)).as_posix())


def _entries(session_dir: str | None) -> Iterator[tuple[Path, dict[str, Any]]]:
    if session_dir is None:
        return
    folder = Path(session_dir)
    try:
        turns = read_manifest(folder).turns
    except SessionUnreadable:
        return
    for turn in turns:
        log = folder / (turn.path or f"turn_{turn.turn:03d}/session.jsonl")
        try:
            lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
        except (OSError, ValueError):
            continue
        for line in lines:
            try:
                entry = json.loads(line)
            except ValueError:
                continue
            if isinstance(entry, dict):
                inner = entry.get("data")
                yield log, inner if isinstance(inner, dict) else entry


def _parse_moment(text: Any) -> datetime | None:
    try:
        return datetime.fromisoformat(str(text))
    except ValueError:
        return None
