"""Finds what a visitor can be shown: the flow's segments, tasks and screens, by name.

A task that no segment shows is represented by its screen, unless the task is read-only: a demo must not
change data where its owner never planned it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from agent.errors import UnknownToKnowledge
from agent.execution.call_templates import is_idempotent
from agent.presentation.turn_manager import Detour
from agent.presentation.visitor.languages import Language
from agent.presentation.visitor.word_similarity import (
    best_word_similarity,
    measure_word_recall,
    score_name_match,
    split_words,
)
from agent.session import Session
from kb_schema.action_types import action_type
from kb_schema.conditions import OnScreen
from kb_schema.presentation_flows import PresentationFlow, Segment
from kb_schema.tasks import Task
from kb_schema.tool_answers import SearchHit

GOOD_ENOUGH = 0.6
"""Minimum similarity of a match."""
TOO_CLOSE = 0.02
"""If two different names are this close, the visitor is asked."""
INSIDE = 0.75
"""Weight of a match in the text, relative to one in the name."""
SEGMENTS_FIRST = 0.06
"""Bonus for targets that the owner prepared."""
MOST_OFFERED = 5
KINDS = ("screen", "task")


@dataclass(frozen=True, slots=True)
class DemoTarget:
    """Something that can be shown. Exactly one of the ids is set."""

    name: str
    """Its name as a visitor would say it."""
    likeness: float
    segment_id: str | None = None
    task_id: str | None = None
    screen_id: str | None = None
    doable: bool = True
    """False: a task that is not carried out for visitors; `screen_id` is the screen where it is done."""

    def aside(self) -> Detour:
        """Return the detour that shows it and comes back."""
        return Detour("aside", self.segment_id, self.task_id, self.screen_id)


class DemoTargetFinder:
    """Finds targets on one website."""

    def __init__(
        self, session: Session, flow: PresentationFlow, language: Language, *, authored: str | None = None
    ) -> None:
        """`flow`: in the presented language; `authored`: language of the knowledge base, if different."""
        self._session, self._flow, self._language = session, flow, language
        self._across = language.language != (authored or flow.language).split("-")[0]

    async def find(self, topic: str) -> list[DemoTarget]:
        """Return the targets that match a topic: none, one, or two if it is ambiguous. Raises the errors of
        the knowledge server's client.
        """
        asked = self._telling_words(topic)
        if not asked:
            return []
        places = [*await self._segments(asked), *await self._searched(topic, asked)]
        places = [place for place in places if place.likeness >= GOOD_ENOUGH]
        if not places and self._across:
            places = self._find_segments(asked)
        places.sort(key=lambda place: -place.likeness)
        if not places:
            return []
        first = places[0]
        near = (each for each in places[1:] if first.likeness - each.likeness < TOO_CLOSE)
        other = next((each for each in near if each.name != first.name and each.doable == first.doable), None)
        return [first] if other is None else [first, other]

    def nearest(self, topic: str, among: Sequence[DemoTarget]) -> DemoTarget:
        """Return the target that the words select; the first one if unclear."""
        asked = split_words(topic)
        return max(among, key=lambda place: score_name_match(asked, split_words(place.name)))

    def offered(self) -> str:
        """Return the names of a few targets as suggestions."""
        titles = [title for each in self._flow.ordered_segments if (title := each.title)][:MOST_OFFERED]
        return ", ".join(titles)

    def _telling_words(self, topic: str) -> tuple[str, ...]:
        return tuple(word for word in split_words(topic) if word not in self._language.place_words)

    # -- candidates --------------------------------------------------------------------------------------

    async def _segments(self, asked: Sequence[str]) -> list[DemoTarget]:
        return [
            DemoTarget(_title(segment), likeness, segment_id=segment.segment_id)
            for segment in self._flow.ordered_segments
            if (likeness := await self._likeness(segment, asked)) > 0
        ]

    async def _likeness(self, segment: Segment, asked: Sequence[str]) -> float:
        names = [segment.title, segment.segment_id, *_translated(segment)]
        with suppress(UnknownToKnowledge):
            if segment.task_id is not None:
                task = await self._session.knowledge.task(segment.task_id)
                names += [task.name, task.task_id]
            if segment.screen_id is not None:
                names.append((await self._session.knowledge.screen(segment.screen_id)).name)
        likeness = self._score_names(asked, names)
        return likeness + SEGMENTS_FIRST if likeness else 0.0

    def _find_segments(self, asked: Sequence[str]) -> list[DemoTarget]:
        """Return the segments that mention the topic; it may have another name in the knowledge base's
        language.
        """
        return [
            DemoTarget(_title(segment), likeness, segment_id=segment.segment_id)
            for segment in self._flow.ordered_segments
            if (likeness := self._score_text(asked, _list_texts(segment))) >= GOOD_ENOUGH
        ]

    def _score_names(self, asked: Sequence[str], names: Iterable[str]) -> float:
        return max(
            (score_name_match(asked, split_words(name), across=self._across) for name in names), default=0.0
        )

    def _score_text(self, asked: Sequence[str], texts: Iterable[str]) -> float:
        return INSIDE * measure_word_recall(asked, split_words(" ".join(texts)), across=self._across)

    async def _searched(self, topic: str, asked: Sequence[str]) -> list[DemoTarget]:
        told = {each.screen_id for each in self._flow.segments}
        places: list[DemoTarget] = []
        for hit in await self._session.knowledge.search(topic[:200], KINDS):
            with suppress(UnknownToKnowledge):
                if hit.kind == "screen" and hit.id not in told:
                    places.append(await self._screen(hit, asked))
                elif hit.kind == "screen":
                    places.append(self._instead_of(await self._screen(hit, asked)))
                elif hit.kind == "task":
                    places.append(await self._task(hit, asked))
        return places

    def _instead_of(self, place: DemoTarget) -> DemoTarget:
        """Return the segment that explains a screen."""
        segment = next(each for each in self._flow.segments if each.screen_id == place.screen_id)
        return replace(place, name=_title(segment), screen_id=None, segment_id=segment.segment_id)

    async def _screen(self, hit: SearchHit, asked: Sequence[str]) -> DemoTarget:
        screen = await self._session.knowledge.screen(hit.id)
        elements = [name for each in screen.ui_elements for name in (each.label, each.element_id)]
        likeness = max(
            self._score_names(asked, [screen.name, screen.screen_id]),
            self._score_text(asked, [screen.description, *self._list_named_in_full(asked, elements)]),
            INSIDE * self._score_names(asked, elements),
        )
        return DemoTarget(screen.name, likeness, screen_id=screen.screen_id)

    def _list_named_in_full(self, asked: Sequence[str], names: Iterable[str]) -> Iterator[str]:
        """Yield the names all of whose words are asked for: `Theme` and `Dark` together are a dark theme, `New
        Branding Theme` and `Quote Prefix` are no new quote.
        """
        for name in names:
            words = split_words(name)
            if all(best_word_similarity(word, asked, across=self._across) for word in words):
                yield name

    async def _task(self, hit: SearchHit, asked: Sequence[str]) -> DemoTarget:
        task = await self._session.knowledge.task(hit.id)
        likeness = max(
            self._score_names(asked, [task.name, task.task_id]),
            self._score_text(asked, [task.name, task.description]),
        )
        told = DemoTarget(task.name or task.task_id, likeness, task_id=task.task_id)
        segment = next((each for each in self._flow.segments if each.task_id == task.task_id), None)
        if segment is not None:
            return replace(told, name=_title(segment), segment_id=segment.segment_id, task_id=None)
        if is_read_only_task(task):
            return told
        screen_id = find_task_screen(task)
        if screen_id is None:
            raise UnknownToKnowledge(f"the screen of {task.task_id} is unknown")
        return replace(told, task_id=None, screen_id=screen_id, doable=False)


def _list_texts(segment: Segment) -> Iterator[str]:
    yield segment.narration_template
    yield from (hook.narration for hook in segment.narrative_hooks)


def _title(segment: Segment) -> str:
    return segment.heading


def _translated(segment: Segment) -> Iterator[str]:
    """Return the segment's titles in other languages."""
    for translation in getattr(segment, "translations", {}).values():
        title = getattr(translation, "title", None)
        if title:
            yield title


def is_read_only_task(task: Task) -> bool:
    """Return whether a task changes nothing, and needs no value that is missing."""
    needed = any(
        each.required and each.default is None and not each.from_task for each in task.io_spec.inputs
    )
    looks = all(
        step.repeatable is not False
        and is_idempotent(step.action, None)
        and not _changes(step.action.action_type)
        for step in task.steps
    )
    return looks and not needed


def _changes(name: str) -> bool:
    """Return whether an action changes data; unknown actions count as changes."""
    kind = action_type(name)
    return kind is None or kind.takes_value or kind.name in ("check", "uncheck", "clear")


def find_task_screen(task: Task) -> str | None:
    """Return the screen where a task is done: the last one its own steps name before it navigates away."""
    for step in task.ordered_steps:
        if step.action.target_screen is not None:
            return step.action.target_screen
        for condition in step.preconditions:
            if isinstance(condition, OnScreen):
                return condition.screen_id
    return None
