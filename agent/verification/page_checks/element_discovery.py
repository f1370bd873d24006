"""Finds what a requirement names: targets of actions by PACTS's ladder, and elements that outcomes are about.

Where nothing fits, the result names what is on the page instead. Everything is read from one page index;
nothing is guessed. When to search is decided in `plan_builder`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from rapidfuzz import fuzz, process

from agent.locators.candidate_ranking import rank_candidates
from agent.locators.element_descriptions import ElementDescription, RegionDescription, list_readings
from agent.locators.page_index import IndexedElement, PageIndex, RegionKind
from agent.locators.page_regions import find_regions, stands_in
from agent.locators.page_scan import check_selectors, scan_page
from agent.locators.role_hints import select_fitting_elements
from agent.locators.selector_strategies import frame_of
from agent.locators.stable_selectors import choose_selectors
from agent.locators.target_discovery import AmbiguousElement, DiscoveredElement, Discovery, discover_elements
from agent.locators.word_comparison import WordFit, compare_words, normalize_words
from agent.page.live_selectors import prepend_strategies
from agent.page.snapshot_capture import read_page_revision
from agent.verification.page_checks.verification_page import VerificationPage
from kb_schema.action_types import ACTION_TYPES, canonical
from kb_schema.cached_locators import Locator
from kb_schema.placeholders import find_secret_names
from kb_schema.selectors import NameStrategy, Selector, SemanticStrategy, ValueStrategy, css
from kb_schema.templates import css_string, xpath_literal
from kb_schema.text_similarity import meaning_likeness
from kb_schema.verification import RequirementStep

SHOWN_CONFIDENCE = 0.75
"""Confidence of an element that was found by its text: between PACTS's shadow and fallback strategies."""
_ALIKE = 60
_LONGEST_LINE = 200
_MOST_NEW = 8
ENTRIES = "entries"
"""For `list_visible_lines`: what may be values of records, and not of buttons, headings, fields, labels and regions."""
_SAID_ROLES = frozenset({"status", "alert", "log"})
_SAID_CLASSES = frozenset({"toast", "banner", "alert"})
_ENTRY_ROLES = frozenset(
    {"cell", "gridcell", "rowheader", "link", "listitem", "option", "treeitem", "article"}
)
_FIXED_TAGS = frozenset({"label", "legend", "p"})
_LONGEST_ENTRY = 4
"""Words."""
_NEXT_TO = {"dt": "dd", "th": "td"}


@dataclass(frozen=True, slots=True)
class FoundTarget:
    """An element that was found, and how."""

    selector: Selector
    strategy: str
    confidence: float
    from_cache: bool = False


@dataclass(frozen=True, slots=True)
class TargetNotFound:
    """No element fits, or several do: the reason, and what is there instead, nearest first."""

    reason: str
    nearest: tuple[str, ...] = ()
    several: bool = False
    hidden: bool = False
    """The element is on the page and cannot be seen."""


def needs_element(intent: RequirementStep) -> bool:
    """Whether the step's action needs an element."""
    kind = ACTION_TYPES.get(canonical(intent.action) or "")
    if kind is None or kind.target == "none":
        return False
    return kind.target == "required" or bool(intent.element)


def build_wanted(intent: RequirementStep) -> ElementDescription:
    """Return the description of a step's element; its values are filled in already."""
    return ElementDescription(intent.element, intent.action or None, intent.region)


