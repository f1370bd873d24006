"""Steps of demonstrations that the application refused (`agent.recording.recorded_writes` notes them).

A refused press that was repeated with success is no part of the task. A demonstration that ends refused shows no success,
and one with a refused write in its middle may have done something else than the others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from kb_schema.execution_traces import ANSWERS, REFUSAL, WARNING, ExecutionTrace, TraceStep
from kb_schema.probes import AcceptedWrite

_REFUSED = 400
LEAST_ACCEPTED = 2
"""Minimum number of demonstrations that show what a control sends."""
_WARNED = "the application warned after {name!r} ({warning}), and not in the other demonstrations: was it meant to show a refusal?"
_REFUSED_MIDWAY = (
    "the application refused {name!r} ({refusal}), and it was not repeated: was it meant to show a refusal?"
)
_UNSENT = "{name!r} sent something in the other demonstrations and nothing in this one: was it meant to show a refusal?"


def refusal_of(step: TraceStep) -> str | None:
    """Return what the application said when it refused the step; None if it did not."""
    told = step.metadata.get(REFUSAL)
    return told if isinstance(told, str) else None


def find_final_refusal(trace: ExecutionTrace) -> str | None:
    """Return the question about a demonstration of which the last write was refused; None if it was not."""
    sending = [step for step in trace.steps if refusal_of(step) is not None or _was_accepted(step)]
    refusal = refusal_of(sending[-1]) if sending else None
    if refusal is None:
        return None
    return f"the application refused {_name(sending[-1])!r} ({refusal}): was this demonstration meant to show a refusal?"


def find_refused_midway(traces: Sequence[ExecutionTrace]) -> dict[str, str]:
    """Return the question about each trace with a write that was refused and not repeated with success, by its id.

    What every one of several traces has is none: the application answers so whoever does the task.
    """
    refused = {
        trace.trace_id: [step for step in drop_refused_steps(trace.steps) if _has_refused_write(step)]
        for trace in traces
    }
    everywhere = (
        set.intersection(*({_control(step) for step in steps} for steps in refused.values()))
        if len(traces) > 1
        else set()
    )
    counted = {
        name: [step for step in steps if _control(step) not in everywhere] for name, steps in refused.items()
    }
    return {
        name: _REFUSED_MIDWAY.format(name=_name(steps[0]), refusal=refusal_of(steps[0]))
        for name, steps in counted.items()
        if steps
    }


def find_unsent(traces: Sequence[ExecutionTrace]) -> dict[str, str]:
    """Return the question about each trace that pressed the last control in vain, by its id.

    In vain: most traces end with a write that this control sent and the application accepted, and the trace sent
    nothing from its press on. So ends a form which the page refuses without a mark that anybody could read.
    """
    last = {trace.trace_id: next(filter(_was_accepted, reversed(trace.steps)), None) for trace in traces}
    controls = Counter(_control(step) for step in last.values() if step is not None)
    control, count = controls.most_common(1)[0] if controls else (("", ""), 0)
    if not control[1] or count < LEAST_ACCEPTED or count <= len(traces) / 2:
        return {}
    return {
        trace.trace_id: _UNSENT.format(name=control[1])
        for trace in traces
        if _pressed_in_vain(trace.steps, control)
    }


def find_warned(traces: Sequence[ExecutionTrace]) -> dict[str, str]:
    """Return the question about each trace after whose last write the application warned, by its id.

    Most traces ended without a warning. So an application says that it left everything as it was.
    """
    last = {trace.trace_id: next(filter(_was_accepted, reversed(trace.steps)), None) for trace in traces}
    warned = {name: step for name, step in last.items() if step is not None and WARNING in step.metadata}
    others = sum(step is not None for step in last.values()) - len(warned)
    if others < LEAST_ACCEPTED or others <= len(traces) / 2:
        return {}
    return {
        name: _WARNED.format(name=_name(step), warning=step.metadata[WARNING])
        for name, step in warned.items()
    }


def _pressed_in_vain(steps: Sequence[TraceStep], control: tuple[str, str]) -> bool:
    """Whether the control was pressed, and nothing that was accepted was sent from its first press on."""
    pressed = next((index for index, step in enumerate(steps) if _control(step) == control), None)
    return pressed is not None and not any(map(_was_accepted, steps[pressed:]))


def _control(step: TraceStep) -> tuple[str, str]:
    """Return an action and what its control is called; no name if it has none."""
    said = step.metadata.get("said")
    return step.action_type, said if isinstance(said, str) else ""


def drop_refused_steps(steps: Sequence[TraceStep]) -> list[TraceStep]:
    """Return the steps without refused presses that were repeated with success."""
    return [step for index, step in enumerate(steps) if not _is_repeated(step, steps[index + 1 :])]


def _is_repeated(step: TraceStep, later: Sequence[TraceStep]) -> bool:
    if refusal_of(step) is None:
        return False
    return any(
        refusal_of(each) is None
        and (_is_same_control(step, each) or bool(_addresses(step) & _accepted(each)))
        for each in later
    )


def _is_same_control(one: TraceStep, other: TraceStep) -> bool:
    return one.target is not None and (one.action_type, one.target) == (other.action_type, other.target)


def _answers(step: TraceStep) -> list[dict[str, Any]]:
    told = step.metadata.get(ANSWERS)
    return [each for each in told if isinstance(each, dict)] if isinstance(told, list) else []


def _has_refused_write(step: TraceStep) -> bool:
    statuses = (each.get("status") for each in _answers(step))
    return refusal_of(step) is not None and any(
        isinstance(status, int) and status >= _REFUSED for status in statuses
    )


def _addresses(step: TraceStep) -> set[tuple[Any, Any]]:
    return {(each.get("method"), each.get("url")) for each in _answers(step)}


def list_accepted_writes(step: TraceStep) -> list[AcceptedWrite]:
    """Return what a step sent and the application accepted."""
    return [
        AcceptedWrite(str(each.get("method")), str(each.get("url")), each["status"])
        for each in _answers(step)
        if isinstance(each.get("status"), int) and 0 < each["status"] < _REFUSED
    ]


def _accepted(step: TraceStep) -> set[tuple[Any, Any]]:
    return {(each.method, each.url) for each in list_accepted_writes(step)}


def _was_accepted(step: TraceStep) -> bool:
    return refusal_of(step) is None and bool(_accepted(step))


def _name(step: TraceStep) -> str:
    said = step.metadata.get("said")
    return said if isinstance(said, str) and said else step.action_type
