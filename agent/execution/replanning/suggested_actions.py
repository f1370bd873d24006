"""Turns what a model suggests into actions on elements of the page, and refuses what may do harm.

A model names a control by its reference in the outline that it was shown, or by an element id. Nothing harmful is
done on its word alone: what deletes, pays, sends or signs out is refused, whatever step failed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from agent.dangers.danger_words import find_harm_in_words
from agent.locators.page_fingerprints import PageFingerprints
from agent.locators.page_index import PageIndex
from agent.locators.page_outline import PageOutline, RefNames, outline_page
from agent.locators.page_scan import scan_page
from agent.locators.stable_selectors import choose_selectors
from agent.page.errors import PageGone, ScriptFailed
from kb_schema import action_types
from kb_schema.selectors import Selector
from web_pages.page_limits import PageRefused

if TYPE_CHECKING:
    from agent.session import Session
    from kb_schema.action_calls import ActionCall

FORBIDDEN_ACTIONS = frozenset({"run_task", "execute_iterator", "wait"})
"""Actions that a suggestion must not be: it replaces a single action."""


@dataclass(frozen=True, slots=True)
class ShownPage:
    """A page as a model was shown it."""

    index: PageIndex
    outline: PageOutline


async def show_page(session: Session) -> ShownPage | None:
    """Return what the page shows; None if it does not answer."""
    try:
        index = await scan_page(session.page)
    except (PageGone, ScriptFailed):
        return None
    return ShownPage(index, outline_page(index, RefNames()))


async def resolve_suggestion(
    session: Session, shown: ShownPage | None, call: ActionCall
) -> ActionCall | None:
    """Return the suggested action with its element's selector; None if it is refused or its element is not there."""
    kind = action_types.action_type(call.action_type)
    if kind is None or kind.name in FORBIDDEN_ACTIONS:
        return None
    if call.url is not None and is_harmful(" ".join(_address_words(call.url))):
        return None
    target = call.target
    if target is None:
        return call
    at = None if shown is None or not isinstance(target, str) else shown.outline.refs.get(target)
    if shown is not None and at is not None:
        return await _resolve_control(session, shown, at, call)
    return None if any(map(is_harmful, await _names_of(session, target))) else call


async def _resolve_control(
    session: Session, shown: ShownPage, at: int, call: ActionCall
) -> ActionCall | None:
    """Return the call with the selector of a control of the outline."""
    control = shown.index.elements[at]
    more = (control.attributes.get("title"), control.attributes.get("value"))
    if any(is_harmful(name) for name in (control.label, control.name, control.text, *more) if name):
        return None
    try:
        (choice,) = await choose_selectors(session.page, shown.index, [at], secrets=session.secret_fields)
    except (PageGone, ScriptFailed, PageRefused):
        return None
    if choice.selector is None:
        return None
    return call.model_copy(
        update={"target": choice.selector, "fingerprint": PageFingerprints(shown.index).of(at)}
    )


async def _names_of(session: Session, target: str | Selector) -> list[str]:
    """Return the words that an element id or a selector has."""
    if isinstance(target, Selector):
        return _selector_words(target)
    said = [target.replace("_", " ").replace("-", " ")]
    element = (await session.elements()).get(target)
    if element is not None:
        said += [str(element.metadata.get("label") or ""), *_selector_words(element.selector)]
    return said


def is_harmful(name: str) -> bool:
    """Whether the words of a control or an address say that it deletes, pays, sends, signs out or the like."""
    return find_harm_in_words(name) is not None


def _selector_words(selector: Selector) -> list[str]:
    return [str(value) for each in selector.strategies for value in each.to_json().values()]


def _address_words(url: str) -> list[str]:
    parts = urlsplit(url)
    return [word for word in unquote(f"{parts.path} {parts.query}").replace("/", " ").split() if word]