class TargetLookahead:
    """Finds targets of the next steps in the same page index; they are valid until the page changes."""

    def __init__(self, site_page: VerificationPage) -> None:
        self._site_page = site_page
        self._found: dict[ElementDescription, DiscoveredElement] = {}
        self._revision: str | None = None

    async def target(
        self, meant: ElementDescription, coming: Sequence[ElementDescription]
    ) -> FoundTarget | TargetNotFound:
        """Return the element on the current page. `coming`: targets of later steps on the same page."""
        page = self._site_page.page
        cached = await self._from_cache(meant)
        if cached is not None:
            return cached
        now = await read_page_revision(page)
        known = self._found.get(meant)
        if known is None or now is None or now != self._revision:
            asked = list(dict.fromkeys([meant, *coming]))
            answers = await discover_elements(page, asked)
            self._found = {each.wanted: each for each in answers if isinstance(each, DiscoveredElement)}
            self._revision = now
            known = self._found.get(meant)
            if known is None:
                return await self._not_there(meant, answers[0])
        return FoundTarget(known.selector, known.strategy, known.confidence)

    async def keep(self, meant: ElementDescription, target: FoundTarget, path: str) -> None:
        """Store the selector of an element that a step proved, unless it contains values of this run."""
        site_page = self._site_page
        if site_page.locators is None or site_page.keepable(target.selector) != target.selector:
            return
        await site_page.locators.put_locator(
            Locator(
                website_id=site_page.website_id,
                url=path,
                element=_key(meant),
                selector=target.selector,
                confidence=target.confidence,
            )
        )

    async def _from_cache(self, meant: ElementDescription) -> FoundTarget | None:
        """Return the cached selector, if it still leads to the element that the words mean on this page."""
        site_page = self._site_page
        if site_page.locators is None:
            return None
        cached = await site_page.locators.locator(site_page.website_id, site_page.path, _key(meant))
        if cached is None:
            return None
        index = await scan_page(site_page.page)
        best = rank_candidates(index, meant).best
        if (
            best is not None
            and (await check_selectors(site_page.page, index, [(best.element.at, cached.selector)]))[0]
        ):
            return FoundTarget(cached.selector, best.strategy, cached.confidence, from_cache=True)
        await site_page.locators.forget_locator(site_page.website_id, site_page.path, _key(meant))
        return None

    async def _not_there(self, meant: ElementDescription, answer: Discovery) -> TargetNotFound:
        most = self._site_page.policy.most_nearest
        if isinstance(answer, AmbiguousElement):
            return TargetNotFound(
                answer.reason, tuple(map(_describe_candidate, answer.candidates))[:most], several=True
            )
        index = await scan_page(self._site_page.page)
        reason = answer.reason if not isinstance(answer, DiscoveredElement) else "it left the page"
        hints = () if isinstance(answer, DiscoveredElement) else answer.hints
        nearest = tuple(dict.fromkeys((*hints, *_of_the_same_kind(index, meant))))[:most]
        hidden = _is_hidden(index, meant)
        return TargetNotFound("it is on the page and hidden" if hidden else reason, nearest, hidden=hidden)


def _describe_candidate(candidate: object) -> str:
    element = getattr(candidate, "element", None)
    if not isinstance(element, IndexedElement):
        return str(candidate)
    beside = element.near.row or element.near.heading
    return f"{_name(element)}{f' ({beside})' if beside else ''}"


def _key(meant: ElementDescription) -> str:
    return f"{meant}|{meant.action or ''}"


def _name(element: IndexedElement) -> str:
    return element.name or element.label or element.placeholder or element.text or element.tag


def _usable_name(element: IndexedElement) -> str:
    """Return a text by which a requirement can name an element: what people see, else the developer's name."""
    near = element.near
    seen = (element.name, element.label, element.placeholder, element.text, element.attributes.get("title"))
    beside = (near.column, near.before, near.after if element.checked is not None else "")
    return next((text for text in (*seen, *beside, *element.identities) if text), "")


def _is_hidden(index: PageIndex, meant: ElementDescription) -> bool:
    """Whether an element that the action fits has exactly this name, in this region, and cannot be seen."""
    unseen = [each for each in index.elements if each.interactive and not each.visible and not each.by_label]
    able = select_fitting_elements(unseen, meant.action)
    for reading in list_readings(meant):
        regions = find_regions(index, reading.regions) if reading.regions else frozenset[int]()
        if reading.regions and not regions:
            continue
        for element in able:
            names = (element.name, element.label, element.placeholder)
            if any(compare_words(reading.words, name) is WordFit.EXACT for name in names) and (
                not regions or stands_in(index, element, regions)
            ):
                return True
    return False


