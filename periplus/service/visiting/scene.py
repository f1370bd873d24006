"""What a visitor sees beside the picture: chapters, captions, the conversation, the pace.

Listens to a show's bus and tells the page's feed; asked, it gives the whole of it. Words stay here as long
as the visit does, and are written nowhere.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from agent.events import Event
from agent.presenting.floor import Heard, PaceChanged
from agent.presenting.records import (
    Answered,
    CaptionShown,
    Declined,
    Narrated,
    SegmentEnded,
    SegmentStarted,
    SegmentStatus,
    Understood,
)
from kb_schema.presentation import PresentationFlow
from periplus.service.visiting.feed import Feed
from periplus.service.visiting.reasons import Why, why

LINES = 400
"""Of the conversation; older ones are not kept."""

Who = Literal["guide", "visitor"]


@dataclass(slots=True)
class Chapter:
    """One segment of the flow."""

    id: str
    title: str
    required: bool
    status: str = "ahead"
    """`ahead`, `now`, or as `SegmentStatus` has it."""
    why: Why | None = None
    """Why it was not shown, as a visitor may be told; the page has the words."""


@dataclass(slots=True)
class Line:
    """Something that was said."""

    id: int
    who: Who
    text: str
    kind: Literal["told", "said", "answer", "declined"]
    sources: Sequence[str] = ()
    """Where an answer comes from."""
    understood: str = ""
    """What was made of a visitor's words."""
    request: str = ""
    """The kind of request they were."""


class Scene:
    """One show as its visitors have it before them."""

    def __init__(self, feed: Feed, flow: PresentationFlow | None = None) -> None:
        self._feed = feed
        self.chapters: list[Chapter] = []
        self.caption = ""
        self.pace = 1.0
        self.lines: deque[Line] = deque(maxlen=LINES)
        self._number = 0
        if flow is not None:
            self.begin(flow)

    def begin(self, flow: PresentationFlow) -> None:
        """The flow that will be told, in the language it will be told in."""
        self.chapters = [Chapter(s.segment_id, s.heading, s.required) for s in flow.ordered_segments]
        self._tell_chapters()

    def __call__(self, event: Event) -> None:
        """The bus's listener."""
        match event:
            case SegmentStarted():
                self._segment_started(event)
            case SegmentEnded():
                self._segment_ended(event)
            case Narrated(text=text):
                self._say(Line(self._next(), "guide", text, "told"))
            case CaptionShown(text=text):
                self._show_caption(" ".join(text.split()))
            case Heard():
                self._say(Line(self._next(), "visitor", event.text, "said"))
            case Understood():
                self._understood(event)
            case Answered():
                self._answered(event)
            case Declined():
                self._declined()
            case PaceChanged(pace=pace):
                self.pace = pace
                self._feed.tell("pace", {"pace": pace})

    def as_data(self) -> dict[str, Any]:
        """All of it, for a page that has nothing yet."""
        return {
            "chapters": [asdict(each) for each in self.chapters],
            "caption": self.caption,
            "pace": self.pace,
            "lines": [asdict(each) for each in self.lines],
        }

    def over(self) -> None:
        """The show is: what was in its middle was left early, and nothing is being said any more."""
        for chapter in self.chapters:
            if chapter.status == "now":
                chapter.status = str(SegmentStatus.INTERRUPTED)
        self._tell_chapters()
        self._show_caption("")

    # -- what happens there ------------------------------------------------------------------------

    def _segment_started(self, event: SegmentStarted) -> None:
        for chapter in self.chapters:
            if chapter.status == "now":
                chapter.status = "ahead"  # it was left for another one, and nothing was said of it
            if chapter.id == event.segment_id:
                chapter.status, chapter.why, chapter.title = "now", None, event.title
        self._tell_chapters()

    def _segment_ended(self, event: SegmentEnded) -> None:
        for chapter in self.chapters:
            if chapter.id == event.segment_id:
                begun = event.status is SegmentStatus.STARTED  # the show ended in its middle
                chapter.status = str(SegmentStatus.INTERRUPTED if begun else event.status)
                shown = event.status is SegmentStatus.SHOWN
                chapter.why = None if shown or begun else why(event.status, event.reason)
        self._tell_chapters()

    def _understood(self, event: Understood) -> None:
        """Belongs to the visitor's words that it is about."""
        line = next((each for each in reversed(self.lines) if each.who == "visitor"), None)
        if line is None:
            return
        line.understood, line.request = event.told, event.request
        self._say(line, new=False)

    def _answered(self, event: Answered) -> None:
        """The answer is also narrated: that line becomes the answer, whichever of the two came first."""
        self._mark(event.answer, "answer", event.sources)

    def _declined(self) -> None:
        line = next((each for each in reversed(self.lines) if each.who == "visitor"), None)
        if line is not None:
            line.kind = "declined"
            self._say(line, new=False)

    # -- telling -----------------------------------------------------------------------------------

    def _mark(self, text: str, kind: Literal["answer"], sources: Sequence[str]) -> None:
        for line in list(self.lines)[-3:]:
            if line.who == "guide" and line.kind == "told" and line.text in text:
                line.text, line.kind, line.sources = text, kind, tuple(sources)
                self._say(line, new=False)
                return
        self._say(Line(self._next(), "guide", text, kind, tuple(sources)))

    def _say(self, line: Line, *, new: bool = True) -> None:
        if new and line.kind == "told" and self._repeats_answer(line):
            return
        if new:
            self.lines.append(line)
        self._feed.tell("line", asdict(line))

    def _repeats_answer(self, line: Line) -> bool:
        return any(
            each.kind == "answer" and line.text in " ".join(each.text.split())
            for each in list(self.lines)[-3:]
        )

    def _show_caption(self, text: str) -> None:
        if text != self.caption:
            self.caption = text
            self._feed.tell("caption", {"text": text})

    def _tell_chapters(self) -> None:
        self._feed.tell("chapters", {"chapters": [asdict(each) for each in self.chapters]})

    def _next(self) -> int:
        self._number += 1
        return self._number
