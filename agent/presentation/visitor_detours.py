"""Carries out detours: back, past a segment, to another segment, or an aside with a return (KS 4.5)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from agent.errors import UnknownToKnowledge
from agent.knowledge_client import KnowledgeClient
from agent.presentation.presentation_records import Presentation, SegmentRecord, SegmentStatus
from agent.presentation.turn_manager import Detour, DetourRequested
from agent.presentation.visitor.demo_targets import find_task_screen, is_read_only_task
from kb_schema.presentation_flows import CURRENT, NEXT, PresentationFlow, Segment
from kb_schema.tasks import Task
from kb_schema.workflows import Workflow

VISITOR_SKIPPED = "the visitor went on to another part"
VISITOR_SKIPPED_IT = "the visitor skipped it"
VISITOR_ENDED = "the visitor ended the demo"


class DetourPlayer(Protocol):
    """What a detour needs of the flow player (`agent.presentation.flow_player.FlowPlayer`)."""

    presentation: Presentation

    @property
    def flow(self) -> PresentationFlow | None:
        """The flow in the language it is played in; None before it is played."""

    @property
    def knowledge(self) -> KnowledgeClient:
        """The knowledge of the website that is presented."""

    async def find_sign_in(self) -> str | None:
        """Return the task that signs in; None if the page is signed in, or cannot tell."""

    def record(self, segment: Segment, *, aside: bool = False) -> SegmentRecord:
        """Add a record for a segment that starts now, and return it."""

    async def show(self, segment: Segment, record: SegmentRecord) -> None:
        """Play one segment and complete its record."""

    def pass_over(self, segments: tuple[Segment, ...], reason: str) -> None:
        """Record these segments as skipped, except those that were shown."""

    def detoured(self, detour: Detour, then: int | None) -> None:
        """Record a detour. `then`: index of the segment to continue with afterwards; None: the next one."""


class VisitorDetours:
    """Carries out the detours that visitors request from one player."""

    def __init__(self, player: DetourPlayer) -> None:
        self._player = player

    async def take(self, detour: Detour, index: int) -> int:
        """Carry out a detour away from the segment at `index`; return the index to continue with.

        An aside is played at once. A detour that interrupts it is carried out from there.
        """
        flow = self._player.flow
        assert flow is not None  # noqa: S101 - detours are only taken while a flow is played
        while detour.kind == "aside":
            self._player.detoured(detour, None)
            try:
                await self._play_aside(flow, detour)
            except DetourRequested as another:
                if another.detour.kind in ("skip", "back"):  # the visitor ended the aside
                    return self._resume(flow, index)
                detour = another.detour
                continue
            return self._resume(flow, index)
        return self._select_target(flow, detour, index)

    def _select_target(self, flow: PresentationFlow, detour: Detour, index: int) -> int:
        segments, presentation = flow.ordered_segments, self._player.presentation
        match detour.kind:
            case "back":
                shown = (
                    i for i in range(index - 1, -1, -1) if presentation.was_shown(segments[i].segment_id)
                )
                target = next(shown, max(0, index - 1))
                self._player.detoured(detour, index if target < index else None)
                return target
            case "skip":
                self._player.detoured(detour, None)
                current = segments[index : index + 1]
                if not any(
                    s.segment_id == each.segment_id for s in presentation.segments for each in current
                ):
                    self._player.pass_over(current, VISITOR_SKIPPED_IT)  # requested before the segment began
                return index + 1
            case "segment":
                target = _index_of(segments, detour.segment_id, index)
                self._player.detoured(detour, None)
                self._player.pass_over(segments[index:target], VISITOR_SKIPPED)
                return target
            case _:
                self._player.detoured(detour, None)
                self._player.presentation.ended_by_visitor = True
                self._player.pass_over(segments[index:], VISITOR_ENDED)
                return len(segments)

    def _resume(self, flow: PresentationFlow, index: int) -> int:
        """Return the index to continue with after an aside, as the flow says (KS `resume_point`)."""
        segments = flow.ordered_segments
        if index >= len(segments):
            return index
        current = segments[index].segment_id
        path = flow.fallback("user_interrupts")
        point = (path.resume_point if path is not None else None) or CURRENT
        if point == NEXT or (point == CURRENT and self._player.presentation.was_shown(current)):
            return index + 1
        if point == CURRENT:
            return index
        target = _index_of(segments, point, index)
        self._player.pass_over(segments[index:target], VISITOR_SKIPPED)
        return max(index, target)

    async def _play_aside(self, flow: PresentationFlow, detour: Detour) -> None:
        """Play a segment of the flow, a task or a screen out of order."""
        segment = await self._find_segment(flow, detour)
        if segment is None:
            return
        before = await self._find_sign_in_segment(flow, segment)
        for each in (*([before] if before is not None else []), segment):
            record = self._player.record(each, aside=True)
            await self._player.show(each, record)
            if record.status is not SegmentStatus.SHOWN:
                return  # what follows needs it

    async def _find_sign_in_segment(self, flow: PresentationFlow, wanted: Segment) -> Segment | None:
        """Return the segment that signs in, if the wanted one needs that: the flow's own, otherwise a new one."""
        task_id = await self._player.find_sign_in() if wanted.type != "conversational" else None
        if task_id is None or wanted.task_id == task_id:
            return None
        ids = [each.segment_id for each in flow.ordered_segments]
        own = next((each for each in flow.ordered_segments if each.task_id == task_id), None)
        if own is not None:
            earlier = wanted.segment_id in ids and ids.index(wanted.segment_id) < ids.index(own.segment_id)
            return None if earlier else own  # what the author shows before signing in needs no sign-in
        try:
            task = await self._player.knowledge.task(task_id)
        except UnknownToKnowledge:
            return None
        if wanted.screen_id is not None and wanted.screen_id == find_task_screen(task):
            return None
        name = task.name or task_id
        return _build_segment(name, name, type="task_execution", task_id=task_id)

    async def _find_segment(self, flow: PresentationFlow, detour: Detour) -> Segment | None:
        """Return a segment for the request: one of the flow if it has one."""
        if detour.values is not None:
            return await self._create_task_segment(flow, detour, detour.values)
        for each in flow.segments:
            if each.segment_id == detour.segment_id:
                return each
        for each in flow.segments:
            if each.type == "task_execution" and each.task_id == detour.task_id and each.task_id is not None:
                return each
        for each in flow.segments:
            if (
                each.type == "explanation"
                and each.screen_id == detour.screen_id
                and each.screen_id is not None
            ):
                return each
        try:
            return await self._create_segment(detour)
        except UnknownToKnowledge:
            return None

    async def _create_task_segment(
        self, flow: PresentationFlow, detour: Detour, values: Mapping[str, str | list[str]]
    ) -> Segment | None:
        """Return a segment that runs a task with the visitor's values; None if the flow does not let visitors run it."""
        if detour.task_id is None or detour.task_id not in flow.visitor_tasks:
            return None
        knowledge = self._player.knowledge
        work: Task | Workflow
        try:
            work = await knowledge.task(detour.task_id)
        except UnknownToKnowledge:
            work = await knowledge.workflow(detour.task_id)
        name = work.name or detour.task_id
        inputs = {each: {"source": "hardcoded", "value": value} for each, value in values.items()}
        return _build_segment(name, name, type="task_execution", task_id=detour.task_id, input_mapping=inputs)

    async def _create_segment(self, detour: Detour) -> Segment | None:
        """Return a new segment for something that no flow shows.

        A task that changes data is only described, on the screen where it begins. Only its author may put it
        into a presentation.
        """
        knowledge = self._player.knowledge
        if detour.task_id is not None:
            task = await knowledge.task(detour.task_id)
            name = task.name or task.task_id
            words = task.description or name
            if is_read_only_task(task):
                return _build_segment(name, words, type="task_execution", task_id=task.task_id)
            screen_id = find_task_screen(task)
            if screen_id is None:
                return _build_segment(name, words, type="conversational")
            return _build_segment(name, words, type="explanation", screen_id=screen_id)
        if detour.screen_id is None:
            return None
        screen = await knowledge.screen(detour.screen_id)
        words = screen.description or screen.name
        return _build_segment(screen.name, words, type="explanation", screen_id=screen.screen_id)


def _index_of(segments: tuple[Segment, ...], wanted: str | None, otherwise: int) -> int:
    return next((i for i, each in enumerate(segments) if each.segment_id == wanted), otherwise)


def _build_segment(title: str, words: str, **fields: object) -> Segment:
    """Return a segment that is in no flow."""
    text = words.replace("{", "(").replace("}", ")")  # a description is no template
    name = f"aside_{fields.get('task_id') or fields.get('screen_id') or 'words'}"
    return Segment.model_validate(
        {"segment_id": name, "order": 1, "title": title, "narration_template": text, **fields}
    )
