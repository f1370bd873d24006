"""What makes a site know a browser again: cookies, and the local storage of the page that is open.

In the form that Playwright's `new_context(storage_state=...)` takes. Playwright's own reading of it
opens a page for every origin; between steps that would cost more than the step.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from playwright.async_api import Error as PlaywrightError
from playwright.async_api import Page

_LOCAL_STORAGE = """() => ({
  origin: location.origin,
  localStorage: Object.keys(localStorage).map((name) => ({ name, value: localStorage.getItem(name) })),
})"""


async def browser_storage(page: Page) -> dict[str, Any]:
    """The page's context as a `storage_state`. What a page does not let be read is left out."""
    origins: list[dict[str, Any]] = []
    cookies: list[Any] = []
    try:
        cookies = [dict(cookie) for cookie in await page.context.cookies()]
        if page.url.startswith(("http://", "https://")):
            origin = await page.evaluate(_LOCAL_STORAGE)
            if origin["localStorage"]:
                origins.append(origin)
    except PlaywrightError:
        pass  # a page that is just going away; the next step keeps it
    return {"cookies": cookies, "origins": origins}


def storage_without(storage: dict[str, Any], redact: Callable[[Any], Any]) -> dict[str, Any]:
    """A `storage_state` without the cookies and entries that a secret stands in: half of one would be
    no use to the site, and the secret must not be kept.
    """
    origins = [
        {**origin, "localStorage": [each for each in origin["localStorage"] if redact(each) == each]}
        for origin in storage["origins"]
    ]
    return {
        "cookies": [each for each in storage["cookies"] if redact(each) == each],
        "origins": [origin for origin in origins if origin["localStorage"]],
    }
