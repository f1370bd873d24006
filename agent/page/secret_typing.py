"""Types a secret into the very element that was judged.

The browser's keyboard types into whatever has the focus, also into a document that replaced the judged one, or a frame of
another origin that takes the focus. A secret, and each of its keys, is therefore inserted through the element's handle, which
is bound to its document, after a check of that document's origin.
"""

from __future__ import annotations

import asyncio

from playwright.async_api import ElementHandle

from agent import retry_limits
from agent.page import in_page_library
from agent.page.action_requests import ActionOrder
from agent.page.actionability_gate import ElementVanished
from agent.page.errors import FieldNotForSecrets
from agent.page.origin_rule import check_element_origin
from agent.page.secret_holders import is_for_secrets, mark_holder


async def type_secret(
    order: ActionOrder, element: ElementHandle, *, keys: bool, replace: bool = True
) -> None:
    """Insert the text into the field, replacing what it holds or at its end.

    `keys`: key by key, with a check before each key. Raises `OriginRefused`, `FieldNotForSecrets`, `ElementVanished`.
    """
    page, text, allowed = order.page, order.text, order.request.allowed_origins
    await check_element_origin(page, element, allowed)
    if order.request.secret_fields_only:
        await _check_field(order, element)
    await mark_holder(order, element)
    kind = await in_page_library.call_on(page, "secretField", element, replace)
    if not kind["focused"]:
        raise ElementVanished("the focus went elsewhere after it was judged")
    if not kind["text"]:
        await element.fill(text, force=True, timeout=retry_limits.ACTION_TIMEOUT_MS)
        return
    if not keys:
        if not await in_page_library.call_on(page, "insertText", element, text):
            raise ElementVanished("the focus went elsewhere after it was judged")
        return
    for key in text:
        await check_element_origin(page, element, allowed)
        if not await in_page_library.call_on(page, "typeKey", element, key):
            raise ElementVanished("the focus went elsewhere while the secret was typed")
        await asyncio.sleep(order.pace.key_delay_s)


async def _check_field(order: ActionOrder, element: ElementHandle) -> None:
    """Raise `FieldNotForSecrets` unless the page itself shows that a field is for a secret."""
    field = await in_page_library.call_on(order.page, "fieldNames", element)
    if not is_for_secrets(field):
        raise FieldNotForSecrets(next(filter(None, field["names"]), "the field"))
