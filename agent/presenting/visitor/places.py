"""What a visitor may be shown: the flow's segments, tasks and screens, found by what one calls them.

A task that is not told by a segment is only shown as the screen it is done on, unless it merely looks: nobody
has a demo delete what its owner never meant to show.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from agent.errors import NotInKnowledge
from agent.presenting.floor import Detour
from agent.presenting.looking_only import only_looks, where_done
from agent.presenting.visitor.languages import Language
from agent.presenting.visitor.likeness import covered, found, words_of
from agent.session import Session
from kb_schema.answers import SearchHit
from kb_schema.presentation import PresentationFlow, Segment

GOOD_ENOUGH = 0.6
"""From so much likeness on, something is taken for what was meant."""
TOO_CLOSE = 0.02
"""Two of different names that are so nearly as good: the visitor is asked."""
INSIDE = 0.75
"""What something says counts so much less than what it is called."""
SEGMENTS_FIRST = 0.06
"""What its owner prepared goes before what is merely there."""
MOST_OFFERED = 5
KINDS = ("screen", "task")


@dataclass(frozen=True, slots=True)
class Place:
    """Something that can be shown. Just one of the ids is given."""

    name: str
    """As a visitor would call it."""
    likeness: float
    segment_id: str | None = None
    task_id: str | None = None
    screen_id: str | None = None
    doable: bool = True
    """False: it is a task that is not carried out for visitors; the screen is where it would be."""

    def aside(self) -> Detour:
        """The way there, and back afterwards."""
        return Detour("aside", self.segment_id, self.task_id, self.screen_id)


class Places:
    """Finds what can be shown on one website."""

    def __init__(
        self, session: Session, flow: PresentationFlow, language: Language, *, authored: str | None = None
    ) -> None:
        """`flow` as it is told; `authored`: the language the knowledge is in, if not the flow's."""
        self._session, self._flow, self._language = session, flow, language
        self._across = language.language != (authored or flow.language).split("-")[0]

    async def find(self, topic: str) -> list[Place]:
        """What is meant by a topic: nothing, one place, or two where it may be either. Raises what the desk
        raises.
        """
        asked = self._telling_words(topic)
        if not asked:
            return []
        places = [*await self._segments(asked), *await self._searched(topic, asked)]
        places = [place for place in places if place.likeness >= GOOD_ENOUGH]
        if not places and self._across:
            places = self._told_of(asked)
        places.sort(key=lambda place: -place.likeness)
        if not places:
            return []
        first = places[0]
        near = (each for each in places[1:] if first.likeness - each.likeness < TOO_CLOSE)
        other = next((each for each in near if each.name != first.name and each.doable == first.doable), None)
        return [first] if other is None else [first, other]

    def nearest(self, topic: str, among: Sequence[Place]) -> Place:
        """Which of some places is meant; the first where that cannot be told."""
        asked = words_of(topic)
        return max(among, key=lambda place: covered(asked, words_of(place.name)))

    def offered(self) -> str:
        """A few things to ask for, in words."""
        titles = [title for each in self._flow.ordered_segments if (title := each.title)][:MOST_OFFERED]
        return ", ".join(titles)

    def _telling_words(self, topic: str) -> tuple[str, ...]:
        return tuple(word for word in words_of(topic) if word not in self._language.place_words)

    # -- candidates --------------------------------------------------------------------------------------

    async def _segments(self, asked: Sequence[str]) -> list[Place]:
        return [
            Place(_title(segment), likeness, segment_id=segment.segment_id)
            for segment in self._flow.ordered_segments
            if (likeness := await self._likeness(segment, asked)) > 0
        ]

    async def _likeness(self, segment: Segment, asked: Sequence[str]) -> float:
        names = [segment.title, segment.segment_id, *_translated(segment)]
        with suppress(NotInKnowledge):
            if segment.task_id is not None:
                task = await self._session.knowledge.task(segment.task_id)
                names += [task.name, task.task_id]
            if segment.screen_id is not None:
                names.append((await self._session.knowledge.screen(segment.screen_id)).name)
        likeness = self._named(asked, names)
        return likeness + SEGMENTS_FIRST if likeness else 0.0

    def _told_of(self, asked: Sequence[str]) -> list[Place]:
        """Segments that say it: what the knowledge calls by a word of another language."""
        return [
            Place(_title(segment), likeness, segment_id=segment.segment_id)
            for segment in self._flow.ordered_segments
            if (likeness := self._said(asked, _words_of(segment))) >= GOOD_ENOUGH
        ]

    def _named(self, asked: Sequence[str], names: Iterable[str]) -> float:
        return max((covered(asked, words_of(name), across=self._across) for name in names), default=0.0)

    def _said(self, asked: Sequence[str], texts: Iterable[str]) -> float:
        return INSIDE * found(asked, words_of(" ".join(texts)), across=self._across)

    async def _searched(self, topic: str, asked: Sequence[str]) -> list[Place]:
        told = {each.screen_id for each in self._flow.segments}
        places: list[Place] = []
        for hit in await self._session.knowledge.search(topic[:200], KINDS):
            with suppress(NotInKnowledge):
                if hit.kind == "screen" and hit.id not in told:
                    places.append(await self._screen(hit, asked))
                elif hit.kind == "screen":
                    places.append(self._instead_of(await self._screen(hit, asked)))
                elif hit.kind == "task":
                    places.append(await self._task(hit, asked))
        return places

    def _instead_of(self, place: Place) -> Place:
        """The segment that explains a screen."""
        segment = next(each for each in self._flow.segments if each.screen_id == place.screen_id)
        return replace(place, name=_title(segment), screen_id=None, segment_id=segment.segment_id)

    async def _screen(self, hit: SearchHit, asked: Sequence[str]) -> Place:
        screen = await self._session.knowledge.screen(hit.id)
        elements = [name for each in screen.ui_elements for name in (each.label, each.element_id)]
        likeness = max(
            self._named(asked, [screen.name, screen.screen_id]),
            self._said(asked, [screen.description, *elements]),
            INSIDE * self._named(asked, elements),
        )
        return Place(screen.name, likeness, screen_id=screen.screen_id)

    async def _task(self, hit: SearchHit, asked: Sequence[str]) -> Place:
        task = await self._session.knowledge.task(hit.id)
        likeness = max(
            self._named(asked, [task.name, task.task_id]),
            self._said(asked, [task.name, task.description]),
        )
        told = Place(task.name or task.task_id, likeness, task_id=task.task_id)
        segment = next((each for each in self._flow.segments if each.task_id == task.task_id), None)
        if segment is not None:
            return replace(told, name=_title(segment), segment_id=segment.segment_id, task_id=None)
        if only_looks(task):
            return told
        screen_id = where_done(task)
        if screen_id is None:
            raise NotInKnowledge(f"nobody says where {task.task_id} is done")
        return replace(told, task_id=None, screen_id=screen_id, doable=False)


def _words_of(segment: Segment) -> Iterator[str]:
    yield segment.narration_template
    yield from (hook.narration for hook in segment.narrative_hooks)


def _title(segment: Segment) -> str:
    return segment.heading


def _translated(segment: Segment) -> Iterator[str]:
    """What the segment is called in other languages."""
    for translation in getattr(segment, "translations", {}).values():
        title = getattr(translation, "title", None)
        if title:
            yield title
