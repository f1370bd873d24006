"""The evidence of one failed step as the rules read it: own or foreign requests and scripts, gone or renamed
elements.

Facts only; the rules decide what they mean. Fields that are not filled mean unknown, never no.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property
from urllib.parse import urlsplit

from rapidfuzz import fuzz

from agent.negations import is_failure, is_negated
from kb_schema.expected_outcomes import OUTCOMES
from kb_schema.text_similarity import are_opposite, in_base_form, meaning_likeness, words_likeness
from kb_schema.verification import ConsoleLine, FailureEvidence, FailureKind, NetworkRequest

LONGEST = 160
"""Limit for a quoted text, in characters."""
_GATEWAY = frozenset({502, 503, 504})
"""A server in front of the application reports that the application does not answer."""
_REFUSING = frozenset({400, 409, 412, 413, 415, 422})
_DECORATION = frozenset(
    {"image", "font", "stylesheet", "media", "texttrack", "manifest", "ping", "cspviolationreport"}
)
_DECORATION_FILES = re.compile(
    r"\.(ico|png|jpe?g|gif|svg|webp|avif|css|woff2?|ttf|otf|mp[34]|webm|map)$", re.IGNORECASE
)
_CANCELLED = ("ERR_ABORTED", "ERR_BLOCKED_BY_CLIENT", "NS_BINDING_ABORTED", "cancelled")
"""Requests cancelled by the browser or the test itself."""
_NOISE = ("ResizeObserver loop",)
"""Browser errors that need no fix."""
_ECHO = "Failed to load resource"
"""The console's copy of a response that is evidence of its own."""
_REFUSAL = re.compile(
    r"\b(not (right|valid|allowed|correct|accepted|match)|in(valid|correct)|wrong|must|required|cannot|"
    r"can't|could( not|n't)|enter|please|expired|too (long|short|large|many)|already|at (least|most))\b",
    re.IGNORECASE,
)
_TAKEN = re.compile(r"\b(already (exists?|taken|in use|used)|is taken|in use|duplicate)\b", re.IGNORECASE)
_IN_PLAYWRIGHTS_WORDS = {
    "strict mode violation": FailureKind.NOT_UNIQUE,
    "element is not visible": FailureKind.NOT_VISIBLE,
    "element is not enabled": FailureKind.DISABLED,
    "element is not stable": FailureKind.UNSTABLE,
}
"""Phrases of Playwright's log of an action; the last one counts."""
_MISSPELT = 80
"""The likeness (0 to 100) from which a name is perhaps a misspelling of another."""
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n")
_SAME_SENTENCE = 70
"""The likeness (0 to 100) from which a text is the expected one with another value in it."""
_VARIES = re.compile(r"\d|\{")
"""A value in a text: a number, or a placeholder."""
_SAME_WORDS = 0.5
"""An expected text and a refusal that share half their words are about the same thing."""


def quote_excerpt(text: str) -> str:
    """Return a text for a sentence: on one line, shortened if it is long."""
    plain = " ".join(text.split())
    return f"“{plain if len(plain) <= LONGEST else plain[: LONGEST - 1] + '…'}”"


