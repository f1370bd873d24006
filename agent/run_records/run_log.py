"""Writes a session's run, steps and events to a store while the session works, without secrets.

A listener of the bus must neither wait nor raise, and a store does both: events are queued, and one task
writes them in order. If the store does not answer, the run goes on; what could not be written is sent again
with the next event, and `finish` raises the store's error if it remains. The session's trace with its pages
is `agent.run_records.session_trace`.

A visitor's words are left out (`Event.personal`). If they may be kept for some days, they become an event of
their own with the type `TYPE.words`, which expires then; its field `of` is the number of the event it
belongs to.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import hashlib
import json
import re
import time
import urllib.parse
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from agent.events import ActionDone, Event, ScreenSeen, StepEnded, StepStarted, WorkflowVersionFixed
from agent.ports import RunLogPort
from agent.run_context import RunContext
from kb_schema.execution_traces import element_id_of
from kb_schema.run_records import (
    Artifact,
    EvidenceLevel,
    Metric,
    RunEnding,
    RunResult,
    RunStatus,
    StepStatus,
    StoredRun,
    StoredStep,
)
from kb_schema.run_storage import EVENT_TTL_S, StoredEvent

LONGEST = 4_000
"""Characters of a text in a step or event; a longer one ends in an ellipsis."""

MAX_WAITING = 10_000
"""Events that wait for a store that does not answer; later ones are dropped. Steps are never dropped."""

BATCH = 200
"""Steps and events written in one batch."""

WORDS = ".words"
"""Ends the type of an event that holds a visitor's words and nothing else."""

_PAGES = frozenset({"html_before", "html_after", "value"})
"""Fields with the content of pages: it is in the trace."""
_STATUS = {StepStatus.DONE: "success", StepStatus.SKIPPED: "skipped", StepStatus.FAILED: "failed"}
"""Our step status -> PACTS's."""


@dataclasses.dataclass
class _RunningStep:
    """A step that began; steps nest when tasks call tasks."""

    task_id: str
    step_id: str
    action_type: str
    action: ActionDone | None = None
    """The page action that represents the step: the last one of the step's type, else the last one."""

    def note(self, action: ActionDone) -> None:
        """Add an action of this step."""
        if self.action is None or self._fits(action) or not self._fits(self.action):
            self.action = action

    def _fits(self, action: ActionDone) -> bool:
        return action.action_type == self.action_type