def _of_the_same_kind(index: PageIndex, meant: ElementDescription) -> Iterator[str]:
    """Yield usable names of elements that fit the action, those with similar spelling first."""
    fitting = select_fitting_elements(index.interactive, meant.action)
    names = list(dict.fromkeys(filter(None, map(_usable_name, fitting))))
    for name, _, _ in process.extract(meant.words, names, scorer=fuzz.WRatio, limit=len(names)):
        yield name[:80]


# -- what an outcome is about ------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class OutcomeElement:
    """The element of an outcome."""

    selector: Selector
    strategy: str
    confidence: float
    index: PageIndex
    at: int


async def find_shown(
    site_page: VerificationPage, words: str, region: str | None, *, gone: bool = False
) -> OutcomeElement | TargetNotFound:
    """Return the element of an outcome: one that can be operated, else one whose own text is the words.

    `gone`: it is looked for to see it go, so that a region (a dialog, a row) may be meant, too.
    """
    page = site_page.page
    meant = ElementDescription(words, None, region)
    answer = (await discover_elements(page, [meant]))[0]
    index = await scan_page(page)
    if isinstance(answer, DiscoveredElement):
        at = await _place_of(site_page, index, answer)
        if at is not None:
            return OutcomeElement(answer.selector, answer.strategy, answer.confidence, index, at)
    found = _find_elements_saying(index, meant)
    if len(found) > 1 and not gone:
        descriptions = tuple(f"{each.role or each.tag} {_name(each)!r}"[:80] for each in found)
        return TargetNotFound(
            f"{str(meant)!r} may mean {len(found)} elements",
            descriptions[: site_page.policy.most_nearest],
            several=True,
        )
    if not found:
        names = sorted({_name(each)[:80] for each in index.elements if each.visible and _name(each)})
        near = process.extract(words, names, scorer=fuzz.WRatio, score_cutoff=_ALIKE, limit=5)
        return TargetNotFound("no text on the page matches", tuple(name for name, _, _ in near))
    selector = await _selector_of(site_page, index, found[0], _value_beside(index, found[0]))
    at = _value_beside(index, found[0]).at
    if selector is None:
        return TargetNotFound(f"no selector leads to {_name(found[0])!r} alone")
    return OutcomeElement(selector, "relational_css", SHOWN_CONFIDENCE, index, at)


async def _selector_of(
    site_page: VerificationPage, index: PageIndex, said: IndexedElement, meant: IndexedElement
) -> Selector | None:
    """Return a selector; for a value beside its term, by the term, since the value is what the check compares."""
    choice = (await choose_selectors(site_page.page, index, [meant.at]))[0]
    if said is meant:
        return choice.selector
    term = xpath_literal(" ".join((said.text or said.name).split()))
    path = f"//{said.tag}[normalize-space(.)={term}]/following-sibling::{meant.tag}[1]"
    beside = Selector(strategies=(ValueStrategy(type="xpath", value=path),), frame=frame_of(index, meant))
    if not (await check_selectors(site_page.page, index, [(meant.at, beside)]))[0]:
        return choice.selector
    return beside if choice.selector is None else prepend_strategies(beside, choice.selector)


async def count_selector(
    site_page: VerificationPage, words: str, region: str | None
) -> Selector | TargetNotFound:
    """Return a selector of all elements with this name, of the role of the first."""
    index = await scan_page(site_page.page)
    asked = next(iter(list_readings(ElementDescription("", None, region))), None) if region else None
    regions = find_regions(index, asked.regions) if asked else frozenset[int]()
    if region and not regions:
        return TargetNotFound(f"there is no region {region!r}")
    fits = [
        each
        for each in index.elements
        if each.visible
        and each.role
        and (not regions or stands_in(index, each, regions))
        and (
            compare_words(words, each.role) >= WordFit.PLURAL
            or compare_words(words, each.name) >= WordFit.PLURAL
        )
    ]
    if not fits:
        return TargetNotFound(f"no element is called {words!r}")
    role = fits[0].role or ""
    name = "" if compare_words(words, role) >= WordFit.PLURAL else fits[0].name
    if not regions:
        if name:
            return Selector(strategies=(NameStrategy(type="role_name", name=name, role=role, exact=True),))
        return Selector(strategies=(SemanticStrategy(type="semantic", role=role),))
    around = index.elements[index.regions[min(regions)].element]
    choice = (await choose_selectors(site_page.page, index, [around.at]))[0]
    if choice.selector is None:
        return TargetNotFound(f"no selector leads to the region {region!r} alone")
    return _inside(choice.selector, fits[0].tag) or TargetNotFound(f"no selector leads into {region!r}")


