"""`StoredPage`: a snapshot that answers probes and judges conditions, like a live page but offline.

Our own snapshots are annotated; other HTML is judged by its markup. If there is only text, an accessibility
snapshot answers by roles, names and states, and plain text by its words.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

from kb_schema.condition_evaluation import collect_probes, judge_conditions
from kb_schema.conditions import BaseCondition
from kb_schema.page_snapshots import ANNOTATION_PREFIX, PageSnapshot
from kb_schema.probes import ConditionScope, Probe, ProbeAnswer, ProbeFacts, TextProbe, Verdict, probe_key
from kb_schema.selectors import Selector, ValueStrategy
from kb_schema.templates import fill_selector
from web_pages import aria_probe_answers, probe_answers
from web_pages.aria_snapshots import AriaSnapshot, parse_aria_snapshot
from web_pages.element_tree import Element, Root
from web_pages.html_parser import parse_roots
from web_pages.page_limits import PageRefused
from web_pages.page_texts import matches, squeeze, text_of
from web_pages.selector_resolution import PageQueries, ResolvedSelector, resolve
from web_pages.visibility import visible

MAX_HTML_CHARACTERS = 10_000_000
"""HTML longer than this is refused unless the caller allows more."""

REPEATED = 2
"""All roots together may be this many times larger: nested frames repeat their content."""


class StoredPage:
    """One snapshot, parsed once. Raises `PageRefused` for HTML over the limits."""

    def __init__(self, snapshot: PageSnapshot, *, max_html: int = MAX_HTML_CHARACTERS) -> None:
        if len(snapshot.html) > max_html:
            raise PageRefused(f"the HTML has {len(snapshot.html)} characters; {max_html} are allowed")
        self.snapshot = snapshot
        self._most_characters = REPEATED * max_html
        self._queries = PageQueries()

    @cached_property
    def roots(self) -> list[Root]:
        """The document, then its shadow roots and frame documents."""
        html = self.snapshot.html
        # HTML without a single annotation is judged by its markup, whatever the snapshot claims.
        annotated = self.snapshot.annotated and ANNOTATION_PREFIX in html
        return parse_roots(html, annotated=annotated, most_characters=self._most_characters)

    @cached_property
    def text(self) -> str:
        """The visible text of all roots, separated by line breaks."""
        if not self.snapshot.html:
            return self.outline.text if self.outline is not None else squeeze(self.snapshot.text or "")
        shown = (
            root for root in self.roots if root.kind != "frame" or root.host is None or visible(root.host)
        )
        return "\n".join(text for root in shown if (text := text_of(root)))

    @cached_property
    def outline(self) -> AriaSnapshot | None:
        """The accessibility snapshot, if the client sent one instead of HTML."""
        given = self.snapshot.text
        return None if self.snapshot.html or given is None else parse_aria_snapshot(given)

    def answer(self, probe: Probe) -> ProbeAnswer:
        """Return the answer to one probe."""
        if self.snapshot.html:
            return probe_answers.answer_probe(probe, self.roots, self._queries)
        if self.outline is not None:
            return aria_probe_answers.answer_from_aria(probe, self.outline)
        if isinstance(probe, TextProbe) and probe.css is None and self.snapshot.text is not None:
            wanted = squeeze(probe.value)
            seen = int(matches(self.text, wanted, probe.match))
            return ProbeAnswer(present=seen, visible=seen)
        return ProbeAnswer(error="the client sent no HTML")

    def called(self, role: str) -> Iterator[str]:
        """Yield the names of the elements with a role; only for HTML."""
        return (name for root in self.roots for _, name in self._queries.called(root, role))

    def resolve(self, selector: Selector) -> ResolvedSelector:
        """Resolve a selector as an action would, by the same rules as on a live page."""
        if not self.snapshot.html:
            return ResolvedSelector(error="the client sent no HTML")
        return resolve(selector, self.roots, self._queries, with_frames=False)

    def resolve_template(self, template: str, values: Mapping[str, str]) -> tuple[Element, ...]:
        """Return the elements that an XPath template finds with these values; none if they cannot be put in."""
        try:
            value = ValueStrategy(type="xpath", value=fill_selector(template, values, "xpath"))
        except (
            KeyError,
            ValueError,
        ):  # the template's own text looks like a parameter, or it becomes too long
            return ()
        return self.resolve(Selector(strategies=(value,))).found


def answer_probes(
    page: PageSnapshot | StoredPage, probes: Iterable[Probe], *, max_html: int = MAX_HTML_CHARACTERS
) -> dict[str, ProbeAnswer]:
    """Return the answer to each probe by its `probe_key`. Raises `PageRefused` for HTML over the limits."""
    stored = page if isinstance(page, StoredPage) else StoredPage(page, max_html=max_html)
    unique = {probe_key(probe): probe for probe in probes}
    return {key: stored.answer(probe) for key, probe in unique.items()}


def evaluate(
    page: PageSnapshot | StoredPage,
    conditions: Sequence[BaseCondition],
    scope: ConditionScope,
    facts: ProbeFacts | None = None,
) -> list[Verdict]:
    """Return the verdict on each condition.

    `facts` has what the snapshot does not contain (screen, events, time, context, base URLs). Raises
    `PageRefused`.
    """
    snapshot = page.snapshot if isinstance(page, StoredPage) else page
    known = replace(
        facts or ProbeFacts(),
        url=snapshot.url,
        title=snapshot.title,
        ready_state=snapshot.ready_state,
        answers=answer_probes(page, collect_probes(conditions, scope)),
    )
    return judge_conditions(conditions, known, scope)
