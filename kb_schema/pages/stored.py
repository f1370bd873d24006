"""A stored page that answers probes: the offline twin of the live one.

Our own snapshots are annotated; any other HTML is judged from its markup; a snapshot that has
only text answers what can be answered from text.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

from kb_schema.pages import probing
from kb_schema.pages.limits import PageRefused
from kb_schema.pages.parsing import parse_roots
from kb_schema.pages.resolve import Queries, Resolved, resolve
from kb_schema.pages.texts import squeeze, text_of
from kb_schema.pages.tree import Root
from kb_schema.pages.visibility import visible
from kb_schema.probes import Probe, ProbeAnswer, TextProbe, probe_key
from kb_schema.selectors import Selector
from kb_schema.snapshots import PageSnapshot

MAX_HTML_CHARACTERS = 10_000_000
"""HTML longer than this is refused unless the caller allows more."""

REPEATED = 2
"""All roots together may have so many times as much: frames within frames repeat themselves."""


class StoredPage:
    """One snapshot, parsed once. Raises `PageRefused` for HTML over the limits."""

    def __init__(self, snapshot: PageSnapshot, *, max_html: int = MAX_HTML_CHARACTERS) -> None:
        if len(snapshot.html) > max_html:
            raise PageRefused(f"the HTML has {len(snapshot.html)} characters; {max_html} are allowed")
        self.snapshot = snapshot
        self._most_characters = REPEATED * max_html
        self._queries = Queries()

    @cached_property
    def roots(self) -> list[Root]:
        """The document, then its shadow roots and frame documents."""
        html = self.snapshot.html
        return parse_roots(html, annotated=self.snapshot.annotated, most_characters=self._most_characters)

    @cached_property
    def text(self) -> str:
        """The visible text of everything, roots parted by line breaks."""
        if not self.snapshot.html:
            return self.snapshot.text or ""
        shown = (
            root for root in self.roots if root.kind != "frame" or root.host is None or visible(root.host)
        )
        return "\n".join(text for root in shown if (text := text_of(root)))

    def answer(self, probe: Probe) -> ProbeAnswer:
        """The answer to one probe."""
        if self.snapshot.html:
            return probing.answer(probe, self.roots, self._queries)
        if isinstance(probe, TextProbe) and probe.css is None and self.snapshot.text is not None:
            said, wanted = squeeze(self.snapshot.text), squeeze(probe.value)
            seen = int(wanted in said if wanted else bool(said))
            return ProbeAnswer(present=seen, visible=seen)
        return ProbeAnswer(error="the client sent no HTML")

    def resolve(self, selector: Selector) -> Resolved:
        """What a selector finds, by the same rules as on a live page."""
        if not self.snapshot.html:
            return Resolved(error="the client sent no HTML")
        return resolve(selector, self.roots, self._queries)


def answer_probes(
    page: PageSnapshot | StoredPage, probes: Iterable[Probe], *, max_html: int = MAX_HTML_CHARACTERS
) -> dict[str, ProbeAnswer]:
    """The answer to each probe by its `probe_key`. Raises `PageRefused` for HTML over the limits."""
    stored = page if isinstance(page, StoredPage) else StoredPage(page, max_html=max_html)
    unique = {probe_key(probe): probe for probe in probes}
    return {key: stored.answer(probe) for key, probe in unique.items()}
