"""Measures `periplus map` on the zoo's applications: their pages grouped into screens, against their own routes.

`map_screens.yaml` says which screen an address is. The map is made as the command makes it, with what the sign-in form
gets; the application's state must be the same afterwards.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote, urlsplit

import yaml
from playwright.async_api import Browser

from kb_schema.url_patterns import origin_of
from tests.support.mapping_rates import MappedSite, map_site, pairwise
from tests.zoo.map_names import NameFigures, measure_names, read_kept_names
from tests.zoo.map_next_day import NextDayFigures, format_next_day, measure_next_day, time_visits
from tests.zoo.map_uses import FieldFigures, GoalFigures, measure_fields, measure_goals
from tests.zoo.registry.serving import PASSWORD
from tests.zoo.zoo_jobs import Application
from tests.zoo.zoo_measurement import find_differences

SCREENS = Path(__file__).parent / "map_screens.yaml"
_BAD = 400


@dataclass(frozen=True, slots=True)
class MapTruth:
    """How an application's addresses are read."""

    start: str
    account: Mapping[str, str]
    asked: Sequence[str]
    same: Sequence[tuple[str, str]]
    screens: Sequence[str]
    errors: Sequence[str] = ()
    """Titles of pages on which the application refuses or fails with status 200: a screen of their own, at whatever address."""

    def screen_of(self, url: str) -> str:
        """Return the screen at an address."""
        parts = urlsplit(url)
        given = [each for each in unquote(parts.query).split("&") if each.partition("=")[0] in self.asked]
        found = parts.path + (f"?{'&'.join(sorted(given))}" if given else "")
        found += f"#{parts.fragment.partition('?')[0]}" if parts.fragment.startswith(("/", "!/")) else ""
        for pattern, replacement in self.same:
            found = re.sub(pattern, replacement, found)
        return found


def read_map_truths() -> dict[str, MapTruth]:
    """Return what is written down, by application."""
    told = yaml.safe_load(SCREENS.read_text(encoding="utf-8"))
    return {
        name: MapTruth(**{**each, "same": [tuple(s) for s in each["same"]]}) for name, each in told.items()
    }


@dataclass(slots=True)
class MapFigures:
    """What one map came to."""

    application: str
    pages: int
    precision: float
    recall: float
    f1: float
    screens: int
    found: int
    """Of the screens that reading leads to."""
    known: int
    """Pages that the map itself takes for the screen in which they were put."""
    left_out: int
    """Pages without a screen."""
    changed: list[str]
    seconds: float
    missing: list[str] = field(default_factory=list)
    never_tried: list[str] = field(default_factory=list)
    """Screens to which links lead, none of which was opened."""
    fields: FieldFigures = field(default_factory=FieldFigures)
    kept_names: NameFigures = field(default_factory=NameFigures)
    goals: list[GoalFigures] = field(default_factory=list)
    """Screens that were to be reached in fresh browsers, signed out."""
    visits_s: float = 0.0
    """Seconds for opening every address of the map, one after the other, right after mapping."""
    f1_alone: float = 0.0
    """Without what lies on pages: an address does not tell whether a dialog or a menu is a screen."""
    next_day: NextDayFigures = field(default_factory=NextDayFigures)
    names: dict[str, list[str]] = field(default_factory=dict)
    """Name of each screen of the map -> the screens that its pages are."""


async def measure_map(
    browser: Browser, application: Application, truth: MapTruth, folder: Path, seconds: float
) -> MapFigures:
    """Start the application, map it, and compare. `seconds`: for exploring."""
    folder.mkdir(parents=True, exist_ok=True)
    async with application.start(folder) as running:
        before = await running.state()
        password = running.secrets.get("password", running.secrets.get("", PASSWORD))
        account = {name: value.format(password=password) for name, value in truth.account.items()}
        url = f"{running.base_url}{truth.start}"
        made = await map_site(browser, url, folder / "map", account, seconds, robots=False)
        changed = find_differences(before, await running.state())
        visits = await time_visits(browser, made, url, account)
        goals = await measure_goals(browser, made, truth, running.base_url, account, folder / "store")
    figures = compare_map(application.name, truth, made, [str(each) for each in changed[:5]])
    figures.goals, figures.visits_s = goals, visits
    figures.next_day = await measure_next_day(browser, application, made, truth, account, folder / "next-day")
    return figures


