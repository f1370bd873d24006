"""The hint for a page that is no known screen: one line, of the same length for any page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from kb_schema import url_patterns
from kb_schema.excerpts import excerpt
from kb_schema.tool_answers import RecoveryOption
from mcp_server.knowledge.compiled_view import KnowledgeView
from web_pages.stored_pages import StoredPage


class _CheckedSignature(Protocol):
    """What hints need of a judged screen."""

    @property
    def untold(self) -> tuple[str, ...]: ...


def foreign_page_hint(view: KnowledgeView, url: str, base: str, recovery: Sequence[RecoveryOption]) -> str:
    """Return the hint for a page of another origin: the base URL that would make it a page of the website."""
    said = f"{excerpt(url)!r} is not of website {view.website_id!r} at {excerpt(base)}"
    if url_patterns.is_web_address(url):
        said += f"; if the site runs there, pass base_url={excerpt(url_patterns.origin_of(url))!r}"
    if recovery:
        return f"{said}; else carry out the first recovery option and identify again"
    return f"{said}; else open {excerpt(base)} and identify again"


def unknown_screen_hint(page: StoredPage, judged: Sequence[_CheckedSignature], last_known: str | None) -> str:
    """Return the hint for a page of the website's origin: what the client did not send, else how to recover."""
    lacking = _missing_content(page, judged)
    if lacking is not None:
        return lacking
    if last_known is None:
        return "no known screen matches; pass last_known_screen_id, or call find_global_recovery_paths"
    return "no known screen matches; carry out the first recovery option, then identify again"


def _missing_content(page: StoredPage, judged: Sequence[_CheckedSignature]) -> str | None:
    """Return what to send so that more of the page can be evaluated."""
    snapshot = page.snapshot
    if not snapshot.html and not snapshot.text:
        return "nothing but the URL was given, which no screen is known by; send the page's `html` or `text`"
    if page.outline is not None and not page.outline.complete:
        return (
            "no known screen matches what was sent; send the snapshot of the whole page as text, not its file (or let "
            "the server read it: periplus mcp --snapshots DIR)"
        )
    untold = any(each.untold for each in judged)
    wanted = [
        *(["the page's `url`"] if untold and not snapshot.url else []),
        *(["its `html`: text alone does not tell everything"] if untold and not snapshot.html else []),
    ]
    return f"no known screen matches with certainty; send {' and '.join(wanted)}" if wanted else None
