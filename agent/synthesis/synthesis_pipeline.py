"""The synthesis pipeline: runs the six stages in order (MA 11)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from agent.inferencer import Inferencer
from agent.synthesis.alignment.aligned_traces import AlignedTraceSet
from agent.synthesis.alignment.trace_alignment import TraceAligner
from agent.synthesis.errors import InsufficientSuccessTracesError, PipelineStageError
from agent.synthesis.graph.action_graph import ActionGraph
from agent.synthesis.graph.graph_synthesis import (
    GraphSynthesizer,
    HybridSynthesizer,
    LLMSynthesizer,
    RuleBasedSynthesizer,
    SynthesisResult,
)
from agent.synthesis.graph.graph_validation import GraphRunner, GraphValidator, ValidationResults
from agent.synthesis.graph.synthesis_report import SynthesisReport
from agent.synthesis.patterns.extracted_patterns import ExtractedPatterns
from agent.synthesis.patterns.pattern_extraction import PatternExtractor
from agent.synthesis.pipeline_config import EvaluationStrategy, PipelineConfig, SynthesisStrategy
from agent.synthesis.synthesis_prompts import create_prompt_formatter
from agent.synthesis.traces.input_data_generation import Data, SyntheticDataProvider
from agent.synthesis.traces.target_conversion import LOST
from agent.synthesis.traces.trace_collection import TraceCollector, TracedAgent
from agent.synthesis.traces.trace_evaluation import ASKED, EvaluationResult, EvaluationRule, TraceEvaluator
from agent.synthesis.traces.trace_pages import TracePages
from agent.synthesis.traces.trace_preparation import convert_targets, normalize_traces
from agent.synthesis.utterances.utterance_mentions import MentionAnalysis, analyze_mentions, drop_unused_slots
from agent.synthesis.utterances.utterance_templates import UtteranceTemplate
from agent.synthesis.utterances.written_templates import write_template
from agent.synthesis.workflows.workflow_documents import WorkflowDocuments, build_workflow_documents
from kb_schema.execution_traces import ExecutionTrace, chain_pages, name_traces

TOLD_TRACES = 3
"""Unusable traces of which an error tells the reason."""


@dataclass(frozen=True, slots=True, repr=False)
class PipelineResult:
    """The results of the stages that completed (MA 11)."""

    graph: ActionGraph | None = None
    synthesis_report: SynthesisReport | None = None
    validation_results: ValidationResults | None = None
    traces: tuple[ExecutionTrace, ...] = ()
    evaluation_results: tuple[EvaluationResult, ...] = ()
    python_script: str | None = None
    error: str | None = None
    failed_stage: str | None = None
    aligned: AlignedTraceSet | None = None
    patterns: ExtractedPatterns | None = None
    synthesis: SynthesisResult | None = None
    lowered: WorkflowDocuments | None = None
    understanding: MentionAnalysis | None = None
    """The template of the task descriptions, and the values that each of them mentions."""
    unused_sentences: str = ""
    """Why the task descriptions were not used; empty if they were, or if there are none."""
    task_description: str = ""
    cause: Exception | None = field(default=None, compare=False)

    def __repr__(self) -> str:
        """Return a short form: the full one would contain every page of every trace."""
        ended = f"failed at {self.failed_stage}" if self.failed_stage else "complete"
        return f"<PipelineResult {ended}, {len(self.traces)} traces>"


class MetaAgentPipeline:
    """Collects, evaluates, normalises, aligns and generalises traces into a validated workflow.

    `agent` is needed to collect traces and `runner` to validate the graph; `from_traces` needs neither.
    """

    def __init__(
        self,
        agent: TracedAgent | None = None,
        runner: GraphRunner | None = None,
        config: PipelineConfig | None = None,
        synthetic_data_provider: SyntheticDataProvider | None = None,
        inferencer: Inferencer | None = None,
        evaluation_rules: Sequence[EvaluationRule] = (),
    ) -> None:
        """Raises `ValueError` if the configuration needs an inferencer or evaluation rules that are missing,
        or if a prompt template is invalid.
        """
        self._config = config or PipelineConfig()
        strategy = self._config.synthesis_strategy
        if strategy is not SynthesisStrategy.RULE_BASED and inferencer is None:
            raise ValueError(f"{strategy.value} synthesis strategy requires an inferencer")
        self._formatter = create_prompt_formatter(self._config.prompt_templates)
        self._evaluator = TraceEvaluator(
            self._config.evaluation_strategy,
            evaluation_rules,
            inferencer,
            min_score=self._config.min_score,
            prompt_formatter=self._formatter,
            accepted_traces=self._config.accepted_traces,
            only_succeeded=self._config.only_succeeded,
        )
        self._collector = None if agent is None else TraceCollector(agent, synthetic_data_provider)
        self._inferencer = inferencer
        self._validator = None if runner is None else GraphValidator(runner)

    async def run(self, task_description: str, input_data: Sequence[Data] | None = None) -> PipelineResult:
        """Run all stages, from the task to a validated workflow.

        If a stage fails, the result holds the earlier stages' output, `failed_stage` and `error`.
        Raises `InsufficientSuccessTracesError` if too few runs are good enough, and `ValueError` if the
        pipeline has no agent.
        """
        if self._collector is None:
            raise ValueError(
                "a pipeline without an agent cannot collect traces: pass traces to `from_traces`"
            )
        collector = self._collector
        result = PipelineResult(task_description=task_description)
        try:
            with _stage("collection"):
                traces = await collector.collect(task_description, self._config.run_count, input_data)
        except PipelineStageError as exc:
            return _failed(result, exc)
        return await self.from_traces(traces, task_description)

    async def from_traces(
        self, traces: Sequence[ExecutionTrace], task_description: str = ""
    ) -> PipelineResult:
        """Run every stage after collection on given traces. Raises as `run` does."""
        result = await self.synthesize_graph(traces, task_description)
        if result.graph is None:
            return result
        try:
            with _stage("synthesis"):
                result = add_workflow_documents(result, agent_max_steps=self._config.agent_max_steps)
            with _stage("validation"):
                validated = await self._validate(result)
        except PipelineStageError as exc:
            return _failed(result, exc)
        return replace(result, validation_results=validated)

    async def synthesize_graph(
        self, traces: Sequence[ExecutionTrace], task_description: str = ""
    ) -> PipelineResult:
        """Synthesize the ActionGraph of given traces; `add_workflow_documents` adds its documents.

        Raises `InsufficientSuccessTracesError` if too few traces are good enough.
        """
        task = task_description or next((t.task_description for t in traces if t.task_description), "")
        result = PipelineResult(traces=tuple(traces), task_description=task)
        try:
            with _stage("evaluation"):
                judged = await self._evaluator.evaluate(traces, task)
        except PipelineStageError as exc:
            return _failed(result, exc)
        result = replace(result, evaluation_results=tuple(judged))
        good = [trace for trace, each in zip(traces, judged, strict=True) if each.passed]
        if len(good) < max(1, self._config.min_success_traces):
            names = name_traces(traces)
            rejected = [each for each in judged if not each.passed]
            told = [f"{names[each.trace_id]}: {each.reason}" for each in rejected]
            raise InsufficientSuccessTracesError(
                max(1, self._config.min_success_traces),
                len(good),
                len(traces),
                told[:TOLD_TRACES],
                asked=any(ASKED in each.metadata for each in rejected),
                judged=any("answer" in each.metadata for each in rejected),
                ruled=any(each.failed_rules for each in rejected),
                evaluations=judged,
            )
        return await self._induce(result, good)

    async def _induce(self, result: PipelineResult, traces: Sequence[ExecutionTrace]) -> PipelineResult:
        pages, config, task = TracePages(), self._config, result.task_description
        # The first of several equal items represents them: sort, so that the result does not depend on order.
        traces = sorted(traces, key=lambda trace: (trace.content_digest, trace.trace_id))
        # Session folders are read so; traces that an agent or a caller hands over may lack pages before.
        traces = [each.model_copy(update={"steps": chain_pages(each.steps)}) for each in traces]
        try:
            with _stage("normalization"):
                normal = normalize_traces(traces, config.custom_type_map)
            with _stage("target_conversion"):
                converted = convert_targets(normal, pages)
            lost = _list_lost_targets(result, converted)
            with _stage("understanding"):
                mentions = analyze_mentions(converted, pages)
            result = replace(result, understanding=mentions)
            result = self._align(result, mentions.traces, pages)
            if result.patterns is not None and result.patterns.refusals:
                paired = self._align(result, mentions.traces, pages, pair_choices=True)
                if paired.patterns is not None and not paired.patterns.refusals:
                    result = paired
            with _stage("synthesis"):
                assert result.patterns is not None  # noqa: S101 - `_align` returns them
                made = await self._synthesizer().synthesize(result.patterns, task)
        except PipelineStageError as exc:
            return _failed(result, exc)
        return replace(
            result,
            graph=made.graph,
            synthesis_report=made.report.add_warnings([*_list_broken_rules(result), *lost]),
            python_script=made.python_script,
            synthesis=made,
        )

    def _align(
        self, result: PipelineResult, traces: Sequence[ExecutionTrace], pages: TracePages, *, pair_choices: bool = False
    ) -> PipelineResult:  # fmt: skip
        """Return the result with the alignment of the traces and its patterns."""
        score = self._config.min_alignment_score
        with _stage("alignment"):
            aligned = TraceAligner(min_score=score, pages=pages, pair_choices=pair_choices).align(traces)
        with _stage("pattern_extraction"):
            patterns = PatternExtractor(pages).extract(aligned)
        return replace(result, aligned=aligned, patterns=patterns)

    async def _validate(self, result: PipelineResult) -> ValidationResults:
        if self._validator is None or not self._config.validate or result.graph is None:
            return ValidationResults()
        judged = zip(result.traces, result.evaluation_results, strict=True)
        good = sorted((trace for trace, each in judged if each.passed), key=lambda trace: trace.trace_id)
        return await self._validator.validate(
            result.graph, expected_traces=good[: self._config.validation_runs]
        )

    def _synthesizer(self) -> GraphSynthesizer:
        config = self._config
        kinds = {SynthesisStrategy.LLM: LLMSynthesizer, SynthesisStrategy.HYBRID: HybridSynthesizer}
        kind = kinds.get(config.synthesis_strategy)
        if kind is not None and self._inferencer is not None:
            return kind(
                self._inferencer,
                config.agent_action_type,
                self._formatter,
                name=config.name,
                generate_script=config.generate_script,
            )
        return RuleBasedSynthesizer(
            config.agent_action_type,
            self._formatter,
            name=config.name,
            generate_script=config.generate_script,
        )


def add_workflow_documents(
    result: PipelineResult, screens: Mapping[int, str] | None = None, *, agent_max_steps: int = 5
) -> PipelineResult:
    """Return the result with the workflow documents of its graph; unchanged if it has no graph.

    `screens` maps positions to the ids of the screens that their steps are on.
    """
    if result.graph is None:
        return result
    lowered = build_workflow_documents(result.graph, agent_max_steps=agent_max_steps, screens=screens)
    understanding = result.understanding
    if understanding is not None:
        inputs = [spec.name for spec in lowered.workflow.io_spec.inputs]
        understanding = drop_unused_slots(understanding, inputs)
        lowered = _keep_sentences(lowered, understanding, inputs)
    if result.unused_sentences:
        note = f"inputs are given by name, the task descriptions were not used: {result.unused_sentences}"
        lowered = replace(lowered, notes=(*lowered.notes, note))
    return replace(result, lowered=lowered, understanding=understanding)


def _keep_sentences(
    lowered: WorkflowDocuments, understanding: MentionAnalysis, inputs: Sequence[str]
) -> WorkflowDocuments:
    """Return the documents; the workflow has the template of the traces' sentences, if it can be written."""
    if not isinstance(understanding.template, UtteranceTemplate):
        return lowered  # none, or a record: its keys are the inputs
    if inputs and not understanding.template.slots:
        return lowered  # the name of the task is no sentence with values
    said = [trace.task_description.strip() for trace in understanding.traces]
    text = write_template(understanding.template, said, inputs)
    if text is None:
        return lowered
    return replace(lowered, workflow=lowered.workflow.model_copy(update={"sentences": (text,)}))


