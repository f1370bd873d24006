"""Writes the trace of a session while it runs, in MA's format (`kb_schema.session_writer`).

One turn per requested task. A line is written when the next action begins, because that action's
`html_before` is this line's `html_after`, or when the trace is closed. The keys are those of recordings
(`kb_schema.step_metadata`). Secrets are removed before anything is written.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from agent.events import (
    ActionAnswered,
    ActionDone,
    AddressOpened,
    Event,
    InputResolved,
    StepEnded,
    StepStarted,
    TaskEnded,
    TaskStarted,
)
from agent.redaction import REDACTED
from agent.run_context import RunContext
from kb_schema.execution_traces import ANSWERS, REFUSAL
from kb_schema.run_records import StepStatus, TraceEntry
from kb_schema.session_writer import SessionWriter

ASKED = "asked"
"""Key in a manifest: the inputs for which a person was asked."""


@dataclass(slots=True)
class _Line:
    """An action whose page afterwards is not known yet."""

    action: ActionDone
    began_at: datetime
    answers: list[dict[str, Any]] = field(default_factory=list)
    refusal: str | None = None


class SessionTrace:
    """Listens to a session's bus and writes its folder."""

    def __init__(
        self,
        folder: Path,
        *,
        website_id: str,
        context: RunContext,
        inputs: Mapping[str, Any] | None = None,
    ) -> None:
        """Begin a session in `folder`. `inputs`: the values that were given for the run; those that the requested
        task declares become the trace's `input_data`, with those that it found or asked for.

        Raises `FileExistsError` if the folder holds a session already.
        """
        self._writer = SessionWriter(
            folder, session_id=context.run_id, website_id=website_id, clean=context.redact_kept
        )
        self._context, self._given = context, dict(inputs or {})
        self._pending: _Line | None = None
        self._requested: str | None = None
        self._resolved: dict[str, str] = {}
        """The inputs of the requested task that are not written yet, with their source."""
        self._inputs: dict[str, Any] = {}
        self._asked: list[str] = []
        self._begun: dict[tuple[str, str], str] = {}
        """The action of each step that began, by task and step."""
        self._skipped: list[TraceEntry] = []

    def __call__(self, event: Event) -> None:
        """Handle one event; the listener of the bus."""
        match event:
            case AddressOpened(beside=True) | ActionDone(beside=True):
                return
            case TaskStarted(task_id=task_id, name=name, depth=0):
                if self._writer.turns:  # what was opened before the first task is how that one begins
                    self._flush(None, None)
                self._requested = task_id
                self._writer.begin_turn(task_id, name)
            case TaskEnded(status=status, depth=0) if self._writer.turns:
                self._read_inputs()
                self._writer.end_turn(status)
            case InputResolved(task_id=task_id, name=name, source=source) if task_id == self._requested:
                self._resolved[name] = source
            case StepStarted(task_id=task_id, step_id=step_id, action_type=action_type):
                self._begun[task_id, step_id] = action_type
                if task_id == self._requested:
                    self._read_inputs()
            case StepEnded(status=StepStatus.SKIPPED):
                self._note_skipped(event)
            case AddressOpened():
                self._note(
                    ActionDone(
                        "navigate",
                        None,
                        {"url": event.url},
                        event.url_before,
                        event.url_after,
                        event.html_before,
                        None,
                        event.duration_ms,
                        event.error,
                    )
                )
            case ActionDone():
                self._note(event)
            case ActionAnswered(answers=answers, refusal=refusal) if self._pending is not None:
                self._pending.answers += answers
                self._pending.refusal = refusal or self._pending.refusal

    def close(
        self, html_after: str | None = None, *, complete: bool, url_after: str | None = None, error: str | None = None
    ) -> None:  # fmt: skip
        """Write what is pending, with the last page and its address. `complete`: the session ended by itself, not by
        an error or a person. `error`: why the run did not do what it was to do; such a trace is a failed one.
        """
        self._read_inputs()
        self._flush(html_after, url_after)
        failed = {"error": error} if error else {}
        self._writer.close(complete=complete, **self._described(), **failed)

    def _note(self, action: ActionDone) -> None:
        self._flush(action.html_before, action.url_before)
        began_at = datetime.now(UTC) - timedelta(milliseconds=action.duration_ms)
        self._pending = _Line(action, began_at)

    def _note_skipped(self, event: StepEnded) -> None:
        """Write that a step was skipped, and why, after the action before it."""
        self._skipped.append(
            TraceEntry(
                type="AgentActionResults",
                timestamp=datetime.now(UTC),
                action_type=self._begun.get((event.task_id, event.step_id)) or "no_op",
                result={
                    "success": event.error is None,
                    "action_skipped": True,
                    "skip_reason": event.error or "its conditions say that it does not apply",
                },
            )
        )

    def _read_inputs(self) -> None:
        """Take the values of the requested task's inputs: given, or found by the run, which has them now.

        A secret is left out as a whole, so that a part of it never counts as a value.
        """
        for name, source in self._resolved.items():
            value = self._given.get(name, self._context.task_values.get(name))
            if value in (None, ""):  # an optional input that has no value
                continue
            if name not in self._given and source == "user_input":
                self._asked.append(name)
            kept = self._context.redact_kept(value)
            self._inputs[name] = kept if kept == value else REDACTED
        self._resolved.clear()

    def _described(self) -> dict[str, Any]:
        told = {"input_data": {name: each for name, each in self._inputs.items() if each != REDACTED}}
        return {key: each for key, each in {**told, ASKED: self._asked}.items() if each}

    def _flush(self, html_after: str | None, url_after: str | None) -> None:
        line, self._pending = self._pending, None
        skipped, self._skipped = self._skipped, []
        if (line is not None or skipped) and not self._writer.turns:
            self._writer.begin_turn("", "on the way")
        if line is not None:
            self._write(line, html_after, url_after)
        for entry in skipped:
            self._writer.write(entry)

    def _write(self, line: _Line, html_after: str | None, url_after: str | None) -> None:
        action = line.action
        metadata = {**(action.metadata or {}), "url_after": url_after or action.url_after}
        if line.answers:
            metadata[ANSWERS] = line.answers
        if line.refusal is not None:
            metadata[REFUSAL] = line.refusal
        self._writer.write(
            TraceEntry(
                type="AgentActionResults",
                timestamp=line.began_at,
                action_type=action.action_type,
                target=action.target,
                args=action.args,
                result={
                    "success": action.error is None,
                    "error": action.error,
                    **({} if action.value is None else {"value": action.value}),
                    "duration_ms": round(action.duration_ms, 1),
                },
                source_url=action.url_before,
                body_html_before_last_action=action.html_before,
                body_html_after_last_action=html_after,
                metadata=metadata,
                reasoning=action.reasoning,
            )
        )
