"""Checks a segment's rules of engagement: what the presenter does to keep them, and which ones were broken.

`kb_schema.engagement_rules` defines the rules and the sentences that state them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from agent.events import ActionDone, Event, StepStarted
from agent.presentation.presentation_records import Narrated
from agent.presentation.presenter import FILLING, TYPING, TaskNarrationStyle
from kb_schema.engagement_rules import EngagementRule, RuleName
from kb_schema.execution_traces import element_id_of
from kb_schema.presentation_flows import Depth, Segment
from kb_schema.run_records import RunResult

VISITOR_NAME = "visitor_name"
CONFIRMED = {"en": "And that worked.", "de": "Und das hat geklappt."}
"""Spoken by language for the rule `confirm_success` when the segment has no hook of its own for it."""
TOLERANCE_S = 0.5
"""Seconds of silence accepted beyond a rule's limit: clock inaccuracy and breathing."""


class TimedSpeech(Protocol):
    """A spoken utterance, in seconds of the presentation
    (`agent.presentation.narration.narrator.SpokenUtterance`).
    """

    start_s: float
    duration_s: float
    text: str


def choose_narration_style(segment: Segment, depth: Depth, *, notes: bool = True) -> TaskNarrationStyle:
    """Return how a segment's task is narrated, from its rules and depth. `notes`: whether notes of the
    knowledge base may be spoken.
    """
    rules = {rule.rule: rule for rule in segment.rules}
    usual = TaskNarrationStyle()
    silence = rules["never_silent"].seconds if "never_silent" in rules else usual.silence_s
    return TaskNarrationStyle(
        silence_s=silence,
        explain_fields=notes and (depth == "deep_dive" or "explain_fields" in rules),
        own_words=notes and depth != "overview",
        notes=notes,
    )


def render_success_sentence(segment: Segment, language: str) -> str:
    """Return the sentence spoken after a task for the rule `confirm_success`; "" when the rule is absent or
    the author wrote one.
    """
    required = any(rule.rule == "confirm_success" for rule in segment.rules)
    written = any(hook.hook_type == "after" for hook in segment.narrative_hooks)
    return CONFIRMED.get(language.partition("-")[0], "") if required and not written else ""


@dataclass(slots=True)
class _TypedField:
    name: str
    begun_s: float
    ended_s: float
    typed: bool
    explained: bool


class EngagementMonitor:
    """Records what happens and what is said in one segment, then lists the broken rules."""

    def __init__(self, rules: Sequence[EngagementRule], clock: Callable[[], float]) -> None:
        self._rules = {rule.rule: rule for rule in rules}
        self._clock = clock
        self._fields: list[_TypedField] = []
        self._utterances: list[str] = []
        self._said_in_step = False
        self._acted = False
        self._words_first = False

    def __call__(self, event: Event) -> None:
        """Event bus listener."""
        match event:
            case Narrated(text=text):
                self._utterances.append(text)
                self._said_in_step = True
                self._words_first = self._words_first or not self._acted
            case StepStarted():
                self._said_in_step = False
            case ActionDone(error=None, action_type=name):
                if name in FILLING:
                    element = element_id_of(event.metadata) or name
                    now = self._clock()
                    took = event.duration_ms / 1000
                    self._fields.append(
                        _TypedField(str(element), now - took, now, name in TYPING, self._said_in_step)
                    )
                self._acted = True

    def violations(
        self, spoken: Sequence[TimedSpeech], run: RunResult | None, *, visitor: str | None, heard: bool
    ) -> list[str]:
        """Return the broken rules, each with its place. `heard`: whether speech took time; without that,
        silence is not measured.
        """
        checks: dict[RuleName, Callable[[EngagementRule], Iterator[str]]] = {
            "never_silent": lambda rule: self._find_silences(rule, spoken) if heard else iter(()),
            "explain_fields": lambda _rule: self._find_unexplained_fields(),
            "confirm_success": lambda _rule: _check_confirmation(run, self._utterances),
            "say_why_first": lambda _rule: self._check_words_first(),
            "use_visitor_name": lambda _rule: _check_visitor_name(visitor, self._utterances),
        }
        return [
            f"{rule.rule}: {broken}" for rule in self._rules.values() for broken in checks[rule.rule](rule)
        ]

    def _find_silences(self, rule: EngagementRule, spoken: Sequence[TimedSpeech]) -> Iterator[str]:
        for field in self._fields:
            if field.typed:
                silent = measure_longest_silence(spoken, field.begun_s, field.ended_s)
                if silent > rule.seconds + TOLERANCE_S:
                    yield f"silent for {silent:.1f} s while {field.name} was filled"

    def _find_unexplained_fields(self) -> Iterator[str]:
        for field in self._fields:
            if not field.explained:
                yield f"no words about {field.name}"

    def _check_words_first(self) -> Iterator[str]:
        if self._acted and not self._words_first:
            yield "an action ran before anything was said"


def measure_longest_silence(spoken: Sequence[TimedSpeech], begin_s: float, end_s: float) -> float:
    """Return the longest silence in seconds between two times of the presentation."""
    longest, at = 0.0, begin_s
    for each in sorted(spoken, key=lambda words: words.start_s):
        if each.start_s + each.duration_s <= begin_s:
            continue
        if each.start_s >= end_s:
            break
        longest = max(longest, each.start_s - at)
        at = max(at, each.start_s + each.duration_s)
    return max(longest, end_s - at, 0.0)


def _check_confirmation(run: RunResult | None, said: Sequence[str]) -> Iterator[str]:
    if run is None:
        return
    if run.evidence != "verified":
        yield f"success was not observed: {run.evidence}"
    if not said:
        yield "success was not announced"


def _check_visitor_name(visitor: Any, said: Sequence[str]) -> Iterator[str]:
    if (
        isinstance(visitor, str)
        and visitor
        and not any(visitor.casefold() in text.casefold() for text in said)
    ):
        yield "the visitor's name was not used"