def path_of(url: str) -> str:
    """Return the path of a URL with its query and its route after `#`; the whole URL if it has none."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return url
    route = f"#{parts.fragment}" if parts.fragment.startswith(("/", "!")) else ""
    return (parts.path or url) + (f"?{parts.query}" if parts.query else "") + route


def request_of(answer: NetworkRequest) -> str:
    """Return `POST /agent/create`."""
    return f"{answer.method or 'GET'} {path_of(answer.url)}"


def _host(url: str) -> str:
    try:
        parts = urlsplit(url)
    except ValueError:
        return ""
    return (parts.hostname or "") if parts.scheme in ("http", "https") else ""


def _family(host: str) -> str:
    """Return the domain: `api.shop.example` and `www.shop.example` have the same; an IP address is its own."""
    labels = host.split(".")
    return host if labels[-1].isdecimal() or ":" in host else ".".join(labels[-2:])


def _refuses(text: str) -> bool:
    return _REFUSAL.search(text) is not None or is_failure(text)


class StepFailureCase:
    """One failed step."""

    def __init__(self, evidence: FailureEvidence) -> None:
        self.evidence = evidence

    # -- what it is about ------------------------------------------------------------------------

    @cached_property
    def element(self) -> str:
        """The element's name, quoted for sentences."""
        return quote_excerpt(self.name) if self.name else "the element"

    @cached_property
    def name(self) -> str:
        """What the failed outcome, else the step, calls its element; empty if it has none."""
        about = self.evidence.outcome.element if self.evidence.outcome else None
        return about or self.evidence.element

    @cached_property
    def step(self) -> str:
        """The step for sentences: `step 3 (click “Save”)`."""
        action = self.evidence.action or "check"
        at = f" {quote_excerpt(self.evidence.element)}" if self.evidence.element else ""
        return f"step {self.evidence.step_idx + 1} ({action}{at})"

    @cached_property
    def expectation(self) -> str:
        """The outcome as the requirement writes it, or the expected text."""
        if self.evidence.outcome is not None:
            return quote_excerpt(self.evidence.outcome.said or self.evidence.outcome.kind)
        return quote_excerpt(self.evidence.expected) if self.evidence.expected else "the expected outcome"

    @cached_property
    def is_outcome(self) -> bool:
        """An expected outcome failed, not an action."""
        return self.evidence.what == "outcome"

    @cached_property
    def failure(self) -> FailureKind:
        """The kind of failure; for a plain timeout, the one in Playwright's own log."""
        if self.evidence.failure is not FailureKind.TIMEOUT:
            return self.evidence.failure
        kinds = {self.evidence.message.rfind(words): kind for words, kind in _IN_PLAYWRIGHTS_WORDS.items()}
        last = max(kinds)
        return self.evidence.failure if last < 0 else kinds[last]

    @cached_property
    def held(self) -> bool:
        """This test is known to have passed on this site."""
        return self.evidence.held_before is True

    @cached_property
    def never_held(self) -> bool:
        """This test is known never to have passed on this site."""
        return self.evidence.held_before is False

    @cached_property
    def late(self) -> bool:
        """It came late."""
        return self.evidence.came_late_s is not None

    # -- the element -----------------------------------------------------------------------------

    @cached_property
    def about_element(self) -> bool:
        """Whether the failure needs an element: an action, or an outcome about one."""
        if self.evidence.what == "page":
            return False
        if not self.is_outcome:
            return True
        outcome = self.evidence.outcome
        if outcome is None:
            return self.evidence.matched == 0
        kind = OUTCOMES.get(outcome.kind)
        return kind is not None and kind.about == "element" and kind.name not in ("hidden", "count")

    @cached_property
    def missing(self) -> bool:
        """Whether the selector matches nothing, as far as is known."""
        if not self.about_element:
            return False
        if self.evidence.matched is not None:
            return self.evidence.matched == 0
        looked_for = self.failure is FailureKind.TIMEOUT and not self.is_outcome
        return looked_for and self.evidence.cover is None

    @cached_property
    def perhaps_meant(self) -> str | None:
        """The name on the page that a name which was never found is perhaps a misspelling of."""
        if not self.missing or self.held or self.is_outcome or not self.evidence.alike:
            return None
        near, name = self.evidence.alike[0], self.name.partition("@")[0]
        likeness = fuzz.ratio(near.casefold(), name.casefold())
        return near if likeness >= _MISSPELT and not self.is_elsewhere else None

    @cached_property
    def is_elsewhere(self) -> bool:
        """The page has the name that was never found, but not in the region that is asked for."""
        name, _, region = self.name.partition("@")
        alike = {each.casefold() for each in self.evidence.alike}
        return self.missing and not self.held and bool(region) and name.casefold() in alike

    @cached_property
    def renamed(self) -> bool:
        """The same element is on the page, under another selector."""
        return self.about_element and self.evidence.nearest_verdict == "same"

    @cached_property
    def nothing_similar(self) -> bool:
        """The page was searched, and no element on it can be the one."""
        return self.missing and (
            self.evidence.nearest_verdict == "other"
            or (
                self.evidence.nearest_verdict is None
                and self.evidence.nearest is None
                and self.evidence.heal_rounds > 0
            )
        )

    @cached_property
    def wrong_value(self) -> bool:
        """The page shows another value than expected."""
        facts = self.evidence
        if not self.is_outcome or self.missing or facts.expected is None or facts.received is None:
            return False  # what is received of an element that is not there is no value of it
        expected, received = facts.expected.strip(), facts.received.strip()
        if self.quotes and fuzz.ratio(expected.casefold(), received.casefold()) < _SAME_SENTENCE:
            return False  # the nearest text of the page may be any text
        return expected != received and bool(received)

    @cached_property
    def quotes(self) -> bool:
        """A text is expected somewhere on the page."""
        kind = None if self.evidence.outcome is None else OUTCOMES.get(self.evidence.outcome.kind)
        return self.is_outcome and kind is not None and kind.quotes

    @cached_property
    def other_words(self) -> str | None:
        """The text that came instead of an expected one and says the same in other words; None if none does.

        Neither has a number in it, the new one has all data of the expected one, neither refuses what the other does not, and none
        is the opposite of the other.
        """
        expected = self.evidence.expected
        value = self.evidence.outcome.value if self.evidence.outcome else None
        if not self.quotes or not expected or _VARIES.search(value or "") or _VARIES.search(expected):
            return None
        new: list[str] = [
            part.strip() for text in self.evidence.in_its_place for part in _SENTENCE_END.split(text)
        ]
        return next((each for each in new if each and self._says_the_same(expected, each)), None)

    def _says_the_same(self, expected: str, new: str) -> bool:
        wanted, said = in_base_form(expected), in_base_form(new)
        if meaning_likeness(wanted, said) < _SAME_WORDS or are_opposite(wanted, said):
            return False
        if _VARIES.search(new) or expected.casefold() in new.casefold():
            return False
        if _refuses(new) != _refuses(expected) or is_negated(new) != is_negated(expected):
            return False
        return all(each in new for each in self.evidence.expected_data)

    @cached_property
    def says_another(self) -> bool:
        """A text was expected; the element is not certainly found again, and the most similar one has another
        text.

        Elements that are only read are also identified by their text, hence the uncertainty.
        """
        facts, outcome = self.evidence, self.evidence.outcome
        if not self.is_outcome or outcome is None or outcome.kind != "text" or not outcome.value:
            return False
        return facts.nearest_verdict == "ambiguous" and outcome.value not in (facts.nearest or outcome.value)

    # -- the network -----------------------------------------------------------------------------

    def ours(self, url: str) -> bool:
        """Return whether a URL belongs to the site under test; True if that is not known."""
        here, there = _host(self.evidence.url), _host(url)
        return not here or not there or _family(here) == _family(there)

    def near(self, step_idx: int | None) -> bool:
        """Return whether it happened during the failing step, or the one before."""
        return step_idx is None or step_idx >= self.evidence.step_idx - 1

    @staticmethod
    def decoration(answer: NetworkRequest) -> bool:
        """Return whether it is an image, font or icon: no step fails without it."""
        if answer.resource_type:
            return answer.resource_type in _DECORATION or path_of(answer.url).endswith("/favicon.ico")
        return bool(_DECORATION_FILES.search(path_of(answer.url).partition("?")[0]))

    def _answers(self) -> Iterator[NetworkRequest]:
        return (each for each in self.evidence.answers if not self.decoration(each))

    @cached_property
    def broken(self) -> tuple[NetworkRequest, ...]:
        """Responses that show a failure of the application itself."""
        return tuple(
            each for each in self._answers() if (each.status or 0) >= 500 and each.status not in _GATEWAY
        )

    @cached_property
    def gateways(self) -> tuple[NetworkRequest, ...]:
        """Responses of a server in front of the application."""
        return tuple(each for each in self._answers() if each.status in _GATEWAY)

    @cached_property
    def unanswered(self) -> tuple[NetworkRequest, ...]:
        """Requests whose connection failed."""
        return tuple(
            each
            for each in self._answers()
            if each.status is None and each.failure and not any(word in each.failure for word in _CANCELLED)
        )

    @cached_property
    def waiting(self) -> tuple[NetworkRequest, ...]:
        """Requests of the site without a response when the step timed out."""
        open_ones = [each for each in self._answers() if each.status is None and not each.failure]
        found = [each for each in (*self.evidence.pending, *open_ones) if not self.decoration(each)]
        return tuple(each for each in found if self.ours(each.url) and self.near(each.step_idx))

    @cached_property
    def owed(self) -> bool:
        """The site has not sent the page yet, or the response to a form: missing content may still come."""
        return any(self.weighty(each) for each in self.waiting)

    @cached_property
    def refusing(self) -> tuple[NetworkRequest, ...]:
        """Responses that refuse what was sent."""
        return tuple(
            each
            for each in self._answers()
            if each.status in _REFUSING and self.ours(each.url) and self.near(each.step_idx)
        )

    @cached_property
    def forbidden(self) -> tuple[NetworkRequest, ...]:
        """Documents the signed-in account may not see."""
        return tuple(
            each
            for each in self._answers()
            if each.status in (401, 403) and self.weighty(each) and self.near(each.step_idx)
        )

    @cached_property
    def not_found(self) -> tuple[NetworkRequest, ...]:
        """Documents, and addresses that data is sent to, that do not exist (any more)."""
        return tuple(
            each
            for each in self._answers()
            if each.status in (404, 405, 410) and self.weighty(each) and self.near(each.step_idx)
        )

    def weighty(self, answer: NetworkRequest) -> bool:
        """Return whether it is a document or sent data: a step depends on it."""
        return self.ours(answer.url) and (
            answer.resource_type == "document" or answer.method.upper() not in ("GET", "HEAD", "OPTIONS", "")
        )

    # -- what the page says ----------------------------------------------------------------------

    @cached_property
    def script_errors(self) -> tuple[ConsoleLine, ...]:
        """Uncaught errors of the site's own scripts, during the failing step."""
        return tuple(each for each in self._thrown() if self.ours(each.url) and self.near(each.step_idx))

    @cached_property
    def only_a_script_failed(self) -> bool:
        """Only a script failed: the step and all its outcomes succeeded."""
        return self.evidence.failure is FailureKind.NONE and bool(self.script_errors)

    @cached_property
    def foreign_errors(self) -> tuple[ConsoleLine, ...]:
        """Uncaught errors of other scripts, or of earlier steps."""
        own = self.script_errors
        return tuple(each for each in self._thrown() if each not in own)

    def _thrown(self) -> Iterator[ConsoleLine]:
        for each in self.evidence.console:
            opaque = each.text.strip().rstrip(".") == "Script error"
            if each.kind == "pageerror" and not (opaque or each.usual or each.text.startswith(_NOISE)):
                yield each

    @cached_property
    def said_errors(self) -> tuple[ConsoleLine, ...]:
        """Errors that the site's own scripts wrote to the console."""
        return tuple(
            each
            for each in self.evidence.console
            if each.kind == "error"
            and not each.usual
            and not each.text.startswith((_ECHO, *_NOISE))
            and self.ours(each.url)
            and self.near(each.step_idx)
        )

    @cached_property
    def refusals(self) -> tuple[str, ...]:
        """The page's messages against entered values: at its fields, then its alerts."""
        return (*self.evidence.refused_fields, *self.evidence.alerts)

    @cached_property
    def says_no(self) -> bool:
        """Whether an alert reads like a refusal rather than a success."""
        return any(map(_refuses, self.evidence.alerts))

    @cached_property
    def taken(self) -> bool:
        """The page says that the entry exists already: it is left over from another run."""
        return any(_TAKEN.search(each) for each in self.refusals)

    @cached_property
    def wants_refusal(self) -> bool:
        """Whether the expected outcome is itself a refusal."""
        outcome = self.evidence.outcome
        if not self.is_outcome or outcome is None:
            return False
        if outcome.kind in ("invalid", "stays_on_page", "disabled"):
            return True
        value = outcome.value or ""
        if self.held and self.quotes and _refuses(value):
            return True  # the page refused, as it should, before
        return bool(value) and any(words_likeness(value, each) >= _SAME_WORDS for each in self.refusals)
