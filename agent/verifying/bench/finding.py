"""Finds what a requirement names: what is to be acted on by PACTS's ladder, what an outcome is about by
whatever it says of itself, and what is there instead where nothing fits.

Everything is read from one look at the page; nothing is guessed. When to look is `building.py`'s business.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from rapidfuzz import fuzz, process

from agent.locating.discovering import Ambiguous, Discovered, Discovery, discover_all
from agent.locating.expressing import frame_of
from agent.locating.index import IndexedElement, PageIndex
from agent.locating.looking import lead_to, look_around
from agent.locating.ranking import rank
from agent.locating.regions import meant_regions, stands_in
from agent.locating.roles import fitting
from agent.locating.selecting import selectors_at
from agent.locating.wanted import RegionWords, Wanted, readings
from agent.locating.words import Grade, grade, plain
from agent.page.locating import beginning_with
from agent.page.snapshot import revision_of
from agent.verifying.bench.bench import Bench
from kb_schema.selectors import NameStrategy, Selector, SemanticStrategy, ValueStrategy, css
from kb_schema.storage import Locator
from kb_schema.templates import css_string, xpath_literal
from kb_schema.verification import Intent
from kb_schema.vocabulary import ACTION_TYPES, canonical

SHOWN_CONFIDENCE = 0.75
"""Of an element that an outcome is about, found by what it says: between PACTS's shadow and fallback."""
_ALIKE = 60
_NEXT_TO = {"dt": "dd", "th": "td"}


@dataclass(frozen=True, slots=True)
class Target:
    """An element that was found, and how."""

    selector: Selector
    strategy: str
    confidence: float
    from_cache: bool = False


@dataclass(frozen=True, slots=True)
class NotThere:
    """Nothing fits, or several do: why, and what is there instead, nearest first."""

    reason: str
    nearest: tuple[str, ...] = ()
    several: bool = False


def needs_element(intent: Intent) -> bool:
    """Whether the step's action is done to an element."""
    kind = ACTION_TYPES.get(canonical(intent.action) or "")
    if kind is None or kind.target == "none":
        return False
    return kind.target == "required" or bool(intent.element)


def wanted(intent: Intent) -> Wanted:
    """An intent's element as discovery takes it; its values are filled already."""
    return Wanted(intent.element, intent.action or None, intent.region)


