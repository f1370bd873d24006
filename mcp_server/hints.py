"""What to do next where a page is no known screen: in one line, and never longer for a larger page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from kb_schema import urls
from kb_schema.answers import RecoveryOption
from kb_schema.excerpts import excerpt
from kb_schema.pages.stored import StoredPage
from mcp_server.compiled import View


class _Judged(Protocol):
    """What hints need of a screen that was judged (`identify.Judged`)."""

    @property
    def untold(self) -> tuple[str, ...]: ...


def foreign_hint(view: View, url: str, base: str, recovery: Sequence[RecoveryOption]) -> str:
    """For a page of another origin. It names the base URL that would make the page one of the website's."""
    said = f"{excerpt(url)!r} is not of website {view.website_id!r} at {excerpt(base)}"
    if urls.is_web_address(url):
        said += f"; if the site runs there, pass base_url={excerpt(urls.origin_of(url))!r}"
    if recovery:
        return f"{said}; else carry out the first recovery option and identify again"
    return f"{said}; else open {excerpt(base)} and identify again"


def lost_hint(page: StoredPage, judged: Sequence[_Judged], last_known: str | None) -> str:
    """For a page of the website's own origin: what was missing of what was sent, else how to get out."""
    lacking = _lacking(page, judged)
    if lacking is not None:
        return lacking
    if last_known is None:
        return "no known screen matches; pass last_known_screen_id, or call find_global_recovery_paths"
    return "no known screen matches; carry out the first recovery option, then identify again"


def _lacking(page: StoredPage, judged: Sequence[_Judged]) -> str | None:
    """What to send so that more can be told of the page."""
    snapshot = page.snapshot
    if not snapshot.html and not snapshot.text:
        return "nothing but the URL was given, which no screen is known by; send the page's `html` or `text`"
    if page.outline is not None and not page.outline.complete:
        return (
            "no known screen matches what was sent; send the snapshot of the whole page as text, not its file"
        )
    untold = any(each.untold for each in judged)
    wanted = [
        *(["the page's `url`"] if untold and not snapshot.url else []),
        *(["its `html`: text alone does not tell everything"] if untold and not snapshot.html else []),
    ]
    return f"no known screen matches for sure; send {' and '.join(wanted)}" if wanted else None
