"""Puts the steps of a foreign recording together: order, secrets, and what could not be read."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from kb_schema.selectors import Selector
from kb_schema.traces import ExecutionTrace, TraceActionResult, TraceStep, chain_pages
from loaders.recordings.imported import LEFT_OUT, Imported, names_a_secret

TYPING = frozenset({"fill", "append_text", "input_and_submit"})


class TraceBuilder:
    """Collects the steps of one recording."""

    def __init__(self, trace_id: str, source: str, *, task: str = "", **metadata: Any) -> None:
        self._id, self._task = trace_id, task
        self._metadata: dict[str, Any] = {"source": source, **metadata}
        self._steps: list[TraceStep] = []
        self._secrets: set[str] = set()
        self.problems: list[str] = []
        self.url: str | None = None
        """Where the next step is done, as far as it is known."""
        self.tab = 0
        """Number of the tab that the next step is done in."""
        self.plain = ""
        """What the task itself tells is no secret."""

    def __len__(self) -> int:
        return len(self._steps)

    def problem(self, place: str, text: str) -> None:
        """Something was left out, and where it stands."""
        self.problems.append(f"{place}: {text}")

    def add(
        self,
        action: str,
        selector: Selector | None = None,
        value: Any = None,
        *,
        secret: bool | None = None,
        error: str | None = None,
        html_before: str | None = None,
        html_after: str | None = None,
        at: datetime | None = None,
        opens_tab: int | None = None,
        download: str | None = None,
        **args: Any,
    ) -> None:
        """One step. `secret` None: the field's own words tell. `opens_tab` and `download` (the file's name)
        are what it led to beside the page.
        """
        beside = {"tab": self.tab or None, "opens_tab": opens_tab, "download": download}
        metadata: dict[str, Any] = {key: told for key, told in beside.items() if told is not None}
        if secret is None:
            secret = names_a_secret(selector)
        if action in TYPING and secret and value:
            metadata["secret"] = True
            if str(value) not in self.plain:
                self._secrets.add(str(value))
                value = LEFT_OUT
        self._steps.append(
            TraceStep(
                action_type=action,
                target=None if selector is None else selector.model_dump(mode="json", exclude_none=True),
                args={**({} if value is None else {"value": value}), **args} or None,
                result=TraceActionResult(success=error is None, error=error),
                timestamp=at,
                html_before=html_before,
                html_after=html_after,
                source_url=self.url,
                metadata=metadata,
            )
        )

    def answered(self, answer: Any) -> bool:
        """The page asked something after the last step: how that was answered. False without a step."""
        if not self._steps:
            return False
        last = self._steps[-1]
        self._steps[-1] = last.model_copy(update={"args": {**(last.args or {}), "on_dialog": answer}})
        return True

    def finished(self, *, error: str | None = None) -> Imported:
        """The trace."""
        told = {**self._metadata, **({"problems": self.problems} if self.problems else {})}
        times = [step.timestamp for step in self._steps if step.timestamp is not None]
        trace = ExecutionTrace(
            trace_id=self._id,
            task_description=self._task,
            steps=chain_pages(tuple(self._steps)),
            success=error is None,
            error=error,
            start_time=times[0] if times else None,
            end_time=times[-1] if times else None,
            turn_count=1,
            metadata=told,
        )
        return Imported(trace, frozenset(self._secrets))
