"""Builds the trace of an imported recording: step order, secrets, and problems."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from kb_schema.execution_traces import ExecutionTrace, TraceActionResult, TraceStep, chain_pages
from kb_schema.selectors import Selector
from loaders.recordings.imported_traces import LEFT_OUT, ImportedTrace, names_a_secret

TYPING = frozenset({"fill", "append_text", "input_and_submit"})


class TraceBuilder:
    """Collects the steps of one recording."""

    def __init__(self, trace_id: str, source: str, *, task: str = "", **metadata: Any) -> None:
        # The name of a file may have bytes that are no text.
        self._id, self._task = trace_id.encode("utf-8", "replace").decode(), task
        self._metadata: dict[str, Any] = {"source": source, **metadata}
        self._steps: list[TraceStep] = []
        self._secrets: set[str] = set()
        self.problems: list[str] = []
        self.url: str | None = None
        """The address of the next step, as far as it is known."""
        self.tab = 0
        """The number of the next step's tab."""
        self.plain = ""
        """Words of the task itself are not secret."""

    def __len__(self) -> int:
        return len(self._steps)

    def problem(self, place: str, text: str) -> None:
        """Report that something was left out, and where."""
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
        """Add a step.

        With `secret` None, the field's names decide whether the value is secret. `opens_tab` and `download`
        (the file's name) are its side effects.
        """
        beside = {"tab": self.tab or None, "opens_tab": opens_tab, "download": download}
        metadata: dict[str, Any] = {key: effect for key, effect in beside.items() if effect is not None}
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
        """Record the answer to a dialog after the last step. Returns False without a step."""
        if not self._steps:
            return False
        last = self._steps[-1]
        self._steps[-1] = last.model_copy(update={"args": {**(last.args or {}), "on_dialog": answer}})
        return True

    def finished(self, *, error: str | None = None) -> ImportedTrace:
        """Return the trace."""
        effect = {**self._metadata, **({"problems": self.problems} if self.problems else {})}
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
            metadata=effect,
        )
        return ImportedTrace(trace, frozenset(self._secrets))
