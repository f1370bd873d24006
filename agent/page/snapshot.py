"""Takes the one page snapshot of a live page: rendered DOM, visibility, form state."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime

from playwright.async_api import Page

from agent.page import library
from agent.page.probing import PARSED_WITHIN_S
from kb_schema.selectors import Selector
from kb_schema.snapshots import PageSnapshot, Viewport


async def take_snapshot(
    page: Page, secrets: Sequence[Selector] = (), *, look: str | None = None
) -> PageSnapshot:
    """The page as it is now, as `snapshot_and_revision`."""
    return (await snapshot_and_revision(page, secrets, look=look))[0]


async def revision_of(page: Page) -> str | None:
    """A word for the state of the page: the same one means that nothing changed but what fields hold. None
    where it cannot be told. Raises `PageGone`.
    """
    said: str | None = (await library.call(page, "revision"))["revision"]
    return said


async def snapshot_and_revision(
    page: Page, secrets: Sequence[Selector] = (), *, look: str | None = None
) -> tuple[PageSnapshot, str | None]:
    """The page as it is now, annotated (`kb_schema.snapshots`), and the word for its state then.

    The contents of password fields, of elements marked `data-pp-secret` and of those that match a
    selector of `secrets` never leave the page. With the token of a `look` at the page, its elements
    carry their places in it (`PLACE_ATTRIBUTE`). Raises `PageGone`.
    """
    asked = json.dumps([selector.model_dump(mode="json") for selector in secrets])
    said = await library.call(page, "snapshot", asked, look)
    if said["ready_state"] == "loading":  # half a page is no page: wait until it is parsed
        await library.document_ready(page, PARSED_WITHIN_S)
        said = await library.call(page, "snapshot", asked, look)
    taken = PageSnapshot(
        url=said["url"],
        title=said["title"],
        html=said["html"],
        ready_state=said["ready_state"],
        captured_at=datetime.now(UTC),
        viewport=Viewport(**said["viewport"]),
        annotated=True,
    )
    return taken, said["revision"]
