"""Reads traces, synthesizes a workflow, validates it on the website and publishes it (`periplus synthesize`)."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

from agent.errors import AgentError
from agent.inferencer import Inferencer
from agent.knowledge_client import KnowledgeClient
from agent.redaction import REDACTED
from agent.synthesis.alignment.aligned_traces import AlignedPosition
from agent.synthesis.errors import InsufficientSuccessTracesError, MetaAgentError
from agent.synthesis.graph.graph_portability import make_portable
from agent.synthesis.graph.graph_script import render_script
from agent.synthesis.graph.graph_synthesis import ActionDecision
from agent.synthesis.patterns.extracted_patterns import ExtractedPatterns, ParameterizableInfo
from agent.synthesis.patterns.position_patterns import UNTOLD
from agent.synthesis.pipeline_config import EvaluationStrategy, PipelineConfig, SynthesisStrategy
from agent.synthesis.synthesis_pipeline import MetaAgentPipeline, PipelineResult, add_workflow_documents
from agent.synthesis.trace_consensus import find_gap
from agent.synthesis.traces.trace_evaluation import EvaluationResult, EvaluationRule
from agent.synthesis.workflows.workflow_documents import WorkflowDocuments
from kb_schema.base import Document
from kb_schema.execution_traces import ExecutionTrace, name_traces
from kb_schema.screens import Screen
from kb_schema.selectors import Selector
from kb_schema.session_reader import MANIFEST, SessionUnreadable, read_session
from kb_schema.url_patterns import is_web_address, origin_of
from kb_store import Stores
from periplus.errors import UserError
from periplus.knowledge_server import connect_knowledge_client
from periplus.language_model import load_inferencer
from periplus.synthesis.recorded_sign_in import adopt_sign_in

EVALUATIONS = "evaluations.json"
MOST_STEPS = 2_000
"""Steps of a trace. Comparing two traces takes time in proportion to the product of their steps."""


def read_traces(folders: Sequence[Path]) -> list[ExecutionTrace]:
    """Return the traces of session folders and of all session folders inside them, each once.

    An unreadable session becomes a failed trace. Raises `UserError` for a folder without traces.
    """
    found: dict[str, ExecutionTrace] = {}
    seen: set[Path] = set()
    for folder in folders:
        sessions = list(_sessions(folder))
        if not sessions:
            raise UserError(
                f"{folder} contains no trace", fix="create one with `periplus record` or `periplus import`"
            )
        for each in sessions:
            if each.resolve() in seen:
                continue
            seen.add(each.resolve())
            try:
                trace = read_session(each)
            except SessionUnreadable as exc:
                trace = ExecutionTrace(
                    trace_id=each.name, success=False, error=str(exc), session_dir=str(each)
                )
            name = _find_free_name(trace.trace_id, found)
            found[name] = trace.model_copy(update={"trace_id": name})
    return list(found.values())


def _sessions(folder: Path) -> Iterator[Path]:
    if (folder / MANIFEST).is_file():
        yield folder
    elif folder.is_dir():
        yield from sorted(file.parent for file in folder.rglob(MANIFEST))


def _find_free_name(name: str, taken: Mapping[str, Any]) -> str:
    number = 1
    while (name if number == 1 else f"{name}.{number}") in taken:
        number += 1
    return name if number == 1 else f"{name}.{number}"


def list_origins(traces: Iterable[ExecutionTrace]) -> list[str]:
    """Return the origins on which the traces were recorded, the most frequent one first."""
    urls = Counter(
        origin_of(step.source_url)
        for trace in traces
        for step in trace.steps
        if step.source_url and is_web_address(step.source_url)
    )
    return [origin for origin, _ in urls.most_common()]


@dataclass(frozen=True, slots=True)
class SynthesisJudgement:
    """How traces are evaluated and patterns synthesized (MA `PipelineConfig`)."""

    strategy: SynthesisStrategy = SynthesisStrategy.RULE_BASED
    evaluation: Literal["exception_only", "rule_based", "llm_judge"] = "exception_only"
    min_success_traces: int = 1
    model: str | None = None
    """`provider:model`."""
    accepted_traces: frozenset[str] = frozenset()
    """Ids of traces that count although the application seemed to refuse something."""
    min_score: float = 0.5
    """Minimum score of a model's judgement of a trace."""
    prompt_templates: dict[str, str] | None = None
    rules: tuple[EvaluationRule, ...] = ()
    """Of the rule-based evaluation."""

    @property
    def asks(self) -> bool:
        """Whether a model is needed."""
        return self.strategy is not SynthesisStrategy.RULE_BASED or self.evaluation == "llm_judge"

    def inferencer(self) -> Inferencer | None:
        """Return the model; None if none is needed. Raises `UserError` if it is missing or unknown."""
        if not self.asks:
            return None
        found = load_inferencer("judge", self.model)
        if found is None:
            raise UserError(
                "a language model is required, but none is configured",
                fix="set --model or PERIPLUS_MODEL to provider:model",
            )
        return found


