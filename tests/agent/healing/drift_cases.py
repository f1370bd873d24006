"""Cases of drift: what is recorded on one version of a page, and where it is on another by other eyes.

Ground truth never comes from our own similarity: a mutated element is remembered by the page's own
script, and of two releases of a site the same element is named by hand (`versions.yaml`).
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from playwright.async_api import BrowserContext, Page

from agent.healing.fingerprint_search import (
    DEFAULT_THRESHOLDS,
    FingerprintMatch,
    SearchOutcome,
    SearchThresholds,
    find_fingerprint,
)
from agent.locators.page_fingerprints import PageFingerprints
from agent.locators.page_index import PageIndex
from agent.locators.page_scan import scan_page
from kb_schema.fingerprints import Fingerprint
from tests.support.drift import Drift, Target

SCRIPT = (Path(__file__).parents[2] / "support/drift.js").read_text(encoding="utf-8")
CHANGED_SHARE, REMOVED_SHARE = 0.6, 0.06
"""Of the elements of a page: how many drift, and how many are gone altogether."""


@dataclass(frozen=True)
class Case:
    """One element to be found again."""

    family: str
    page: str
    known: Fingerprint
    others: tuple[Fingerprint, ...]
    """The other elements that were recorded on that page."""
    seen: tuple[tuple[int, Fingerprint], ...]
    """Everything one can operate on the new page."""
    truth: int | None
    """Its place in the new look; None where it is gone."""
    kinds: tuple[str, ...] = ()

    def match(self, demand: SearchThresholds = DEFAULT_THRESHOLDS) -> FingerprintMatch:
        """What we say."""
        return find_fingerprint(self.known, self.seen, demand, others=self.others)


@dataclass
class Tally:
    """How cases came out."""

    counts: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    failures: list[str] = field(default_factory=list)

    def add(self, case: Case, match: FingerprintMatch) -> str:
        """Count a case: `found`, `not found`, `ambiguous`, `wrong`; or, of one that is gone, `left alone` or
        `wrong`. Another link to the very address is neither: `same address`.
        """
        at = match.best.at if match.outcome is SearchOutcome.FOUND and match.best else None
        chosen = match.best.seen.attributes.get("href") if at is not None and match.best else None
        if chosen is not None and at != case.truth and chosen == case.known.attributes.get("href"):
            word = "same address"
        elif case.truth is None:
            word = "left alone" if at is None else "wrong"
        else:
            word = (
                "found"
                if at == case.truth
                else "wrong"
                if at is not None
                else match.outcome.replace("_", " ")
            )
        self.counts[case.family][word] += 1
        if word not in ("found", "left alone", "same address"):
            said = match.best.seen.name if match.best else None
            self.failures.append(
                f"{word}: {case.family} {case.page} {case.known.role} {case.known.name!r} -> {said!r} "
                f"{list(case.kinds)}: {match.reason}"
            )
        return word

    @property
    def total(self) -> Counter[str]:
        """Over all families."""
        return sum(self.counts.values(), Counter())

    def share(self, *words: str) -> float:
        """Of the cases whose element is still there (`wrong`: of all cases)."""
        total = self.total
        there = sum(total.values()) - (0 if "wrong" in words else total["left alone"])
        return sum(total[word] for word in words) / max(1, there)

    def table(self) -> str:
        """One line a family."""
        words = ("found", "same address", "not found", "ambiguous", "wrong", "left alone")
        lines = [f"{'family':26}{'cases':>7}" + "".join(f"{word:>13}" for word in words)]
        for name, counts in [*sorted(self.counts.items()), ("all", self.total)]:
            lines.append(
                f"{name:26}{sum(counts.values()):7}" + "".join(f"{counts[word]:13}" for word in words)
            )
        lines.append(
            f"found {self.share('found'):.1%} of what is there, wrong {self.share('wrong'):.2%} of all"
        )
        return "\n".join(lines)


def split(cases: Sequence[Case], half: int) -> list[Case]:
    """One half to tune on (0), the other to report on (1); an element is always in the same one."""
    return [
        case for case in cases
        if random.Random(f"{case.page}/{case.known.name}/{case.known.xpath}").randrange(2) == half
    ]  # fmt: skip


async def recorded(page: Page) -> tuple[PageIndex, PageFingerprints]:
    """A look, and its fingerprints."""
    index = await scan_page(page)
    return index, PageFingerprints(index)


async def mutated(
    page: Page, family: str, dice: random.Random, drift: Drift, *, releases: int = 1
) -> list[Case]:
    """Record everything on the page that is open, let it drift, and look again."""
    index, before = await recorded(page)
    operable = [(at, known) for at, known in before.all() if index.elements[at].root == 0]
    await page.evaluate(SCRIPT)
    kept = await of_places(page, index, "el => window.drift.keep(el)", [at for at, _ in operable])
    targets = [(at, Target(**said)) for (at, _), said in zip(operable, kept, strict=True) if said is not None]
    changes, cases_of = [], []
    left = dict(targets)
    for at in dice.sample(sorted(left), round(REMOVED_SHARE * len(left))):
        target = left.pop(at)
        changes.append([target.number, [{"do": "remove"}]])
        cases_of.append((at, target, ["removed"]))
    for _ in range(round(CHANGED_SHARE * len(left))):
        # What changes is drawn first, then what it changes: so kinds come as often as they were measured.
        at, kinds, operations = drift.change(left)
        target = left.pop(at)
        for _ in range(releases - 1):
            _, more, does = drift.change({at: target})
            kinds, operations = kinds + more, operations + does
        changes.append([target.number, operations])
        cases_of.append((at, target, kinds))
    await page.evaluate("changes => window.drift.apply(changes)", changes)
    new, after = await recorded(page)
    places = await places_of(page, new, [target.number for _, target, _ in cases_of])
    seen = tuple(after.all())
    known = dict(operable)
    shown = {at for at, _ in seen}
    return [
        Case(
            family, page.url.split("/", 3)[-1], known[at],
            tuple(other for place, other in known.items() if place != at),
            seen, place if place in shown else None, tuple(kinds),
        )
        for (at, _, kinds), place in zip(cases_of, places, strict=True)
    ]  # fmt: skip


async def of_places(page: Page, index: PageIndex, ask: str, places: Sequence[int]) -> list[Any]:
    """What a function of the page says of elements of a look, all in one round trip; None where one is gone."""
    said: list[Any] = await page.evaluate(
        f"""([token, places]) => {{
          const ask = {ask};
          const library = window[Symbol.for("periplus.page.1")];
          return places.map((at) => library.pick(token, at)).map((el) => el && ask(el));
        }}""",
        [index.token, list(places)],
    )
    return said


_FIND = """([token, count, numbers]) => {
  const library = window[Symbol.for("periplus.page.1")];
  const places = new Map();
  for (let at = 0; at < count; at += 1) places.set(library.pick(token, at), at);
  return numbers.map((number) => {
    const el = window.drift.element(number);
    return el && el.isConnected && places.has(el) ? places.get(el) : null;
  });
}"""


async def places_of(page: Page, index: PageIndex, numbers: Iterable[int]) -> list[int | None]:
    """Where what became of the targets is in the new look."""
    places: list[int | None] = await page.evaluate(_FIND, [index.token, len(index.elements), list(numbers)])
    return places


async def opened(context: BrowserContext, url: str) -> Page:
    """A page that has come to rest."""
    page = await context.new_page()
    await page.goto(url, wait_until="load")
    return page


# -- two releases of a site --------------------------------------------------------------------------

_CONTRACTS = """el => {
  const place = el.closest("header, nav, footer, aside, #nav-sidebar, #user-tools, .breadcrumbs, #changelist-filter, thead");
  const where = place ? place.id || place.tagName.toLowerCase() + (place.getAttribute("aria-label") || "") : "main";
  const ticked = ["radio", "checkbox"].includes(el.type) ? el.value : "";
  const said = [];
  if (el.name) said.push(`name ${el.name} ${ticked} ${where}`);
  if (el.tagName === "A" && el.href) {
    const url = new URL(el.href);
    if (url.hash.length < 2 && url.pathname + url.search !== location.pathname + location.search) {
      url.searchParams.delete("_changelist_filters");
      said.push(`href ${url.pathname}${url.search} ${where}`);
    }
  }
  if (el.id) said.push(`id ${el.id}`);
  return said;
}"""
"""What a site's own code goes by, and a release keeps: names of form fields, addresses of links, ids."""


