"""Synthesis that leaves out a few faulty traces: people make mistakes, and recordings break off.

A trace is left out only if the remaining traces give a complete workflow. As few as possible are left
out, and the result names them with the reason.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from agent.synthesis.errors import TraceAlignmentError
from agent.synthesis.synthesis_pipeline import MetaAgentPipeline, PipelineResult
from kb_schema.execution_traces import ExecutionTrace

MOST_LEFT_OUT = 0.4
"""Maximum share of the traces that may be left out."""
LEAST_KEPT = 3
MOST_TRIED = 40
"""Maximum number of selections of traces to try."""


@dataclass(frozen=True, slots=True)
class ConsensusResult:
    """The result of a synthesis, and the traces that were left out of it."""

    result: PipelineResult
    left_out: tuple[str, ...] = ()
    """Ids of the traces that were left out."""
    reason: str = ""
    """Why a synthesis of all traces was incomplete."""


async def synthesize_consensus(
    pipeline: MetaAgentPipeline, traces: Sequence[ExecutionTrace]
) -> ConsensusResult:
    """Synthesize all traces; if the workflow is incomplete, find the largest complete selection of them.

    Returns the result of all traces if no selection is complete. Raises as `from_traces` does.
    """
    whole = await pipeline.from_traces(traces)
    reason = find_gap(whole)
    if reason is None or _is_told_otherwise(whole):
        return ConsensusResult(whole)
    for out in _selections(traces, whole):
        result = await pipeline.from_traces([each for each in traces if each.trace_id not in out])
        if find_gap(result) is None:
            return ConsensusResult(result, out, reason)
    return ConsensusResult(whole)


def _is_told_otherwise(whole: PipelineResult) -> bool:
    """Whether only the descriptions contradict the actions, which is not the mistake of a few.

    A value that no step uses may be that of a step which some traces lack.
    """
    told = whole.understanding is not None and whole.understanding.refusal is not None
    return told and (whole.synthesis_report is None or not whole.synthesis_report.refusals)


def find_gap(result: PipelineResult) -> str | None:
    """Return why a workflow cannot run without a person or agent; None if it can."""
    if result.lowered is None or result.synthesis_report is None:
        return str(result.error)
    if result.understanding is not None and result.understanding.refusal is not None:
        return result.understanding.refusal
    refusals = result.synthesis_report.refusals
    if refusals:
        return str(refusals[0])
    return "steps are left to an agent" if result.synthesis_report.agent_node_count else None


def _selections(traces: Sequence[ExecutionTrace], whole: PipelineResult) -> Iterator[tuple[str, ...]]:
    """Yield ids to leave out: first the traces that the aligner reported, then one trace, then two, and so on."""
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
