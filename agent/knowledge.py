"""The agent's only door to knowledge: the MCP tools of the desk, as typed calls.

Whether the desk runs in this process, over stdio or over HTTP makes no difference here.
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

from agent.errors import AgentError, KnowledgeUnavailable, NotInKnowledge
from kb_schema import KnowledgeError, parse_document
from kb_schema.actions import Action
from kb_schema.answers import (
    DocumentAnswer,
    Identification,
    Objective,
    Paths,
    RecoveryOption,
    RecoveryPaths,
    SearchHit,
    SearchResults,
    SiteMap,
    TaskList,
    TaskSummary,
)
from kb_schema.base import Document, Model
from kb_schema.conditions import OnScreen
from kb_schema.graph import TaskDependency
from kb_schema.handling import ErrorRecovery
from kb_schema.learned import OutcomeRecorded, ReportedOutcome
from kb_schema.presentation import PresentationFlow
from kb_schema.proposals import ChangeProposed, ReportedSupport, SelectorChange, WorkflowPublished
from kb_schema.screens import Screen
from kb_schema.snapshots import PageSnapshot
from kb_schema.tasks import Task
from kb_schema.websites import Website
from kb_schema.workflows import Workflow

AnswerT = TypeVar("AnswerT", bound=Model)
DocumentT = TypeVar("DocumentT", bound=Document)


class Knowledge:
    """One website's knowledge as the desk tells it. Documents are asked for once a run."""

    def __init__(self, client: Client, website_id: str, base_url: str | None = None) -> None:
        self._client = client
        self.website_id = website_id
        self._base_url = base_url
        self._documents: dict[tuple[str, str], Document] = {}
        self._no_document: set[str] = set()
        self._asking: dict[tuple[str, str], asyncio.Lock] = {}
        self.calls = 0
        self.on_read: Callable[[Document], None] | None = None
        """Hears of every document that is made use of: what a segment's film depends on."""

    def know(self, document: Document) -> None:
        """A document of the agent's own making, beside those of the desk, for as long as this lives."""
        self._documents[document.kind, document.local_id] = document

    async def website(self) -> Website:
        """The website's own document."""
        return await self._document("get_website", "website", self.website_id, Website, {})

    async def site_map(self) -> SiteMap:
        """Every screen and every way between two."""
        return await self._ask("get_site_map", SiteMap, {})

    async def screen(self, screen_id: str) -> Screen:
        """A screen with the elements of its layouts. Raises `NotInKnowledge`."""
        return await self._document("get_screen", "screen", screen_id, Screen, {"screen_id": screen_id})

    async def task(self, task_id: str) -> Task:
        """A task. Raises `NotInKnowledge`."""
        return await self._document("get_task_definition", "task", task_id, Task, {"task_id": task_id})

    async def workflow(self, workflow_id: str) -> Workflow:
        """A published workflow, which the desk offers as a resource. Raises `NotInKnowledge`."""
        if ("workflow", workflow_id) not in self._documents:
            address = f"kb://{quote(self.website_id, safe='')}/workflows/{quote(workflow_id, safe='')}"
            self.calls += 1
            try:
                read = await self._client.read_resource(address)
                document = parse_document(json.loads(getattr(read.contents[0], "text", "")))
            except MCPError as exc:
                raise NotInKnowledge(f"no workflow {workflow_id!r}: {exc}") from exc
            except (KnowledgeError, ValueError, IndexError) as exc:
                raise KnowledgeUnavailable(f"workflow {workflow_id!r} cannot be read: {exc}") from exc
            self._documents["workflow", workflow_id] = document
        return cast("Workflow", self._told("workflow", workflow_id))

    async def publish(
        self,
        workflow: Workflow,
        tasks: Sequence[Task] = (),
        dependencies: Sequence[TaskDependency] = (),
        screens: Sequence[Screen] = (),
        *,
        replace: bool = False,
    ) -> WorkflowPublished:
        """Make a workflow part of the knowledge, with the tasks it is made of and new screens it is on.

        Raises `AgentError`.
        """
        said: dict[str, Any] = {
            "workflow": workflow.to_json(),
            "tasks": [each.to_json() for each in tasks],
            "dependencies": [each.to_json() for each in dependencies],
            "screens": [each.to_json() for each in screens],
            "replace": replace,
        }
        return await self._ask("publish_workflow", WorkflowPublished, said)

    async def tasks(self) -> tuple[TaskSummary, ...]:
        """Every task in short."""
        found: list[TaskSummary] = []
        cursor: str | None = None
        while True:
            page = await self._ask("list_tasks", TaskList, {"cursor": cursor})
            found += page.tasks
            cursor = page.next_cursor
            if cursor is None:
                return tuple(found)

    async def flow(self, flow_id: str) -> PresentationFlow:
        """A presentation flow. Raises `NotInKnowledge`."""
        return await self._document(
            "get_presentation_flow", "presentation_flow", flow_id, PresentationFlow, {"flow_id": flow_id}
        )

    async def action(self, action_id: str) -> Action | None:
        """An action document, or None where the word is only an action type."""
        async with self._asked_once("action", action_id):
            if action_id in self._no_document:
                return None
            try:
                return await self._fetched(
                    "get_action_definition", "action", action_id, Action, {"action_id": action_id}
                )
            except NotInKnowledge:
                self._no_document.add(action_id)
                return None

    async def fetch_ahead(self, task: Task, deep: int = 1) -> None:
        """Ask for what the steps of a task name, and the tasks it may need (so `deep`), before it is needed.
        What cannot be had now is asked for again, and told of, when it is.
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
        """The website's strategy for an error, or None where it has none."""
        try:
            answer = await self._ask(
                "get_error_recovery_strategy",
                DocumentAnswer,
                {"error": error, "screen_id": screen_id, "action_type": action_type},
            )
        except NotInKnowledge:
            return None
        return _parsed(answer, ErrorRecovery)

    async def identify(self, snapshot: PageSnapshot, last_known: str | None = None) -> Identification:
        """Which screen a page is; the ways out where it is none."""
        return await self._ask(
            "identify_current_screen",
            Identification,
            {
                "snapshot": snapshot.to_json() | {"url": snapshot.url},
                "last_known_screen_id": last_known,
                "base_url": self._base_url,
            },
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
    ) -> Paths:
        """The best ways from one screen to another."""
        return await self._ask(
            "find_path",
            Paths,
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
        """The ways out of a screen, best first."""
        answer = await self._ask(
            "find_global_recovery_paths",
            RecoveryPaths,
            {"screen_id": screen_id, "facts": dict(facts) if facts else None},
        )
        return answer.options

    async def tasks_for_screen(self, screen_id: str) -> tuple[TaskSummary, ...]:
        """Tasks that begin on, use or lead to a screen: the first page of them. Raises `NotInKnowledge`."""
        return (await self._ask("find_tasks_for_screen", TaskList, {"screen_id": screen_id})).tasks

    async def search(self, query: str, kinds: Sequence[str] = ()) -> tuple[SearchHit, ...]:
        """What says something of what is searched for, best first: the first page of it."""
        asked = {"query": query, "kinds": list(kinds) or None}
        return (await self._ask("search_knowledge", SearchResults, asked)).hits

    async def record_outcome(self, outcome: ReportedOutcome) -> bool:
        """Report how something went; whether it was counted now. Raises `AgentError`."""
        answer = await self._ask("record_outcome", OutcomeRecorded, {"outcome": outcome.to_json()})
        return answer.counted

    async def propose(self, change: SelectorChange, evidence: ReportedSupport) -> ChangeProposed:
        """Propose another selector, or say of one how it went. Raises `AgentError`."""
        said = {"change": change.to_json() | {"type": change.type}, "evidence": evidence.to_json()}
        return await self._ask("propose_change", ChangeProposed, said)

    async def _document(
        self, tool: str, kind: str, local_id: str, model: type[DocumentT], arguments: dict[str, Any]
    ) -> DocumentT:
        async with self._asked_once(kind, local_id):
            return await self._fetched(tool, kind, local_id, model, arguments)

    def _asked_once(self, kind: str, local_id: str) -> asyncio.Lock:
        """Two that want the same document at once ask for it once."""
        return self._asking.setdefault((kind, local_id), asyncio.Lock())

    async def _fetched(
        self, tool: str, kind: str, local_id: str, model: type[DocumentT], arguments: dict[str, Any]
    ) -> DocumentT:
        key = (kind, local_id)
        if key not in self._documents:
            arguments = {**arguments, "detail": "full"} if kind in ("screen", "website") else arguments
            self._documents[key] = _parsed(await self._ask(tool, DocumentAnswer, arguments), model)
        return cast("DocumentT", self._told(kind, local_id))

    def _told(self, kind: str, local_id: str) -> Document:
        document = self._documents[kind, local_id]
        if self.on_read is not None:
            self.on_read(document)
        return document

    async def _ask(self, tool: str, model: type[AnswerT], arguments: Mapping[str, Any]) -> AnswerT:
        given = {name: value for name, value in arguments.items() if value is not None}
        self.calls += 1
        try:
            result = await self._client.call_tool(tool, {"website_id": self.website_id, **given})
        except MCPError as exc:
            raise KnowledgeUnavailable(f"the knowledge server did not answer {tool}: {exc}") from exc
        if result.is_error:
            text = " ".join(getattr(block, "text", "") for block in result.content).strip()
            if (result.structured_content or {}).get("error") in ("unknown_name", "bad_request"):
                raise NotInKnowledge(text)
            raise KnowledgeUnavailable(text or f"{tool} failed")
        try:
            return model.model_validate(result.structured_content)
        except ValidationError as exc:
            raise KnowledgeUnavailable(f"the answer to {tool} cannot be read: {exc}") from exc


def _parsed(answer: DocumentAnswer, model: type[DocumentT]) -> DocumentT:
    try:
        document = parse_document(answer.document)
    except KnowledgeError as exc:
        raise KnowledgeUnavailable(f"{answer.kind} {answer.id!r} cannot be read: {exc}") from exc
    if not isinstance(document, model):
        raise NotInKnowledge(f"{answer.id!r} is no {model.__name__.lower()}, but a {document.kind}")
    return document