BY_RULES = SynthesisJudgement()


async def induce_workflow(
    traces: Sequence[ExecutionTrace], name: str, task: str, judgement: SynthesisJudgement = BY_RULES
) -> PipelineResult:
    """Synthesize a portable graph and its script from traces; `add_workflow_documents` completes the result.

    If the workflow has gaps only because of the task descriptions, and none without them, they are not used.

    Raises `UserError`, with the reason, if a stage refuses the traces, if one has more than `MOST_STEPS` steps, or if
    an accepted one is not among them.
    """
    names = name_traces(traces)
    accepted = {trace_id for trace_id, each in names.items() if {trace_id, each} & judgement.accepted_traces}
    if unknown := sorted(judgement.accepted_traces - accepted - {names[each] for each in accepted}):
        raise UserError(
            f"there is no trace {unknown[0]!r} to accept",
            fix=f"name one of: {', '.join(sorted(names.values()))}",
        )
    for trace in traces:
        if len(trace.steps) > MOST_STEPS:
            raise UserError(
                f"{trace.session_dir or trace.trace_id} has {len(trace.steps):,} steps; {MOST_STEPS:,} are allowed",
                fix="leave it out, or record the task in parts",
            )
    config = PipelineConfig(
        name=name,
        synthesis_strategy=judgement.strategy,
        evaluation_strategy=EvaluationStrategy(judgement.evaluation),
        min_success_traces=judgement.min_success_traces,
        accepted_traces=frozenset(accepted),
        only_succeeded=True,
        min_score=judgement.min_score,
        prompt_templates=judgement.prompt_templates,
    )
    try:
        pipeline = MetaAgentPipeline(
            config=config, inferencer=judgement.inferencer(), evaluation_rules=judgement.rules
        )
    except ValueError as exc:  # a template with an error
        raise UserError(str(exc), fix="correct the template") from exc
    result = await _synthesize(pipeline, traces, task)
    reason = None if judgement.asks else _find_sentence_gap(result)
    if reason is not None:
        silent = [each.model_copy(update={"task_description": ""}) for each in traces]
        without = await _synthesize(pipeline, silent, task or result.task_description)
        if find_gap(add_workflow_documents(without)) is None:
            return replace(without, traces=tuple(traces), unused_sentences=reason)
    return result


def _find_sentence_gap(result: PipelineResult) -> str | None:
    """Return why traces with different descriptions have a gap; None if they have none, or for another reason, too.

    Recordings that contradict each other, or what they say, do so without their descriptions as well.
    """
    said = {trace.task_description.strip() for trace in result.traces}
    if result.synthesis_report is None or len(said) < 2:
        return None
    if not all(each.startswith(UNTOLD) for each in result.synthesis_report.refusals):
        return None
    written = add_workflow_documents(result)
    contradicted = written.understanding is not None and written.understanding.contradicted
    return None if contradicted else find_gap(written)