class Ahead:
    """Targets of coming steps that were found in the same look; good as long as the page is what it was."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self._found: dict[Wanted, Discovered] = {}
        self._revision: str | None = None

    async def target(self, meant: Wanted, coming: Sequence[Wanted]) -> Target | NotThere:
        """The element, as the page is now. `coming`: what the steps after it want of the same page."""
        page = self._bench.page
        cached = await self._from_cache(meant)
        if cached is not None:
            return cached
        now = await revision_of(page)
        known = self._found.get(meant)
        if known is None or now is None or now != self._revision:
            asked = list(dict.fromkeys([meant, *coming]))
            answers = await discover_all(page, asked)
            self._found = {each.wanted: each for each in answers if isinstance(each, Discovered)}
            self._revision = now
            known = self._found.get(meant)
            if known is None:
                return await self._not_there(meant, answers[0])
        return Target(known.selector, known.strategy, known.confidence)

    async def keep(self, meant: Wanted, target: Target, path: str) -> None:
        """Remember where an element was found that a step proved; what this run only knows is left out."""
        bench = self._bench
        if bench.locators is None or bench.keepable(target.selector) != target.selector:
            return
        await bench.locators.put_locator(
            Locator(
                website_id=bench.website_id,
                url=path,
                element=_key(meant),
                selector=target.selector,
                confidence=target.confidence,
            )
        )

    async def _from_cache(self, meant: Wanted) -> Target | None:
        """Where it was found lately, if that still leads to what the words mean on this very page."""
        bench = self._bench
        if bench.locators is None:
            return None
        cached = await bench.locators.locator(bench.website_id, bench.path, _key(meant))
        if cached is None:
            return None
        index = await look_around(bench.page)
        best = rank(index, meant).best
        if best is not None and (await lead_to(bench.page, index, [(best.element.at, cached.selector)]))[0]:
            return Target(cached.selector, best.strategy, cached.confidence, from_cache=True)
        await bench.locators.forget_locator(bench.website_id, bench.path, _key(meant))
        return None

    async def _not_there(self, meant: Wanted, answer: Discovery) -> NotThere:
        most = self._bench.policy.most_nearest
        if isinstance(answer, Ambiguous):
            return NotThere(answer.reason, tuple(map(_told, answer.candidates))[:most], several=True)
        index = await look_around(self._bench.page)
        reason = answer.reason if not isinstance(answer, Discovered) else "it left the page"
        hints = () if isinstance(answer, Discovered) else answer.hints
        alike = _of_the_same_kind(index, meant)
        return NotThere(reason, tuple(dict.fromkeys((*hints, *alike)))[:most])


def _told(candidate: object) -> str:
    element = getattr(candidate, "element", None)
    if not isinstance(element, IndexedElement):
        return str(candidate)
    beside = element.near.row or element.near.heading
    return f"{_name(element)}{f' ({beside})' if beside else ''}"


def _key(meant: Wanted) -> str:
    return f"{meant}|{meant.action or ''}"


def _name(element: IndexedElement) -> str:
    return element.name or element.label or element.placeholder or element.text or element.tag


def _of_the_same_kind(index: PageIndex, meant: Wanted) -> Iterator[str]:
    """What the action could be done to, those spelled alike first."""
    names = list(dict.fromkeys(_name(each) for each in fitting(index.interactive, meant.action)))
    for name, _, _ in process.extract(meant.words, names, scorer=fuzz.WRatio, limit=len(names)):
        yield name[:80]


# -- what an outcome is about ------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Shown:
    """An element an outcome is about."""

    selector: Selector
    strategy: str
    confidence: float
    index: PageIndex
    at: int


async def find_shown(bench: Bench, words: str, region: str | None, *, gone: bool = False) -> Shown | NotThere:
    """The element an outcome is about: one that can be operated, else whatever says the words itself.

    `gone`: it is looked for to see it go, so that a region (a dialog, a row) may be meant, too.
    """
    page = bench.page
    meant = Wanted(words, None, region)
    answer = (await discover_all(page, [meant]))[0]
    index = await look_around(page)
    if isinstance(answer, Discovered):
        at = await _place_of(bench, index, answer)
        if at is not None:
            return Shown(answer.selector, answer.strategy, answer.confidence, index, at)
    found = _saying(index, meant)
    if len(found) > 1 and not gone:
        told = tuple(f"{each.role or each.tag} {_name(each)!r}"[:80] for each in found)
        return NotThere(
            f"{str(meant)!r} may mean {len(found)} elements", told[: bench.policy.most_nearest], several=True
        )
    if not found:
        names = sorted({_name(each)[:80] for each in index.elements if each.visible and _name(each)})
        near = process.extract(words, names, scorer=fuzz.WRatio, score_cutoff=_ALIKE, limit=5)
        return NotThere("nothing on the page says so", tuple(name for name, _, _ in near))
    selector = await _selector_of(bench, index, found[0], _value_beside(index, found[0]))
    at = _value_beside(index, found[0]).at
    if selector is None:
        return NotThere(f"no selector leads to {_name(found[0])!r} alone")
    return Shown(selector, "relational_css", SHOWN_CONFIDENCE, index, at)


async def _selector_of(
    bench: Bench, index: PageIndex, said: IndexedElement, meant: IndexedElement
) -> Selector | None:
    """Of what stands beside its term: by the term, since what it says itself is what is to be judged."""
    choice = (await selectors_at(bench.page, index, [meant.at]))[0]
    if said is meant:
        return choice.selector
    term = xpath_literal(" ".join((said.text or said.name).split()))
    path = f"//{said.tag}[normalize-space(.)={term}]/following-sibling::{meant.tag}[1]"
    beside = Selector(strategies=(ValueStrategy(type="xpath", value=path),), frame=frame_of(index, meant))
    if not (await lead_to(bench.page, index, [(meant.at, beside)]))[0]:
        return choice.selector
    return beside if choice.selector is None else beginning_with(beside, choice.selector)


async def count_selector(bench: Bench, words: str, region: str | None) -> Selector | NotThere:
    """A selector of everything that is called so, of the role most of it has."""
    index = await look_around(bench.page)
    asked = next(iter(readings(Wanted("", None, region))), None) if region else None
    regions = meant_regions(index, asked.regions) if asked else frozenset[int]()
    if region and not regions:
        return NotThere(f"there is no region {region!r}")
    fits = [
        each for each in index.elements
        if each.visible and each.role and (not regions or stands_in(index, each, regions))
        and (grade(words, each.role) >= Grade.PLURAL or grade(words, each.name) >= Grade.PLURAL)
    ]  # fmt: skip
    if not fits:
        return NotThere(f"nothing is called {words!r}")
    role = fits[0].role or ""
    name = "" if grade(words, role) >= Grade.PLURAL else fits[0].name
    if not regions:
        if name:
            return Selector(strategies=(NameStrategy(type="role_name", name=name, role=role, exact=True),))
        return Selector(strategies=(SemanticStrategy(type="semantic", role=role),))
    around = index.elements[index.regions[min(regions)].element]
    choice = (await selectors_at(bench.page, index, [around.at]))[0]
    if choice.selector is None:
        return NotThere(f"no selector leads to the region {region!r} alone")
    return _inside(choice.selector, fits[0].tag) or NotThere(f"no selector leads into {region!r}")


def _inside(around: Selector, tag: str) -> Selector | None:
    """Everything of a tag inside an element, by the first of its strategies that can be gone on from."""
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


async def stable_selector(bench: Bench, shown: Shown) -> Selector:
    """The selector with the element's own stable strategies behind it."""
    choice = (await selectors_at(bench.page, shown.index, [shown.at]))[0]
    return shown.selector if choice.selector is None else beginning_with(shown.selector, choice.selector)


