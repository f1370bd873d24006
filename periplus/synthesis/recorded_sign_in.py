"""The sign-in of recordings as the website's: a new one is published with the workflow, a known one is used instead."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from agent.dangers.danger_words import find_danger_in_words
from agent.errors import UnknownToKnowledge
from agent.knowledge_client import KnowledgeClient
from agent.synthesis.traces.trace_pages import TracePages
from agent.synthesis.workflows.sign_in_steps import SIGN_IN, is_same_sign_in
from agent.synthesis.workflows.workflow_documents import WorkflowDocuments
from kb_schema.conditions import Authenticated, Condition
from kb_schema.execution_traces import ExecutionTrace, TraceStep
from kb_schema.graph_documents import TaskDependency
from kb_schema.page_snapshots import PageSnapshot
from kb_schema.proposals import SignInFound
from kb_schema.tasks import Task
from kb_schema.url_patterns import path_of
from kb_schema.websites import Website
from kb_schema.workflows import TaskNode, Workflow, walk
from mcp_server.transition_graph.condition_scopes import ScreenScope
from web_pages.indicator_candidates import IndicatorCandidate, PageProfileIndex
from web_pages.page_profiles import PageProfile
from web_pages.stored_pages import evaluate

LEAST_PATHS = 3
"""Paths on which something must be seen to be a sign of every signed-in page, unless its words are to sign out."""
MOST_RANKED = 60
MOST_PAGES = 60


async def adopt_sign_in(
    knowledge: KnowledgeClient, lowered: WorkflowDocuments, traces: Sequence[ExecutionTrace]
) -> tuple[WorkflowDocuments, SignInFound | None, str]:
    """Return the documents with the sign-in they use, what is to become the website's sign-in, and a sentence about it.

    The website's own sign-in is used if it enters the same; another one stays a task of this workflow alone.
    """
    own = next((each for each in lowered.tasks if each.task_id == lowered.sign_in), None)
    website = await knowledge.website()
    if own is None:
        if website.login_task_id is None or not _begin_signed_in(traces, website):
            return lowered, None, ""
        sentence = f"the traces begin signed in: {website.login_task_id} signs in first where that is needed"
        return _sign_in_first(lowered, website.login_task_id), None, sentence
    known_id = website.login_task_id or SIGN_IN
    try:
        known = await knowledge.task(known_id)
    except UnknownToKnowledge:
        known = None
    if known is None and website.login_task_id is None and not _is_signed_in_before(traces):
        told = find_signed_in_condition(traces)
        made = SignInFound(task_id=own.task_id, authenticated_when=() if told is None else (told,))
        lowered = lowered if told is None else _verify(lowered, own)
        how = "" if told is not None else "; nothing in the traces tells on every page that one is signed in"
        return lowered, made, f"the sign-in is the task {own.task_id}, for all tasks of the website{how}"
    if known is not None and is_same_sign_in(known, own):
        return _use(lowered, own, known), None, f"the sign-in is the website's task {known.task_id}"
    kept = own.model_copy(update={"task_id": f"{lowered.workflow.workflow_id}_{SIGN_IN}"})
    why = (
        "is typed by one who is signed in already"
        if known is None
        else f"differs from the website's task {known_id}"
    )
    sentence = f"the sign-in {why}: it is the task {kept.task_id}"
    return _use(lowered, own, kept, add=True), None, sentence


def _begin_signed_in(traces: Sequence[ExecutionTrace], website: Website) -> bool:
    """Whether the first page of every trace is one of somebody who is signed in, by the website's own conditions."""
    return bool(traces and website.authenticated_when) and all(
        _shows_signed_in(trace, website) for trace in traces
    )


def _shows_signed_in(trace: ExecutionTrace, website: Website) -> bool:
    step = trace.steps[0] if trace.steps else None
    html = "" if step is None else step.html_before or step.html_after
    if step is None or not html:
        return False
    page = PageSnapshot(url=step.source_url or "about:blank", html=html, annotated=True)
    (verdict,) = evaluate(
        page, [Authenticated(type="authenticated")], ScreenScope({}, website.authenticated_when)
    )
    return verdict.held


def _sign_in_first(lowered: WorkflowDocuments, login: str) -> WorkflowDocuments:
    """Return the documents whose first step is done signed in: the website's sign-in is its remedy."""
    first = next((each for each in walk(lowered.workflow.nodes) if isinstance(each, TaskNode)), None)
    task = next((each for each in lowered.tasks if first is not None and each.task_id == first.task_id), None)
    if task is None or not task.steps:
        return lowered
    needed = Authenticated(
        type="authenticated", hard_dependency=False, auto_remediate=True, remediation_task_id=login
    )
    step = task.steps[0]
    signed = step.model_copy(update={"preconditions": (needed, *step.preconditions)})
    changed = task.model_copy(update={"steps": (signed, *task.steps[1:])})
    return replace(lowered, tasks=tuple(changed if each is task else each for each in lowered.tasks))


