"""The state of a visitor's page: chapters, captions, conversation, pace.

It listens to a presentation's event bus, adds items to the page's feed, and returns the complete state on
request. Words are kept as long as the visit, and are not stored on disk.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from agent.events import Event
from agent.presentation.presentation_records import (
    Answered,
    CaptionShown,
    Declined,
    Narrated,
    SegmentEnded,
    SegmentStarted,
    SegmentStatus,
    Understood,
)
from agent.presentation.turn_manager import Heard, PaceChanged
from kb_schema.presentation_flows import PresentationFlow
from periplus.service.visits.visit_feed import VisitFeed

LINES = 400
"""Most entries of the conversation; older ones are dropped."""

Who = Literal["guide", "visitor"]


@dataclass(slots=True)
class SegmentChapter:
    """One segment of the flow."""

    id: str
    title: str
    required: bool
    status: str = "ahead"
    """`ahead`, `now`, or a value of `SegmentStatus`."""
    why: SkipReason | None = None
    """Code of the reason why it was not shown; the page has the text."""


@dataclass(slots=True)
class ConversationLine:
    """An utterance."""

    id: int
    who: Who
    text: str
    kind: Literal["told", "said", "answer", "declined"]
    sources: Sequence[str] = ()
    """Source of an answer."""
    understood: str = ""
    """The request recognised in a visitor's words."""
    request: str = ""
    """Kind of the request."""


class VisitPageState:
    """The state of one presentation on its visitors' pages."""

    def __init__(self, feed: VisitFeed, flow: PresentationFlow | None = None) -> None:
        self._feed = feed
        self.chapters: list[SegmentChapter] = []
        self.caption = ""
        self.pace = 1.0
        self.lines: deque[ConversationLine] = deque(maxlen=LINES)
        self._number = 0
        if flow is not None:
            self.begin(flow)

    def begin(self, flow: PresentationFlow) -> None:
        """Set the flow that will be played, in its language."""
        self.chapters = [SegmentChapter(s.segment_id, s.heading, s.required) for s in flow.ordered_segments]
        self._tell_chapters()

    def __call__(self, event: Event) -> None:
        """Event bus listener."""
        match event:
            case SegmentStarted():
                self._segment_started(event)
            case SegmentEnded():
                self._segment_ended(event)
            case Narrated(text=text):
                self._say(ConversationLine(self._next(), "guide", text, "told"))
            case CaptionShown(text=text):
                self._show_caption(" ".join(text.split()))
            case Heard():
                self._say(ConversationLine(self._next(), "visitor", event.text, "said"))
            case Understood():
                self._understood(event)
            case Answered():
                self._answered(event)
            case Declined():
                self._declined()
            case PaceChanged(pace=pace):
                self.pace = pace
                self._feed.add("pace", {"pace": pace})

    def as_data(self) -> dict[str, Any]:
        """Return the complete state, for a new page."""
        return {
            "chapters": [asdict(each) for each in self.chapters],
            "caption": self.caption,
            "pace": self.pace,
            "lines": [asdict(each) for each in self.lines],
        }

    def over(self) -> None:
        """The presentation has ended: a running segment was interrupted, and speech has stopped."""
        for chapter in self.chapters:
            if chapter.status == "now":
                chapter.status = str(SegmentStatus.INTERRUPTED)
        self._tell_chapters()
        self._show_caption("")

    # -- events ----------------------------------------------------------------------------------

    def _segment_started(self, event: SegmentStarted) -> None:
        for chapter in self.chapters:
            if chapter.status == "now":
                chapter.status = "ahead"  # it was left for another one without an event
            if chapter.id == event.segment_id:
                chapter.status, chapter.why, chapter.title = "now", None, event.title
        self._tell_chapters()

    def _segment_ended(self, event: SegmentEnded) -> None:
        if event.aside and event.status is not SegmentStatus.SHOWN:
            return  # the chapter itself is still to come, or was shown already
        for chapter in self.chapters:
            if chapter.id == event.segment_id:
                begun = event.status is SegmentStatus.STARTED  # the presentation ended during it
                chapter.status = str(SegmentStatus.INTERRUPTED if begun else event.status)
                shown = event.status is SegmentStatus.SHOWN
                chapter.why = None if shown or begun else classify_skip_reason(event.status, event.reason)
        self._tell_chapters()

    def _understood(self, event: Understood) -> None:
        """Attach a request to the visitor's words it belongs to."""
        line = next((each for each in reversed(self.lines) if each.who == "visitor"), None)
        if line is None:
            return
        line.understood, line.request = event.told, event.request
        self._say(line, new=False)

    def _answered(self, event: Answered) -> None:
        """Mark the utterance of an answer, whether the answer or its narration was recorded first."""
        self._mark(event.answer, "answer", event.sources)

    def _declined(self) -> None:
        line = next((each for each in reversed(self.lines) if each.who == "visitor"), None)
        if line is not None:
            line.kind = "declined"
            self._say(line, new=False)

    # -- feed ------------------------------------------------------------------------------------

    def _mark(self, text: str, kind: Literal["answer"], sources: Sequence[str]) -> None:
        for line in list(self.lines)[-3:]:
            if line.who == "guide" and line.kind == "told" and line.text in text:
                line.text, line.kind, line.sources = text, kind, tuple(sources)
                self._say(line, new=False)
                return
        self._say(ConversationLine(self._next(), "guide", text, kind, tuple(sources)))

    def _say(self, line: ConversationLine, *, new: bool = True) -> None:
        if new and line.kind == "told" and self._repeats_answer(line):
            return
        if new:
            self.lines.append(line)
        self._feed.add("line", asdict(line))

    def _repeats_answer(self, line: ConversationLine) -> bool:
        return any(
            each.kind == "answer" and line.text in " ".join(each.text.split())
            for each in list(self.lines)[-3:]
        )

    def _show_caption(self, text: str) -> None:
        if text != self.caption:
            self.caption = text
            self._feed.add("caption", {"text": text})

    def _tell_chapters(self) -> None:
        self._feed.add("chapters", {"chapters": [asdict(each) for each in self.chapters]})

    def _next(self) -> int:
        self._number += 1
        return self._number


SkipReason = Literal["time", "interest", "asked", "failed", "not_needed"]

_BEGINNINGS: tuple[tuple[str, SkipReason], ...] = (
    ("time", "time"),
    ("to stay within", "time"),
    ("user_interest", "interest"),
    ("the visitor", "asked"),
)
"""First words of the player's reasons."""


def classify_skip_reason(status: SegmentStatus, reason: str | None) -> SkipReason:
    """Return the code for a skipped, failed or interrupted segment; the page has its text (`static/words.json`).

    The reason itself is for the owner: it may quote conditions and errors.
    """
    if status is SegmentStatus.FAILED:
        return "failed"
    said = (reason or "").lower()
    for beginning, plain in _BEGINNINGS:
        if said.startswith(beginning):
            return plain
    return "asked" if status is SegmentStatus.INTERRUPTED else "not_needed"
