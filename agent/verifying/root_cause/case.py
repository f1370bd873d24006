"""The evidence of one failed step as the rules read it: whose request, whose script, gone or renamed.

Facts only: what they mean is the rules' business. Fields that nobody filled are unknown, never denied.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property
from urllib.parse import urlsplit

from kb_schema.outcomes import OUTCOMES
from kb_schema.verification import Answer, ConsoleLine, Evidence, Failure
from kb_schema.wording import words_likeness

LONGEST = 160
"""Characters of a quoted text that are told."""
_GATEWAY = frozenset({502, 503, 504})
"""What stands before the application says that it does not answer."""
_REFUSING = frozenset({400, 409, 412, 413, 415, 422})
_DECORATION = frozenset(
    {"image", "font", "stylesheet", "media", "texttrack", "manifest", "ping", "cspviolationreport"}
)
_DECORATION_FILES = re.compile(
    r"\.(ico|png|jpe?g|gif|svg|webp|avif|css|woff2?|ttf|otf|mp[34]|webm|map)$", re.IGNORECASE
)
_CANCELLED = ("ERR_ABORTED", "ERR_BLOCKED_BY_CLIENT", "NS_BINDING_ABORTED", "cancelled")
"""What the browser or the test itself called off."""
_NOISE = ("ResizeObserver loop",)
"""Errors that browsers report and nobody has to fix."""
_ECHO = "Failed to load resource"
"""The console's echo of an answer, which is evidence of its own."""
_REFUSAL = re.compile(
    r"\b(not (right|valid|allowed|correct|accepted|match)|in(valid|correct)|wrong|must|required|cannot|"
    r"can't|fail(ed|ure)?|error|enter|please|denied|expired|too (long|short|large|many)|already|at (least|most))\b",
    re.IGNORECASE,
)
_TAKEN = re.compile(r"\b(already (exists?|taken|in use|used)|is taken|in use|duplicate)\b", re.IGNORECASE)
_IN_PLAYWRIGHTS_WORDS = {
    "strict mode violation": Failure.NOT_UNIQUE,
    "element is not visible": Failure.NOT_VISIBLE,
    "element is not enabled": Failure.DISABLED,
    "element is not stable": Failure.UNSTABLE,
}
"""What its log of an action says again and again; what is said last counts."""
_SAME_WORDS = 0.5
"""A text expected and a refusal that share half their words speak of one thing."""


def quoted(text: str) -> str:
    """A text for a sentence: on one line, cut where it is long."""
    plain = " ".join(text.split())
    return f"“{plain if len(plain) <= LONGEST else plain[: LONGEST - 1] + '…'}”"