class RunLog:
    """Listens to a session's bus and stores its run. Call `begin`, listen, then `finish`."""

    def __init__(
        self, port: RunLogPort, run: StoredRun, context: RunContext, *, lasting_s: float = EVENT_TTL_S
    ) -> None:
        """`lasting_s`: seconds for which the run, and its events that are `lasting`, are stored."""
        self._port, self._context, self._lasting_s = port, context, lasting_s
        self._run = run.model_copy(update={"url": strip_url(run.url)})
        self._open: list[_RunningStep] = []
        self._screen_id: str | None = None
        self._workflow_version: str | None = None
        self._step_idx = self._seq = 0
        self._waiting: list[dict[str, Any]] = []
        """Steps and events in order, as the fields of `StoredStep` or `StoredEvent`."""
        self._wake, self._writing = asyncio.Event(), asyncio.Lock()
        self._writer: asyncio.Task[None] | None = None
        self.finished = False

    @property
    def run_id(self) -> str:
        """Id of the stored run."""
        return self._run.run_id

    # -- the run

    async def begin(self) -> None:
        """Store that the run begins or is resumed. Raises the store's error; nothing was done yet."""
        if not await self._port.begin_run(self._run):
            self._step_idx = len(await self._port.steps(self.run_id))
            while events := await self._port.events(self.run_id, after=self._seq - 1):
                self._seq = events[-1].seq + 1
        self._writer = asyncio.create_task(self._write(), name=f"run log {self.run_id}")

    async def finish(self, ending: RunEnding) -> None:
        """Write what is queued and how the run ended. Raises the store's error."""
        await self._stop()
        await self._flush()
        version = ending.workflow_version or self._workflow_version
        told = {**ending.model_dump(mode="json"), "workflow_version": version}
        await self._port.finish_run(self.run_id, RunEnding.model_validate(self._redacted(told)))
        self.finished = True

    def leave(self) -> None:
        """Another process resumes the run and will store its end."""
        self.finished = True

    async def close(self) -> None:
        """Stop writing and drop the queue. May be called repeatedly, and after `finish`."""
        await self._stop()

    async def add_file(self, name: str, artifact_type: str, path: Path) -> bool:
        """Store the path, hash and size of a file or folder; False if there is none."""
        measured = await asyncio.to_thread(compute_digest, path)
        if measured is None:
            return False
        place, file_hash, size = measured
        await self._port.put_artifact(
            Artifact(
                run_id=self.run_id,
                name=name,
                artifact_type=artifact_type,
                file_path=place,
                file_hash=file_hash,
                size_bytes=size,
                created_at=datetime.now(UTC),
            )
        )
        return True

    async def measure(self, name: str, value: float) -> None:
        """Store a measurement."""
        await self._port.add_metric(
            Metric(run_id=self.run_id, metric_name=name, metric_value=value, recorded_at=datetime.now(UTC))
        )

    # -- listening

    def __call__(self, event: Event) -> None:
        """Handle one event; the listener of the bus."""
        match event:
            case ScreenSeen(screen_id=screen_id):
                self._screen_id = screen_id
            case WorkflowVersionFixed(version=version):
                self._workflow_version = version
            case StepStarted(task_id=task_id, step_id=step_id, action_type=action_type):
                self._open.append(_RunningStep(task_id, step_id, action_type))
            case ActionDone() if self._open:
                self._open[-1].note(event)
            case StepEnded():
                self._keep(self._step(event))
        if len(self._waiting) < MAX_WAITING:
            self._keep_event(event)

    def _keep(self, fields: dict[str, Any]) -> None:
        self._waiting.append(fields)
        self._wake.set()

    def _keep_event(self, event: Event) -> None:
        """Queue an event without the visitor's words, and these separately if they may be kept."""
        data = {
            field.name: getattr(event, field.name)
            for field in dataclasses.fields(event)
            if field.name not in _PAGES
        }
        name = re.sub(r"(?<!^)(?=[A-Z])", "_", type(event).__name__).lower()
        words = {each: data.pop(each) for each in event.personal & data.keys()}
        self._keep(self._event(name, data, self._lasting_s if event.lasting else EVENT_TTL_S))
        kept_s = min(self._context.personal.kept_s, self._lasting_s)
        if words and kept_s > 0:
            self._keep(self._event(name + WORDS, {"of": self._seq - 1, **words}, kept_s))

    def _event(self, name: str, data: dict[str, Any], keep_s: float) -> dict[str, Any]:
        self._seq += 1
        # As JSON now: what an event carries may change afterwards.
        text = json.dumps(data, default=str)
        return {
            "seq": self._seq - 1,
            "type": name,
            "data": json.loads(text),
            "at": datetime.now(UTC),
            "keep_s": keep_s,
        }

    def _step(self, event: StepEnded) -> dict[str, Any]:
        step = next(
            (s for s in reversed(self._open) if (s.task_id, s.step_id) == (event.task_id, event.step_id)),
            None,
        )
        if step is None:
            step = _RunningStep(event.task_id, event.step_id, "")
        else:
            del self._open[self._open.index(step) :]
        self._step_idx += 1
        return {
            "step_idx": self._step_idx - 1,
            "action": step.action_type,
            **_target(step.action),
            "status": _STATUS[StepStatus(event.status)],
            "error_message": event.error,
            "executed_at": datetime.now(UTC),
            "task_id": event.task_id,
            "step_id": event.step_id,
            "screen_id": self._screen_id,
            "duration_ms": event.duration_ms,
        }

    # -- writing

    async def _write(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            # A store's errors are its own: whatever it raises, the run goes on, what waits is tried
            # again with the next event, and `finish` raises what is wrong then.
            with contextlib.suppress(Exception):
                await self._flush()

    async def _flush(self) -> None:
        """Write the queue; entries that were written are removed, the rest stays."""
        async with self._writing:
            while self._waiting:
                batch = self._waiting[:BATCH]
                await self._send([self._redacted({"run_id": self.run_id, **f}, LONGEST) for f in batch])
                del self._waiting[: len(batch)]

    async def _send(self, batch: list[dict[str, Any]]) -> None:
        for fields in batch:
            if "step_idx" in fields:
                await self._port.append_step(StoredStep.model_validate(fields))
        events: dict[float, list[StoredEvent]] = {}
        for fields in batch:
            if "seq" in fields:
                stored = {name: value for name, value in fields.items() if name != "keep_s"}
                events.setdefault(fields["keep_s"], []).append(StoredEvent.model_validate(stored))
        for keep_s, kept in events.items():
            await self._port.append_events(kept, keep_s=keep_s)

    async def _stop(self) -> None:
        """Stop the writer. A write that is cut off is repeated later and counts once."""
        if self._writer is not None:
            writer, self._writer = self._writer, None
            writer.cancel()
            await asyncio.wait([writer])

    def _redacted(self, data: dict[str, Any], longest: int | None = None) -> dict[str, Any]:
        words = str(data.get("type", "")).endswith(WORDS)
        without = self._context.redact if words else self._context.redact_kept
        cleaned: dict[str, Any] = _clean(without(data), longest)
        return cleaned


def strip_url(url: str) -> str:
    """Return a URL without user, password, query and fragment, which may be secret."""
    parts = urllib.parse.urlsplit(url)
    return urllib.parse.urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


def build_run_record(
    context: RunContext, *, website_id: str, url: str, kind: str, subject: str, req_id: str | None = None
) -> StoredRun:
    """Return the record of a run that begins now."""
    return StoredRun.model_validate(
        {
            "run_id": context.run_id,
            "req_id": req_id,
            "url": url,
            "started_at": datetime.now(UTC),
            "website_id": website_id,
            "kind": kind,
            "subject": subject,
        }
    )


def build_task_ending(result: RunResult) -> RunEnding:
    """Return how a task's run ended."""
    return RunEnding(
        status=result.status,
        evidence=result.evidence,
        finished_at=datetime.now(UTC),
        duration_ms=result.duration_ms,
        outputs=result.outputs,
        error=result.error,
        hint=result.hint,
    )


def build_error_ending(error: BaseException, started: float) -> RunEnding:
    """Return how a run ended that was cut off. `started`: of `time.monotonic`."""
    stopped = isinstance(error, asyncio.CancelledError | KeyboardInterrupt)
    return RunEnding(
        status=RunStatus.FAILURE,
        evidence=EvidenceLevel.UNVERIFIED,
        finished_at=datetime.now(UTC),
        duration_ms=(time.monotonic() - started) * 1_000,
        error="interrupted" if stopped else str(error) or type(error).__name__,
    )


def _target(action: ActionDone | None) -> dict[str, Any]:
    """Return PACTS's `element`, `selector`, `strategy` and `confidence` of an action on the page.

    If the selector has several strategies, it is unknown which one found the element; the whole selector is
    stored then.
    """
    if action is None:
        return {}
    found: dict[str, Any] = {"element": element_id_of(action.metadata)}
    if isinstance(action.target, str):
        return {**found, "selector": action.target}
    if not isinstance(action.target, dict):
        return found
    strategies = action.target.get("strategies") or [{}]
    if len(strategies) > 1:
        return {**found, "selector": json.dumps(strategies, ensure_ascii=False)}
    (only,) = strategies
    value = next((only[name] for name in ("value", "template", "name") if name in only), None)
    return {
        **found,
        "selector": value if value is not None else json.dumps(only, ensure_ascii=False),
        "strategy": only.get("type"),
        "confidence": only.get("confidence"),
    }


def _clean(data: Any, longest: int | None = None) -> Any:
    """Return texts that any store accepts: without lone surrogates, and at most `longest` long."""
    if isinstance(data, str):
        data = data.encode("utf-8", "replace").decode()
        return data if longest is None or len(data) <= longest else f"{data[: longest - 1]}…"
    if isinstance(data, dict):
        return {_clean(key, longest): _clean(value, longest) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [_clean(value, longest) for value in data]
    return data


def compute_digest(path: Path) -> tuple[str, str, int] | None:
    """Return the absolute path, SHA-256 and size of a file, or of all files of a folder together; None if
    there is nothing.
    """
    if path.is_file():
        return str(path.absolute()), _digest(path), path.stat().st_size
    if not path.is_dir():
        return None
    whole, size = hashlib.sha256(), 0
    for each in sorted(each for each in path.rglob("*") if each.is_file()):
        whole.update(json.dumps([each.relative_to(path).as_posix(), _digest(each)]).encode())
        size += each.stat().st_size
    return str(path.absolute()), whole.hexdigest(), size


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
