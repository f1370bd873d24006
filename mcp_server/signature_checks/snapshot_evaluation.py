"""One evaluation of every snapshot: the identification, and on which pages each indicator holds.

Each page is parsed once, each distinct probe is answered once per page, each distinct indicator is judged once per
page. A page costs a few kilobytes; sets of pages are bit masks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from kb_schema.condition_evaluation import collect_probes
from kb_schema.page_snapshots import PageSnapshot
from kb_schema.probes import ConditionScope, Probe, ProbeAnswer, ProbeFacts, VerdictStatus, probe_key
from kb_schema.snapshot_folder import Labels
from kb_schema.tool_answers import Identification
from mcp_server.identification import base_urls
from mcp_server.identification.screen_identification import identify
from mcp_server.identification.snapshot_limits import read_title
from mcp_server.knowledge.compiled_view import KnowledgeView
from mcp_server.screen_index.compiled_signatures import CompiledSignature, Indicator
from web_pages.indicator_candidates import PageProfileIndex
from web_pages.page_limits import PageRefused
from web_pages.page_masks import page_mask, page_numbers
from web_pages.page_profiles import PageProfile, build_page_profile
from web_pages.stored_pages import StoredPage

_NOT_MEANING = {"reason", "weight"}


@dataclass(frozen=True, slots=True)
class EvaluatedPage:
    """The stored result of one page."""

    name: str
    answer: Identification | None
    """None where the page was refused."""
    foreign: bool = False
    refused: str = ""

    @property
    def accepted(self) -> tuple[str, ...]:
        """The screens whose signature holds, best first."""
        if self.answer is None or self.answer.screen_id is None:
            return ()
        rivals = (each.screen_id for each in self.answer.candidates if each.rejected_by == "rival")
        return (self.answer.screen_id, *rivals)


@dataclass(slots=True)
class IndicatorPages:
    """The pages on which an indicator held, and those on which it could not be told."""

    held: int = 0
    unknown: int = 0


@dataclass(frozen=True)
class SnapshotEvaluation:
    """Every page looked at, in order; page numbers are positions in `pages` and bits of masks."""

    view: KnowledgeView
    pages: tuple[EvaluatedPage, ...]
    labels: Labels | None
    truths: Mapping[str, tuple[tuple[Indicator, IndicatorPages], ...]]
    """Screen id -> each of its indicators (against, then positive) with the pages it holds on."""
    book: PageProfileIndex
    own: Mapping[str | None, int] = field(default_factory=dict)
    """Screen id -> its pages: those with its label, without labels those taken for it alone."""

    @property
    def all_pages(self) -> int:
        """Every page that could be looked at."""
        return page_mask(number for number, page in enumerate(self.pages) if page.answer is not None)

    def names(self, pages: int) -> tuple[str, ...]:
        """The names of pages."""
        return tuple(self.pages[number].name for number in page_numbers(pages))


@dataclass(frozen=True, slots=True)
class _DistinctIndicator:
    """A distinct indicator and the answers it is judged on."""

    indicator: Indicator
    scope: ConditionScope
    truth: IndicatorPages


class _DistinctIndicators:
    """The distinct indicators of a view, and the distinct probes they need."""

    def __init__(self, signatures: Iterable[CompiledSignature]) -> None:
        self._distinct: dict[object, _DistinctIndicator] = {}
        self.probes: dict[str, Probe] = {}
        self.truths: dict[str, tuple[tuple[Indicator, IndicatorPages], ...]] = {
            signature.screen_id: tuple(
                (indicator, self._truth(indicator, signature.scope))
                for indicator in (*signature.against, *signature.positive)
            )
            for signature in signatures
        }

    def _truth(self, indicator: Indicator, scope: ConditionScope) -> IndicatorPages:
        asked = {probe_key(probe): probe for probe in collect_probes([indicator.condition], scope)}
        self.probes.update(asked)
        meant = indicator.condition.model_dump_json(exclude=_NOT_MEANING)
        question = _DistinctIndicator(indicator, scope, IndicatorPages())
        return self._distinct.setdefault((meant, tuple(asked)), question).truth

    def judge(self, facts: ProbeFacts, bit: int) -> None:
        """Note for a page how every indicator came out."""
        for question in self._distinct.values():
            status = question.indicator.condition.judge(facts, question.scope).status
            if status is VerdictStatus.HELD:
                question.truth.held |= bit
            elif status is VerdictStatus.UNKNOWN:
                question.truth.unknown |= bit


def evaluate_snapshots(
    view: KnowledgeView,
    snapshots: Iterable[tuple[str, PageSnapshot]],
    *,
    labels: Labels | None = None,
    base_url: str | None = None,
    on_page: Callable[[str], None] | None = None,
) -> SnapshotEvaluation:
    """Evaluate every named snapshot once. `on_page` receives the name of each when it is done."""
    asked = _DistinctIndicators(view.signatures.values())
    pages: list[EvaluatedPage] = []
    profiles: list[PageProfile] = []
    for name, snapshot in snapshots:
        bit = 1 << len(pages)
        try:
            record, drawn = _evaluate_page(view, name, snapshot, asked, base_url, bit)
        except PageRefused as exc:
            record, drawn = EvaluatedPage(name, None, refused=exc.reason), PageProfile()
        pages.append(record)
        profiles.append(drawn)
        if on_page is not None:
            on_page(name)
    return SnapshotEvaluation(
        view=view,
        pages=tuple(pages),
        labels=labels,
        truths=asked.truths,
        book=PageProfileIndex(profiles),
        own=_pages_by_screen(pages, labels),
    )


def _evaluate_page(
    view: KnowledgeView,
    name: str,
    snapshot: PageSnapshot,
    asked: _DistinctIndicators,
    base_url: str | None,
    bit: int,
) -> tuple[EvaluatedPage, PageProfile]:
    if not snapshot.title:
        snapshot = snapshot.model_copy(update={"title": read_title(snapshot)})
    page = StoredPage(snapshot)
    answers: dict[str, ProbeAnswer] = {}

    def note(key: str, probe: Probe) -> None:
        if key not in answers:
            answers[key] = page.answer(probe)

    def prober(_page: object, probes: Sequence[Probe]) -> Mapping[str, ProbeAnswer]:
        for probe in probes:
            note(probe_key(probe), probe)
        return answers

    base = base_urls.resolve_base_url(view.website, snapshot.url, base_url)
    answer = identify(view, snapshot, prober, base_url=base_url)
    for key, probe in asked.probes.items():
        note(key, probe)
    facts = ProbeFacts(
        url=snapshot.url,
        title=snapshot.title,
        ready_state=snapshot.ready_state,
        answers=answers,
        path_base=base,
        authored_base=view.website.base_url,
    )
    drawn = build_page_profile(page)
    asked.judge(facts, bit)
    return EvaluatedPage(name, answer, base_urls.is_foreign(view.website, snapshot.url, base)), drawn


def _pages_by_screen(pages: Sequence[EvaluatedPage], labels: Labels | None) -> dict[str | None, int]:
    own: dict[str | None, int] = {}
    for number, page in enumerate(pages):
        if page.answer is None:
            continue
        if labels is not None:
            if page.name in labels:
                own[labels[page.name]] = own.get(labels[page.name], 0) | 1 << number
        elif page.answer.screen_id is not None and not page.answer.ambiguous:
            own[page.answer.screen_id] = own.get(page.answer.screen_id, 0) | 1 << number
    return own
