"""What all traces showed before and after a step.

Only the address is used: the path that all traces have, with the parts that vary as gaps. At least two different
traces must show it. What a step leads to, and was not there before it, is its postcondition. Texts are none:
another release words them otherwise (docs/decisions/0054-step-conditions.md).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from agent.synthesis.alignment.aligned_traces import AlignedPosition, AlignedTraceSet
from agent.synthesis.patterns.end_addresses import build_address_pattern
from agent.synthesis.patterns.extracted_patterns import ExtractedPatterns
from kb_schema.conditions import Condition, UrlMatches
from kb_schema.execution_traces import TraceStep
from kb_schema.url_patterns import matches_pattern, origin_of

LEAST_TRACES = 2
_ACTING = frozenset({"click", "double_click", "right_click", "drag", "press", "input_and_submit"})


def infer_postconditions(aligned: AlignedTraceSet, patterns: ExtractedPatterns) -> Mapping[int, Condition]:
    """Return the postcondition of each position that every trace has and that leads to another address."""
    found: dict[int, Condition] = {}
    for position in _steady(patterns):
        pattern = _common_address(aligned, position)
        if pattern is not None:
            found[position.index] = UrlMatches(type="url_matches", pattern=pattern)
    return found


def find_step_address(position: AlignedPosition) -> Condition | None:
    """Return the condition of the address on which all traces performed a step; None if they do not prove one."""
    urls = [step.source_url or "" for step in position.observed]
    if len({trace_id for trace_id, _ in position.cells}) < LEAST_TRACES or not all(urls):
        return None
    pattern = build_address_pattern(urls)
    return None if pattern is None else UrlMatches(type="url_matches", pattern=pattern)


def _steady(patterns: ExtractedPatterns) -> Iterator[AlignedPosition]:
    yield from patterns.deterministic_steps
    yield from (position for position, _ in patterns.parameterizable_steps)


def _common_address(aligned: AlignedTraceSet, position: AlignedPosition) -> str | None:
    """Return the pattern of the address after a step; None if the traces do not prove one."""
    moves = []
    for trace_id in aligned.distinct_ids:
        cell = position.cells.get((trace_id, ()))
        trace = aligned.traces.get(trace_id)
        if cell is None or trace is None or cell.step_index + 1 >= len(trace.steps):
            return None
        moves.append((cell.step, trace.steps[cell.step_index + 1]))
    if len(moves) < LEAST_TRACES or not all(_moves_on(*move) for move in moves):
        return None
    pattern = build_address_pattern([after.source_url or "" for _, after in moves])
    if pattern is None or any(matches_pattern(pattern, step.source_url or "") for step, _ in moves):
        return None
    return pattern


def _moves_on(step: TraceStep, after: TraceStep) -> bool:
    """Whether a step may have led to the address of the next one, in its tab and on its site."""
    if step.action_type not in _ACTING or after.action_type == "navigate":
        return False
    if (step.args or {}).get("new_tab") or step.metadata.get("tab") != after.metadata.get("tab"):
        return False
    one, other = step.source_url or "", after.source_url or ""
    return bool(other) and one != other and origin_of(one) == origin_of(other)