async def _synthesize(
    pipeline: MetaAgentPipeline, traces: Sequence[ExecutionTrace], task: str
) -> PipelineResult:
    """Return the result with a portable graph. Raises `UserError` if a stage refuses the traces."""
    try:
        result = await pipeline.synthesize_graph(traces, task)
    except MetaAgentError as exc:
        raise UserError(str(exc), fix=exc.hint or "check the traces") from exc
    if result.failed_stage is not None:
        if isinstance(result.cause, MetaAgentError):
            raise UserError(str(result.error), fix=result.cause.hint or "check the traces")
        if result.cause is not None:
            raise result.cause
    if result.graph is None:
        return result
    graph = make_portable(result.graph)
    return replace(result, graph=graph, python_script=render_script(graph))


def write_synthesis_files(result: PipelineResult, folder: Path, screens: Sequence[Screen] = ()) -> list[Path]:
    """Write graph, documents, report and script to files; return their paths."""
    files = {f"screens/{screen.screen_id}.json": _format_document(screen) for screen in screens}
    if result.graph is not None:
        files["graph.json"] = result.graph.model_dump_json(indent=2, by_alias=True)
    if result.synthesis_report is not None:
        files["report.json"] = result.synthesis_report.model_dump_json(indent=2)
    if result.synthesis is not None:
        decisions = [_format_decision(each) for each in result.synthesis.decisions]
        files["decisions.json"] = json.dumps(decisions, indent=2, ensure_ascii=False)
    files[EVALUATIONS] = _format_evaluations(result.evaluation_results)
    if result.python_script is not None:
        files["workflow.py"] = result.python_script
    if result.lowered is not None:
        files["workflow.json"] = _format_document(result.lowered.workflow)
        files |= {f"tasks/{task.task_id}.json": _format_document(task) for task in result.lowered.tasks}
        for number, edge in enumerate(result.lowered.dependencies, 1):
            files[f"dependencies/{number:03d}.json"] = _format_document(edge)
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return [folder / name for name in files]


def write_rejected_traces(error: UserError, folder: Path) -> Path | None:
    """Write the evaluation of each trace, if too few passed, which is why `error` was raised; return the file, else None."""
    cause = error.__cause__
    if not isinstance(cause, InsufficientSuccessTracesError):
        return None
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / EVALUATIONS
    judged = [each for each in cause.evaluations if isinstance(each, EvaluationResult)]
    file.write_text(_format_evaluations(judged), encoding="utf-8")
    return file


def _format_evaluations(evaluations: Iterable[EvaluationResult]) -> str:
    told = [asdict(each) | {"reason": each.reason} for each in evaluations]
    return json.dumps(told, indent=2, ensure_ascii=False)


def _format_decision(decision: ActionDecision) -> dict[str, Any]:
    """Return a decision as JSON: which action a position became, who decided it, and a model's reasoning."""
    target = decision.target
    told = asdict(replace(decision, target=None))
    return {**told, "target": target.to_json() if isinstance(target, Selector) else target}


def _format_document(document: Document) -> str:
    return json.dumps(document.to_json(), indent=2, ensure_ascii=False)


def list_shown_values(result: PipelineResult) -> list[dict[str, Any]]:
    """Return the inputs that each trace shows of which the workflow was made, without those that were left out."""
    return (
        []
        if result.aligned is None
        else [read_shown_values(result, each) for each in result.aligned.trace_ids]
    )