async def contracts(page: Page, index: PageIndex, prints: PageFingerprints) -> dict[str, int]:
    """The contracts that exactly one element of the page has, with its place."""
    found: defaultdict[str, list[int]] = defaultdict(list)
    places = [at for at, _ in prints.all() if index.elements[at].root == 0]
    for at, all_said in zip(places, await of_places(page, index, _CONTRACTS, places), strict=True):
        for said in all_said or ():
            found[said].append(at)
    return {said: places[0] for said, places in found.items() if len(places) == 1}


async def released(
    family: str, old: Page, new: Page, renamed: Callable[[str], str] = lambda said: said
) -> list[Case]:
    """Everything that both releases of a page have by contract; `renamed` says what became of one."""
    before_index, before = await recorded(old)
    after_index, after = await recorded(new)
    now = await contracts(new, after_index, after)
    known, seen = dict(before.all()), tuple(after.all())
    truths: dict[int, set[int]] = defaultdict(set)
    for said, at in (await contracts(old, before_index, before)).items():
        if renamed(said) in now:
            truths[at].add(now[renamed(said)])
    return [
        Case(
            family, old.url.split("/", 3)[-1], known[at],
            tuple(other for place, other in known.items() if place != at), seen, next(iter(places)),
        )
        for at, places in truths.items() if len(places) == 1
    ]  # fmt: skip
