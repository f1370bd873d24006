"""A workflow of most of the traces, where all of them together leave gaps: people slip, recordings break off.

Only where what the others did leaves no gap at all, and as few are left out as can be. Which were, and what
they would have left open, is told.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from agent.synthesis.errors import TraceAlignmentError
from agent.synthesis.pipeline import MetaAgentPipeline, PipelineResult
from kb_schema.traces import ExecutionTrace

MOST_LEFT_OUT = 0.4
"""Share of the traces that may be left out: most of them have to agree."""
LEAST_KEPT = 3
MOST_TRIED = 40
"""Selections of traces that are tried."""


@dataclass(frozen=True, slots=True)
class Agreed:
    """What came out, of which traces."""

    result: PipelineResult
    left_out: tuple[str, ...] = ()
    """Ids of traces."""
    reason: str = ""
    """What all of them together left open."""


async def agreed(pipeline: MetaAgentPipeline, traces: Sequence[ExecutionTrace]) -> Agreed:
    """What all traces give, or, where that has gaps, the most of them that give a workflow without any.

    Where no such selection is found it is what all of them give. Raises what `from_traces` raises.
    """
    whole = await pipeline.from_traces(traces)
    reason = gap_of(whole)
    if reason is None or (whole.understanding is not None and whole.understanding.refusal is not None):
        return Agreed(whole)  # what sentences tell and nobody did is no slip of a few
    for out in _selections(traces, whole):
        result = await pipeline.from_traces([each for each in traces if each.trace_id not in out])
        if gap_of(result) is None:
            return Agreed(result, out, reason)
    return Agreed(whole)


def gap_of(result: PipelineResult) -> str | None:
    """Why a result is no workflow that runs by itself and does what its tasks say; None where it is one."""
    if result.lowered is None or result.synthesis_report is None:
        return str(result.error)
    if result.understanding is not None and result.understanding.refusal is not None:
        return result.understanding.refusal
    refusals = result.synthesis_report.refusals
    if refusals:
        return str(refusals[0])
    return "steps are left to an agent" if result.synthesis_report.agent_node_count else None


def _selections(traces: Sequence[ExecutionTrace], whole: PipelineResult) -> Iterator[tuple[str, ...]]:
    """Ids to leave out: what alignment itself says is unlike, then one, then two, and so on."""
    names = sorted(trace.trace_id for trace in traces)
    most = min(int(MOST_LEFT_OUT * len(names)), len(names) - LEAST_KEPT)
    tried = 0
    apart = whole.cause.trace_ids if isinstance(whole.cause, TraceAlignmentError) else []
    if 0 < len(apart) <= most:
        yield tuple(sorted(apart))
    for count in range(1, most + 1):
        for out in combinations(names, count):
            tried += 1
            if tried > MOST_TRIED:
                return
            yield out
