"""The six stages in their order (MA 11)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from agent.inferring import Inferencer
from agent.synthesis.aligning import TraceAligner
from agent.synthesis.alignment import AlignedTraceSet
from agent.synthesis.collecting import TraceCollector, TracedAgent
from agent.synthesis.config import EvaluationStrategy, PipelineConfig, SynthesisStrategy
from agent.synthesis.converting import TargetStrategyConverter
from agent.synthesis.data import Data, SyntheticDataProvider
from agent.synthesis.errors import InsufficientSuccessTracesError, PipelineStageError
from agent.synthesis.evaluating import EvaluationResult, EvaluationRule, TraceEvaluator
from agent.synthesis.extracting import PatternExtractor
from agent.synthesis.graph import ActionGraph
from agent.synthesis.lowering import Lowered, lower
from agent.synthesis.mentions import Understanding, understood, without_unused
from agent.synthesis.normalising import TraceNormalizer
from agent.synthesis.pages import Pages
from agent.synthesis.patterns import ExtractedPatterns
from agent.synthesis.prompts import create_prompt_formatter
from agent.synthesis.report import SynthesisReport
from agent.synthesis.synthesizing import (
    GraphSynthesizer,
    HybridSynthesizer,
    LLMSynthesizer,
    RuleBasedSynthesizer,
    SynthesisResult,
)
from agent.synthesis.tidying import tidy
from agent.synthesis.validating import GraphRunner, GraphValidator, ValidationResults
from kb_schema.traces import ExecutionTrace


@dataclass(frozen=True, slots=True, repr=False)
class PipelineResult:
    """What came out, as far as it got (MA 11)."""

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
    lowered: Lowered | None = None
    understanding: Understanding | None = None
    """What the sentences of the tasks tell, and the template by which a new one is read."""
    task_description: str = ""
    cause: Exception | None = field(default=None, compare=False)

    def __repr__(self) -> str:
        """In a line: it holds every page of every trace, and an event loop may print a task's result."""
        ended = f"failed at {self.failed_stage}" if self.failed_stage else "complete"
        return f"<PipelineResult {ended}, {len(self.traces)} traces>"


