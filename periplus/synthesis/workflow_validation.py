"""Runs a synthesized workflow on its website and compares each run with the trace whose inputs it has (MA 8)."""

from __future__ import annotations

import asyncio
import itertools
import json
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from playwright.async_api import Error as PlaywrightError

from agent.dangers.danger_words import find_danger_in_words
from agent.errors import AgentError
from agent.execution.task_runner import TaskRunner
from agent.execution.workflow_runner import run_workflow
from agent.knowledge_client import KnowledgeClient
from agent.page.errors import PageError
from agent.redaction import REDACTED
from agent.run_records.session_trace import SessionTrace
from agent.synthesis.graph.graph_validation import ValidationResult, ValidationResults
from agent.synthesis.graph.run_comparison import ExpectedRun, compare_run
from agent.synthesis.synthesis_pipeline import PipelineResult, add_workflow_documents
from agent.synthesis.traces.refused_steps import list_accepted_writes
from agent.synthesis.workflows.workflow_documents import WorkflowDocuments
from kb_schema import KnowledgeError, action_types
from kb_schema.execution_traces import SOURCE, ExecutionTrace, TraceStep
from kb_schema.proposals import WorkflowChange
from kb_schema.run_records import RunResult
from kb_schema.screens import Screen
from kb_schema.session_reader import read_session
from kb_store import read_knowledge
from kb_store.proposals.accepted_changes import apply_change
from periplus.errors import UserError
from periplus.knowledge_server import connect_knowledge_client
from periplus.session_setup import open_browser_context, open_session
from periplus.synthesis.workflow_synthesis import (
    SynthesisJudgement,
    SynthesisSite,
    induce_workflow,
    mark_unverified,
    read_shown_values,
)
from periplus.trial_stores import open_trial_stores
from periplus.vault_setup import open_vault

USUAL_RUNS = 3
"""Validation runs if nothing else is said (MA `PipelineConfig.validation_runs`)."""
REACHED_S = 5.0
"""Seconds the website may take to answer at all."""
_LOOKS = frozenset(
    {
        "navigate",
        "navigate_back",
        "refresh",
        "hover",
        "focus",
        "scroll",
        "scroll_to_element",
        "get_screen_content",
        "wait",
        "wait_for",
        "clear",
        "close_tab",
        "no_op",
    }
)
"""Actions that change nothing on a website."""
_OPENING_ROLES = frozenset(
    {"link", "tab", "option", "treeitem", "columnheader", "textbox", "searchbox", "combobox"}
)
"""Roles of what opens something, or is entered into."""
_LEAST_OTHERS = 2
"""Traces that must be left for a trace to be held out."""


class WorkflowSiteRunner:
    """Runs a workflow on the website, in a new browser context."""

    def __init__(
        self, site: SynthesisSite, lowered: WorkflowDocuments, folder: Path, given: Mapping[str, Any]
    ) -> None:
        self._site, self._lowered, self._folder, self._given = site, lowered, folder, dict(given)

    async def run(self, data: Mapping[str, Any]) -> ExecutionTrace:
        """Return the trace of the run; a failed run gives a failed trace."""
        site = self._site
        folder = next(
            each for n in itertools.count(1) if not (each := self._folder / f"validation-{n}").exists()
        )
        values = {**data, **self._given}
        async with (
            open_browser_context(headed=site.headed) as browser,
            open_session(
                site.stores, browser, site.website_id, base_url=site.base_url, values=values
            ) as session,
        ):
            for task in self._lowered.tasks:
                session.knowledge.know(task)
            trace = SessionTrace(folder, website_id=site.website_id, context=session.context, inputs=values)
            session.bus.listen(trace, pages=True)
            error: str | None = None
            html = url = None
            try:
                done = await run_workflow(TaskRunner(session), self._lowered.workflow, values)
                error = self._find_failure(done)
                last = await session.snapshot()
                html, url = last.html, last.url
            except (AgentError, PageError, PlaywrightError) as exc:
                error = str(exc)
            trace.close(html, complete=error is None, url_after=url)
        return read_session(folder).model_copy(update={"success": error is None, "error": error})

    def _find_failure(self, done: RunResult) -> str | None:
        """Return why a run does not count as passed; None if it does."""
        if done.succeeded or (done.complete and self._site.allow_unverified):
            return None
        if done.complete:
            return "every step was done, but nothing in the application showed that it worked"
        return done.error or done.status


