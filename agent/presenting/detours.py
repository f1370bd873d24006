"""Where a visitor leads the story: back, past a segment, elsewhere in it, or aside and back again (KS 4.5)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent.errors import NotInKnowledge
from agent.presenting.floor import Detour, Detoured
from agent.presenting.looking_only import only_looks, where_done
from kb_schema.presentation import CURRENT, NEXT, PresentationFlow, Segment

if TYPE_CHECKING:
    from agent.presenting.player import Player

VISITOR_SKIPPED = "the visitor went on to another part"
VISITOR_SKIPPED_IT = "the visitor skipped it"
VISITOR_ENDED = "the visitor ended the demo"


class Detours:
    """Takes detours for one player."""

    def __init__(self, player: Player) -> None:
        self._player = player

    async def take(self, detour: Detour, index: int) -> int:
        """Follow a detour away from the segment of that index; the index of the one the story goes on with.

        An aside is shown at once, and what interrupts it is followed from there.
        """
        flow = self._player.flow
        assert flow is not None  # noqa: S101 - detours are taken while a flow is played
        while detour.kind == "aside":
            self._player.detoured(detour, None)
            try:
                await self._aside(flow, detour)
            except Detoured as another:
                if another.detour.kind in ("skip", "back"):  # enough of the aside
                    return self._resume(flow, index)
                detour = another.detour
                continue
            return self._resume(flow, index)
        return self._lead(flow, detour, index)

    def _lead(self, flow: PresentationFlow, detour: Detour, index: int) -> int:
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
                here = segments[index : index + 1]
                if not any(s.segment_id == each.segment_id for s in presentation.segments for each in here):
                    self._player.pass_over(here, VISITOR_SKIPPED_IT)  # said before it began
                return index + 1
            case "segment":
                target = _index(segments, detour.segment_id, index)
                self._player.detoured(detour, None)
                self._player.pass_over(segments[index:target], VISITOR_SKIPPED)
                return target
            case _:
                self._player.detoured(detour, None)
                self._player.presentation.ended_by_visitor = True
                self._player.pass_over(segments[index:], VISITOR_ENDED)
                return len(segments)

    def _resume(self, flow: PresentationFlow, index: int) -> int:
        """Where the story goes on after an aside, as the flow says (KS `resume_point`)."""
        segments = flow.ordered_segments
        if index >= len(segments):
            return index
        here = segments[index].segment_id
        path = flow.fallback("user_interrupts")
        point = (path.resume_point if path is not None else None) or CURRENT
        if point == NEXT or (point == CURRENT and self._player.presentation.was_shown(here)):
            return index + 1
        if point == CURRENT:
            return index
        target = _index(segments, point, index)
        self._player.pass_over(segments[index:target], VISITOR_SKIPPED)
        return max(index, target)

    async def _aside(self, flow: PresentationFlow, detour: Detour) -> None:
        """A segment of the flow, a task or a screen, out of the story's order."""
        segment = await self._wanted(flow, detour)
        if segment is None:
            return
        await self._player.show(segment, self._player.record(segment, aside=True))

    async def _wanted(self, flow: PresentationFlow, detour: Detour) -> Segment | None:
        """A segment for what is to be shown: the flow's own where there is one."""
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
            return await self._made_up(detour)
        except NotInKnowledge:
            return None

    async def _made_up(self, detour: Detour) -> Segment | None:
        """A segment for what no flow shows. A task that changes something is told, where it begins, and not
        carried out: nobody but its author may put that on stage.
        """
        knowledge = self._player.engine.session.knowledge
        if detour.task_id is not None:
            task = await knowledge.task(detour.task_id)
            name = task.name or task.task_id
            words = task.description or name
            if only_looks(task):
                return _segment(name, words, type="task_execution", task_id=task.task_id)
            screen_id = where_done(task)
            if screen_id is None:
                return _segment(name, words, type="conversational")
            return _segment(name, words, type="explanation", screen_id=screen_id)
        if detour.screen_id is None:
            return None
        screen = await knowledge.screen(detour.screen_id)
        words = screen.description or screen.name
        return _segment(screen.name, words, type="explanation", screen_id=screen.screen_id)


def _index(segments: tuple[Segment, ...], wanted: str | None, otherwise: int) -> int:
    return next((i for i, each in enumerate(segments) if each.segment_id == wanted), otherwise)


def _segment(title: str, words: str, **fields: str) -> Segment:
    """One that is in no flow."""
    told = words.replace("{", "(").replace("}", ")")  # a description is no template
    name = f"aside_{fields.get('task_id') or fields.get('screen_id') or 'words'}"
    return Segment.model_validate(
        {"segment_id": name, "order": 1, "title": title, "narration_template": told, **fields}
    )
