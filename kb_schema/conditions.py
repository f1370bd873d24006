"""The one condition model: every condition type, its schema, its probes and how it is judged.

Preconditions, postconditions, validation, success criteria, edge and skip conditions, state indicators,
termination conditions and wait triggers all use these types. To add a type, add a class and put it into
`Condition`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import AliasChoices, Field, JsonValue, model_validator

from kb_schema import url_patterns
from kb_schema.base import LocalId, Metadata, Model, ScreenRef, Seconds, TaskRef
from kb_schema.excerpts import excerpt
from kb_schema.number_formats import NumberFormat, format_numbers, read_only_number
from kb_schema.probes import (
    ConditionScope,
    ElementProbe,
    FormProbe,
    Probe,
    ProbeAnswer,
    ProbeFacts,
    TextProbe,
    Verdict,
    VerdictStatus,
    held,
    probe_key,
    unknown,
)
from kb_schema.selectors import Selector, css

MESSAGE_REGIONS = (
    '[role="status"], [role="alert"], [aria-live]:not([aria-live="off"]), .toast, .banner, .alert'
)
"""Where pages show messages; used if a condition names no selector."""

ElementRef = str | Selector
"""An element id of the current screen, a literal CSS selector, or a whole selector."""


class BaseCondition(Model):
    """The fields of every condition, and the two questions that every type answers."""

    type: str
    reason: str | None = None
    weight: float | None = Field(default=None, gt=0, le=1_000, allow_inf_nan=False)
    """Its share in a signature's confidence. Without one, the indicator's list decides."""
    success: bool | None = None
    """True: evidence of success; False: evidence of failure (KS 4.1)."""
    timeout: Seconds | None = None
    hard_dependency: bool = True
    """If it does not hold: a hard condition fails the step, a soft one is remedied (KS 9.11)."""
    auto_remediate: bool = False
    remediation_task_id: TaskRef | None = None
    remediation_action: str | None = None
    remediation_params: Metadata = Field(default_factory=dict)

    def probes(self, scope: ConditionScope) -> tuple[Probe, ...]:
        """Return what to ask the page. An unresolvable reference yields no probe."""
        return ()

    def judge(self, facts: ProbeFacts, scope: ConditionScope) -> Verdict:
        """Return the verdict on answered probes and other facts."""
        raise NotImplementedError

    @property
    def needs_screen(self) -> bool:
        """Whether the page must be identified first."""
        return False

    @property
    def of_the_run(self) -> bool:
        """Whether it is about the run's values only, so that no change of the page affects it."""
        return False


# -- the address ---------------------------------------------------------------------------------


class UrlMatches(BaseCondition):
    """The URL matches an RE2 pattern (KS 4.1 `url_matches`, KS 4.7 `url_pattern`)."""

    type: Literal["url_matches", "url_pattern"]
    pattern: str = Field(min_length=1, max_length=4_000)

    @model_validator(mode="after")
    def _pattern_compiles(self) -> UrlMatches:
        url_patterns.compile_pattern(self.pattern)
        return self

    def judge(self, facts: ProbeFacts, scope: ConditionScope) -> Verdict:
        """Match an absolute pattern against any configured base URL."""
        if not facts.url:
            return unknown("the URL is not known")
        ok = url_patterns.matches_pattern(
            self.pattern, facts.url, authored_base=facts.authored_base, base=facts.path_base
        )
        return held(ok, f"URL {excerpt(facts.url)} against {self.pattern}")


class UrlContains(BaseCondition):
    """The URL contains a text.

    A value that begins with `/` is searched only in path, query and fragment, so that a host name never
    matches by accident.
    """

    type: Literal["url_contains"]
    value: str = Field(min_length=1)

    def judge(self, facts: ProbeFacts, scope: ConditionScope) -> Verdict:
        """Compare case-sensitively."""
        if not facts.url:
            return unknown("the URL is not known")
        where = (
            url_patterns.path_of(facts.url)
            if self.value.startswith("/")
            else url_patterns.normalize_url(facts.url)
        )
        return held(self.value in where, f"{self.value!r} in {excerpt(where)}")


class TitleContains(BaseCondition):
    """The document title contains a text."""

    type: Literal["title_contains"]
    value: str = Field(min_length=1)

    def judge(self, facts: ProbeFacts, scope: ConditionScope) -> Verdict:
        """Compare case-sensitively."""
        if facts.title is None:
            return unknown("the title is not known")
        return held(self.value in facts.title, f"{self.value!r} in title {excerpt(facts.title)!r}")


