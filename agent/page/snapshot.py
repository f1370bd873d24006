"""Takes the one page snapshot of a live page: rendered DOM, visibility, form state."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

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
    said = await _said(page, secrets, look, None)
    return _taken(said), said["revision"]


async def snapshot_unless(
    page: Page, secrets: Sequence[Selector], revision: str
) -> tuple[PageSnapshot | None, str | None]:
    """As `snapshot_and_revision`, in one round trip; None for a page whose state still is `revision`."""
    said = await _said(page, secrets, None, revision)
    return None if said.get("same") else _taken(said), said["revision"]


async def _said(
    page: Page, secrets: Sequence[Selector], look: str | None, unless: str | None
) -> dict[str, Any]:
    asked = json.dumps([selector.model_dump(mode="json") for selector in secrets])
    said: dict[str, Any] = await library.call(page, "snapshot", asked, look, unless)
    if said.get("ready_state") == "loading":  # half a page is no page: wait until it is parsed
        await library.document_ready(page, PARSED_WITHIN_S)
        said = await library.call(page, "snapshot", asked, look)
    return said


def _taken(said: dict[str, Any]) -> PageSnapshot:
    return PageSnapshot(
        url=said["url"],
        title=said["title"],
        html=said["html"],
        ready_state=said["ready_state"],
        captured_at=datetime.now(UTC),
        viewport=Viewport(**said["viewport"]),
        annotated=True,
    )