class MetaAgentPipeline:
    """Collect, judge, normalise and convert, align, extract, synthesize, validate.

    `agent` collects traces and `runner` validates; a pipeline that only works on given traces needs
    neither.
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
        """Raises `ValueError` where the configuration asks for a model and there is none, for rules and
        there are none, and for templates that cannot be read.
        """
        self._config = config or PipelineConfig()
        strategy = self._config.synthesis_strategy
        if strategy is not SynthesisStrategy.RULE_BASED and inferencer is None:
            raise ValueError(f"{strategy.value} synthesis strategy requires an inferencer")
        self._formatter = create_prompt_formatter(self._config.prompt_templates)
        self._evaluator = TraceEvaluator(
            self._config.evaluation_strategy, evaluation_rules, inferencer, prompt_formatter=self._formatter
        )
        self._collector = None if agent is None else TraceCollector(agent, synthetic_data_provider)
        self._inferencer = inferencer
        self._validator = None if runner is None else GraphValidator(runner)

    async def run(self, task_description: str, input_data: Sequence[Data] | None = None) -> PipelineResult:
        """Everything, from the task to a validated graph. A stage that fails ends it with what there is.

        Raises `InsufficientSuccessTracesError` where too few runs are good enough, and `ValueError` where
        there is no agent to run.
        """
        if self._collector is None:
            raise ValueError(
                "a pipeline without an agent cannot collect traces: give traces to `from_traces`"
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
        """Everything behind collection. Raises as `run` does."""
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
            raise InsufficientSuccessTracesError(
                max(1, self._config.min_success_traces), len(good), len(traces)
            )
        return await self._induce(result, good)

    async def refine(
        self, existing_result: PipelineResult, additional_run_count: int = 3,
        new_traces: Sequence[ExecutionTrace] = (),
    ) -> PipelineResult:  # fmt: skip
        """The same from more traces: those given, and as many runs more as are asked for.

        Raises as `run` does.
        """
        added = list(new_traces)
        if self._collector is not None and additional_run_count > 0:
            added += await self._collector.collect(existing_result.task_description, additional_run_count)
        known = {trace.trace_id for trace in existing_result.traces}
        renamed = []
        for trace in added:
            name, number = trace.trace_id, 1
            while name in known:
                number += 1
                name = f"{trace.trace_id}.{number}"
            known.add(name)
            renamed.append(trace.model_copy(update={"trace_id": name}))
        together = [*existing_result.traces, *renamed]
        return await self.from_traces(together, existing_result.task_description)

    async def _induce(self, result: PipelineResult, traces: Sequence[ExecutionTrace]) -> PipelineResult:
        pages, config, task = Pages(), self._config, result.task_description
        # What is met first stands for what is like it: the outcome must not depend on who came first.
        traces = sorted(traces, key=lambda trace: (trace.content_digest, trace.trace_id))
        try:
            with _stage("normalization"):
                normal = tidy(TraceNormalizer(config.custom_type_map).normalize(traces))
            with _stage("target_conversion"):
                converted = tidy(TargetStrategyConverter(pages).convert_traces(normal))
            with _stage("understanding"):
                told = understood(converted, pages)
            result = replace(result, understanding=told)
            with _stage("alignment"):
                aligned = TraceAligner(min_score=config.min_alignment_score, pages=pages).align(told.traces)
            result = replace(result, aligned=aligned)
            with _stage("pattern_extraction"):
                patterns = PatternExtractor(pages).extract(aligned)
            result = replace(result, patterns=patterns)
            with _stage("synthesis"):
                made = await self._synthesizer().synthesize(patterns, task)
                lowered = lower(made.graph, agent_max_steps=config.agent_max_steps)
                inputs = [spec.name for spec in lowered.workflow.io_spec.inputs]
            result = replace(
                result, graph=made.graph, synthesis_report=made.report, python_script=made.python_script,
                synthesis=made, lowered=lowered, understanding=without_unused(told, inputs),
            )  # fmt: skip
            with _stage("validation"):
                validated = await self._validate(made.graph, traces)
        except PipelineStageError as exc:
            return _failed(result, exc)
        return replace(result, validation_results=validated)

    async def _validate(self, graph: ActionGraph, traces: Sequence[ExecutionTrace]) -> ValidationResults:
        if self._validator is None or not self._config.validate:
            return ValidationResults()
        expected = sorted(traces, key=lambda trace: trace.trace_id)[: self._config.validation_runs]
        return await self._validator.validate(graph, expected_traces=expected)

    def _synthesizer(self) -> GraphSynthesizer:
        config = self._config
        kinds = {SynthesisStrategy.LLM: LLMSynthesizer, SynthesisStrategy.HYBRID: HybridSynthesizer}
        kind = kinds.get(config.synthesis_strategy)
        if kind is not None and self._inferencer is not None:
            return kind(
                self._inferencer, config.agent_action_type, self._formatter, name=config.name,
                generate_script=config.generate_script,
            )  # fmt: skip
        return RuleBasedSynthesizer(
            config.agent_action_type,
            self._formatter,
            name=config.name,
            generate_script=config.generate_script,
        )


@contextmanager
def _stage(name: str) -> Iterator[None]:
    """Whatever is raised inside says in which stage it was."""
    try:
        yield
    except Exception as exc:
        raise PipelineStageError(name, exc) from exc


def _failed(result: PipelineResult, exc: PipelineStageError) -> PipelineResult:
    return replace(result, failed_stage=exc.stage, error=str(exc), cause=exc.original_error)


__all__ = ["EvaluationStrategy", "MetaAgentPipeline", "PipelineConfig", "PipelineResult", "SynthesisStrategy"]
