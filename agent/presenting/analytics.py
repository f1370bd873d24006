"""What a visitor made of a demo: remembered with discretion while it runs, summed up from what its run kept.

Events say themselves which of their fields are a visitor's own words (`Event.personal`); `agent.run_log`
leaves those out, or keeps them for some days by themselves. Sums need none of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any

from agent.events import Event
from agent.personal import Personal
from agent.presenting.floor import Heard
from agent.presenting.records import VisitorIntroduced
from agent.run_log import WORDS
from kb_schema.storage import StoredEvent


class Discretion:
    """A bus's listener: what a visitor says and is called is remembered as personal, for as long as the
    session lasts, so that no file has it.
    """

    def __init__(self, personal: Personal) -> None:
        self._personal = personal

    def __call__(self, event: Event) -> None:
        """Hear one event."""
        match event:
            case VisitorIntroduced(name=name):
                self._personal.keep(name)
            case Heard(text=text):
                self._personal.heard(text)


@dataclass(frozen=True, slots=True)
class SegmentVisit:
    """One time that the story came to a segment."""

    segment_id: str
    status: str
    """`shown`, `skipped`, `failed`, `interrupted`; `started` where nobody said how it ended."""
    reason: str | None = None
    seconds: float | None = None
    """By the clock on the wall."""


@dataclass(frozen=True, slots=True)
class Question:
    """Something a visitor asked for in words."""

    at: datetime
    answered: bool
    words: str | None = None
    """None: not kept, or not any more."""
    reason: str = ""
    """Why it was declined: `no_answer`, `nothing_to_show`, `not_understood`, `not_for_visitors`."""
    sources: tuple[str, ...] = ()


@dataclass(slots=True)
class Visit:
    """What one demo's visitor did. Without anything personal, but for the words of questions."""

    segments: list[SegmentVisit] = field(default_factory=list)
    questions: list[Question] = field(default_factory=list)
    requests: Counter[str] = field(default_factory=Counter)
    """What was understood, by kind."""
    interests: dict[str, bool] = field(default_factory=dict)
    """Topic -> whether more of it is wanted (else less), as last said."""
    interruptions: int = 0
    stopped_after_s: list[float] = field(default_factory=list)
    """How long the presenter spoke on, each time."""
    paces: list[float] = field(default_factory=list)
    """That were asked for, in their order."""
    bridged: int = 0
    """Sentences that filled the time while something was put right."""
    introduced: bool = False
    name: str | None = None
    """None: none was given, or it is not kept."""

    @property
    def came(self) -> bool:
        """Whether there was a visitor who did anything at all."""
        return bool(self.questions or self.requests or self.interruptions or self.introduced)

    @property
    def asked(self) -> int:
        """Questions, and other wishes that could not be met."""
        return len(self.questions)

    @property
    def declined(self) -> list[Question]:
        """Those that got no answer."""
        return [question for question in self.questions if not question.answered]

    def to_json(self) -> dict[str, Any]:
        """For scripts."""
        told = asdict(self)
        told["requests"] = dict(self.requests)
        for question, each in zip(told["questions"], self.questions, strict=True):
            question["at"] = each.at.isoformat()
            question["sources"] = list(each.sources)
        return told


def sum_up(events: Iterable[StoredEvent]) -> Visit:
    """A run's events, in any order, as the visit they tell of."""
    visit, open_since = Visit(), dict[str, datetime]()
    ordered = sorted(events, key=lambda event: event.seq)
    words = {
        int(str(event.data["of"])): event.data
        for event in ordered
        if event.type.endswith(WORDS) and "of" in event.data
    }
    for event in ordered:
        _count(visit, event, words.get(event.seq, {}), open_since)
    visit.segments += [SegmentVisit(segment_id, "started") for segment_id in open_since]
    return visit


def _count(
    visit: Visit, event: StoredEvent, words: Mapping[str, Any], open_since: dict[str, datetime]
) -> None:
    data: Mapping[str, Any] = event.data
    match event.type:
        case "segment_started":
            open_since[data["segment_id"]] = event.at
        case "segment_ended":
            began = open_since.pop(data["segment_id"], None)
            seconds = None if began is None else (event.at - began).total_seconds()
            visit.segments.append(
                SegmentVisit(data["segment_id"], data["status"], data.get("reason"), seconds)
            )
        case "understood":
            visit.requests[data["request"]] += 1
        case "answered":
            visit.questions.append(
                Question(event.at, True, words.get("question"), "", tuple(data.get("sources", ())))
            )
        case "declined":
            visit.questions.append(Question(event.at, False, words.get("text"), str(data.get("reason", ""))))
        case "interested":
            visit.interests[data["topic"]] = bool(data.get("wanted", True))
        case "speech_stopped":
            visit.interruptions += 1
            visit.stopped_after_s.append(float(data["after_s"]))
        case "pace_changed":
            visit.paces.append(float(data["pace"]))
        case "visitor_introduced":
            visit.introduced, visit.name = True, words.get("name")
        case "bridged":
            visit.bridged += 1
