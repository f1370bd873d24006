"""Finds transitions that sessions show and the knowledge base lacks, with their durations."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from agent.synthesis.traces.trace_normalization import TraceNormalizer
from kb_schema import KnowledgeBase, action_types
from kb_schema.action_calls import ActionCall
from kb_schema.execution_traces import ExecutionTrace, TraceStep
from kb_schema.graph_documents import Transition
from kb_schema.proposals import ReportedSupport, TransitionChange
from kb_schema.selectors import Selector, SessionStrategy
from kb_schema.session_reader import SessionUnreadable, read_manifest
from periplus.learned_screens.learning_proposals import LearnedChange, build_run_id, build_seen_page


@dataclass(frozen=True, slots=True)
class _TakenTransition:
    """One occurrence of a transition."""

    run: str
    ms: float | None
    before: str
    after: str


def find_new_transitions(
    knowledge: KnowledgeBase, told: Mapping[tuple[int, int], str], traces: Sequence[ExecutionTrace]
) -> Iterator[LearnedChange]:
    """Return one change per transition, supported by every session with it. `told` maps steps to screens."""
    have = {
        (edge.from_screen, edge.to_screen, edge.triggered_by.canonical_type)
        for edge in knowledge.transitions.values()
    }
    taken: dict[tuple[str, str, str], dict[str, list[_TakenTransition]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for number, trace in enumerate(traces):
        durations = _durations(trace)
        for at, step in enumerate(trace.steps[:-1]):
            start, end = told.get((number, at)), told.get((number, at + 1))
            call = _call(step)
            if call is None or start is None or end is None or start == end:
                continue
            if (start, end, call.canonical_type) not in have:
                after = trace.steps[at + 1].source_url or ""
                taken[start, end, call.canonical_type][json.dumps(call.to_json(), sort_keys=True)].append(
                    _TakenTransition(
                        build_run_id(trace.trace_id), durations.get(at), step.source_url or "", after
                    )
                )
    for (start, end, _), by_call in sorted(taken.items()):
        # Of several controls, use the most frequent one; if each was used once, they are list rows.
        said, times = max(by_call.items(), key=lambda each: (len(each[1]), each[0]))
        if len(by_call) > 1 and len(times) == 1:
            continue
        change = TransitionChange(type="transition", transition=_transition(start, end, said, times))
        for each in {one.run: one for one in reversed(times)}.values():
            note = f"led from {start} to {end}" + (f" in {each.ms:.0f} ms" if each.ms is not None else "")
            seen = (build_seen_page(each.before, "before"), build_seen_page(each.after, "after"))
            yield LearnedChange(change, ReportedSupport(run_id=each.run, note=note, seen=seen))


def _transition(start: str, end: str, call: str, times: Sequence[_TakenTransition]) -> Transition:
    measured = [each.ms for each in times if each.ms is not None]
    return Transition.model_validate(
        {
            "type": "transition",
            "_from": start,
            "_to": end,
            "triggered_by": json.loads(call),
            "duration": {"avg_duration_ms": round(sum(measured) / len(measured), 1)} if measured else {},
        }
    )


def _call(step: TraceStep) -> ActionCall | None:
    """Return the step as a transition's action: successful, on an element, and without a value; else None."""
    if step.result is not None and (not step.result.success or step.result.action_skipped):
        return None
    try:
        normal = TraceNormalizer().normalize_step(step)
    except (ValidationError, TypeError, ValueError):
        return None
    known = action_types.action_type(normal.action_type)
    target = normal.target
    if known is None or known.takes_value or not isinstance(target, Selector):
        return None
    lasting = tuple(each for each in target.strategies if not isinstance(each, SessionStrategy))
    if not lasting:
        return None
    return ActionCall(
        action_type=normal.action_type, target=target.model_copy(update={"strategies": lasting})
    )


def _durations(trace: ExecutionTrace) -> dict[int, float]:
    """Return the duration of each step in milliseconds, from the session's log."""
    if trace.session_dir is None:
        return {}
    folder = Path(trace.session_dir)
    try:
        logs = [folder / turn.path for turn in read_manifest(folder).turns if turn.path]
        lines = [
            json.loads(line) for log in logs for line in log.read_text("utf-8").splitlines() if line.strip()
        ]
    except (OSError, ValueError, SessionUnreadable):
        return {}
    done = [each for each in lines if isinstance(each, dict) and each.get("type") == "AgentActionResults"]
    if len(done) != len(trace.steps):
        return {}  # some log lines are not steps, so durations cannot be assigned
    results = [each.get("result") for each in done]
    return {
        at: float(each["duration_ms"])
        for at, each in enumerate(results)
        if isinstance(each, dict) and isinstance(each.get("duration_ms"), int | float)
    }
