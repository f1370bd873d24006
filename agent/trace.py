"""Writes a session's trace: `manifest.json`, `turn_001/session.jsonl`, `session.jsonl.parts/` (MA).

One turn per task that was asked for. A line is written as soon as the action after it begins (its
`html_after` is that action's `html_before`) or the trace is closed. Secrets are taken out before
anything gets here.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from agent.context import Context
from agent.events import ActionDone, Event, TaskEnded, TaskStarted
from kb_schema.runs import TraceEntry

MANIFEST = "manifest.json"
PART_FROM_CHARS = 2_000
"""Longer texts go into a file of their own."""


class SessionTrace:
    """Listens to a session's bus and writes its folder."""

    def __init__(self, folder: Path, *, website_id: str, context: Context) -> None:
        """Begin a session in `folder`. Raises `FileExistsError` where it holds one already: two
        sessions would be told apart by nothing.
        """
        if (folder / MANIFEST).exists():
            raise FileExistsError(f"{folder} holds a session already")
        self._folder = folder
        self._context = context
        self._turns: list[dict[str, Any]] = []
        self._pending: ActionDone | None = None
        self._lines = 0
        self._manifest: dict[str, Any] = {
            "session_id": context.run_id,
            "website_id": website_id,
            "created_at": datetime.now(UTC).isoformat(),
            "turns": self._turns,
            "complete": False,
        }
        folder.mkdir(parents=True, exist_ok=True)
        self._write_manifest()

    def __call__(self, event: Event) -> None:
        """The bus's listener."""
        match event:
            case TaskStarted(task_id=task_id, name=name, depth=0):
                self._begin_turn(task_id, name)
            case TaskEnded(status=status, depth=0) if self._turns:
                self._turns[-1] |= {"status": status, "ended_at": datetime.now(UTC).isoformat()}
                self._write_manifest()
            case ActionDone():
                self._flush(event.html_before)
                self._pending = event

    def close(self, html_after: str | None = None, *, complete: bool) -> None:
        """Write what is pending. `complete`: the session ended by itself, not by an error or a person."""
        self._flush(html_after)
        self._manifest["complete"] = complete
        self._manifest["ended_at"] = datetime.now(UTC).isoformat()
        self._write_manifest()

    def _begin_turn(self, task_id: str, name: str) -> None:
        self._flush(None)
        number = len(self._turns) + 1
        folder = f"turn_{number:03d}"
        (self._folder / folder).mkdir(exist_ok=True)
        self._turns.append(
            {
                "turn": number,
                "path": f"{folder}/session.jsonl",
                "task_id": task_id,
                "task_description": name,
                "started_at": datetime.now(UTC).isoformat(),
            }
        )
        self._lines = 0
        self._write_manifest()

    def _flush(self, html_after: str | None) -> None:
        action, self._pending = self._pending, None
        if action is None:
            return
        if not self._turns:
            self._begin_turn("", "on the way")
        self._lines += 1
        entry = TraceEntry(
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
            body_html_before_last_action=self._part("before", action.html_before),
            body_html_after_last_action=self._part("after", html_after),
            metadata=action.metadata or {},
        )
        path = self._folder / self._turns[-1]["path"]
        with path.open("a", encoding="utf-8") as log:
            log.write(json.dumps(entry.model_dump(mode="json"), ensure_ascii=False) + "\n")

    def _part(self, which: str, text: str | None) -> Any:
        """The text, or a reference to the file it was put into."""
        if text is None:
            return None
        text = self._context.redact(text)
        if len(text) < PART_FROM_CHARS:
            return text
        log = self._folder / self._turns[-1]["path"]
        parts = log.with_name(f"{log.name}.parts")
        parts.mkdir(exist_ok=True)
        name = f"{self._lines:04d}_html_{which}.html"
        (parts / name).write_text(text, encoding="utf-8")
        return {"__parts_file__": f"{parts.name}/{name}"}

    def _write_manifest(self) -> None:
        """Written beside and moved into place: a crash leaves the old one whole."""
        path = self._folder / MANIFEST
        fresh = path.with_suffix(".json.new")
        fresh.write_text(json.dumps(self._manifest, indent=2, ensure_ascii=False), encoding="utf-8")
        fresh.replace(path)