def _inside(around: Selector, tag: str) -> Selector | None:
    """Return a selector of all elements of a tag inside another, by its first strategy that can be extended."""
    for each in around.strategies:
        if not isinstance(each, ValueStrategy):
            continue
        if each.type in ("css", "relational_css", "fallback_css"):
            return css(f"{each.value} {tag}")
        attribute = "aria-label" if each.type == "aria" else each.type
        if attribute in ("data-qa", "data-testid", "id", "aria-label"):
            return css(f"[{attribute}={css_string(each.value)}] {tag}")
        if each.type.startswith("xpath"):
            inside = ValueStrategy(type="xpath", value=f"{each.value}//{tag}")
            return Selector(strategies=(inside,), frame=around.frame)
    return None


async def stable_selector(site_page: VerificationPage, shown: OutcomeElement) -> Selector:
    """Return the selector with the element's own stable strategies appended."""
    choice = (await choose_selectors(site_page.page, shown.index, [shown.at]))[0]
    return shown.selector if choice.selector is None else prepend_strategies(shown.selector, choice.selector)


async def _place_of(site_page: VerificationPage, index: PageIndex, found: DiscoveredElement) -> int | None:
    """Return the position of an element in a later page index; None if it is gone."""
    alike = [
        each.at
        for each in index.elements
        if (each.tag, each.role, each.name) == (found.element.tag, found.element.role, found.element.name)
    ]
    leads = await check_selectors(site_page.page, index, [(at, found.selector) for at in alike])
    return next((at for at, there in zip(alike, leads, strict=True) if there), None)


def _find_elements_saying(index: PageIndex, meant: ElementDescription) -> list[IndexedElement]:
    """Return the elements whose texts fit the words best; of nested ones the innermost."""
    fits: dict[int, int] = {}
    for reading in list_readings(meant):
        regions = find_regions(index, reading.regions) if reading.regions else frozenset[int]()
        if reading.regions and not regions:
            continue
        for element in index.elements:
            if not element.visible or (regions and not stands_in(index, element, regions)):
                continue
            if reading.roles is not None and element.role not in reading.roles:
                continue
            fit = _score_text_fit(reading.words, element)
            if fit > fits.get(element.at, 0):
                fits[element.at] = fit
    _add_regions_by_name(index, meant, fits)
    best = max(fits.values(), default=0)
    found = [index.elements[at] for at, fit in sorted(fits.items()) if fit == best]
    outer = {around.at for each in found for around in index.ancestors(each)}
    return [each for each in found if each.at not in outer]


def _score_text_fit(words: str, element: IndexedElement) -> int:
    if not words:
        return 0
    named = compare_words(words, element.name)
    if named is WordFit.EXACT:
        return 6
    if any(compare_words(words, said) is WordFit.EXACT for said in element.identities):
        return 5
    if compare_words(words, element.text) is WordFit.EXACT:
        return 4
    if named is WordFit.PLURAL:
        return 3
    return 1 if WordFit.BEGINS in (named, compare_words(words, element.text)) else 0