# -- what is on the page -------------------------------------------------------------------------


class DomContains(BaseCondition):
    """A visible element (matching `selector`, if given) shows a text (KS 4.1)."""

    type: Literal["dom_contains"]
    value: str = Field(min_length=1)
    selector: str | None = None
    number_format: NumberFormat | None = None
    """How the page writes the number in `value`. `"1,234.50"`: `$2000` is shown as `$2,000.00`."""
    exact: bool = False
    """The whole text of the element is `value`; needs `selector`."""

    @model_validator(mode="after")
    def _exact_in_an_element(self) -> DomContains:
        if self.exact and self.selector is None:
            raise ValueError("exact needs a selector: the text of a whole page is never one value")
        return self

    @property
    def shown_text(self) -> str:
        """The text that the page is expected to show."""
        return self.value if self.number_format is None else format_numbers(self.value, self.number_format)

    def _probe(self) -> TextProbe:
        match: Literal["part", "number", "whole"] = "part" if self.number_format is None else "number"
        return TextProbe(value=self.shown_text, css=self.selector, match="whole" if self.exact else match)

    def probes(self, scope: ConditionScope) -> tuple[Probe, ...]:
        return (self._probe(),)

    def judge(self, facts: ProbeFacts, scope: ConditionScope) -> Verdict:
        where = self.selector or "the page"
        return _judge_presence(facts.answer(self._probe()), f"{self.shown_text!r} in {where}")


class DomElement(BaseCondition):
    """A visible element matches a CSS selector and, if `text` is given, contains it (KS 4.7)."""

    type: Literal["dom_element"]
    selector: str = Field(min_length=1)
    text_contains: str | None = None

    def _probe(self) -> Probe:
        if self.text_contains is not None:
            return TextProbe(value=self.text_contains, css=self.selector)
        return ElementProbe(selector=css(self.selector))

    def probes(self, scope: ConditionScope) -> tuple[Probe, ...]:
        return (self._probe(),)

    def judge(self, facts: ProbeFacts, scope: ConditionScope) -> Verdict:
        what = self.selector + (f" with {self.text_contains!r}" if self.text_contains else "")
        return _judge_presence(facts.answer(self._probe()), what)


class _ElementCondition(BaseCondition):
    """Conditions on one element, given by id on the screen, by CSS, or by a whole selector."""

    element: ElementRef = Field(
        validation_alias=AliasChoices(
            "element", "element_selector", "element_id", "field_id", "field_selector", "selector"
        )
    )

    def _probe(self, scope: ConditionScope) -> ElementProbe | None:
        selector = scope.element(self.element)
        return None if selector is None else ElementProbe(selector=selector)

    def probes(self, scope: ConditionScope) -> tuple[Probe, ...]:
        probe = self._probe(scope)
        return () if probe is None else (probe,)

    def judge(self, facts: ProbeFacts, scope: ConditionScope) -> Verdict:
        probe = self._probe(scope)
        name = self.element if isinstance(self.element, str) else "element"
        answer = None if probe is None else facts.answer(probe)
        if answer is None:
            return unknown(f"{name} cannot be looked up here")
        if answer.error:
            return unknown(f"{name}: {answer.error}")
        return self._judge_element(answer, name)

    def _judge_element(self, answer: ProbeAnswer, name: str) -> Verdict:
        raise NotImplementedError


class ElementVisible(_ElementCondition):
    """At least one matching element is visible."""

    type: Literal["element_visible"]

    def _judge_element(self, answer: ProbeAnswer, name: str) -> Verdict:
        return held(answer.visible > 0, f"{name}: {answer.visible} visible of {answer.present}")


class ElementHidden(_ElementCondition):
    """No matching element is visible (KS 9.9 `element_hidden`, KS 9.10 `element_disappears`)."""

    type: Literal["element_hidden", "element_disappears", "element_absent", "empty_collection"]

    def _judge_element(self, answer: ProbeAnswer, name: str) -> Verdict:
        return held(answer.visible == 0, f"{name}: {answer.visible} visible")


