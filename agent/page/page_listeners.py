"""One object of a kind for each page, which hears the page's events from its first use on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from inspect import Parameter, Signature
from typing import Any, TypeVar, cast
from weakref import WeakKeyDictionary

from playwright.async_api import Page

ListenerT = TypeVar("ListenerT")

_LISTENING: WeakKeyDictionary[Page, dict[type[Any], Any]] = WeakKeyDictionary()

_TAKES_ONE = Signature([Parameter("event", Parameter.POSITIONAL_ONLY)])


def with_signature(heard_by: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a function of one event that tells its signature. The driver's library asks for it with each event, and for a method Python
    works it out anew: five times as long.
    """

    def hear(event: Any, /) -> Any:
        return heard_by(event)

    cast("Any", hear).__signature__ = _TAKES_ONE
    return hear


def listen_once(
    page: Page, kind: type[ListenerT], hears: Callable[[ListenerT], Mapping[str, Callable[..., Any]]]
) -> ListenerT:
    """Return the listener of a kind, made without arguments; always the same one for the same page.

    `hears` returns, by event of the page, what hears it; the driver does not wait for it.
    """
    known = _LISTENING.setdefault(page, {})
    if kind not in known:
        made = known[kind] = kind()
        for event, heard_by in hears(made).items():
            cast("Any", page).on(event, with_signature(heard_by))
    return cast("ListenerT", known[kind])