def _add_regions_by_name(index: PageIndex, meant: ElementDescription, fits: dict[int, int]) -> None:
    """Prefer a dialog, table or other region of that name to the heading in it."""
    if meant.region is not None:
        return
    asked = RegionDescription(normalize_words(meant.words))
    said = [
        each
        for reading in list_readings(ElementDescription("", None, meant.words))
        for each in reading.regions
    ]
    for at in find_regions(index, tuple(said) or (asked,)):
        region = index.regions[at]
        element = index.elements[region.element]
        if element.visible and any(compare_words(each.words, region.name) is WordFit.EXACT for each in said):
            fits[element.at] = max(fits.get(element.at, 0), 7 if element.role in _SHOWN_REGIONS else 0)


_SHOWN_REGIONS = frozenset({"dialog", "alertdialog", "table", "grid", "form", "region", "navigation"})


def _value_beside(index: PageIndex, element: IndexedElement) -> IndexedElement:
    """Return the value beside a term (`dt`, `th`); other elements are returned as they are."""
    wanted_tag = _NEXT_TO.get(element.tag)
    if wanted_tag is None:
        return element
    following: Iterable[IndexedElement] = index.elements[element.at + 1 : element.at + 4]
    return next((each for each in following if each.tag == wanted_tag and each.visible), element)


async def texts_like(site_page: VerificationPage, words: str) -> list[str]:
    """Return the texts of the page that are most similar to a text, nearest first, without secrets."""
    said = list_visible_lines(site_page, await scan_page(site_page.page))
    near = process.extract(
        words, said, scorer=fuzz.WRatio, score_cutoff=_ALIKE, limit=site_page.policy.most_nearest
    )
    return [text for text, _, _ in near]


def list_visible_lines(
    site_page: VerificationPage, index: PageIndex, *, kind: str | None = None
) -> list[str]:
    """Return the visible texts and names of the page in its order, each once, cut to 200 characters, without secrets.

    `kind`: only those that an outcome of this kind is about (`message`, `heading`, `dialog_opens`, else texts of no
    control), or `ENTRIES`.
    """
    seen = (
        each for each in index.elements if each.visible and (kind is None or _is_about(index, each, kind))
    )
    said = (line for each in seen for line in (each.text, each.name) if line)
    return list(dict.fromkeys(site_page.redact(line[:_LONGEST_LINE]) for line in said))


def _is_about(index: PageIndex, element: IndexedElement, kind: str) -> bool:
    if kind == ENTRIES:
        return element.role in _ENTRY_ROLES or (not element.role and element.tag not in _FIXED_TAGS)
    if kind == "message":
        return is_message(element)
    if kind == "heading":
        return element.role == "heading"
    if kind == "dialog_opens":
        inside = any(each.kind is RegionKind.DIALOG for each in index.regions_of(element))
        return inside and not element.interactive
    return not element.interactive


def is_message(element: IndexedElement) -> bool:
    """Whether an element is made to tell something: a status, an alert, a toast."""
    return element.role in _SAID_ROLES or not _SAID_CLASSES.isdisjoint(element.classes)


def list_new_lines(
    site_page: VerificationPage, index: PageIndex, words: str, *, kind: str | None = None
) -> tuple[str, ...]:
    """Return the texts that the page did not have before the last press, the one that means most the same as `words`
    first; none if they were not read then. `kind`: as of `list_visible_lines`.
    """
    if not site_page.lines_before:
        return ()
    said = list_visible_lines(site_page, index, kind=kind)
    new = [each for each in said if each not in site_page.lines_before]
    return tuple(sorted(new, key=lambda each: -meaning_likeness(words, each))[:_MOST_NEW])


def list_expected_data(site_page: VerificationPage, expected: str) -> tuple[str, ...]:
    """Return what is data in an expected text: entries that the page had before the last press, and values of the test."""
    said = f" {normalize_words(expected)} "
    entries = (each for each in site_page.entries_before if 0 < len(each.split()) <= _LONGEST_ENTRY)
    values = (each.intent.value or "" for each in site_page.plan)
    given = (site_page.filled(each) for each in values if each.strip() and not find_secret_names(each))
    return tuple(
        sorted(each for each in {*entries, *given, site_page.unique} if f" {normalize_words(each)} " in said)
    )