@contextmanager
def _stage(name: str) -> Iterator[None]:
    """Wrap every exception in a `PipelineStageError` with the name of the stage."""
    try:
        yield
    except Exception as exc:
        raise PipelineStageError(name, exc) from exc


def _list_lost_targets(result: PipelineResult, converted: Sequence[ExecutionTrace]) -> list[str]:
    names = name_traces(result.traces)
    lost = {
        each.trace_id: [step.metadata[LOST] for step in each.steps if LOST in step.metadata]
        for each in converted
    }
    return [
        f"{names[trace_id]}: {len(found)} targets are left to an agent: no stored page has exactly one element with "
        f"`__id__` {', '.join(map(repr, found[:TOLD_TRACES]))}"
        for trace_id, found in lost.items()
        if found
    ]


def _list_broken_rules(result: PipelineResult) -> list[str]:
    names = name_traces(result.traces)
    return [
        f"{names[each.trace_id]}: used, and breaks {', '.join(each.warnings)}"
        for each in result.evaluation_results
        if each.passed and each.warnings
    ]


def _failed(result: PipelineResult, exc: PipelineStageError) -> PipelineResult:
    return replace(result, failed_stage=exc.stage, error=str(exc), cause=exc.original_error)


__all__ = ["EvaluationStrategy", "MetaAgentPipeline", "PipelineConfig", "PipelineResult", "SynthesisStrategy"]
