"""One look at every snapshot: what the desk answers, and on which pages each indicator holds.

Each page is parsed once, each distinct probe is answered once per page, each distinct indicator is
judged once per page. What is kept of a page is a few kilobytes; sets of pages are bit masks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from kb_schema.answers import Identification
from kb_schema.evaluation import questions
from kb_schema.pages.candidates import SketchBook
from kb_schema.pages.folder import Labels
from kb_schema.pages.limits import PageRefused
from kb_schema.pages.sketch import Sketch, sketch
from kb_schema.pages.stored import StoredPage
from kb_schema.probes import Facts, Probe, ProbeAnswer, Scope, Status, probe_key
from kb_schema.snapshots import PageSnapshot
from mcp_server import addresses
from mcp_server.compiled import View
from mcp_server.identify import identify
from mcp_server.signatures import CompiledSignature, Indicator
from mcp_server.snapshots import title_of

_NOT_MEANING = {"reason", "weight"}


@dataclass(frozen=True, slots=True)
class PageRecord:
    """What is remembered of a page."""

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
class Truth:
    """The pages on which an indicator held, and those on which it could not be told."""

    held: int = 0
    unknown: int = 0


@dataclass(frozen=True)
class Survey:
    """Every page looked at, in order; page numbers are positions in `pages` and bits of masks."""

    view: View
    pages: tuple[PageRecord, ...]
    labels: Labels | None
    truths: Mapping[str, tuple[tuple[Indicator, Truth], ...]]
    """Screen id -> each of its indicators (against, then positive) with the pages it holds on."""
    book: SketchBook
    own: Mapping[str | None, int] = field(default_factory=dict)
    """Screen id -> its pages: those with its label, without labels those taken for it alone."""

    @property
    def all_pages(self) -> int:
        """Every page that could be looked at."""
        return _mask(number for number, page in enumerate(self.pages) if page.answer is not None)

    def names(self, pages: int) -> tuple[str, ...]:
        """The names of pages."""
        return tuple(self.pages[number].name for number in numbers(pages))


@dataclass(frozen=True, slots=True)
class _Question:
    """A distinct indicator and the answers it is judged on."""

    indicator: Indicator
    scope: Scope
    truth: Truth


class _Questions:
    """The distinct indicators of a view, and the distinct probes they need."""

    def __init__(self, signatures: Iterable[CompiledSignature]) -> None:
        self._distinct: dict[object, _Question] = {}
        self.probes: dict[str, Probe] = {}
        self.truths: dict[str, tuple[tuple[Indicator, Truth], ...]] = {
            signature.screen_id: tuple(
                (indicator, self._truth(indicator, signature.scope))
                for indicator in (*signature.against, *signature.positive)
            )
            for signature in signatures
        }

    def _truth(self, indicator: Indicator, scope: Scope) -> Truth:
        asked = {probe_key(probe): probe for probe in questions([indicator.condition], scope)}
        self.probes.update(asked)
        meant = indicator.condition.model_dump_json(exclude=_NOT_MEANING)
        question = _Question(indicator, scope, Truth())
        return self._distinct.setdefault((meant, tuple(asked)), question).truth

    def judge(self, facts: Facts, bit: int) -> None:
        """Note for a page how every indicator came out."""
        for question in self._distinct.values():
            status = question.indicator.condition.judge(facts, question.scope).status
            if status is Status.HELD:
                question.truth.held |= bit
            elif status is Status.UNKNOWN:
                question.truth.unknown |= bit


def survey(
    view: View,
    snapshots: Iterable[tuple[str, PageSnapshot]],
    *,
    labels: Labels | None = None,
    base_url: str | None = None,
    on_page: Callable[[str], None] | None = None,
) -> Survey:
    """Look at every snapshot, named, once; `on_page` is told the name of each as it is done."""
    asked = _Questions(view.signatures.values())
    pages: list[PageRecord] = []
    sketches: list[Sketch] = []
    for name, snapshot in snapshots:
        bit = 1 << len(pages)
        try:
            record, drawn = _look(view, name, snapshot, asked, base_url, bit)
        except PageRefused as exc:
            record, drawn = PageRecord(name, None, refused=exc.reason), Sketch()
        pages.append(record)
        sketches.append(drawn)
        if on_page is not None:
            on_page(name)
    return Survey(
        view=view,
        pages=tuple(pages),
        labels=labels,
        truths=asked.truths,
        book=SketchBook(sketches),
        own=_own(pages, labels),
    )


def _look(
    view: View, name: str, snapshot: PageSnapshot, asked: _Questions, base_url: str | None, bit: int
) -> tuple[PageRecord, Sketch]:
    if not snapshot.title:
        snapshot = snapshot.model_copy(update={"title": title_of(snapshot)})
    page = StoredPage(snapshot)
    answers: dict[str, ProbeAnswer] = {}

    def note(key: str, probe: Probe) -> None:
        if key not in answers:
            answers[key] = page.answer(probe)

    def prober(_page: object, probes: Sequence[Probe]) -> Mapping[str, ProbeAnswer]:
        for probe in probes:
            note(probe_key(probe), probe)
        return answers

    base = addresses.base_in_force(view.website, snapshot.url, base_url)
    answer = identify(view, snapshot, prober, base_url=base_url)
    for key, probe in asked.probes.items():
        note(key, probe)
    facts = Facts(
        url=snapshot.url,
        title=snapshot.title,
        ready_state=snapshot.ready_state,
        answers=answers,
        path_base=base,
        authored_base=view.website.base_url,
    )
    drawn = sketch(page)
    asked.judge(facts, bit)
    return PageRecord(name, answer, addresses.is_foreign(view.website, snapshot.url, base)), drawn


def _own(pages: Sequence[PageRecord], labels: Labels | None) -> dict[str | None, int]:
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


def numbers(pages: int) -> list[int]:
    """The page numbers of a mask."""
    return [number for number in range(pages.bit_length()) if pages >> number & 1]


def _mask(pages: Iterable[int]) -> int:
    mask = 0
    for number in pages:
        mask |= 1 << number
    return mask
