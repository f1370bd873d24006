"""Compares a run of a workflow with the trace that shows what it should do: step by step, and in its effects (MA 8).

The run has the inputs of the trace. Steps that few other traces have are no part of the task and may be missing. Fields
may be filled in another order between two presses. A run may do more on its way (close a banner, sign in), but it may
neither fill a field that the trace left alone, nor press the trace's control in another row, nor send anything else.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from agent.redaction import REDACTED
from agent.synthesis.alignment.step_equivalence import are_equivalent, assign_step_symbols
from agent.synthesis.graph.graph_validation import ValidationResult
from agent.synthesis.synthesis_prompts import render_step
from agent.synthesis.traces.field_words import FIELD_ACTIONS
from agent.synthesis.traces.refused_steps import list_accepted_writes
from agent.synthesis.traces.trace_pages import TracePages, build_path_template
from agent.synthesis.traces.trace_preparation import convert_targets, normalize_traces
from kb_schema.execution_traces import ExecutionTrace, TraceStep
from kb_schema.templates import as_text

USUAL_SHARE = 1 / 3
"""A step that at most this share of the other traces has is noise, as in synthesis."""
_UNCOMPARED = frozenset({"wait", "scroll", "scroll_to_element", "hover", "focus"})

_Write = tuple[str, str]
"""Method and path, with `*` for the parts that look like ids."""


@dataclass(frozen=True, slots=True)
class ExpectedRun:
    """What a run with the inputs of a trace should do."""

    trace: ExecutionTrace
    others: tuple[ExecutionTrace, ...] = ()
    """Further traces of the task: what they have in common with it is the task."""
    inputs: Mapping[str, Any] = field(default_factory=dict)
    """The inputs that the trace shows and the run has; a run must enter these values where the trace does."""
    stepwise: bool = True
    """False for a task that repeats over what the page shows, which may be something else now."""


@dataclass(frozen=True, slots=True)
class _Divergence:
    at: int
    expected: str
    actual: str


def compare_run(done: ExecutionTrace, expected: ExpectedRun) -> ValidationResult:
    """Return whether a run did what its trace shows, and else where it differs first, with both sides in words."""
    pages = TracePages()
    told = convert_targets(normalize_traces([expected.trace, *expected.others, done]), pages)
    rows = [[step for step in trace.steps if step.action_type not in _UNCOMPARED] for trace in told]
    apart = None
    if expected.stepwise:
        apart = _StepComparison(rows, assign_step_symbols(rows, pages), _list_values(expected.inputs)).find()
    if apart is None and not done.success:
        apart = _Divergence(len(rows[0]), "the run ends with success", f"it failed: {done.error}")
    if apart is None:
        apart = _compare_writes(rows, counted=expected.stepwise) or _compare_ends(rows)
    shown = dict(expected.inputs)
    if apart is None:
        return ValidationResult(shown, passed=True)
    return ValidationResult(
        shown,
        passed=False,
        divergence_point=apart.at,
        expected_outcome=apart.expected,
        actual_outcome=apart.actual,
        error=done.error,
    )


def _list_values(inputs: Mapping[str, Any]) -> frozenset[str]:
    found: set[str] = set()
    for value in inputs.values():
        found |= {as_text(each) for each in (value if isinstance(value, list | tuple) else [value])}
    return frozenset(found - {""})


@dataclass(slots=True)
class _StepComparison:
    """Compares the steps of the first row (the trace) with those of the last (the run); the others say what is usual."""

    rows: Sequence[Sequence[TraceStep]]
    symbols: Sequence[Sequence[int]]
    values: Collection[str]

    def find(self) -> _Divergence | None:
        """Return the first step at which the run differs."""
        its, mine = self.rows[0], self.rows[-1]
        taken: set[int] = set()
        pressed = -1
        for at, step in enumerate(its):
            is_field = step.action_type in FIELD_ACTIONS
            places = [
                place
                for place in range(pressed + 1, len(mine))
                if place not in taken and are_equivalent(step, mine[place])
            ]
            if not places:
                if self._is_usual(self.symbols[0][at]):
                    return _Divergence(at, render_step(step), self._describe_instead(at, taken, pressed))
                continue
            taken.add(places[0])
            value = self._find_other_value(at, mine[places[0]])
            if value is not None:
                return value
            pressed = pressed if is_field else places[0]
        return self._find_surplus(taken)

    def _is_usual(self, symbol: int) -> bool:
        others = self.symbols[1:-1]
        having = sum(symbol in row for row in others)
        return not others or having > len(others) * USUAL_SHARE

    def _describe_instead(self, at: int, taken: Collection[int], pressed: int) -> str:
        """Return what the run did in place of a step: the same control elsewhere, else its next step."""
        mine, symbols = self.rows[-1], self.symbols[-1]
        left = [place for place in range(pressed + 1, len(mine)) if place not in taken]
        alike = [place for place in left if symbols[place] == self.symbols[0][at]]
        place = next(iter(alike or left), None)
        return "the run did nothing more" if place is None else render_step(mine[place])

    def _find_other_value(self, at: int, step: TraceStep) -> _Divergence | None:
        its = self.rows[0][at]
        wanted, found = ((each.args or {}).get("value") for each in (its, step))
        if wanted is None or wanted == found or REDACTED in (wanted, found):
            return None
        if as_text(wanted) in self.values or self._is_constant(self.symbols[0][at], wanted):
            return _Divergence(at, render_step(its), render_step(step))
        return None

    def _is_constant(self, symbol: int, value: Any) -> bool:
        """Whether several traces have this step, all with this value."""
        seen = [
            (step.args or {}).get("value")
            for row, symbols in zip(self.rows[:-1], self.symbols[:-1], strict=True)
            for step, its in zip(row, symbols, strict=True)
            if its == symbol
        ]
        return len(seen) > 1 and all(each == value for each in seen)

    def _find_surplus(self, taken: Collection[int]) -> _Divergence | None:
        known = set(self.symbols[0])
        for place, step in enumerate(self.rows[-1]):
            if place in taken:
                continue
            symbol = self.symbols[-1][place]
            if step.action_type in FIELD_ACTIONS and symbol not in known:
                return _Divergence(len(self.rows[0]), "no such step", render_step(step))
            again = any(are_equivalent(step, each) for each in self.rows[0])
            if symbol in known and not again:
                return _Divergence(len(self.rows[0]), "no such step", render_step(step))
        return None


def _read_writes(steps: Sequence[TraceStep]) -> Counter[_Write]:
    return Counter(
        (write.method, build_path_template(write.url))
        for step in steps
        for write in list_accepted_writes(step)
    )


def _compare_writes(rows: Sequence[Sequence[TraceStep]], *, counted: bool) -> _Divergence | None:
    """Compare what was sent and accepted. `counted`: also how often, where all traces send it once."""
    its, *others, mine = [_read_writes(row) for row in rows]
    end = len(rows[0])
    for write, count in sorted(its.items()):
        usual = not others or sum(write in each for each in others) > len(others) * USUAL_SHARE
        once = count == 1 and all(each[write] == 1 for each in others)
        if usual and not mine[write]:
            return _Divergence(end, f"it sends {_name(write)}", "the run did not send it")
        if counted and once and mine[write] > 1:
            return _Divergence(end, f"it sends {_name(write)} once", f"the run sent it {mine[write]} times")
    known = set(its).union(*others)
    for write in sorted(mine):
        if known and write not in known:
            return _Divergence(end, "nothing else is sent", f"the run sent {_name(write)}")
    return None


def _name(write: _Write) -> str:
    return " ".join(write)


def _compare_ends(rows: Sequence[Sequence[TraceStep]]) -> _Divergence | None:
    """Compare the path at the end, if all traces end at one."""
    ends = [build_path_template(row[-1].metadata.get("url_after")) if row else "" for row in rows]
    *shown, mine = ends
    if not mine or len(set(shown)) != 1 or not shown[0] or shown[0] == mine:
        return None
    return _Divergence(len(rows[0]), f"it ends at {shown[0]}", f"the run ended at {mine}")
