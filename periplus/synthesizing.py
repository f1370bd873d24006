"""From folders of traces to a workflow that was run and published: the wiring behind `periplus synthesize`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from playwright.async_api import Error as PlaywrightError

from agent.engine.engine import Engine
from agent.engine.workflows import run_workflow
from agent.errors import AgentError
from agent.inferring import InferenceFailed, Inferencer, ModelInferencer
from agent.knowledge import Knowledge
from agent.page.errors import PageError
from agent.redaction import REDACTED
from agent.synthesis.alignment import AlignedPosition
from agent.synthesis.config import EvaluationStrategy, PipelineConfig, SynthesisStrategy
from agent.synthesis.errors import MetaAgentError
from agent.synthesis.graph import ActionGraph
from agent.synthesis.lowering import Lowered, lower
from agent.synthesis.patterns import ExtractedPatterns, ParameterizableInfo
from agent.synthesis.pipeline import MetaAgentPipeline, PipelineResult
from agent.synthesis.portable import made_portable
from agent.synthesis.script import as_script
from agent.synthesis.validating import GraphValidator, ValidationResults
from agent.trace import SessionTrace
from kb_schema import KnowledgeError
from kb_schema.base import Document
from kb_schema.proposals import WorkflowChange
from kb_schema.screens import Screen
from kb_schema.sessions import MANIFEST, SessionUnreadable, read_session
from kb_schema.traces import ExecutionTrace
from kb_store import Stores, read_knowledge
from kb_store.changing import changed
from periplus.desk import desk_client
from periplus.errors import UserError
from periplus.proposed_screens import ScreensFound
from periplus.trial import trial_stores
from periplus.voyage import browser_context, open_session


def read_traces(folders: Sequence[Path]) -> list[ExecutionTrace]:
    """The traces of session folders, and of all below them, each once however often its folder is named; one that
    cannot be read is a trace that failed. Raises `UserError` for a folder in which there is none.
    """
    found: dict[str, ExecutionTrace] = {}
    seen: set[Path] = set()
    for folder in folders:
        sessions = list(_sessions(folder))
        if not sessions:
            raise UserError(
                f"{folder} holds no trace", fix="`periplus record` and `periplus import` make them"
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
            name = _free(trace.trace_id, found)
            found[name] = trace.model_copy(update={"trace_id": name})
    return list(found.values())


def _sessions(folder: Path) -> Iterator[Path]:
    if (folder / MANIFEST).is_file():
        yield folder
    elif folder.is_dir():
        yield from sorted(file.parent for file in folder.rglob(MANIFEST))


def _free(name: str, taken: Mapping[str, Any]) -> str:
    number = 1
    while (name if number == 1 else f"{name}.{number}") in taken:
        number += 1
    return name if number == 1 else f"{name}.{number}"


@dataclass(frozen=True, slots=True)
class Judgement:
    """Who judges traces and decides what becomes of patterns (MA `PipelineConfig`)."""

    strategy: SynthesisStrategy = SynthesisStrategy.RULE_BASED
    evaluation: Literal["exception_only", "llm_judge"] = "exception_only"
    """Rules are for programs, which have predicates to give."""
    min_success_traces: int = 1
    model: str | None = None
    """`provider:model`."""

    @property
    def asks(self) -> bool:
        """Whether it needs a model."""
        return self.strategy is not SynthesisStrategy.RULE_BASED or self.evaluation == "llm_judge"

    def inferencer(self) -> Inferencer | None:
        """The model, where one is asked. Raises `UserError` where there is none."""
        if not self.asks:
            return None
        if self.model is None:
            raise UserError("no language model is named", fix="--model or PERIPLUS_MODEL, as provider:model")
        try:
            return ModelInferencer(self.model)
        except InferenceFailed as exc:
            raise UserError(str(exc), fix=exc.hint or "name another with --model") from exc


BY_RULES = Judgement()


async def induced(
    traces: Sequence[ExecutionTrace], name: str, task: str, judgement: Judgement = BY_RULES
) -> PipelineResult:
    """What the stages make of the traces. Raises `UserError` where they refuse, with the reason."""
    config = PipelineConfig(
        name=name, generate_script=True, synthesis_strategy=judgement.strategy,
        evaluation_strategy=EvaluationStrategy(judgement.evaluation), min_success_traces=judgement.min_success_traces,
    )  # fmt: skip
    pipeline = MetaAgentPipeline(config=config, inferencer=judgement.inferencer())
    try:
        result = await pipeline.from_traces(traces, task)
    except MetaAgentError as exc:
        raise UserError(str(exc), fix=exc.hint or "look at the traces") from exc
    if result.failed_stage is not None:
        if isinstance(result.cause, MetaAgentError):
            raise UserError(str(result.error), fix=result.cause.hint or "look at the traces")
        if result.cause is not None:
            raise result.cause
    if result.graph is None:
        return result
    graph = made_portable(result.graph)
    return replace(result, graph=graph, lowered=lower(graph), python_script=as_script(graph))


def written(result: PipelineResult, folder: Path, screens: Sequence[Screen] = ()) -> list[Path]:
    """Graph, documents, report and script as files; what was written."""
    files = {f"screens/{screen.screen_id}.json": _pretty(screen) for screen in screens}
    if result.graph is not None:
        files["graph.json"] = result.graph.model_dump_json(indent=2, by_alias=True)
    if result.synthesis_report is not None:
        files["report.json"] = result.synthesis_report.model_dump_json(indent=2)
    if result.python_script is not None:
        files["workflow.py"] = result.python_script
    if result.lowered is not None:
        files["workflow.json"] = _pretty(result.lowered.workflow)
        files |= {f"tasks/{task.task_id}.json": _pretty(task) for task in result.lowered.tasks}
        for number, edge in enumerate(result.lowered.dependencies, 1):
            files[f"dependencies/{number:03d}.json"] = _pretty(edge)
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return [folder / name for name in files]


def _pretty(document: Document) -> str:
    return json.dumps(document.to_json(), indent=2, ensure_ascii=False)


def values_shown(result: PipelineResult, trace_id: str) -> dict[str, Any]:
    """The workflow's inputs as one trace has them, as far as it shows them; secrets are in no trace."""
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
    for position, info in _parameterizable(result.patterns):
        for name, value in _shown_at(position, info, trace_id):
            if name in wanted and value not in (None, REDACTED):
                shown.setdefault(name, value)
    return shown


