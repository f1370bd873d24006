"""A stored page that answers probes: the offline twin of the live one.

Our own snapshots are annotated; any other HTML is judged from its markup; where there is only text,
an accessibility snapshot answers what roles, names and states tell, and plain text what it says.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property

from kb_schema.pages import outline_answers, probing
from kb_schema.pages.limits import PageRefused
from kb_schema.pages.outline import Outline, read_outline
from kb_schema.pages.parsing import parse_roots
from kb_schema.pages.resolve import Queries, Resolved, resolve
from kb_schema.pages.texts import squeeze, text_of
from kb_schema.pages.tree import Root
from kb_schema.pages.visibility import visible
from kb_schema.probes import Probe, ProbeAnswer, TextProbe, probe_key
from kb_schema.selectors import Selector
from kb_schema.snapshots import ANNOTATION_PREFIX, PageSnapshot

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
        # Whoever says so: HTML without a single annotation is judged from its markup.
        annotated = self.snapshot.annotated and ANNOTATION_PREFIX in html
        return parse_roots(html, annotated=annotated, most_characters=self._most_characters)

    @cached_property
    def text(self) -> str:
        """The visible text of everything, roots parted by line breaks."""
        if not self.snapshot.html:
            return self.outline.text if self.outline is not None else squeeze(self.snapshot.text or "")
        shown = (
            root for root in self.roots if root.kind != "frame" or root.host is None or visible(root.host)
        )
        return "\n".join(text for root in shown if (text := text_of(root)))

    @cached_property
    def outline(self) -> Outline | None:
        """The accessibility snapshot, where the client sent one instead of HTML."""
        given = self.snapshot.text
        return None if self.snapshot.html or given is None else read_outline(given)

    def answer(self, probe: Probe) -> ProbeAnswer:
        """The answer to one probe."""
        if self.snapshot.html:
            return probing.answer(probe, self.roots, self._queries)
        if self.outline is not None:
            return outline_answers.answer(probe, self.outline)
        if isinstance(probe, TextProbe) and probe.css is None and self.snapshot.text is not None:
            wanted = squeeze(probe.value)
            seen = int(wanted in self.text if wanted else bool(self.text))
            return ProbeAnswer(present=seen, visible=seen)
        return ProbeAnswer(error="the client sent no HTML")

    def called(self, role: str) -> Iterator[str]:
        """What the elements with a role are called, one by one; of HTML only."""
        return (name for root in self.roots for _, name in self._queries.called(root, role))

    def resolve(self, selector: Selector) -> Resolved:
        """What a selector leads actions to, by the same rules as on a live page."""
        if not self.snapshot.html:
            return Resolved(error="the client sent no HTML")
        return resolve(selector, self.roots, self._queries, with_frames=False)


def answer_probes(
    page: PageSnapshot | StoredPage, probes: Iterable[Probe], *, max_html: int = MAX_HTML_CHARACTERS
) -> dict[str, ProbeAnswer]:
    """The answer to each probe by its `probe_key`. Raises `PageRefused` for HTML over the limits."""
    stored = page if isinstance(page, StoredPage) else StoredPage(page, max_html=max_html)
    unique = {probe_key(probe): probe for probe in probes}
    return {key: stored.answer(probe) for key, probe in unique.items()}