class ElementEnabled(_ElementCondition):
    """The element is visible and not disabled."""

    type: Literal["element_enabled"]

    def _judge_element(self, answer: ProbeAnswer, name: str) -> Verdict:
        if answer.visible == 0:
            return held(False, f"{name} is not visible")
        return held(answer.enabled is not False, f"{name} is {'' if answer.enabled else 'not '}enabled")


class ElementCount(_ElementCondition):
    """The number of visible matching elements is within bounds."""

    type: Literal["element_count"]
    min: int = Field(default=0, ge=0)
    max: int | None = Field(default=None, ge=0)

    def _judge_element(self, answer: ProbeAnswer, name: str) -> Verdict:
        ok = self.min <= answer.visible and (self.max is None or answer.visible <= self.max)
        return held(ok, f"{name}: {answer.visible} visible")


class FieldFilled(_ElementCondition):
    """The field is not empty; a checkbox is checked (KS 4.1)."""

    type: Literal["field_filled"]

    def _judge_element(self, answer: ProbeAnswer, name: str) -> Verdict:
        if answer.present == 0:
            return held(False, f"{name} is not on the page")
        if answer.value is None:
            return unknown(f"the value of {name} cannot be read")
        return held(answer.value not in ("", "false"), f"{name} is {'filled' if answer.value else 'empty'}")


class FieldHasValue(_ElementCondition):
    """The field holds exactly this value (KS 4.2). The evidence does not repeat the value."""

    type: Literal["field_has_value"]
    value: JsonValue

    def _judge_element(self, answer: ProbeAnswer, name: str) -> Verdict:
        if answer.present == 0:
            return held(False, f"{name} is not on the page")
        if answer.value is None:
            return unknown(f"the value of {name} cannot be read")
        wanted = str(self.value).lower() if isinstance(self.value, bool) else str(self.value)
        same = answer.value.replace("\r\n", "\n") == wanted.replace("\r\n", "\n")
        return held(same, f"{name} {'holds' if same else 'does not hold'} the expected value")


class AllRequiredFieldsFilled(BaseCondition):
    """Every named field is filled; without names, no visible required field is empty (KS 4.3)."""

    type: Literal["all_required_fields_filled"]
    fields: tuple[str, ...] = ()

    def _parts(self) -> tuple[FieldFilled, ...]:
        return tuple(FieldFilled(type="field_filled", element=name) for name in self.fields)

    def probes(self, scope: ConditionScope) -> tuple[Probe, ...]:
        if not self.fields:
            return (FormProbe(),)
        return tuple(probe for part in self._parts() for probe in part.probes(scope))

    def judge(self, facts: ProbeFacts, scope: ConditionScope) -> Verdict:
        if not self.fields:
            return _form_verdict(facts)
        return all_of(part.judge(facts, scope) for part in self._parts())


class FormValid(BaseCondition):
    """No visible field is marked invalid, and none is required and empty (KS 4.2)."""

    type: Literal["form_valid"]
    screen_id: str | None = None

    def probes(self, scope: ConditionScope) -> tuple[Probe, ...]:
        return (FormProbe(),)

    def judge(self, facts: ProbeFacts, scope: ConditionScope) -> Verdict:
        return _form_verdict(facts)


class ShowsMessage(BaseCondition):
    """A message region shows a text, or any text (KS 4.1, 4.3)."""

    type: Literal["shows_banner", "shows_success_message", "confirmation_message", "shows_message"]
    text_contains: str = ""
    selector: str | None = None

    def _probe(self) -> TextProbe:
        return TextProbe(value=self.text_contains, css=self.selector or MESSAGE_REGIONS)

    def probes(self, scope: ConditionScope) -> tuple[Probe, ...]:
        return (self._probe(),)

    def judge(self, facts: ProbeFacts, scope: ConditionScope) -> Verdict:
        return _judge_presence(facts.answer(self._probe()), f"a message with {self.text_contains!r}")


class PageLoaded(BaseCondition):
    """The document has finished loading (KS 4.2)."""

    type: Literal["page_loaded"]

    def judge(self, facts: ProbeFacts, scope: ConditionScope) -> Verdict:
        if facts.ready_state is None:
            return unknown("the snapshot does not show whether the page was loaded")
        return held(facts.ready_state == "complete", f"document is {facts.ready_state}")


# -- the current screen --------------------------------------------------------------------------


