"""What can go wrong on a page.

    PageError
    |-- SelectorNotFilled   a selector needs variables nobody gave        (the caller's mistake)
    |-- SelectorUnusable    a selector names no element, or cannot be parsed (the caller's mistake)
    |-- ActionMisused       an action without what it takes              (the caller's mistake)
    |-- GateFailed          the element may not be acted on now           (heal, or wait and retry)
    |-- ElementChanged      the selector leads to something else now    (heal; never act on it)
    |-- ActionFailed        the browser refused an action                 (may have happened: look)
    |-- OriginRefused       a URL outside the allowed origins             (final)
    |-- ScriptFailed        the in-page library could not run            (a defect, ours or the page's)
    |-- NavigationFailed    the page could not be loaded                  (retry)
    `-- PageGone            the page was closed or never came to rest     (final for this page)

A document replaced under an evaluation is no error: `library.call` repeats it in the new one.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Point(StrEnum):
    """The failing points of the gate, in the order they are judged (PACTS 6.2)."""

    NOT_FOUND = "not_found"
    NOT_UNIQUE = "not_unique"
    NOT_VISIBLE = "not_visible"
    DISABLED = "disabled"
    UNSTABLE = "unstable"
    NOT_SCOPED = "not_scoped"


@dataclass(frozen=True, slots=True)
class Cover:
    """What lies over an element that did not pass."""

    described: str
    """In short: `div.cookie-banner`."""
    dismissible_by: str | None
    """What the control says that puts it away; None where none was found."""


class PageError(Exception):
    """Anything that went wrong on a page."""


class SelectorNotFilled(PageError):
    """Every strategy of a selector needs variables that have no value."""

    def __init__(self, missing: frozenset[str], reasons: tuple[str, ...] = ()) -> None:
        self.missing, self.reasons = missing, reasons
        what = f"no value for {', '.join(sorted(missing))}" if missing else "; ".join(reasons)
        super().__init__(f"the selector cannot be used: {what}")


class SelectorUnusable(PageError):
    """A reference that leads to no selector, or a selector that cannot be parsed."""

    def __init__(self, selector: str, reason: str) -> None:
        self.selector, self.reason = selector, reason
        super().__init__(f"{selector}: {reason}")


class ActionMisused(PageError):
    """An action nobody performs on a page, or one without the element, value or URL it takes."""

    def __init__(self, action: str, reason: str) -> None:
        self.action, self.reason = action, reason
        super().__init__(f"{action} {reason}")


class GateFailed(PageError):
    """The first point that failed, with what a person can check; nothing was done to the page."""

    def __init__(
        self,
        point: Point,
        evidence: str,
        selector: str,
        *,
        waited_s: float = 0.0,
        cover: Cover | None = None,
    ) -> None:
        self.point, self.evidence, self.selector, self.waited_s = point, evidence, selector, waited_s
        self.cover = cover
        super().__init__(f"{point}: {evidence} ({selector}, after {waited_s:.1f} s)")


class ElementChanged(PageError):
    """A selector still leads somewhere, but not to the element it is known for. Nothing was done."""

    def __init__(
        self, selector: str, reason: str, differing: tuple[str, ...] = (), *, score: float = 0.0
    ) -> None:
        self.selector, self.reason, self.differing, self.score = selector, reason, differing, score
        fields = f"; it differs in {', '.join(differing)}" if differing else ""
        super().__init__(f"{selector} leads to another element now: {reason}{fields}")


class ActionFailed(PageError):
    """The browser refused an action. It may have happened in part: look before repeating it."""

    def __init__(self, action: str, reason: str, *, target: str | None = None) -> None:
        self.action, self.reason, self.target = action, reason, target
        super().__init__(f"{action}{f' on {target}' if target else ''}: {reason}")


class OriginRefused(PageError):
    """A URL outside the origins this run may visit."""

    def __init__(self, url: str, origin: str, allowed: frozenset[str]) -> None:
        self.url, self.origin, self.allowed = url, origin, allowed
        super().__init__(f"{origin or url} is not among the allowed origins: {', '.join(sorted(allowed))}")


class NavigationFailed(PageError):
    """The page at a URL could not be loaded."""

    def __init__(self, url: str, reason: str) -> None:
        self.url, self.reason = url, reason
        super().__init__(f"{url} could not be loaded: {reason}")


class ScriptFailed(PageError):
    """The in-page library threw: a defect of ours, or of a page that broke what it stands on."""

    def __init__(self, url: str, reason: str) -> None:
        self.url, self.reason = url, reason
        super().__init__(f"asking the page {url} failed: {reason}")


class PageGone(PageError):
    """The page was closed, crashed, or kept navigating until the time was over."""

    def __init__(self, url: str, reason: str) -> None:
        self.url, self.reason = url, reason
        super().__init__(f"the page {url} is gone: {reason}")
