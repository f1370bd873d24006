"""Errors of the page layer.

    PageError
    |-- SelectorNotFilled   a selector's variables have no values          (the caller's mistake)
    |-- SelectorUnusable    an unknown element, or an invalid selector     (the caller's mistake)
    |-- ActionMisused       an action without its element, value or URL    (the caller's mistake)
    |-- GateFailed          the element cannot be acted on now             (heal, or wait and retry)
    |-- ElementChanged      the selector leads to another element now      (heal; never act on it)
    |-- ActionFailed        the browser refused an action                  (may have happened: check)
    |   |-- OptionMissing   a list does not have the option to choose      (give another value)
    |   `-- ChoiceInDoubt   a choice was sent, and the list does not show it (a person looks)
    |-- OriginRefused       a URL outside the allowed origins              (final)
    |-- FieldNotForSecrets a client's secret in a field for other things  (final)
    |-- ScriptFailed        the in-page library could not run              (a defect, ours or the page's)
    |-- NavigationFailed    the page could not be loaded                   (retry)
    `-- PageGone            the page was closed, or kept being replaced    (final for this page)

A document that is replaced during an evaluation is no error: `in_page_library.call` repeats the call.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum


class GatePoint(StrEnum):
    """The failing points of the gate, in the order they are judged (PACTS 6.2)."""

    NOT_FOUND = "not_found"
    NOT_UNIQUE = "not_unique"
    NOT_VISIBLE = "not_visible"
    DISABLED = "disabled"
    UNSTABLE = "unstable"
    NOT_SCOPED = "not_scoped"


@dataclass(frozen=True, slots=True)
class CoveringElement:
    """What covers an element that did not pass the gate."""

    described: str
    """Short form: `div.cookie-banner`."""
    dismissible_by: str | None
    """The text of the control that closes it; None if there is none."""


class PageError(Exception):
    """Base of all errors of the page layer."""


class SelectorNotFilled(PageError):
    """Every strategy of a selector needs a variable without a value."""

    def __init__(self, missing: frozenset[str], reasons: tuple[str, ...] = ()) -> None:
        self.missing, self.reasons = missing, reasons
        what = f"no value for {', '.join(sorted(missing))}" if missing else "; ".join(reasons)
        super().__init__(f"the selector cannot be used: {what}")


class SelectorUnusable(PageError):
    """A reference to an unknown element, or a selector that cannot be parsed."""

    def __init__(self, selector: str, reason: str) -> None:
        self.selector, self.reason = selector, reason
        super().__init__(f"{selector}: {reason}")


class ActionMisused(PageError):
    """An action that is not performed on pages, or lacks its element, value or URL."""

    def __init__(self, action: str, reason: str) -> None:
        self.action, self.reason = action, reason
        super().__init__(f"{action} {reason}")


_NAMED = re.compile(r"""(\w+ ['"].*['"]) \((?:xpath|css|dom_index)\)""")
"""The summary of a selector that a value of the run selects: `row 'Ada' (xpath)`."""
_ONE_VALUE = re.compile(r"""\w+ (?P<quote>['"])(?P<value>(?:(?!(?P=quote)).)*)(?P=quote)""")


class GateFailed(PageError):
    """The first point of the gate that failed, with evidence. Nothing was done to the page."""

    def __init__(
        self,
        point: GatePoint,
        evidence: str,
        selector: str,
        *,
        waited_s: float = 0.0,
        cover: CoveringElement | None = None,
        complained: bool = False,
    ) -> None:
        """`complained`: it is disabled, and the page complains about a field: no other way leads there."""
        self.point, self.evidence, self.selector, self.waited_s = point, evidence, selector, waited_s
        self.cover, self.complained = cover, complained
        named = _NAMED.fullmatch(selector) if point is GatePoint.NOT_FOUND else None
        told = f"{evidence} ({selector}, after {waited_s:.1f} s)"
        only = None if named is None else _ONE_VALUE.fullmatch(named[1])
        self.value = None if only is None else only["value"]
        """The one value of the run that selects the element, if nothing on the page has it."""
        super().__init__(
            f"{point}: {told if named is None else f'no {named[1]} on the page (looked for {waited_s:.1f} s)'}"
        )

    def add_alike(self, texts: Sequence[str]) -> None:
        """Say which texts of the page are like the value that nothing on it has."""
        self.args = (f"{self}; the page has {', '.join(map(repr, texts))}",)


class ElementChanged(PageError):
    """The selector leads to another element than the known one. Nothing was done."""

    def __init__(
        self,
        selector: str,
        reason: str,
        differing: tuple[str, ...] = (),
        *,
        score: float = 0.0,
        by_words: bool = False,
    ) -> None:
        """`by_words`: its words contradict what was recorded for the step."""
        self.selector, self.reason, self.differing, self.score = selector, reason, differing, score
        self.by_words = by_words
        fields = f"; it differs in {', '.join(differing)}" if differing else ""
        super().__init__(f"{selector} leads to another element now: {reason}{fields}")


class ActionFailed(PageError):
    """The browser refused an action. It may have happened in part: check the page before repeating it."""

    def __init__(self, action: str, reason: str, *, target: str | None = None) -> None:
        self.action, self.reason, self.target = action, reason, target
        super().__init__(f"{action}{f' on {target}' if target else ''}: {reason}")


class OptionMissing(ActionFailed):
    """A list does not have the option to choose. Nothing was chosen."""

    def __init__(
        self, action: str, reason: str, option: str, options: tuple[str, ...], *, target: str | None = None
    ) -> None:
        self.option, self.options = option, options
        super().__init__(action, reason, target=target)


class ChoiceInDoubt(ActionFailed):
    """An option was pressed in a widget and something was sent, but the list does not show it: it may be stored."""


class OriginRefused(PageError):
    """A URL outside the allowed origins of this run."""

    def __init__(self, url: str, origin: str, allowed: frozenset[str]) -> None:
        self.url, self.origin, self.allowed = url, origin, allowed
        super().__init__(f"{origin or url} is not among the allowed origins: {', '.join(sorted(allowed))}")


class FieldNotForSecrets(PageError):
    """A client's secret would be typed into a field that is not one for secrets. Nothing was typed. `field`: its name."""

    def __init__(self, field: str) -> None:
        self.field = field
        super().__init__(
            f"{field!r} is no field for a secret, so that a client's run types none there; nothing was typed"
        )


class SecretKept(PageError):
    """A step would take a secret out of the field that it was typed into. Nothing was done."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(f"{reason}; nothing was pressed (Enter, Tab and Escape are)")


class NavigationFailed(PageError):
    """The page at a URL could not be loaded."""

    def __init__(self, url: str, reason: str) -> None:
        self.url, self.reason = url, reason
        super().__init__(f"{url} could not be loaded: {reason}")


class ScriptFailed(PageError):
    """The in-page library threw an exception: our defect, or the page changed built-in functions."""

    def __init__(self, url: str, reason: str) -> None:
        self.url, self.reason = url, reason
        super().__init__(f"asking the page {url} failed: {reason}")


class PageGone(PageError):
    """The page was closed, crashed, or kept navigating until the timeout."""

    hint = "`periplus run --resume last` goes on with the step that was not done"

    def __init__(self, url: str, reason: str) -> None:
        self.url, self.reason = url, reason
        super().__init__(f"the page {url} is gone: {reason}")