class _ScreenCondition(BaseCondition):
    @property
    def needs_screen(self) -> bool:
        return True

    def _is_on(self, facts: ProbeFacts, screen_id: str) -> Verdict:
        if not facts.screen_known:
            return unknown("the current screen was not identified")
        return held(facts.screen_id == screen_id, f"on {facts.screen_id or 'an unknown screen'}")


class OnScreen(_ScreenCondition):
    """The current screen is this one (KS 4.1 `navigates_to`, 4.3 `on_screen`, `screen_reached`,
    `screen_match`).
    """

    type: Literal["on_screen", "navigates_to", "screen_reached", "screen_match"]
    screen_id: ScreenRef

    def judge(self, facts: ProbeFacts, scope: ConditionScope) -> Verdict:
        return self._is_on(facts, self.screen_id)


class ScreenTransition(_ScreenCondition):
    """A transition from one screen to another took place, with further indicators of it (KS 4.3)."""

    type: Literal["screen_transition"]
    from_screen: ScreenRef | None = Field(default=None, alias="from")
    to_screen: ScreenRef = Field(alias="to")
    success_indicators: tuple[Condition, ...] = ()

    def probes(self, scope: ConditionScope) -> tuple[Probe, ...]:
        return tuple(probe for part in self.success_indicators for probe in part.probes(scope))

    def judge(self, facts: ProbeFacts, scope: ConditionScope) -> Verdict:
        parts = (part.judge(facts, scope) for part in self.success_indicators)
        return all_of([self._is_on(facts, self.to_screen), *parts])


class Authenticated(BaseCondition):
    """The user is signed in, by the website's own conditions (KS 4.1)."""

    type: Literal["authenticated"]
    screen_id: str | None = None
    expected: bool = True

    def probes(self, scope: ConditionScope) -> tuple[Probe, ...]:
        return tuple(probe for part in scope.signed_in_when for probe in part.probes(scope))

    def judge(self, facts: ProbeFacts, scope: ConditionScope) -> Verdict:
        if "authenticated" in facts.known:
            return held(facts.known["authenticated"] is self.expected, "known beforehand")
        if not scope.signed_in_when:
            return unknown("the website has no sign-in conditions (`authenticated_when`)")
        verdict = all_of(part.judge(facts, scope) for part in scope.signed_in_when)
        if verdict.status is VerdictStatus.UNKNOWN:
            return verdict
        return held(verdict.held is self.expected, verdict.evidence)

    @property
    def needs_screen(self) -> bool:
        return False


# -- events since a trigger was armed ------------------------------------------------------------


class EventFired(BaseCondition):
    """An event happened since the trigger was armed (KS 9.9)."""

    type: Literal["dom_mutation", "network_idle", "url_change"]
    selector: str | None = None

    @property
    def event_key(self) -> str:
        """The key in `ProbeFacts.fired` under which an armed trigger reports."""
        return f"{self.type}:{self.selector or ''}"

    def judge(self, facts: ProbeFacts, scope: ConditionScope) -> Verdict:
        if self.event_key not in facts.fired:
            return unknown(f"{self.type} was not observed")
        return held(facts.fired[self.event_key], f"{self.type} since armed")


class NumberChanged(BaseCondition):
    """The number that an element shows is `by` more (or less) than it was when the run first saw it: a counter rose."""

    type: Literal["number_changed"]
    selector: str = Field(min_length=1)
    by: int

    def _probe(self) -> ElementProbe:
        return ElementProbe(selector=css(self.selector))

    def probes(self, scope: ConditionScope) -> tuple[Probe, ...]:
        return (self._probe(),)

    def read(self, answers: Mapping[str, ProbeAnswer]) -> int | None:
        """Return the number that the element shows now; None if it shows none, or is not there once."""
        answer = answers.get(probe_key(self._probe()))
        if answer is None or answer.visible != 1 or answer.present != 1:
            return None
        return read_only_number(answer.text or "")

    def judge(self, facts: ProbeFacts, scope: ConditionScope) -> Verdict:
        """Compare it with what the run saw first."""
        before, now = facts.numbers.get(self.selector), self.read(facts.answers)
        if before is None:
            return unknown(f"what {self.selector} showed before is not known")
        if now is None:
            return held(False, f"{self.selector} shows no number")
        return held(now - before == self.by, f"{self.selector} shows {now}, and {before} at first")


