"""What visitors did in a presentation: protects personal data while it runs, and summarises its events
afterwards.

Events declare which of their fields are personal (`Event.personal`). `agent.run_records.run_log` omits those
fields, or stores them separately for some days. Summaries do not need them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any

from agent.events import Event
from agent.personal_data import PersonalData
from agent.presentation.presentation_records import VisitorIntroduced
from agent.presentation.turn_manager import Heard
from agent.run_records.run_log import WORDS
from kb_schema.run_storage import StoredEvent


class PersonalDataListener:
    """Event bus listener that marks a visitor's words and name as personal for the rest of the session, so
    that no file contains them.
    """

    def __init__(self, personal: PersonalData) -> None:
        self._personal = personal

    def __call__(self, event: Event) -> None:
        """Receive an event."""
        match event:
            case VisitorIntroduced(name=name):
                self._personal.keep(name)
            case Heard(text=text):
                self._personal.heard(text)


@dataclass(frozen=True, slots=True)
class SegmentVisit:
    """One occurrence of a segment."""

    segment_id: str
    status: str
    """`shown`, `skipped`, `failed`, `interrupted`; `started` if no end was recorded."""
    reason: str | None = None
    seconds: float | None = None
    """Wall clock time."""


@dataclass(frozen=True, slots=True)
class VisitorQuestion:
    """A visitor's request in words."""

    at: datetime
    answered: bool
    words: str | None = None
    """None: not stored, or deleted already."""
    reason: str = ""
    """Why it was declined: `no_answer`, `nothing_to_show`, `not_understood`, `not_for_visitors`."""
    sources: tuple[str, ...] = ()


@dataclass(slots=True)
class DemoVisit:
    """What a visitor did in one demo. Contains no personal data except the words of questions."""

    segments: list[SegmentVisit] = field(default_factory=list)
    questions: list[VisitorQuestion] = field(default_factory=list)
    requests: Counter[str] = field(default_factory=Counter)
    """Number of recognised requests by kind."""
    interests: dict[str, bool] = field(default_factory=dict)
    """Topic -> whether the visitor is interested, as last stated."""
    interruptions: int = 0
    stopped_after_s: list[float] = field(default_factory=list)
    """Seconds the presenter kept speaking after each interruption."""
    paces: list[float] = field(default_factory=list)
    """Requested targets, in order."""
    bridged: int = 0
    """Number of bridging sentences."""
    introduced: bool = False
    name: str | None = None
    """None: not given, or not stored."""

    @property
    def came(self) -> bool:
        """Whether a visitor took part."""
        return bool(self.questions or self.requests or self.interruptions or self.introduced)

    @property
    def asked(self) -> int:
        """Questions, and other requests that were declined."""
        return len(self.questions)

    @property
    def declined(self) -> list[VisitorQuestion]:
        """Questions without an answer."""
        return [question for question in self.questions if not question.answered]

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON data."""
        told = asdict(self)
        told["requests"] = dict(self.requests)
        for question, each in zip(told["questions"], self.questions, strict=True):
            question["at"] = each.at.isoformat()
            question["sources"] = list(each.sources)
        return told


def summarize_visit(events: Iterable[StoredEvent]) -> DemoVisit:
    """Summarise a run's events, in any order, as a visit."""
    visit, open_since = DemoVisit(), dict[str, datetime]()
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
    visit: DemoVisit, event: StoredEvent, words: Mapping[str, Any], open_since: dict[str, datetime]
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
                VisitorQuestion(event.at, True, words.get("question"), "", tuple(data.get("sources", ())))
            )
        case "declined":
            visit.questions.append(
                VisitorQuestion(event.at, False, words.get("text"), str(data.get("reason", "")))
            )
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