def read_shown_values(result: PipelineResult, trace_id: str) -> dict[str, Any]:
    """Return the workflow's inputs that one trace shows; traces do not contain secrets."""
    shown: dict[str, Any] = {}
    if result.patterns is None or result.lowered is None or result.aligned is None:
        return shown
    given = result.aligned.traces[trace_id].input_data or {}
    for spec in result.lowered.workflow.io_spec.inputs:
        if spec.name in given:
            shown[spec.name] = given[spec.name]
    wanted = {spec.name for spec in result.lowered.workflow.io_spec.inputs}
    for patterns in result.patterns.walk():
        for loop in patterns.loop_patterns:
            if loop.rule.items in wanted and trace_id in loop.rule.given:
                shown.setdefault(loop.rule.items, list(loop.rule.given[trace_id]))
            if loop.rule.binding is not None and loop.rule.told is not None:
                words = next((said for row, said in loop.rule.told.words.items() if row[0] == trace_id), None)
                shown.setdefault(loop.rule.binding.name, words)
        for position in patterns.optional_steps:
            told = patterns.optional_info.get(position.index)
            if told is not None and told.asked is not None and told.asked.name in wanted:
                ticks = position.observed[0].action_type == "check"
                did = position.steps.get(trace_id) is not None
                shown.setdefault(told.asked.name, did is ticks)
    for position, info in _parameterizable(result.patterns):
        for name, value in _iterate_shown_values(position, info, trace_id):
            if name in wanted and value not in (None, REDACTED):
                shown.setdefault(name, value)
    return shown


def _parameterizable(patterns: ExtractedPatterns) -> Iterator[tuple[AlignedPosition, ParameterizableInfo]]:
    """Yield the steps with inputs, also those in branches and in each round of loops."""
    yield from patterns.parameterizable_steps
    for loop in patterns.loop_patterns:
        for body in loop.rounds or (loop.body,):
            yield from _parameterizable(body)
    for branch in patterns.branch_patterns:
        for body in branch.bodies.values():
            yield from _parameterizable(body)


def _iterate_shown_values(
    position: AlignedPosition, info: ParameterizableInfo, trace_id: str
) -> Iterator[tuple[str, Any]]:
    """Yield the variables that are a whole value at a position, with their value in the trace."""
    step = position.steps.get(trace_id)
    for key, variable in info.variable_args.items():
        binding = info.bindings.get(key)
        if step is not None and binding is not None and binding.template == f"{{{variable}}}":
            yield variable, binding.whole.get((trace_id, ())) or (step.args or {}).get(key)
    if info.target is not None and info.target.binding.template == f"{{{info.target.binding.name}}}":
        words = next((said for row, said in sorted(info.target.words.items()) if row[0] == trace_id), None)
        yield info.target.binding.name, words


def mark_unverified(lowered: WorkflowDocuments) -> WorkflowDocuments:
    """Return the documents; a workflow without success criteria states that its results are unverified."""
    if lowered.workflow.success_criteria:
        return lowered
    return replace(lowered, workflow=lowered.workflow.model_copy(update={"unverified": True}))


@dataclass(frozen=True, slots=True)
class SynthesisSite:
    """The website on which a workflow runs."""

    stores: Stores
    website_id: str
    base_url: str | None
    headed: bool | None = None
    allow_unverified: bool = False
    """Whether a workflow without success criteria may be published."""


async def publish_workflow(
    site: SynthesisSite,
    lowered: WorkflowDocuments,
    screens: Sequence[Screen] = (),
    *,
    replace: bool,
    traces: Sequence[ExecutionTrace] = (),
    tell: Callable[[str], None] = lambda _: None,
) -> str:
    """Publish the workflow and its new screens over MCP; return the workflow id. Raises `UserError`.

    `traces` show when one is signed in, for a website without a sign-in. `tell` gets a sentence about the sign-in.
    """
    if site.allow_unverified:
        lowered = mark_unverified(lowered)
    async with connect_knowledge_client(site.stores) as client:
        try:
            knowledge = KnowledgeClient(client, site.website_id)
            lowered, sign_in, sentence = await adopt_sign_in(knowledge, lowered, traces)
            answer = await knowledge.publish(
                lowered.workflow,
                lowered.tasks,
                lowered.dependencies,
                screens,
                sign_in=sign_in,
                replace=replace,
            )
        except AgentError as exc:
            advice = None if replace else "use --replace to replace the existing workflow"
            raise UserError(str(exc), fix=exc.hint or advice) from exc
    if sentence:
        tell(sentence)
    return answer.workflow_id