async def _place_of(bench: Bench, index: PageIndex, found: Discovered) -> int | None:
    """Where in a later look an element is that was found in an earlier one."""
    alike = [
        each.at for each in index.elements
        if (each.tag, each.role, each.name) == (found.element.tag, found.element.role, found.element.name)
    ]  # fmt: skip
    leads = await lead_to(bench.page, index, [(at, found.selector) for at in alike])
    return next((at for at, there in zip(alike, leads, strict=True) if there), None)


def _saying(index: PageIndex, meant: Wanted) -> list[IndexedElement]:
    """The elements that say the words best; of those inside each other the innermost."""
    fits: dict[int, int] = {}
    for reading in readings(meant):
        regions = meant_regions(index, reading.regions) if reading.regions else frozenset[int]()
        if reading.regions and not regions:
            continue
        for element in index.elements:
            if not element.visible or (regions and not stands_in(index, element, regions)):
                continue
            if reading.roles is not None and element.role not in reading.roles:
                continue
            fit = _fit(reading.words, element)
            if fit > fits.get(element.at, 0):
                fits[element.at] = fit
    _regions_called_so(index, meant, fits)
    best = max(fits.values(), default=0)
    found = [index.elements[at] for at, fit in sorted(fits.items()) if fit == best]
    outer = {around.at for each in found for around in index.ancestors(each)}
    return [each for each in found if each.at not in outer]


def _fit(words: str, element: IndexedElement) -> int:
    if not words:
        return 0
    named = grade(words, element.name)
    if named is Grade.EXACT:
        return 6
    if any(grade(words, said) is Grade.EXACT for said in element.identities):
        return 5
    if grade(words, element.text) is Grade.EXACT:
        return 4
    if named is Grade.PLURAL:
        return 3
    return 1 if Grade.BEGINS in (named, grade(words, element.text)) else 0


def _regions_called_so(index: PageIndex, meant: Wanted, fits: dict[int, int]) -> None:
    """A dialog, a table, a row of that name is what is meant, not the heading in it."""
    if meant.region is not None:
        return
    asked = RegionWords(plain(meant.words))
    said = [each for reading in readings(Wanted("", None, meant.words)) for each in reading.regions]
    for at in meant_regions(index, tuple(said) or (asked,)):
        region = index.regions[at]
        element = index.elements[region.element]
        if element.visible and any(grade(each.words, region.name) is Grade.EXACT for each in said):
            fits[element.at] = max(fits.get(element.at, 0), 7 if element.role in _SHOWN_REGIONS else 0)


_SHOWN_REGIONS = frozenset({"dialog", "alertdialog", "table", "grid", "form", "region", "navigation"})


def _value_beside(index: PageIndex, element: IndexedElement) -> IndexedElement:
    """Of a term in a list of terms what it says of it."""
    wanted_tag = _NEXT_TO.get(element.tag)
    if wanted_tag is None:
        return element
    following: Iterable[IndexedElement] = index.elements[element.at + 1 : element.at + 4]
    return next((each for each in following if each.tag == wanted_tag and each.visible), element)


async def texts_like(bench: Bench, words: str) -> list[str]:
    """What the page says that is most like a text, nearest first; without secrets."""
    index = await look_around(bench.page)
    said = dict.fromkeys(
        line[:200] for each in index.elements if each.visible for line in (each.text, each.name) if line
    )
    near = process.extract(
        words, list(said), scorer=fuzz.WRatio, score_cutoff=_ALIKE, limit=bench.policy.most_nearest
    )
    return [bench.redact(text) for text, _, _ in near]