async def find_reason_not_to_validate(
    site: SynthesisSite, result: PipelineResult, given: Mapping[str, Any]
) -> str | None:
    """Return why the workflow is not run on the website unless a person asks for it; None if it is.

    A run repeats what the traces show. So they must show that nothing is sent besides the sign-in, and that nothing is
    pressed that may send something where no request shows it (a WebSocket, a worker); the website must answer, and every
    input must have a value.
    """
    if result.aligned is None or result.lowered is None:
        return "there is no workflow"
    traces = [each for each in result.traces if each.trace_id in result.aligned.trace_ids]
    reason = _find_unrepeatable(traces)
    if reason is not None:
        return reason
    shown = read_shown_values(result, result.aligned.trace_ids[0])
    vault = open_vault(site.website_id, audited=False)
    for spec in result.lowered.workflow.io_spec.inputs:
        if not spec.required or spec.default is not None or spec.name in {**shown, **given}:
            continue
        if not spec.secret or await vault.secret(spec.name) is None:
            return f"the input {spec.name!r} has no value in the traces, so give one with --input {spec.name}=VALUE"
    async with connect_knowledge_client(site.stores) as client:
        address = site.base_url or (await KnowledgeClient(client, site.website_id).website()).base_url
    return await asyncio.to_thread(_find_unreachable, address)


def _find_unrepeatable(traces: Sequence[ExecutionTrace]) -> str | None:
    if any(SOURCE in trace.metadata for trace in traces):
        return (
            "imported traces do not tell what the task sends, so it may not be repeated without being asked"
        )
    for trace in traces:
        for step in _iterate_writing_steps(trace):
            write = list_accepted_writes(step)[0]
            return f"the task sends {write.method} {urlsplit(write.url).path}, which would be done again"
        for step in trace.steps:
            skipped = step.result is not None and step.result.action_skipped
            if skipped or step.source_url in _list_sign_in_pages(trace):
                continue
            if (pressed := _find_unseen_press(step)) is not None:
                if not (step.metadata.get("fingerprint") or step.metadata.get("said")):
                    return (
                        f"the traces tell neither which kind of control {pressed} is used on nor what the task sends,"
                        " so it may not be repeated without being asked"
                    )
                return (
                    f"the task presses {pressed}, which may change something without a request that is seen"
                )
    return None


def _find_unseen_press(step: TraceStep) -> str | None:
    """Return what a step presses if that may change something: all but links, fields, and what only opens or looks."""
    action = action_types.canonical(step.action_type) or step.action_type
    if action in _LOOKS:
        return None
    known = step.metadata.get("fingerprint") or {}
    role, name = str(known.get("role") or ""), str(known.get("name") or known.get("text") or "")
    if action in ("fill", "select_option", "press") and role != "button":
        return None  # what is entered is sent by a press
    if role in _OPENING_ROLES and find_danger_in_words(name, pressed=True) is None:
        return None
    said = str(step.metadata.get("said") or "")
    return said or (f"{role} {name!r}".strip() if name else action)


def _iterate_writing_steps(trace: ExecutionTrace) -> Iterator[TraceStep]:
    """Yield the steps that sent something, except on a page on which a secret was typed."""
    signs_in = _list_sign_in_pages(trace)
    for step in trace.steps:
        if list_accepted_writes(step) and step.source_url not in signs_in:
            yield step


def _list_sign_in_pages(trace: ExecutionTrace) -> set[str | None]:
    """Return the pages on which a secret was typed: a sign-in."""
    return {step.source_url for step in trace.steps if step.metadata.get("secret")}


def _find_unreachable(address: str) -> str | None:
    try:
        with urllib.request.urlopen(address, timeout=REACHED_S):  # noqa: S310 - the address of a website of the knowledge base
            return None
    except urllib.error.HTTPError:
        return None  # it answers
    except (OSError, ValueError) as exc:
        reason = getattr(exc, "reason", exc)
        return f"{address} does not answer ({reason})"


