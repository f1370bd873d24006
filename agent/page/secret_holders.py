"""Fields that hold a secret, after it was typed: no step edits them key by key, copies from them, or pastes elsewhere.

A field that received a secret is marked in its page. A page may make a new field instead of a marked one, so a field
that shows itself to be for secrets counts as well once a secret was typed in the browser context.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from weakref import WeakKeyDictionary

from playwright.async_api import BrowserContext, ElementHandle, Page
from playwright.async_api import Error as DriverError

from agent.page import in_page_library
from agent.page.action_requests import ActionOrder
from agent.page.errors import SecretKept
from kb_schema.secret_fields import is_secret_autocomplete, names_a_secret
from kb_schema.selectors import Selector
from kb_schema.url_patterns import origin_of

_TYPED_AT: WeakKeyDictionary[BrowserContext, set[str]] = WeakKeyDictionary()
"""The origins at which secrets were typed, by browser context."""
_HARMLESS = frozenset({"Enter", "NumpadEnter", "Tab", "Shift+Tab", "Escape"})
_COMMAND_KEYS = frozenset({"Control", "Meta", "ControlOrMeta"})
_COMMANDS_ELSEWHERE = frozenset({"a", "keya", "enter", "home", "end"})
"""Keys that are pressed with Control or Meta on another origin than the secret's: with others, a page may paste."""


def is_for_secrets(field: Mapping[str, Any]) -> bool:
    """Whether a field (`fieldNames` in the page) is one for secrets by its type, autocomplete or names."""
    return bool(
        field["type"] == "password"
        or is_secret_autocomplete(field["autocomplete"])
        or names_a_secret(field["names"])
    )


async def mark_holder(order: ActionOrder, element: ElementHandle) -> None:
    """Note that the field gets a secret."""
    _TYPED_AT.setdefault(order.page.context, set()).add(origin_of(order.page.url))
    await in_page_library.call_on(order.page, "holdSecret", element)


async def keep_held_text(order: ActionOrder, element: ElementHandle) -> None:
    """Tell the request what the field made of the secret, such as its beginning: that is secret as well."""
    keep = order.request.keep_secret
    if keep is None:
        return
    try:
        held = await in_page_library.call_on(order.page, "holdSecret", element)
    except DriverError as error:
        if not in_page_library.document_replaced(error):
            raise
        return
    if held and held != order.text:
        keep(held)


async def holds_secret(page: Page, selector: Selector | None) -> bool:
    """Whether a field may hold a secret that was typed. None: the field that has the focus."""
    if not _TYPED_AT.get(page.context):
        return False
    if selector is not None:
        return await is_value_hidden(page, selector)
    field = await in_page_library.call(page, "focusedNames")
    return field is not None and (field["holds"] or is_for_secrets(field))


async def is_value_hidden(page: Page, selector: Selector | None) -> bool:
    """Whether the value of the field that a selector leads to is shown nowhere: it is for secrets, or received one."""
    if selector is None:
        return False
    field = await in_page_library.call(page, "namesOf", selector.model_dump_json())
    return field is not None and (field["holds"] or is_for_secrets(field))


async def check_key(order: ActionOrder) -> None:
    """Check before a key is pressed in the element of the request, or in what has the focus. Raises `SecretKept`."""
    page, keys = order.page, order.text
    typed = _TYPED_AT.get(page.context)
    if not typed or keys in _HARMLESS:
        return
    *held, last = keys.split("+") if keys != "+" else [keys]
    if _may_paste(held, last) and origin_of(page.url) not in typed:
        raise SecretKept(f"{keys!r} may paste on another origin than the one where a secret was typed")
    if (len(last) > 1 or held) and await holds_secret(page, order.request.selector):
        raise SecretKept(f"{keys!r} may edit or copy a field with a secret")


def _may_paste(held: Sequence[str], last: str) -> bool:
    if not _COMMAND_KEYS.isdisjoint(held):
        return last.lower() not in _COMMANDS_ELSEWHERE
    return bool(held) and last.lower() == "insert"


async def check_drag(order: ActionOrder) -> None:
    """Check before something is dragged. Raises `SecretKept` if the text of a field with a secret is."""
    if await holds_secret(order.page, order.request.selector):
        raise SecretKept("a drag from a field with a secret takes its text elsewhere")
