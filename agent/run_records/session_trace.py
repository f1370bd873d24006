"""Writes the trace of a session while it runs, in MA's format (`kb_schema.session_writer`).

One turn per requested task. A line is written when the next action begins, because that action's
`html_before` is this line's `html_after`, or when the trace is closed. Secrets are removed before anything
is written.
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from agent.events import ActionDone, Event, TaskEnded, TaskStarted
from agent.run_context import RunContext
from kb_schema.run_records import TraceEntry
from kb_schema.session_writer import SessionWriter


class SessionTrace:
    """Listens to a session's bus and writes its folder."""

    def __init__(self, folder: Path, *, website_id: str, context: RunContext) -> None:
        """Begin a session in `folder`. Raises `FileExistsError` if the folder holds one already."""
        self._writer = SessionWriter(
            folder, session_id=context.run_id, website_id=website_id, clean=context.redact_kept
        )
        self._pending: ActionDone | None = None

    def __call__(self, event: Event) -> None:
        """Handle one event; the listener of the bus."""
        match event:
            case TaskStarted(task_id=task_id, name=name, depth=0):
                self._flush(None)
                self._writer.begin_turn(task_id, name)
            case TaskEnded(status=status, depth=0) if self._writer.turns:
                self._writer.end_turn(status)
            case ActionDone():
                self._flush(event.html_before)
                self._pending = event

    def close(self, html_after: str | None = None, *, complete: bool) -> None:
        """Write what is pending. `complete`: the session ended by itself, not by an error or a person."""
        self._flush(html_after)
        self._writer.close(complete=complete)

    def _flush(self, html_after: str | None) -> None:
        action, self._pending = self._pending, None
        if action is None:
            return
        if not self._writer.turns:
            self._writer.begin_turn("", "on the way")
        self._writer.write(
            TraceEntry(
                type="AgentActionResults",
                timestamp=datetime.now(UTC),
                action_type=action.action_type,
                target=action.target,
                args=action.args,
                result={
                    "success": action.error is None,
                    "error": action.error,
                    "duration_ms": round(action.duration_ms, 1),
                    "url_after": action.url_after,
                },
                source_url=action.url_before,
                body_html_before_last_action=action.html_before,
                body_html_after_last_action=html_after,
                metadata=action.metadata or {},
            )
        )
