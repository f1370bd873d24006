"""The trace model: what was done on a site in one run, step by step (MA, trace models).

Runs write traces, recordings and imports are converted to them, and synthesis reads them. `session_reader`
turns a session's folder into a trace.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import PurePath
from typing import Any

from pydantic import Field, JsonValue

from kb_schema.base import Model

EXPECTED = "expected"
"""Metadata key of a trace: conditions that an imported recording checks at its end."""

SOURCE = "source"
"""Metadata key of a trace: the format from which it was imported. Imports do not tell what was sent."""


class TraceActionResult(Model):
    """The result of one action (MA `TraceActionResult`)."""

    success: bool = True
    action_skipped: bool = False
    skip_reason: str | None = None
    value: JsonValue = None
    """The value that the action read, if it reads."""
    error: str | None = None


class TraceStep(Model):
    """One action of a trace (MA `TraceStep`)."""

    action_type: str = Field(min_length=1)
    target: Any = None
    """The target as it was logged: a selector's JSON, a string, or `true` for a person.

    A normalised step has a `Selector`, `True` or None.
    """
    args: dict[str, Any] | None = None
    result: TraceActionResult | None = None
    timestamp: datetime | None = None
    html_before: str | None = None
    html_after: str | None = None
    source_url: str | None = None
    action_group_index: int = 0
    """The sequential group of its turn that it belongs to."""
    parallel_index: int = 0
    reasoning: str | None = None
    metadata: dict[str, Any] = Field(default_factory=dict)


class ExecutionTrace(Model):
    """One run (MA `ExecutionTrace`)."""

    trace_id: str = Field(min_length=1)
    task_description: str = ""
    steps: tuple[TraceStep, ...] = ()
    input_data: dict[str, Any] | None = None
    success: bool = True
    error: str | None = None
    start_time: datetime | None = None
    end_time: datetime | None = None
    session_dir: str | None = None
    turn_count: int = 0
    metadata: dict[str, Any] = Field(default_factory=dict)

    @property
    def content_digest(self) -> str:
        """A digest that is equal for two traces in which the same was done and seen.

        Names and times do not count.
        """
        content = {
            "task": self.task_description,
            "inputs": self.input_data,
            "success": self.success,
            "steps": [_content(step) for step in self.steps],
        }
        return hashlib.sha256(json.dumps(content, sort_keys=True, default=_plain).encode()).hexdigest()


def _content(step: TraceStep) -> list[Any]:
    pages = [None if html is None else _digest(html) for html in (step.html_before, step.html_after)]
    return [
        step.action_type,
        step.target,
        step.args,
        step.result,
        step.source_url,
        step.action_group_index,
        step.parallel_index,
        step.reasoning,
        step.metadata,
        *pages,
    ]


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _plain(value: Any) -> Any:
    return value.model_dump(mode="json") if isinstance(value, Model) else str(value)


ELEMENT_ID = "element_id"
"""The key in a step's metadata for the knowledge base's id of the element (`screen.element`)."""
ELEMENT_ID_BEFORE = "element"
"""The key that traces written before 2026-11-23 use instead."""
LOCATED_BY = "located_by"
"""The key in a step's metadata for what the target is: absent, what a recorder saw of the page."""
BY_KNOWLEDGE = "knowledge"
"""The target is a selector of the knowledge base, filled with the values of the run."""
CLOSES_OVERLAY = "closes_overlay"
"""The key in a step's metadata for a step that closed an overlay of the knowledge base: every run closes it by itself."""


ANSWERS = "answers"
"""The key in a step's metadata for the writes that it began: method, address and HTTP status of each."""
REFUSAL = "refusal"
"""The key in a step's metadata for what the application said when it refused the step."""
WARNING = "warning"
"""The key in a step's metadata for what the application warned of when it accepted what the step sent."""


def element_id_of(metadata: Mapping[str, Any] | None) -> str | None:
    """Return the knowledge base's id of the element that a step acted on, or None."""
    fields = metadata or {}
    found = fields.get(ELEMENT_ID, fields.get(ELEMENT_ID_BEFORE))
    return found if isinstance(found, str) else None


def name_traces(traces: Iterable[ExecutionTrace]) -> dict[str, str]:
    """Return what people call each trace, by its id: the name of its session folder, where that is its alone."""
    folders = {
        trace.trace_id: PurePath(trace.session_dir).name if trace.session_dir else "" for trace in traces
    }
    counts = Counter(folders.values())
    return {each: name if name and counts[name] == 1 else each for each, name in folders.items()}


def chain_pages(steps: tuple[TraceStep, ...]) -> tuple[TraceStep, ...]:
    """Fill in a missing `html_before` with the `html_after` of the step before (MA, html_before chaining)."""
    chained: list[TraceStep] = []
    for step in steps:
        before = chained[-1].html_after if chained else None
        missing = step.html_before is None and before is not None
        chained.append(step.model_copy(update={"html_before": before}) if missing else step)
    return tuple(chained)
