"""What the property tests draw: steps, traces, alignments, and the way through the stages."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from typing import Any, TypeVar

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from agent.synthesis.alignment.aligned_traces import AlignedPosition, AlignedTraceSet
from agent.synthesis.alignment.trace_alignment import TraceAligner, classify_position
from agent.synthesis.graph.graph_synthesis import RuleBasedSynthesizer, SynthesisResult
from agent.synthesis.patterns.extracted_patterns import ExtractedPatterns
from agent.synthesis.patterns.pattern_extraction import PatternExtractor
from agent.synthesis.pipeline_config import PipelineConfig
from agent.synthesis.synthesis_pipeline import MetaAgentPipeline, PipelineResult
from agent.synthesis.workflows.workflow_documents import WorkflowDocuments
from kb_schema import KnowledgeBase, SourcedDocument, assemble
from kb_schema.documents import parse_document
from kb_schema.execution_traces import ExecutionTrace, TraceStep
from kb_schema.selectors import Selector
from periplus.synthesis.workflow_synthesis import mark_unverified

T = TypeVar("T")
examples = settings(
    max_examples=100, deadline=None, suppress_health_check=list(HealthCheck), derandomize=False
)
few_examples = settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
"""For what was asked for beside the 25 properties, and takes long."""


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(coroutine)


def by_id(name: str, *more: tuple[str, str]) -> Selector:
    ways = [{"type": "id", "value": name}, *({"type": kind, "value": value} for kind, value in more)]
    return Selector.model_validate({"strategies": ways})


ACTIONS = ("click", "fill", "select_option", "check", "press")
names = st.sampled_from(["a", "b", "c", "d", "e", "f"])
values = st.sampled_from(["x", "y", "z", "O'Brien", "{braces}", ""])


@st.composite
def steps(draw, actions: Sequence[str] = ACTIONS):
    action = draw(st.sampled_from(actions))
    args = None if action in ("click", "check") else {"value": draw(values)}
    return TraceStep(action_type=action, target=by_id(draw(names)), args=args)


def trace_of(steps: Sequence[TraceStep], number: int = 0, **more: Any) -> ExecutionTrace:
    return ExecutionTrace(trace_id=f"t{number}", steps=tuple(steps), **more)


@st.composite
def traces(draw, least: int = 1, most: int = 5, longest: int = 8):
    """Traces that have to do with each other: mutations of one, as people's are."""
    base = draw(st.lists(steps(), min_size=1, max_size=longest))
    made = []
    for number in range(draw(st.integers(least, most))):
        own: list[TraceStep] = []
        for step in base:
            change = draw(st.integers(0, 9))
            if change == 0:
                continue
            own.append(draw(steps()) if change == 1 else step)
            if change == 2:
                own.append(draw(steps()))
            if change == 3 and step.args:
                own[-1] = step.model_copy(update={"args": {"value": draw(values)}})
            if change == 4:
                own += own[-2:]
        made.append(trace_of(own, number, input_data={"n": str(number), "v": draw(values)}))
    return made


@st.composite
def positions(draw, index: int = 0):
    """One position of hand-made alignments: what stands there is drawn, what it is follows."""
    count = draw(st.integers(1, 4))
    here = draw(st.lists(st.one_of(st.none(), steps()), min_size=count, max_size=count))
    if all(step is None for step in here):
        here[0] = draw(steps())
    return _position(index, here)


def _position(index: int, here: Sequence[TraceStep | None]) -> AlignedPosition:
    held = {f"t{number}": step for number, step in enumerate(here)}
    return AlignedPosition(index, classify_position(held), held)


@st.composite
def aligned_sets(draw):
    """Alignments of any kind: made by the aligner, or by hand without traces behind them."""
    if draw(st.booleans()):
        return align(draw(traces()))
    count = draw(st.integers(1, 4))
    rows = draw(st.lists(
        st.lists(st.one_of(st.none(), steps()), min_size=count, max_size=count).filter(any), min_size=1, max_size=7,
    ))  # fmt: skip
    # Stretches repeat, so that there are loops to find.
    if draw(st.booleans()):
        rows = rows + rows[-2:] * draw(st.integers(1, 2))
    made = tuple(_position(index, here) for index, here in enumerate(rows))
    return AlignedTraceSet(made, tuple(f"t{number}" for number in range(count)), 1.0)


def align(given: Sequence[ExecutionTrace]) -> AlignedTraceSet:
    return TraceAligner(min_score=0).align(given)


def extract(given: Sequence[ExecutionTrace]) -> ExtractedPatterns:
    return PatternExtractor().extract(align(given))


def synthesize(patterns: ExtractedPatterns, **more: Any) -> SynthesisResult:
    return run(RuleBasedSynthesizer(**more).synthesize(patterns, "do it"))


def induce(given: Sequence[ExecutionTrace], **config: Any) -> PipelineResult:
    """All stages without a browser."""
    pipeline = MetaAgentPipeline(config=PipelineConfig(**{"min_alignment_score": 0, **config}))
    return run(pipeline.from_traces(given))


def published(lowered: WorkflowDocuments) -> KnowledgeBase:
    """What was lowered as a knowledge base of its own, checked by every rule. Raises `KnowledgeError`."""
    lowered = mark_unverified(lowered)
    website = {"type": "website", "website_id": "site", "name": "Site", "base_url": "https://fleet.example"}
    documents = [website, lowered.workflow.to_json(), *(task.to_json() for task in lowered.tasks)]
    documents += [edge.to_json() for edge in lowered.dependencies]
    return assemble([SourcedDocument(parse_document(each)) for each in documents])[0]