def path_of(url: str) -> str:
    """What a person calls an address: its path, or the whole where it has none."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return url
    return (parts.path or url) + (f"?{parts.query}" if parts.query else "")


def request_of(answer: Answer) -> str:
    """`POST /agent/create`."""
    return f"{answer.method or 'GET'} {path_of(answer.url)}"


def _host(url: str) -> str:
    try:
        parts = urlsplit(url)
    except ValueError:
        return ""
    return (parts.hostname or "") if parts.scheme in ("http", "https") else ""


def _family(host: str) -> str:
    """`api.shop.example` and `www.shop.example` are of one family; an address of numbers is its own."""
    labels = host.split(".")
    return host if labels[-1].isdecimal() or ":" in host else ".".join(labels[-2:])


class Case:
    """One failed step."""

    def __init__(self, evidence: Evidence) -> None:
        self.told = evidence

    # -- what it is about ------------------------------------------------------------------------

    @cached_property
    def element(self) -> str:
        """The element, or what stands for it, for sentences."""
        about = self.told.outcome.element if self.told.outcome else None
        return quoted(about or self.told.element) if about or self.told.element else "the element"

    @cached_property
    def step(self) -> str:
        """`step 3, click “Save”`."""
        action = self.told.action or "look"
        at = f" {quoted(self.told.element)}" if self.told.element else ""
        return f"step {self.told.step_idx + 1} ({action}{at})"

    @cached_property
    def expectation(self) -> str:
        """The outcome as the requirement says it, or what was expected."""
        if self.told.outcome is not None:
            return quoted(self.told.outcome.said or self.told.outcome.kind)
        return quoted(self.told.expected) if self.told.expected else "the expected outcome"

    @cached_property
    def is_outcome(self) -> bool:
        """An expected outcome failed, not an action."""
        return self.told.what == "outcome"

    @cached_property
    def failure(self) -> Failure:
        """Why it did not come off; of a bare time-out, what Playwright's own log says of it."""
        if self.told.failure is not Failure.TIMEOUT:
            return self.told.failure
        said = {self.told.message.rfind(words): kind for words, kind in _IN_PLAYWRIGHTS_WORDS.items()}
        last = max(said)
        return self.told.failure if last < 0 else said[last]

    @cached_property
    def held(self) -> bool:
        """This very test is known to have passed here."""
        return self.told.held_before is True

    @cached_property
    def never_held(self) -> bool:
        """This very test is known never to have passed here."""
        return self.told.held_before is False

    @cached_property
    def late(self) -> bool:
        """It came after all."""
        return self.told.came_late_s is not None

    # -- the element -----------------------------------------------------------------------------

    @cached_property
    def about_element(self) -> bool:
        """Whether what failed needs an element: an action, or an outcome that is about one."""
        if self.told.what == "page":
            return False
        if not self.is_outcome:
            return True
        outcome = self.told.outcome
        if outcome is None:
            return self.told.matched == 0
        kind = OUTCOMES.get(outcome.kind)
        return kind is not None and kind.about == "element" and kind.name not in ("hidden", "count")

    @cached_property
    def missing(self) -> bool:
        """Whether the selector leads to nothing, as far as one knows."""
        if not self.about_element:
            return False
        if self.told.matched is not None:
            return self.told.matched == 0
        looked_for = self.failure is Failure.TIMEOUT and not self.is_outcome
        return looked_for and self.told.cover is None

    @cached_property
    def renamed(self) -> bool:
        """The very element is there, under another selector."""
        return self.about_element and self.told.nearest_verdict == "same"

    @cached_property
    def nothing_similar(self) -> bool:
        """Somebody looked, and nothing that is there can be the element."""
        return self.missing and (
            self.told.nearest_verdict == "other"
            or (self.told.nearest_verdict is None and self.told.nearest is None and self.told.heal_rounds > 0)
        )

    @cached_property
    def wrong_value(self) -> bool:
        """Something is said where something else was expected."""
        told = self.told
        if not self.is_outcome or self.missing or told.expected is None or told.received is None:
            return False  # what is received of an element that is not there is no value of it
        return told.expected.strip() != told.received.strip() and bool(told.received.strip())

    @cached_property
    def says_another(self) -> bool:
        """What an element says was expected; it is not surely found again, and what may be it says
        something else. An element that is only read is told by what it says, too: hence the doubt.
        """
        told, outcome = self.told, self.told.outcome
        if not self.is_outcome or outcome is None or outcome.kind != "text" or not outcome.value:
            return False
        return told.nearest_verdict == "ambiguous" and outcome.value not in (told.nearest or outcome.value)

    # -- the network -----------------------------------------------------------------------------

    def ours(self, url: str) -> bool:
        """Whether an address belongs to the site under test; where that is not known, it does."""
        here, there = _host(self.told.url), _host(url)
        return not here or not there or _family(here) == _family(there)

    def near(self, step_idx: int | None) -> bool:
        """Whether it happened under the failing step, or under the one whose effect it waits for."""
        return step_idx is None or step_idx >= self.told.step_idx - 1

    @staticmethod
    def decoration(answer: Answer) -> bool:
        """A picture, a font, an icon: nothing fails for want of it."""
        if answer.resource_type:
            return answer.resource_type in _DECORATION or path_of(answer.url).endswith("/favicon.ico")
        return bool(_DECORATION_FILES.search(path_of(answer.url).partition("?")[0]))

    def _answers(self) -> Iterator[Answer]:
        return (each for each in self.told.answers if not self.decoration(each))

    @cached_property
    def broken(self) -> tuple[Answer, ...]:
        """Answers with which the application itself failed."""
        return tuple(
            each for each in self._answers() if (each.status or 0) >= 500 and each.status not in _GATEWAY
        )

    @cached_property
    def gateways(self) -> tuple[Answer, ...]:
        """Answers of whatever stands before the application."""
        return tuple(each for each in self._answers() if each.status in _GATEWAY)

    @cached_property
    def unanswered(self) -> tuple[Answer, ...]:
        """Requests whose connection failed."""
        return tuple(
            each
            for each in self._answers()
            if each.status is None and each.failure and not any(word in each.failure for word in _CANCELLED)
        )

    @cached_property
    def waiting(self) -> tuple[Answer, ...]:
        """Requests of the site still without an answer when it was given up."""
        open_ones = [each for each in self._answers() if each.status is None and not each.failure]
        found = [each for each in (*self.told.pending, *open_ones) if not self.decoration(each)]
        return tuple(each for each in found if self.ours(each.url) and self.near(each.step_idx))

    @cached_property
    def owed(self) -> bool:
        """The site still owes the page, or an answer to what was sent: what is not there may come with it."""
        return any(self.weighty(each) for each in self.waiting)

    @cached_property
    def refusing(self) -> tuple[Answer, ...]:
        """Answers that say that what was sent is not accepted."""
        return tuple(
            each
            for each in self._answers()
            if each.status in _REFUSING and self.ours(each.url) and self.near(each.step_idx)
        )

    @cached_property
    def forbidden(self) -> tuple[Answer, ...]:
        """Documents one may not see as whoever is signed in."""
        return tuple(
            each
            for each in self._answers()
            if each.status in (401, 403) and self.weighty(each) and self.near(each.step_idx)
        )

    @cached_property
    def not_found(self) -> tuple[Answer, ...]:
        """Documents that are not there (any more)."""
        return tuple(
            each
            for each in self._answers()
            if each.status in (404, 410) and each.resource_type == "document" and self.near(each.step_idx)
        )

    def weighty(self, answer: Answer) -> bool:
        """A document, or something that was sent: what a step lives by."""
        return self.ours(answer.url) and (
            answer.resource_type == "document" or answer.method.upper() not in ("GET", "HEAD", "OPTIONS", "")
        )

    # -- what the page says ----------------------------------------------------------------------

    @cached_property
    def script_errors(self) -> tuple[ConsoleLine, ...]:
        """Errors nobody caught, of the site's own scripts, under the failing step."""
        return tuple(each for each in self._thrown() if self.ours(each.url) and self.near(each.step_idx))

    @cached_property
    def only_a_script_failed(self) -> bool:
        """Nothing else did: the step and all its outcomes came off."""
        return self.told.failure is Failure.NONE and bool(self.script_errors)

    @cached_property
    def foreign_errors(self) -> tuple[ConsoleLine, ...]:
        """Errors nobody caught of other people's scripts, or of steps long done."""
        own = self.script_errors
        return tuple(each for each in self._thrown() if each not in own)

    def _thrown(self) -> Iterator[ConsoleLine]:
        for each in self.told.console:
            opaque = each.text.strip().rstrip(".") == "Script error"
            if each.kind == "pageerror" and not opaque and not each.text.startswith(_NOISE):
                yield each

    @cached_property
    def said_errors(self) -> tuple[ConsoleLine, ...]:
        """What the site's own scripts wrote to the console as an error."""
        return tuple(
            each
            for each in self.told.console
            if each.kind == "error"
            and not each.text.startswith((_ECHO, *_NOISE))
            and self.ours(each.url)
            and self.near(each.step_idx)
        )

    @cached_property
    def refusals(self) -> tuple[str, ...]:
        """What the page says against what was typed: its fields, then its alerts."""
        return (*self.told.refused_fields, *self.told.alerts)

    @cached_property
    def says_no(self) -> bool:
        """Whether an alert reads like a refusal, and not like a success."""
        return any(_REFUSAL.search(each) for each in self.told.alerts)

    @cached_property
    def taken(self) -> bool:
        """The page says that such a thing exists already: left over from another run."""
        return any(_TAKEN.search(each) for each in self.refusals)

    @cached_property
    def wants_refusal(self) -> bool:
        """Whether the expected outcome is itself that the page refuses something."""
        outcome = self.told.outcome
        if not self.is_outcome or outcome is None:
            return False
        if outcome.kind in ("invalid", "stays_on_page", "disabled"):
            return True
        value = outcome.value or ""
        return bool(value) and any(words_likeness(value, each) >= _SAME_WORDS for each in self.refusals)
