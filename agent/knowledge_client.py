"""Typed calls of the knowledge server's MCP tools: the agent's only access to knowledge.

The server may run in this process, over stdio or over HTTP.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, TypeVar, cast
from urllib.parse import quote

from mcp import Client, MCPError
from pydantic import ValidationError

from agent.errors import AgentError, KnowledgeUnavailable, UnknownToKnowledge
from kb_schema import KnowledgeError, parse_document
from kb_schema.action_documents import Action
from kb_schema.base import Document, Model
from kb_schema.conditions import OnScreen
from kb_schema.error_handling import ErrorRecovery
from kb_schema.graph_documents import TaskDependency
from kb_schema.objectives import Objective
from kb_schema.observed_outcomes import OutcomeAnswer, ReportedOutcome
from kb_schema.page_snapshots import PageSnapshot
from kb_schema.presentation_flows import PresentationFlow
from kb_schema.proposals import (
    ProposalAnswer,
    PublicationAnswer,
    ReportedSupport,
    SelectorChange,
    SignInFound,
    StepTargetChange,
)
from kb_schema.screens import Screen
from kb_schema.tasks import Task
from kb_schema.tool_answers import (
    ActionAnswer,
    AvailableActions,
    Detail,
    DocumentAnswer,
    FlowAnswer,
    Identification,
    PathSearchResult,
    RecoveryOption,
    RecoveryPaths,
    SearchHit,
    SearchResults,
    SiteMap,
    TaskAnswer,
    TaskList,
    TaskSummary,
)
from kb_schema.websites import Website
from kb_schema.workflow_versions import list_named_parts
from kb_schema.workflows import Workflow

AnswerT = TypeVar("AnswerT", bound=Model)
DocumentT = TypeVar("DocumentT", bound=Document)
_READ_IN_FULL = frozenset({"screen", "task", "website"})
"""Kinds with fingerprints or signatures, which other levels of detail leave out."""
_ANSWERS: Mapping[str, type[DocumentAnswer]] = {
    "get_action_definition": ActionAnswer,
    "get_task_definition": TaskAnswer,
    "get_presentation_flow": FlowAnswer,
}
"""Tools whose answer has more than the document."""


class KnowledgeClient:
    """One website's knowledge. Each document is requested once per run."""

    def __init__(self, client: Client, website_id: str, base_url: str | None = None) -> None:
        self._client = client
        self.website_id = website_id
        self._base_url = base_url
        self._documents: dict[tuple[str, str], Document] = {}
        self._own: set[tuple[str, str]] = set()
        """Those that the agent made itself."""
        self._no_document: set[str] = set()
        self._dependencies: dict[str, tuple[TaskDependency, ...]] = {}
        self._request_locks: dict[tuple[str, str], asyncio.Lock] = {}
        self.calls = 0
        self.on_read: Callable[[Document], None] | None = None
        """Called with every document that is used: the film of a segment depends on them."""

    def know(self, document: Document) -> None:
        """Add a document that the agent made itself, for the life of this client."""
        self._documents[document.kind, document.local_id] = document
        self._own.add((document.kind, document.local_id))

    async def website(self) -> Website:
        """Return the website's document."""
        return await self._document("get_website", "website", self.website_id, Website, {})

    async def site_map(self) -> SiteMap:
        """Return every screen and every transition."""
        return await self._call("get_site_map", SiteMap, {})

    async def screen(self, screen_id: str) -> Screen:
        """Return a screen with the elements of its layouts. Raises `UnknownToKnowledge`."""
        return await self._document("get_screen", "screen", screen_id, Screen, {"screen_id": screen_id})

    async def task(self, task_id: str) -> Task:
        """Return a task. Raises `UnknownToKnowledge`."""
        return await self._document("get_task_definition", "task", task_id, Task, {"task_id": task_id})

    async def dependencies(self, task_id: str) -> tuple[TaskDependency, ...]:
        """Return the edges by which a task depends on others, in their order. Raises `UnknownToKnowledge`."""
        await self.task(task_id)
        return self._dependencies.get(task_id, ())

    async def workflow(self, workflow_id: str) -> Workflow:
        """Return a published workflow. Raises `UnknownToKnowledge`.

        What it uses is read with it, of the same revision of the knowledge: tasks, actions and the screens they name.
        """
        if ("workflow", workflow_id) not in self._documents:
            site, name = (quote(each, safe="") for each in (self.website_id, workflow_id))
            self.calls += 1
            try:
                read = await self._client.read_resource(f"kb://{site}/workflows/{name}/documents")
                documents = [
                    parse_document(each) for each in json.loads(getattr(read.contents[0], "text", ""))
                ]
            except MCPError as exc:
                raise UnknownToKnowledge(f"no workflow {workflow_id!r}: {exc}") from exc
            except (KnowledgeError, ValueError, IndexError) as exc:
                raise KnowledgeUnavailable(f"workflow {workflow_id!r} cannot be read: {exc}") from exc
            edges = [each for each in documents if isinstance(each, TaskDependency)]
            for task_id in {each.from_task for each in edges}:
                self._dependencies[task_id] = tuple(each for each in edges if each.from_task == task_id)
            for document in documents:
                key = (document.kind, document.local_id)
                if key not in self._own:
                    self._documents[key] = document
        return cast("Workflow", self._read_document("workflow", workflow_id))

    async def read_parts(self, workflow: Workflow) -> tuple[list[Task], list[Action]]:
        """Return the tasks and actions that a workflow uses, after reading the screens that these name.

        Each is read once: later changes of the knowledge do not reach this client. Raises `UnknownToKnowledge`.
        """
        tasks: dict[str, Task] = {}
        actions: dict[str, Action] = {}
        named: set[str] = set()
        waiting: list[Document] = [workflow]
        while waiting:
            parts = list_named_parts(waiting.pop())
            for name in parts.tasks:
                if name not in tasks:
                    tasks[name] = await self.task(name)
                    waiting.append(tasks[name])
            for name in parts.actions:
                if name not in named and (action := await self.action(name)) is not None:
                    actions[name] = action
                    waiting.append(action)
            named.update(parts.actions)
            for name in parts.screens:
                with suppress(UnknownToKnowledge):
                    await self.screen(name)
        return list(tasks.values()), list(actions.values())

    async def publish(
        self,
        workflow: Workflow,
        tasks: Sequence[Task] = (),
        dependencies: Sequence[TaskDependency] = (),
        screens: Sequence[Screen] = (),
        *,
        sign_in: SignInFound | None = None,
        replace: bool = False,
    ) -> PublicationAnswer:
        """Add a workflow to the knowledge base, with its tasks and new screens.

        `sign_in`: one of the tasks, for a website without a sign-in. Raises `AgentError`.
        """
        arguments: dict[str, Any] = {
            "workflow": workflow.to_json(),
            "tasks": [each.to_json() for each in tasks],
            "dependencies": [each.to_json() for each in dependencies],
            "screens": [each.to_json() for each in screens],
            "replace": replace,
        }
        if sign_in is not None:
            conditions = [
                each.model_dump(mode="json", exclude_defaults=True) for each in sign_in.authenticated_when
            ]
            arguments["sign_in"] = {"task_id": sign_in.task_id, "authenticated_when": conditions}
        return await self._call("publish_workflow", PublicationAnswer, arguments)

    async def tasks(self) -> tuple[TaskSummary, ...]:
        """Return a summary of every task."""
        found: list[TaskSummary] = []
        cursor: str | None = None
        while True:
            page = await self._call("list_tasks", TaskList, {"cursor": cursor})
            found += page.tasks
            cursor = page.next_cursor
            if cursor is None:
                return tuple(found)

    async def flow(self, flow_id: str) -> PresentationFlow:
        """Return a presentation flow. Raises `UnknownToKnowledge`."""
        return await self._document(
            "get_presentation_flow", "presentation_flow", flow_id, PresentationFlow, {"flow_id": flow_id}
        )

    async def action(self, action_id: str) -> Action | None:
        """Return an action document, or None if the name is only an action type."""
        async with self._request_lock("action", action_id):
            if action_id in self._no_document:
                return None
            try:
                return await self._fetch(
                    "get_action_definition", "action", action_id, Action, {"action_id": action_id}
                )
            except UnknownToKnowledge:
                self._no_document.add(action_id)
                return None

    async def fetch_ahead(self, task: Task, deep: int = 1) -> None:
        """Request in advance what a task's steps name, and the tasks it may need down to depth `deep`.

        Errors are ignored here: the document is requested again, and the error raised, when it is needed.
        """
        calls = [step.action for step in task.steps]
        needed = [condition for step in task.steps for condition in step.preconditions]
        screens = [each.screen_id for each in needed if isinstance(each, OnScreen)]
        screens += [call.target_screen for call in calls if call.target_screen is not None]
        if task.read_back is not None and task.read_back.screen_id is not None:
            screens.append(task.read_back.screen_id)
        for screen_id in dict.fromkeys(screens):
            with suppress(AgentError):
                await self.screen(screen_id)
        for action_type in dict.fromkeys(call.action_type for call in calls):
            with suppress(AgentError):
                await self.action(action_type)
        tasks = [each.remediation_task_id for each in needed] + [call.task_id for call in calls]
        for task_id in dict.fromkeys(filter(None, tasks)):
            with suppress(AgentError):
                other = await self.task(task_id)
                if deep > 0:
                    await self.fetch_ahead(other, deep - 1)

    async def error_recovery(
        self, error: str, screen_id: str | None, action_type: str | None
    ) -> ErrorRecovery | None:
        """Return the website's recovery strategy for an error, or None."""
        try:
            answer = await self._call(
                "get_error_recovery_strategy",
                DocumentAnswer,
                {"error": error, "screen_id": screen_id, "action_type": action_type},
            )
        except UnknownToKnowledge:
            return None
        return _parse_answer(answer, ErrorRecovery)

    async def identify(self, snapshot: PageSnapshot, last_known: str | None = None) -> Identification:
        """Return which screen a page is; for an unknown page, its recovery edges."""
        return await self._call(
            "identify_current_screen",
            Identification,
            {
                "snapshot": snapshot.to_json() | {"url": snapshot.url},
                "last_known_screen_id": last_known,
                "base_url": self._base_url,
            },
        )

    async def available_actions(self, screen_id: str, *, detail: Detail = "summary") -> AvailableActions:
        """Return what can be done on a screen, in short, or each action of each element. Raises `UnknownToKnowledge`."""
        return await self._call(
            "get_available_actions", AvailableActions, {"screen_id": screen_id, "detail": detail}
        )

    async def paths(
        self,
        from_screen: str,
        to_screen: str,
        *,
        objective: Objective = "balanced",
        k: int = 1,
        avoid: Mapping[str, list[str]] | None = None,
        facts: Mapping[str, Any] | None = None,
    ) -> PathSearchResult:
        """Return the `k` best paths from one screen to another."""
        return await self._call(
            "find_path",
            PathSearchResult,
            {
                "from_screen": from_screen,
                "to_screen": to_screen,
                "objective": objective,
                "k": k,
                "avoid": dict(avoid) if avoid else None,
                "facts": dict(facts) if facts else None,
            },
        )

    async def recoveries(
        self, screen_id: str | None, facts: Mapping[str, Any] | None = None
    ) -> tuple[RecoveryOption, ...]:
        """Return the recovery edges of a screen, best first."""
        answer = await self._call(
            "find_global_recovery_paths",
            RecoveryPaths,
            {"screen_id": screen_id, "facts": dict(facts) if facts else None},
        )
        return answer.options

    async def tasks_for_screen(self, screen_id: str) -> tuple[TaskSummary, ...]:
        """Return the first page of the tasks that begin on, use or lead to a screen. Raises
        `UnknownToKnowledge`.
        """
        return (await self._call("find_tasks_for_screen", TaskList, {"screen_id": screen_id})).tasks

    async def search(self, query: str, kinds: Sequence[str] = ()) -> tuple[SearchHit, ...]:
        """Return the first page of search hits, best first; also those that share only a word with the query."""
        arguments = {"query": query, "kinds": list(kinds) or None, "weak": True}
        return (await self._call("search_knowledge", SearchResults, arguments)).hits

    async def record_outcome(self, outcome: ReportedOutcome) -> bool:
        """Report an outcome; True if it was counted now. Raises `AgentError`."""
        answer = await self._call("record_outcome", OutcomeAnswer, {"outcome": outcome.to_json()})
        return answer.counted

    async def propose(
        self, change: SelectorChange | StepTargetChange, evidence: ReportedSupport
    ) -> ProposalAnswer:
        """Propose a selector, or report how a proposed one worked. Raises `AgentError`."""
        arguments = {"change": change.to_json() | {"type": change.type}, "evidence": evidence.to_json()}
        return await self._call("propose_change", ProposalAnswer, arguments)

    async def _document(
        self, tool: str, kind: str, local_id: str, model: type[DocumentT], arguments: dict[str, Any]
    ) -> DocumentT:
        async with self._request_lock(kind, local_id):
            return await self._fetch(tool, kind, local_id, model, arguments)

    def _request_lock(self, kind: str, local_id: str) -> asyncio.Lock:
        """The lock that makes concurrent requests for one document a single call."""
        return self._request_locks.setdefault((kind, local_id), asyncio.Lock())

    async def _fetch(
        self, tool: str, kind: str, local_id: str, model: type[DocumentT], arguments: dict[str, Any]
    ) -> DocumentT:
        key = (kind, local_id)
        if key not in self._documents:
            arguments = {**arguments, "detail": "full"} if kind in _READ_IN_FULL else arguments
            answer = await self._call(tool, _ANSWERS.get(tool, DocumentAnswer), arguments)
            self._documents[key] = _parse_answer(answer, model)
            if isinstance(answer, TaskAnswer) and answer.depends_on:
                edges = (parse_document(each) for each in answer.depends_on)
                self._dependencies[local_id] = tuple(
                    each for each in edges if isinstance(each, TaskDependency)
                )
        return cast("DocumentT", self._read_document(kind, local_id))

    def _read_document(self, kind: str, local_id: str) -> Document:
        document = self._documents[kind, local_id]
        if self.on_read is not None:
            self.on_read(document)
        return document

    async def _call(self, tool: str, model: type[AnswerT], arguments: Mapping[str, Any]) -> AnswerT:
        given = {name: value for name, value in arguments.items() if value is not None}
        self.calls += 1
        try:
            result = await self._client.call_tool(tool, {"website_id": self.website_id, **given})
        except MCPError as exc:
            raise KnowledgeUnavailable(f"the knowledge server did not answer {tool}: {exc}") from exc
        if result.is_error:
            text = " ".join(getattr(block, "text", "") for block in result.content).strip()
            told = result.structured_content or {}
            if told.get("error") == "unknown_name":
                raise _build_unknown_name(str(told.get("message") or text))
            if told.get("error") == "bad_request":
                raise UnknownToKnowledge(text)
            raise KnowledgeUnavailable(text or f"{tool} failed")
        try:
            return model.model_validate(result.structured_content)
        except ValidationError as exc:
            raise KnowledgeUnavailable(f"the answer to {tool} cannot be read: {exc}") from exc


def _build_unknown_name(message: str) -> UnknownToKnowledge:
    """Return the error for a name that the server does not know, with the server's suggestion as its hint.

    The server's own hint names tools for MCP clients and is left out.
    """
    head, separator, suggestion = message.rpartition("; ")
    if separator and suggestion.startswith(("did you mean", "known:")):
        return UnknownToKnowledge(head, hint=suggestion)
    return UnknownToKnowledge(message)


def _parse_answer(answer: DocumentAnswer, model: type[DocumentT]) -> DocumentT:
    try:
        document = parse_document(answer.document)
    except KnowledgeError as exc:
        raise KnowledgeUnavailable(f"{answer.kind} {answer.id!r} cannot be read: {exc}") from exc
    if not isinstance(document, model):
        raise UnknownToKnowledge(f"{answer.id!r} is no {model.__name__.lower()}, but a {document.kind}")
    return document