def _verify(lowered: WorkflowDocuments, own: Task) -> WorkflowDocuments:
    """Return the documents; the sign-in has worked where the website's sign-in conditions hold."""
    criteria = (Authenticated(type="authenticated"),)
    verified = own.model_copy(update={"success_criteria": criteria, "already_done_when": criteria})
    return replace(lowered, tasks=tuple(verified if each is own else each for each in lowered.tasks))


def _use(lowered: WorkflowDocuments, own: Task, other: Task, *, add: bool = False) -> WorkflowDocuments:
    """Return the documents with another task in place of the sign-in; inputs correspond by their order."""
    names = {
        mine.name: theirs.name for mine, theirs in zip(own.io_spec.inputs, other.io_spec.inputs, strict=True)
    }

    def changed(node: object) -> object:
        if not isinstance(node, TaskNode) or node.task_id != own.task_id:
            return node
        inputs = {
            names[name]: mapping if mapping.key else mapping.model_copy(update={"key": name})
            for name, mapping in node.inputs.items()
        }
        return node.model_copy(update={"task_id": other.task_id, "inputs": inputs})

    workflow: Workflow = lowered.workflow.model_copy(
        update={"nodes": tuple(changed(node) for node in lowered.workflow.nodes)}
    )
    tasks = [each for each in lowered.tasks if each.task_id != own.task_id]
    return replace(
        lowered,
        workflow=workflow,
        tasks=(other, *tasks) if add else tuple(tasks),
        dependencies=tuple(_rename_ends(each, own.task_id, other.task_id) for each in lowered.dependencies),
        sign_in=other.task_id,
    )


def _rename_ends(edge: TaskDependency, former: str, now: str) -> TaskDependency:
    ends = {name: now for name in ("from_task", "to_task") if getattr(edge, name) == former}
    return edge.model_copy(update=ends)


def find_signed_in_condition(traces: Sequence[ExecutionTrace]) -> Condition | None:
    """Return what all pages after the sign-in show and none before it; None if that is not certain.

    Few pages are recorded. So it is a control whose words are to sign out, or it was seen on three paths.
    """
    pages = TracePages()
    outside: dict[tuple[str, str], PageProfile] = {}
    inside: dict[tuple[str, str], PageProfile] = {}
    for trace in traces:
        for signed_in, html, url in _iterate_pages(trace):
            profile = pages.profile(html, url)
            if profile is not None:
                (inside if signed_in else outside)[html, url] = profile
    if not inside or not outside or len(inside) + len(outside) > MOST_PAGES:
        return None
    index = PageProfileIndex([*inside.values(), *outside.values()])
    ranked = index.rank(range(len(inside)), range(len(inside), len(index)), limit=MOST_RANKED)
    certain = [each for each in ranked if each.separates]
    leaving = [each for each in certain if _signs_out(each)]
    if leaving:
        return leaving[0].condition
    paths = {path_of(url) for _, url in inside}
    return certain[0].condition if certain and len(paths) >= LEAST_PATHS else None


def _is_signed_in_before(traces: Sequence[ExecutionTrace]) -> bool:
    """Whether a page before the secret was typed shows a control to sign out: then it is another form."""
    pages = TracePages()
    return any(
        _leaves(sign.text)
        for trace in traces
        for signed_in, html, url in _iterate_pages(trace)
        if not signed_in and (profile := pages.profile(html, url)) is not None
        for sign in profile.signs
    )


def _signs_out(candidate: IndicatorCandidate) -> bool:
    return _leaves(candidate.signs[0].text)


def _leaves(words: str) -> bool:
    """Whether words are those of a control to sign out."""
    found = find_danger_in_words(words, pressed=True)
    return found is not None and found[0] == "signs_out"


def _iterate_pages(trace: ExecutionTrace) -> Iterator[tuple[bool, str, str]]:
    """Yield each page of a trace: whether it was after the sign-in, its HTML and its address."""
    typed = next((at for at, step in enumerate(trace.steps) if _is_secret(step)), None)
    if typed is None:
        return
    asking = trace.steps[typed].source_url
    for at, step in enumerate(trace.steps):
        if step.html_before and step.source_url and step.source_url.startswith("http"):
            if at <= typed:
                yield False, step.html_before, step.source_url
            elif step.source_url != asking:
                yield True, step.html_before, step.source_url
    last = trace.steps[-1]
    after = last.metadata.get("url_after")
    if last.html_after and isinstance(after, str) and after != asking:
        yield True, last.html_after, after


def _is_secret(step: TraceStep) -> bool:
    return bool(step.metadata.get("secret"))