class WriteAccepted(BaseCondition):
    """The application accepted what presses of the run sent to an address: `count` requests or more.

    The address matches an RE2 pattern; `redirect`: the answer is a redirect, as after a form that was accepted.
    """

    type: Literal["write_accepted"]
    method: Literal["POST", "PUT", "PATCH", "DELETE"]
    pattern: str = Field(min_length=1, max_length=4_000)
    redirect: bool = False
    count: int = Field(default=1, ge=1)

    @model_validator(mode="after")
    def _pattern_compiles(self) -> WriteAccepted:
        url_patterns.compile_pattern(self.pattern)
        return self

    def judge(self, facts: ProbeFacts, scope: ConditionScope) -> Verdict:
        """Match an absolute pattern against any configured base URL."""
        if facts.accepted is None:
            return unknown("what the application accepted before the run was resumed is not known")
        seen = [
            each
            for each in facts.accepted
            if each.method == self.method
            and (300 <= each.status < 400) is self.redirect
            and url_patterns.matches_pattern(
                self.pattern, each.url, authored_base=facts.authored_base, base=facts.path_base
            )
        ]
        told = f"{self.method} to {self.pattern} was accepted {len(seen)} times, expected {self.count}"
        return held(len(seen) >= self.count, told)


class MaxIterationsReached(BaseCondition):
    """An iterator has run this many times (KS 9.10)."""

    type: Literal["max_iterations_reached"]
    max_iterations: int = Field(ge=0, validation_alias=AliasChoices("max_iterations", "value", "max"))

    def judge(self, facts: ProbeFacts, scope: ConditionScope) -> Verdict:
        if facts.iteration is None:
            return unknown("not inside an iterator")
        return held(facts.iteration >= self.max_iterations, f"{facts.iteration} iterations")


# -- the presentation ----------------------------------------------------------------------------


class TimeConstraint(BaseCondition):
    """Less than this many seconds of the demo remain (KS 4.5)."""

    type: Literal["time_constraint"]
    remaining_time: float = Field(ge=0)

    def judge(self, facts: ProbeFacts, scope: ConditionScope) -> Verdict:
        if facts.remaining_seconds is None:
            return unknown("the remaining time is unknown")
        short = facts.remaining_seconds < self.remaining_time
        return held(short, f"{facts.remaining_seconds:.0f} s remain of {self.remaining_time:.0f} s")


class UserInterest(BaseCondition):
    """The visitor wants to see this (KS 4.5). Unknown until the visitor has said so."""

    type: Literal["user_interest"]
    topic: str | None = None
    fallback: str | None = None
    """The segment (or `skip_to_SEGMENT`) to continue with if the visitor is not interested."""

    def judge(self, facts: ProbeFacts, scope: ConditionScope) -> Verdict:
        interests = facts.context.get("user_interest")
        if interests is None:
            return unknown("the visitor has not said so")
        if isinstance(interests, bool):
            return held(interests, "the visitor said so")
        return held(self.topic is None or self.topic in interests, f"the visitor wants {interests}")


# -- context and combinations --------------------------------------------------------------------


class ContextEquals(BaseCondition):
    """A variable of the run has this value; without a value, it has any value."""

    type: Literal["context_equals"]
    name: str = Field(min_length=1)
    value: JsonValue = None

    def judge(self, facts: ProbeFacts, scope: ConditionScope) -> Verdict:
        if self.name not in facts.context:
            return held(False, f"{self.name} is not set")
        if self.value is None:
            return held(facts.context[self.name] not in (None, ""), f"{self.name} is set")
        return held(facts.context[self.name] == self.value, f"{self.name} compared")

    @property
    def of_the_run(self) -> bool:
        return True


class Combined(BaseCondition):
    """All, any or none of several conditions."""

    type: Literal["all_of", "any_of", "none_of"]
    conditions: tuple[Condition, ...] = Field(min_length=1)

    def probes(self, scope: ConditionScope) -> tuple[Probe, ...]:
        return tuple(probe for part in self.conditions for probe in part.probes(scope))

    @property
    def of_the_run(self) -> bool:
        return all(part.of_the_run for part in self.conditions)

    def judge(self, facts: ProbeFacts, scope: ConditionScope) -> Verdict:
        verdicts = [part.judge(facts, scope) for part in self.conditions]
        if self.type == "all_of":
            return all_of(verdicts)
        some = any_of(verdicts)
        return some if self.type == "any_of" else invert_verdict(some)

    @property
    def needs_screen(self) -> bool:
        return any(part.needs_screen for part in self.conditions)


