"""Takes the one page snapshot of a live page: rendered DOM, visibility, form state."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from playwright.async_api import Page

from agent.page import in_page_library
from agent.page.condition_probes import PARSED_WITHIN_S, PageFacts, ask_probes, read_answers
from kb_schema.page_snapshots import PageSnapshot, Viewport
from kb_schema.probes import Probe
from kb_schema.selectors import Selector


async def take_snapshot(
    page: Page, secrets: Sequence[Selector] = (), *, look: str | None = None
) -> PageSnapshot:
    """Return a snapshot of the page, as `take_snapshot_with_revision` does."""
    return (await take_snapshot_with_revision(page, secrets, look=look))[0]


async def read_page_revision(page: Page) -> str | None:
    """Return the page's revision: the same revision means that only the contents of fields may have changed.

    None if it cannot be determined. Raises `PageGone`.
    """
    said: str | None = (await in_page_library.call(page, "revision"))["revision"]
    return said


async def read_work_signs(page: Page) -> frozenset[str]:
    """Return what of the page shows that it is at work, such as a turning wheel. Raises `PageGone`."""
    return frozenset(await in_page_library.call(page, "workSigns"))


async def take_snapshot_with_revision(
    page: Page, secrets: Sequence[Selector] = (), *, look: str | None = None
) -> tuple[PageSnapshot, str | None]:
    """Return an annotated snapshot of the page (`kb_schema.page_snapshots`), and the page's revision.

    The contents of password fields, of elements marked `data-pp-secret` and of elements that match a
    selector in `secrets` never leave the page. If `look` is the token of a page index, the elements carry
    their positions in it (`PLACE_ATTRIBUTE`). Raises `PageGone`.
    """
    said = await _request_snapshot(page, secrets, look, None)
    return _build_snapshot(said), said["revision"]


async def take_snapshot_if_changed(
    page: Page, secrets: Sequence[Selector], revision: str
) -> tuple[PageSnapshot | None, str | None]:
    """As `take_snapshot_with_revision`, in one round trip; no snapshot if the page still has this `revision`."""
    said = await _request_snapshot(page, secrets, None, revision)
    return None if said.get("same") else _build_snapshot(said), said["revision"]


async def probe_and_take(
    page: Page, probes: Sequence[Probe], secrets: Sequence[Selector], revision: str | None
) -> tuple[PageFacts, PageSnapshot | None]:
    """Return the answers to probes and a snapshot of the same moment, in one round trip; no snapshot if the page still has this
    `revision`. Raises `PageGone`.
    """
    said = await ask_probes(page, probes, _list_secrets(secrets), revision)
    return read_answers(said, probes), _build_snapshot(said) if "html" in said else None


def _list_secrets(secrets: Sequence[Selector]) -> str:
    return json.dumps([selector.model_dump(mode="json") for selector in secrets])


async def _request_snapshot(
    page: Page, secrets: Sequence[Selector], look: str | None, unless: str | None
) -> dict[str, Any]:
    asked = _list_secrets(secrets)
    said: dict[str, Any] = await in_page_library.call(page, "snapshot", asked, look, unless)
    if said.get("ready_state") == "loading":  # half a document is no snapshot: wait until it is parsed
        await in_page_library.document_ready(page, PARSED_WITHIN_S)
        said = await in_page_library.call(page, "snapshot", asked, look)
    return said


def _build_snapshot(said: dict[str, Any]) -> PageSnapshot:
    return PageSnapshot(
        url=said["url"],
        title=said["title"],
        html=said["html"],
        ready_state=said["ready_state"],
        captured_at=datetime.now(UTC),
        viewport=Viewport(**said["viewport"]),
        annotated=True,
    )