async def validate_workflow(
    site: SynthesisSite,
    result: PipelineResult,
    count: int,
    folder: Path,
    given: Mapping[str, Any],
    screens: Sequence[Screen] = (),
    judgement: SynthesisJudgement | None = None,
) -> ValidationResults:
    """Run the workflow with the inputs of `count` traces, and compare each run with its trace.

    `given` values replace those of the traces. A trace counts as held out if the workflow is the same without it. Runs use
    a temporary copy of the knowledge base that contains the workflow and the new screens. Raises `UserError` if these
    cannot be added to the knowledge base.
    """
    if result.graph is None or result.lowered is None or result.aligned is None:
        return ValidationResults()
    lowered = mark_unverified(result.lowered)
    known, _ = await read_knowledge(site.stores.documents, site.stores.graph, site.website_id)
    change = WorkflowChange(
        type="workflow",
        workflow=lowered.workflow,
        tasks=lowered.tasks,
        dependencies=lowered.dependencies,
        screens=tuple(screens),
    )
    try:
        would_be, _ = apply_change(known, change)
    except KnowledgeError as exc:
        raise UserError(
            f"the workflow cannot be added to the knowledge base: {exc}", fix="check the traces"
        ) from exc
    used = [each for each in result.traces if each.trace_id in result.aligned.trace_ids]
    results: list[ValidationResult] = []
    async with open_trial_stores(would_be) as stores:
        runner = WorkflowSiteRunner(replace(site, stores=stores), lowered, folder, given)
        for trace in used[:count]:
            shown = read_shown_values(result, trace.trace_id)
            held_out = await _is_held_out(result, used, trace, judgement)
            others = tuple(each for each in used if each is not trace)
            kept = {name: each for name, each in shown.items() if name not in given}
            expected = ExpectedRun(trace, others, kept, _is_stepwise(result, given, shown))
            done = compare_run(await runner.run(shown), expected)
            results.append(replace(done, trace_id=trace.trace_id, held_out=held_out))
    return ValidationResults(tuple(results))


def _is_stepwise(result: PipelineResult, given: Mapping[str, Any], shown: Mapping[str, Any]) -> bool:
    """Whether a run must do what the trace shows step by step.

    Not where the task repeats over what a page shows now, or with other values than those of the trace.
    """
    if given.keys() & shown.keys():
        return False
    patterns = [] if result.patterns is None else list(result.patterns.walk())
    return all(
        loop.rule.items is not None or loop.rule.kind == "fixed"
        for each in patterns
        for loop in each.loop_patterns
    )


async def _is_held_out(
    result: PipelineResult,
    used: Sequence[ExecutionTrace],
    trace: ExecutionTrace,
    judgement: SynthesisJudgement | None,
) -> bool:
    """Whether the other traces alone give the same workflow."""
    others = [each for each in used if each is not trace]
    if len(others) < _LEAST_OTHERS or result.lowered is None or (judgement is not None and judgement.asks):
        return False  # a model may answer otherwise each time
    accepted = frozenset() if judgement is None else judgement.accepted_traces
    ids = {each.trace_id for each in others}
    name = result.lowered.workflow.name
    try:
        made = await induce_workflow(
            others, name, result.task_description, SynthesisJudgement(accepted_traces=accepted & ids)
        )
    except UserError:
        return False
    without = add_workflow_documents(made)
    with_all = add_workflow_documents(result)  # without screens, which are looked up for the whole only
    return (
        without.lowered is not None
        and with_all.lowered is not None
        and _describe_documents(without.lowered) == _describe_documents(with_all.lowered)
    )


def _describe_documents(lowered: WorkflowDocuments) -> str:
    documents = [lowered.workflow, *lowered.tasks]
    return json.dumps([_strip(each.to_json()) for each in documents], sort_keys=True)


def _strip(node: Any) -> Any:
    """Return a document without what says nothing about what is done: where it comes from, and what elements were like."""
    if isinstance(node, dict):
        left_out = {"provenance", "fingerprint", "description", "confidence"}
        return {key: _strip(each) for key, each in node.items() if key not in left_out}
    return [_strip(each) for each in node] if isinstance(node, list) else node


def describe_validation(checked: ValidationResults, reason: str | None) -> list[str]:
    """Return the result of a validation in sentences: how many runs passed, and where each other one differs.

    `reason`: why the workflow was not run, if it was not.
    """
    if reason is not None:
        return [f"not validated on the website: {reason}"]
    if not checked.results:
        return ["not validated on the website"]
    passed = sum(each.passed for each in checked.results)
    held_out = sum(each.held_out for each in checked.results)
    count = len(checked.results)
    shown = f"validation: {passed} of {count} runs did what their trace shows"
    lines = [f"{shown}; {held_out} of {count} traces were held out (the workflow is the same without them)"]
    for each in checked.results:
        if not each.passed:
            at = "" if each.divergence_point is None else f", step {each.divergence_point + 1}"
            lines.append(
                f"{each.trace_id}{at}: expected {each.expected_outcome}, found {each.actual_outcome}"
            )
    return [line.replace(REDACTED, "***") for line in lines]
