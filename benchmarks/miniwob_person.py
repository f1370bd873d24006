"""A scripted person at the pages of MiniWoB++: reads the goal's sentence and the page, and does what is asked.

Two uses: what the person does is recorded as demonstrations, and the states of the forms that it passes are the only
ones that a run may leave behind (`benchmarks.miniwob`). The list of tasks was written before any of them was measured.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from playwright.async_api import Frame, Locator, Page

OTHERS = (
    "choose-list",
    "click-button",
    "click-scroll-list",
    "click-checkboxes-large",
    "click-tab-2-hard",
    "choose-date-medium",
    "enter-time",
    "enter-text-2",
    "read-table",
    "copy-paste-2",
    "email-inbox-delete",
    "email-inbox-forward",
    "email-inbox-reply",
    "email-inbox",
    "buy-ticket",
    "book-flight-nodelay",
    "social-media",
    "social-media-all",
    "social-media-some",
    "order-food",
    "form-sequence-2",
    "form-sequence-3",
    "use-slider",
    "navigate-tree",
    "multi-layouts",
    "phone-book",
    "flight/Alaska",
    "flight/Alaska-auto",
    "flight/AA",
)
"""Tasks without demonstrations of people: this person shows them."""
UNSEEN = (
    "enter-password",
    "focus-text-2",
    "email-inbox-important",
    "find-word",
    "read-table-2",
    "simple-arithmetic",
)
"""Tasks that this person learned after the rules were written: no rule was made or changed for them."""
HERE_MS = 3_000.0
"""How long an element may take to come."""
_FORMS = """() => {
    const state = {};
    const tell = (where, doc) => {
        doc.querySelectorAll('input:not([type=hidden]), textarea, select').forEach((each, at) => {
            const kind = (each.type || '').toLowerCase();
            const value = kind === 'checkbox' || kind === 'radio' ? String(each.checked)
                : each.tagName === 'SELECT' ? [...each.selectedOptions].map((one) => one.text).join('|') : each.value;
            state[where + (each.id || each.name || at) + (kind === 'radio' ? each.value : '')] = value;
        });
        doc.querySelectorAll('#area .active, #area .clicked, #area .selected').forEach((each) => {
            const like = [...doc.querySelectorAll('#area *')];
            state[where + 'mark ' + like.indexOf(each)] = each.className;
        });
    };
    tell('', document);
    for (const frame of document.querySelectorAll('iframe')) tell('frame ', frame.contentDocument);
    return state;
}"""

FormState = dict[str, str]
"""The value of each form control of a page, and the classes of what is marked as pressed."""


async def read_forms(page: Page) -> FormState:
    """Return the state of a page's forms, those of its frames included."""
    return dict(await page.evaluate(_FORMS))


@dataclass
class Person:
    """Mouse and keyboard of the person."""

    page: Page
    pause: Callable[[], Awaitable[None]]
    """Awaited after each act."""
    passed: list[FormState] = field(default_factory=list)
    """The states of the forms before and after each act."""

    @property
    def frame(self) -> Frame:
        """The frame with the form."""
        return self.page.frames[-1]

    def find(self, selector: str, text: str | None = None) -> Locator:
        """Return the elements of a selector, with exactly this text if one is given."""
        found = self.frame.locator(selector)
        return found if text is None else found.filter(has_text=re.compile(rf"^\s*{re.escape(text)}\s*$"))

    async def click(self, what: Locator) -> None:
        """Click on the first of these elements."""
        await self._see()
        await what.first.hover(
            timeout=HERE_MS
        )  # a hovered icon may load another picture and shrink until then
        await what.first.click(timeout=HERE_MS)
        await self._done()

    async def type(self, what: Locator, text: str) -> None:
        """Click into a field, select what it has, and type."""
        await self._see()
        await what.first.click(timeout=HERE_MS)
        if await what.first.input_value():
            await self.page.keyboard.press("ControlOrMeta+a")
        await self.page.keyboard.type(text)
        await self._done()

    async def choose(self, what: Locator, *labels: str) -> None:
        """Choose options of a list of the browser."""
        await self._see()
        await what.first.select_option(label=list(labels), timeout=HERE_MS)
        await self._done()

    async def keys(self, key: str, times: int = 1) -> None:
        """Press a key some times."""
        await self._see()
        for _ in range(times):
            await self.page.keyboard.press(key)
        await self._done()

    async def _see(self) -> None:
        self.passed.append(await read_forms(self.page))

    async def _done(self) -> None:
        await self.pause()
        await self._see()


def find_wrong_values(found: FormState, passed: list[FormState]) -> list[str]:
    """Return what a page's forms contain that the person never had there."""
    allowed: dict[str, set[str]] = {}
    for state in passed:
        for key, value in state.items():
            allowed.setdefault(key, set()).add(value)
    return [
        f"{key} is {value!r}"
        for key, value in found.items()
        if value not in allowed.get(key, {"", "false"}) and not _is_begun(value, allowed.get(key, set()))
    ]


def _is_begun(value: str, allowed: set[str]) -> bool:
    """Return whether it is the beginning of a text that the person typed."""
    return bool(value) and any(each.startswith(value) for each in allowed)
