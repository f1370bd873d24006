"""Holding to a segment's rules of engagement: what the presenter does for them, and where they were broken.

The rules, and which sentences state them, are `kb_schema.engagement`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from agent.events import ActionDone, Event, StepStarted
from agent.presenting.presenter import FILLING, TYPING, Manner
from agent.presenting.records import Narrated
from kb_schema.engagement import EngagementRule, RuleName
from kb_schema.presentation import Depth, Segment
from kb_schema.runs import RunResult

VISITOR_NAME = "visitor_name"
CONFIRMED = {"en": "And that worked.", "de": "Und das hat geklappt."}
"""Said where a segment's success is to be confirmed and its author wrote nothing for it."""
TOLERANCE_S = 0.5
"""Of silence beyond what a rule allows: a clock's and a breath's."""


class Words(Protocol):
    """What was said, in seconds of the show (`agent.presenting.narrator.Spoken`)."""

    start_s: float
    duration_s: float
    text: str


def manner_of(segment: Segment, depth: Depth, *, notes: bool = True) -> Manner:
    """How its task is told: as its rules ask for, and as its depth allows. `notes`: what the knowledge says
    of steps and fields may be told.
    """
    rules = {rule.rule: rule for rule in segment.rules}
    usual = Manner()
    silence = rules["never_silent"].seconds if "never_silent" in rules else usual.silence_s
    return Manner(
        silence_s=silence,
        explain_fields=notes and (depth == "deep_dive" or "explain_fields" in rules),
        own_words=notes and depth != "overview",
        notes=notes,
    )


def says_that_it_worked(segment: Segment, language: str) -> str:
    """What is said after a task for `confirm_success`, where nothing is written for it."""
    asked = any(rule.rule == "confirm_success" for rule in segment.rules)
    written = any(hook.hook_type == "after" for hook in segment.narrative_hooks)
    return CONFIRMED.get(language.partition("-")[0], "") if asked and not written else ""


@dataclass(slots=True)
class _Field:
    name: str
    begun_s: float
    ended_s: float
    typed: bool
    explained: bool


class Watch:
    """Notes what is done and said in one segment; afterwards, which of its rules were broken."""

    def __init__(self, rules: Sequence[EngagementRule], clock: Callable[[], float]) -> None:
        self._rules = {rule.rule: rule for rule in rules}
        self._clock = clock
        self._fields: list[_Field] = []
        self._said: list[str] = []
        self._said_in_step = False
        self._acted = False
        self._words_first = False

    def __call__(self, event: Event) -> None:
        """The bus's listener."""
        match event:
            case Narrated(text=text):
                self._said.append(text)
                self._said_in_step = True
                self._words_first = self._words_first or not self._acted
            case StepStarted():
                self._said_in_step = False
            case ActionDone(error=None, action_type=name):
                if name in FILLING:
                    element = (event.metadata or {}).get("element") or name
                    now = self._clock()
                    took = event.duration_ms / 1000
                    self._fields.append(
                        _Field(str(element), now - took, now, name in TYPING, self._said_in_step)
                    )
                self._acted = True

    def violations(
        self, spoken: Sequence[Words], run: RunResult | None, *, visitor: str | None, heard: bool
    ) -> list[str]:
        """Which rules were broken, and where. `heard`: words took time, so that silence means something."""
        checks: dict[RuleName, Callable[[EngagementRule], Iterator[str]]] = {
            "never_silent": lambda rule: self._silences(rule, spoken) if heard else iter(()),
            "explain_fields": lambda _rule: self._unexplained(),
            "confirm_success": lambda _rule: _unconfirmed(run, self._said),
            "say_why_first": lambda _rule: self._acted_first(),
            "use_visitor_name": lambda _rule: _unnamed(visitor, self._said),
        }
        return [
            f"{rule.rule}: {broken}" for rule in self._rules.values() for broken in checks[rule.rule](rule)
        ]

    def _silences(self, rule: EngagementRule, spoken: Sequence[Words]) -> Iterator[str]:
        for field in self._fields:
            if field.typed:
                silent = longest_silence(spoken, field.begun_s, field.ended_s)
                if silent > rule.seconds + TOLERANCE_S:
                    yield f"silent for {silent:.1f} s while {field.name} was filled"

    def _unexplained(self) -> Iterator[str]:
        for field in self._fields:
            if not field.explained:
                yield f"nothing was said about {field.name}"

    def _acted_first(self) -> Iterator[str]:
        if self._acted and not self._words_first:
            yield "something was done before anything was said"


def longest_silence(spoken: Sequence[Words], begin_s: float, end_s: float) -> float:
    """The longest time between two seconds of a show in which nobody speaks."""
    longest, at = 0.0, begin_s
    for each in sorted(spoken, key=lambda words: words.start_s):
        if each.start_s + each.duration_s <= begin_s:
            continue
        if each.start_s >= end_s:
            break
        longest = max(longest, each.start_s - at)
        at = max(at, each.start_s + each.duration_s)
    return max(longest, end_s - at, 0.0)


def _unconfirmed(run: RunResult | None, said: Sequence[str]) -> Iterator[str]:
    if run is None:
        return
    if run.evidence != "verified":
        yield f"its success was not seen: {run.evidence}"
    if not said:
        yield "its success was not told"


def _unnamed(visitor: Any, said: Sequence[str]) -> Iterator[str]:
    if (
        isinstance(visitor, str)
        and visitor
        and not any(visitor.casefold() in text.casefold() for text in said)
    ):
        yield "the visitor's name was not used"