def _parameterizable(patterns: ExtractedPatterns) -> Iterator[tuple[AlignedPosition, ParameterizableInfo]]:
    """Steps with inputs, each round of a loop that has inputs of its own included."""
    yield from patterns.parameterizable_steps
    for loop in patterns.loop_patterns:
        for body in loop.rounds or (loop.body,):
            yield from _parameterizable(body)
    for branch in patterns.branch_patterns:
        for body in branch.bodies.values():
            yield from _parameterizable(body)


def _shown_at(
    position: AlignedPosition, info: ParameterizableInfo, trace_id: str
) -> Iterator[tuple[str, Any]]:
    """Variables that stand for a whole value there, and what the trace has for them."""
    step = position.steps.get(trace_id)
    for key, variable in info.variable_args.items():
        binding = info.bindings.get(key)
        if step is not None and binding is not None and binding.template == f"{{{variable}}}":
            yield variable, (step.args or {}).get(key)
    if info.target is not None and info.target.binding.template == f"{{{info.target.binding.name}}}":
        words = next((said for row, said in sorted(info.target.words.items()) if row[0] == trace_id), None)
        yield info.target.binding.name, words


def placed(result: PipelineResult, found: ScreensFound) -> PipelineResult:
    """The same, its steps saying which screen they take place on."""
    if result.graph is None:
        return result
    return replace(result, lowered=lower(result.graph, screens=found.by_step))


@dataclass(frozen=True, slots=True)
class Site:
    """Where a workflow is run."""

    stores: Stores
    website_id: str
    base_url: str | None
    headed: bool | None = None


class SiteRunner:
    """Runs what was lowered from a graph on the site, in a browser that knows nothing (MA 8)."""

    def __init__(self, site: Site, lowered: Lowered, folder: Path, given: Mapping[str, Any]) -> None:
        self._site, self._lowered, self._folder, self._given = site, lowered, folder, dict(given)
        self._runs = 0

    async def __call__(self, graph: ActionGraph, data: dict[str, Any] | None) -> ExecutionTrace:  # noqa: ARG002 - what was lowered from it is run
        """What was done; a run that fails is a trace that failed."""
        self._runs += 1
        site, folder = self._site, self._folder / f"validation-{self._runs}"
        values = {**(data or {}), **self._given}
        async with (
            browser_context(headed=site.headed) as browser,
            open_session(
                site.stores, browser, site.website_id, base_url=site.base_url, values=values
            ) as session,
        ):
            for task in self._lowered.tasks:
                session.knowledge.know(task)
            trace = SessionTrace(folder, website_id=site.website_id, context=session.context)
            session.bus.listen(trace, pages=True)
            error: str | None = None
            try:
                done = await run_workflow(Engine(session), self._lowered.workflow, values)
                error = None if done.succeeded else done.error or done.status
            except (AgentError, PageError, PlaywrightError) as exc:
                error = str(exc)
            trace.close(complete=error is None)
        return read_session(folder).model_copy(update={"success": error is None, "error": error})


async def validated(
    site: Site, result: PipelineResult, count: int, folder: Path, given: Mapping[str, Any],
    screens: Sequence[Screen] = (),
) -> ValidationResults:  # fmt: skip
    """Run the workflow on the site with what `count` of the traces show, and with what is given besides.

    The knowledge is tried as it would be with the workflow and the new screens, on shelves of its own.
    Raises `UserError` where they cannot be part of it.
    """
    if result.graph is None or result.lowered is None:
        return ValidationResults()
    lowered = result.lowered
    shown = [values_shown(result, trace.trace_id) for trace in result.traces if trace.success]
    known, _ = await read_knowledge(site.stores.documents, site.stores.graph, site.website_id)
    change = WorkflowChange(
        type="workflow", workflow=lowered.workflow, tasks=lowered.tasks,
        dependencies=lowered.dependencies, screens=tuple(screens),
    )  # fmt: skip
    try:
        would_be, _ = changed(known, change)
    except KnowledgeError as exc:
        raise UserError(f"the workflow cannot become knowledge: {exc}", fix="look at the traces") from exc
    async with trial_stores(would_be) as stores:
        runner = SiteRunner(replace(site, stores=stores), lowered, folder, given)
        return await GraphValidator(runner).validate(result.graph, shown[:count])


async def published(site: Site, lowered: Lowered, screens: Sequence[Screen] = (), *, replace: bool) -> str:
    """Make the workflow part of the knowledge, over MCP, with the new screens it is on; its id.

    Raises `UserError`.
    """
    async with desk_client(site.stores) as client:
        try:
            answer = await Knowledge(client, site.website_id).publish(
                lowered.workflow, lowered.tasks, lowered.dependencies, screens, replace=replace
            )
        except AgentError as exc:
            raise UserError(
                str(exc), fix=exc.hint or "--replace lets another one of that name give way"
            ) from exc
    return answer.workflow_id