class JudgedText(BaseCondition):
    """A statement about the page's text that a language model judges, because its author wants that (WR 3.2).

    It stands beside a condition that needs no model (`kb_schema.rules.judged_texts`). Without a model it is unknown.
    """

    type: Literal["judged"]
    statement: str = Field(min_length=3, max_length=500)
    judged_by: Literal["model"]
    selector: str | None = None
    """CSS of the part of the page whose text is judged; default: the whole page."""

    @property
    def key(self) -> str:
        """The key in `ProbeFacts.known` of an answer that is known already."""
        return f"judged:{self.statement}"

    def judge(self, facts: ProbeFacts, scope: ConditionScope) -> Verdict:
        if self.key in facts.known:
            return held(facts.known[self.key], "known beforehand")
        return unknown("only a run with a language model that gets the page's texts can judge it (--model)")


class CustomCondition(BaseCondition):
    """A condition in code (KS 9.10), expressed by one of our own conditions."""

    type: Literal["custom_condition"]
    condition: Condition
    description: LocalId | str | None = None

    def probes(self, scope: ConditionScope) -> tuple[Probe, ...]:
        return self.condition.probes(scope)

    def judge(self, facts: ProbeFacts, scope: ConditionScope) -> Verdict:
        return self.condition.judge(facts, scope)

    @property
    def needs_screen(self) -> bool:
        return self.condition.needs_screen


Condition = Annotated[
    UrlMatches
    | UrlContains
    | TitleContains
    | DomContains
    | DomElement
    | ElementVisible
    | ElementHidden
    | ElementEnabled
    | ElementCount
    | FieldFilled
    | FieldHasValue
    | AllRequiredFieldsFilled
    | FormValid
    | ShowsMessage
    | PageLoaded
    | OnScreen
    | ScreenTransition
    | Authenticated
    | EventFired
    | NumberChanged
    | WriteAccepted
    | MaxIterationsReached
    | TimeConstraint
    | UserInterest
    | ContextEquals
    | Combined
    | JudgedText
    | CustomCondition,
    Field(discriminator="type"),
]


def condition_types() -> dict[str, type[BaseCondition]]:
    """Return every condition `type` with its class."""
    members = Condition.__origin__.__args__  # type: ignore[attr-defined]
    return {name: member for member in members for name in member.model_fields["type"].annotation.__args__}


def all_of(verdicts: Any) -> Verdict:
    """Return HELD if all held, NOT_HELD if any did not, else UNKNOWN."""
    verdicts = list(verdicts)
    for status in (VerdictStatus.NOT_HELD, VerdictStatus.UNKNOWN):
        bad = [v for v in verdicts if v.status is status]
        if bad:
            return Verdict(status, "; ".join(v.evidence for v in bad))
    return Verdict(VerdictStatus.HELD, "; ".join(v.evidence for v in verdicts))


def any_of(verdicts: Any) -> Verdict:
    """Return HELD if any held, UNKNOWN if none did but one could not be evaluated, else NOT_HELD."""
    verdicts = list(verdicts)
    for status in (VerdictStatus.HELD, VerdictStatus.UNKNOWN):
        found = [v for v in verdicts if v.status is status]
        if found:
            return Verdict(status, "; ".join(v.evidence for v in found))
    return Verdict(VerdictStatus.NOT_HELD, "; ".join(v.evidence for v in verdicts))


def invert_verdict(verdict: Verdict) -> Verdict:
    """Return the verdict with HELD and NOT_HELD swapped; UNKNOWN stays."""
    if verdict.status is VerdictStatus.UNKNOWN:
        return verdict
    return held(not verdict.held, verdict.evidence)


def _judge_presence(answer: ProbeAnswer | None, what: str) -> Verdict:
    if answer is None:
        return unknown(f"{what} was not looked for")
    if answer.error:
        return unknown(f"{what}: {answer.error}")
    return held(answer.visible > 0, f"{what}: {'seen' if answer.visible else 'not seen'}")


def _form_verdict(facts: ProbeFacts) -> Verdict:
    answer = facts.answer(FormProbe())
    if answer is None or answer.error:
        return unknown(answer.error if answer and answer.error else "the form was not looked at")
    return held(answer.visible == 0, f"{answer.visible} invalid or missing fields")
