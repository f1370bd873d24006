"""Writes a session's folder: `manifest.json`, `turn_001/session.jsonl`, `session.jsonl.parts/` (MA).

The counterpart of `session_reader`. The caller passes `clean`, which removes secrets from each text before it
is written.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from kb_schema.execution_traces import ExecutionTrace, TraceStep
from kb_schema.owner_folders import make_owner_folder
from kb_schema.run_records import TraceEntry
from kb_schema.session_reader import MANIFEST, PARTS_KEY
from kb_schema.step_metadata import check_step_metadata

PART_FROM_CHARS = 2_000
"""Longer texts are written to files of their own."""


class SessionWriter:
    """Writes one session. The manifest is complete at any time, even if the process is killed."""

    def __init__(
        self,
        folder: Path,
        *,
        session_id: str,
        website_id: str | None = None,
        clean: Callable[[Any], Any] = lambda data: data,
        **more: Any,
    ) -> None:
        """Start a session in `folder`; `more` goes into the manifest.

        Raises `FileExistsError` if the folder has a session already.
        """
        if (folder / MANIFEST).exists():
            raise FileExistsError(
                f"{folder} already contains a session: name another folder, or remove it first"
            )
        self.folder, self._clean = folder, clean
        self.turns: list[dict[str, Any]] = []
        self._lines = 0
        self._manifest: dict[str, Any] = {
            "session_id": session_id,
            "website_id": website_id,
            "created_at": _now(),
            **more,
            "turns": self.turns,
            "complete": False,
        }
        make_owner_folder(folder)
        self._write_manifest()

    def begin_turn(self, task_id: str, description: str) -> None:
        """Start a turn: what is written from now on belongs to it."""
        number = len(self.turns) + 1
        folder = f"turn_{number:03d}"
        (self.folder / folder).mkdir(exist_ok=True)
        self.turns.append(
            {
                "turn": number,
                "path": f"{folder}/session.jsonl",
                "task_id": task_id,
                "task_description": description,
                "started_at": _now(),
            }
        )
        self._lines = 0
        self._log.touch()
        self._write_manifest()

    def end_turn(self, status: str) -> None:
        """Record how the turn ended."""
        self.turns[-1] |= {"status": status, "ended_at": _now()}
        self._write_manifest()

    def write(self, entry: TraceEntry) -> None:
        """Write one line; long pages are written to `.parts/`. Raises `ValueError` if its metadata break the schema."""
        check_step_metadata(entry.metadata)
        self._lines += 1
        before, after = entry.body_html_before_last_action, entry.body_html_after_last_action
        fields = self._clean(
            entry.model_dump(
                mode="json", exclude={"body_html_before_last_action", "body_html_after_last_action"}
            )
        )
        fields |= {
            "body_html_before_last_action": self._part("before", before),
            "body_html_after_last_action": self._part("after", after),
        }
        with self._log.open("a", encoding="utf-8") as log:
            log.write(_whole(json.dumps(fields, ensure_ascii=False)) + "\n")

    def close(self, *, complete: bool, **more: Any) -> None:
        """End the session. `complete`: it ended normally, not by an error or a person."""
        self._manifest |= {"complete": complete, "ended_at": _now(), **more}
        self._write_manifest()

    @property
    def _log(self) -> Path:
        path: str = self.turns[-1]["path"]
        return self.folder / path

    def _part(self, which: str, text: str | None) -> Any:
        """Return the text, or a reference to the file it was written to."""
        if text is None:
            return None
        text = _whole(str(self._clean(text)))
        if len(text) < PART_FROM_CHARS:
            return text
        parts = self._log.with_name(f"{self._log.name}.parts")
        parts.mkdir(exist_ok=True)
        name = f"{self._lines:04d}_html_{which}.html"
        with (parts / name).open("w", encoding="utf-8", newline="") as part:
            part.write(text)
        return {PARTS_KEY: f"{parts.name}/{name}"}

    def _write_manifest(self) -> None:
        """Write the manifest beside the old one and replace it: a crash leaves the old one complete."""
        path = self.folder / MANIFEST
        fresh = path.with_suffix(".json.new")
        manifest = self._clean(self._manifest)
        fresh.write_text(
            _whole(json.dumps(manifest, indent=2, ensure_ascii=False, default=str)), encoding="utf-8"
        )
        fresh.replace(path)


def write_session(
    trace: ExecutionTrace, folder: Path, *, clean: Callable[[Any], Any] = lambda data: data
) -> None:
    """Write a trace as a session of one turn. Raises `FileExistsError` if the folder has a session."""
    more: Mapping[str, Any] = {
        "task_description": trace.task_description,
        "input_data": trace.input_data,
        **({"created_at": trace.start_time.isoformat()} if trace.start_time else {}),
        **({"imported": trace.metadata} if trace.metadata else {}),
    }
    website = trace.metadata.get("website_id")
    writer = SessionWriter(folder, session_id=trace.trace_id, website_id=website, clean=clean, **more)
    writer.begin_turn("", trace.task_description)
    before: str | None = None
    for step in trace.steps:
        writer.write(to_trace_entry(step, chained=before))
        before = step.html_after
    writer.end_turn("success" if trace.success else "failure")
    ended = {"ended_at": trace.end_time.isoformat()} if trace.end_time else {}
    writer.close(complete=True, **({"error": trace.error} if trace.error else {}), **ended)


def to_trace_entry(step: TraceStep, *, chained: str | None = None) -> TraceEntry:
    """Return a step as a line. With `chained`, the page of the step before is not written again."""
    return TraceEntry(
        type="AgentActionResults",
        timestamp=step.timestamp or datetime.now(UTC),
        action_type=step.action_type,
        target=step.target.model_dump(mode="json", exclude_none=True)
        if hasattr(step.target, "model_dump")
        else step.target,
        args=step.args,
        result=None if step.result is None else step.result.model_dump(mode="json"),
        source_url=step.source_url,
        body_html_before_last_action=None if step.html_before == chained else step.html_before,
        body_html_after_last_action=step.html_after,
        action_group_index=step.action_group_index,
        parallel_index=step.parallel_index,
        reasoning=step.reasoning,
        metadata=step.metadata,
    )


def _whole(text: str) -> str:
    """Return text without lone surrogates, which pages and fields may contain and files cannot."""
    return text.encode("utf-8", "replace").decode()


def _now() -> str:
    return datetime.now(UTC).isoformat()