def compare_map(name: str, truth: MapTruth, made: MappedSite, changed: list[str]) -> MapFigures:
    """Compare a map with the application's own routes. `changed`: what differs in its state."""
    base = origin_of(made.seen.exploration.base_url)
    pages = [page for page in made.seen.pages() if (page.status or 200) < _BAD]
    wanted = {
        page.page_id: "(error)"
        if any(each in page.title for each in truth.errors)
        else truth.screen_of(page.url)
        for page in pages
        if origin_of(page.url) == base
    }
    rates = pairwise(made.labels, wanted)
    routed = {
        page.page_id: wanted[page.page_id] for page in pages if page.page_id in wanted and not page.layer
    }
    alone = pairwise(made.labels, routed)
    reached = {wanted[page] for page in made.labels if page in wanted}
    links = {
        truth.screen_of(offer.href)
        for page in pages
        for offer in page.offers
        if offer.href and origin_of(offer.href) == base and offer.danger is None
    }
    names: dict[str, set[str]] = {}
    for page, screen in made.labels.items():
        names.setdefault(made.knowledge.screens[screen].name, set()).add(wanted.get(page, "(error)"))
    return MapFigures(
        name, len(wanted), rates.precision, rates.recall, rates.f1, len(set(made.labels.values())),
        len(set(truth.screens) & reached),
        sum(made.own.get(page) == screen for page, screen in made.labels.items()),
        len(wanted.keys() - made.labels.keys()), changed, round(made.seconds, 1),
        sorted(set(truth.screens) - reached), sorted(links - set(wanted.values())), measure_fields(made),
        _measure_names(name, truth, made, wanted), f1_alone=alone.f1, names={screen: sorted(each) for screen, each in sorted(names.items())},
    )  # fmt: skip


def _measure_names(
    application: str, truth: MapTruth, made: MappedSite, wanted: Collection[str]
) -> NameFigures:
    urls = ((page.page_id, page.url) for page in made.seen.pages() if page.page_id in wanted)
    names = {each.screen_id: each.name for each in made.knowledge.screens.values()}
    return measure_names(made.labels, names, urls, truth.screen_of, read_kept_names().get(application, {}))


def format_map(figures: MapFigures) -> str:
    """Return the figures as lines."""
    every = figures.found + len(figures.missing)
    head = (
        f"{figures.application}: {figures.pages} pages, {figures.screens} screens, F1 {figures.f1:.3f}"
        f" (precision {figures.precision:.3f}, recall {figures.recall:.3f}; {figures.f1_alone:.3f} without what lies on pages), found {figures.found} of {every},"
        f" known again {figures.known}, left out {figures.left_out}, {figures.seconds} s,"
        f" changed: {figures.changed or 'nothing'}"
    )
    lines = [
        head,
        f"    not found: {', '.join(figures.missing) or '-'}",
        f"    never opened: {', '.join(figures.never_tried) or '-'}",
    ]
    told = f"{figures.fields.known} of {figures.fields.fields}"
    lines.append(f"    fields of the largest forms: {told} {', '.join(figures.fields.unknown[:8])}")
    names = figures.kept_names
    lines.append(
        f"    names that a person would keep: {names.kept} of {names.screens} {', '.join(names.others)}"
    )
    counts = Counter(each.arrival for each in figures.goals)
    lines.append(f"    goals: {counts['arrived']} of {len(figures.goals)} reached, {counts['wrong']} falsely")
    lines += [
        f"        {each.screen}: {each.arrival} after {each.seconds} s: {each.told}"
        for each in figures.goals
        if each.arrival != "arrived"
    ]
    ratio = figures.seconds / figures.visits_s if figures.visits_s else 0.0
    lines.append(
        f"    opening every address alone: {figures.visits_s} s; the map took {ratio:.1f} times as long"
    )
    lines += format_next_day(figures.next_day)
    lines += [f"    {name}: {', '.join(screens)}" for name, screens in figures.names.items()]
    return "\n".join(lines)
