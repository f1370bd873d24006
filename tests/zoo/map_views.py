"""Compares the maps of single-page applications with what a person can reach there: views, dialogs, menus, tabs.

`map_views.yaml` lists them, with signs by which a stored page shows them.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import yaml
from playwright.async_api import Browser

from kb_schema.selectors import Selector, ValueStrategy
from tests.support.mapping_rates import MappedSite, map_site, pairwise
from tests.zoo.zoo_jobs import Application
from tests.zoo.zoo_measurement import find_differences, read_opened_state
from web_pages.page_texts import squeeze, text_of
from web_pages.stored_pages import StoredPage
from web_pages.visibility import visible

VIEWS = Path(__file__).parent / "map_views.yaml"
KINDS = ("view", "tab", "panel", "dialog", "confirmation", "menu")
"""From the bottom to the top: a page is what lies on top."""
STATES = frozenset({"menu", "panel"})


@dataclass(frozen=True, slots=True)
class ListedView:
    """Something that a person can reach."""

    kind: str
    name: str
    signs: tuple[str, ...]

    def is_shown(self, page: StoredPage) -> bool:
        """Whether all its signs hold on a page."""
        return all(_holds(sign, page) for sign in self.signs)


def _holds(sign: str, page: StoredPage) -> bool:
    css, _, text = sign.partition(" :: ")
    found = page.resolve(Selector(strategies=(ValueStrategy(type="css", value=css),))).found
    said = [squeeze(text_of(each)) for each in found if visible(each)]
    if text.endswith("*"):
        return any(each.startswith(text[:-1]) for each in said)
    return text in said if text else bool(said)


def read_listed_views() -> dict[str, list[ListedView]]:
    """Return what is written down, by application, from the bottom to the top."""
    told = yaml.safe_load(VIEWS.read_text(encoding="utf-8"))
    return {
        application: [
            ListedView(kind, name, tuple(signs))
            for kind in KINDS
            for name, signs in kinds.get(kind, {}).items()
        ]
        for application, kinds in told.items()
    }


@dataclass(slots=True)
class ViewFigures:
    """What one map came to."""

    application: str
    pages: int
    screens: int
    f1: float
    """Of pairs of pages that show something listed, without menus and panels: these may be states of a screen."""
    listed: dict[str, int]
    """By kind."""
    seen: dict[str, int]
    """Listed ones of which there is a page, by kind."""
    own: dict[str, int]
    """Listed ones that are most pages of a screen, by kind."""
    elements: dict[str, int]
    """Elements of these screens, by kind."""
    untried: dict[str, int]
    """What was found and not tried, by reason."""
    changed: list[str]
    seconds: float
    ended_by: str
    unseen: list[str] = field(default_factory=list)
    merged: list[str] = field(default_factory=list)
    """Listed ones that were seen, but are no screen of their own."""
    names: dict[str, list[str]] = field(default_factory=dict)
    """Name of each screen of the map -> what its pages show."""


async def measure_views(
    browser: Browser, application: Application, listed: Sequence[ListedView], folder: Path, seconds: float
) -> ViewFigures:
    """Start the application, map it, and compare. `seconds`: for exploring."""
    folder.mkdir(parents=True, exist_ok=True)
    async with application.start(folder) as running:
        before = await read_opened_state(browser, running, "/")
        made = await map_site(browser, f"{running.base_url}/", folder / "map", {}, seconds, robots=False)
        changed = find_differences(before, await running.state())
    return compare_views(application.name, listed, made, [str(each) for each in changed[:5]])


def compare_views(
    name: str, listed: Sequence[ListedView], made: MappedSite, changed: list[str]
) -> ViewFigures:
    """Compare a map with what is listed. `changed`: what differs in the application's state."""
    shown = {
        page.page_id: [each for each in listed if each.is_shown(StoredPage(made.seen.snapshot(page.page_id)))]
        for page in made.seen.pages()
    }
    top = {page: each[-1] for page, each in shown.items() if each}
    seen = {each for every in shown.values() for each in every}
    screens: defaultdict[str, Counter[ListedView]] = defaultdict(Counter)
    for page, screen in made.labels.items():
        if page in top:
            screens[screen][top[page]] += 1
    screen_of = {counted.most_common(1)[0][0]: screen for screen, counted in screens.items()}
    ended = made.seen.exploration
    return ViewFigures(
        name, len(shown), len(set(made.labels.values())),
        pairwise(
            made.labels, {page: f"{each.kind} {each.name}" for page, each in top.items() if each.kind not in STATES}
        ).f1,
        _count(listed), _count(seen), _count(screen_of),
        _count_elements(made, screen_of), _count_untried(made), changed, round(made.seconds, 1), ended.ended_by or "",
        [f"{each.kind} {each.name}" for each in listed if each not in seen],
        [f"{each.kind} {each.name}" for each in listed if each in seen and each not in screen_of],
        {
            made.knowledge.screens[screen].name: sorted(f"{each.kind} {each.name}" for each in counted)
            for screen, counted in screens.items()
        },
    )  # fmt: skip


def _count(views: Sequence[ListedView] | set[ListedView] | Mapping[ListedView, str]) -> dict[str, int]:
    counted = Counter(each.kind for each in views)
    return {kind: counted[kind] for kind in KINDS if counted[kind]}


def _count_elements(made: MappedSite, screen_of: Mapping[ListedView, str]) -> dict[str, int]:
    counted: Counter[str] = Counter()
    for view, screen in screen_of.items():
        counted[view.kind] += len(made.knowledge.screens[screen].ui_elements)
    return dict(counted)


def _count_untried(made: MappedSite) -> dict[str, int]:
    """Return how many controls were left untried, by the beginning of the reason."""
    reasons = (
        each.reason.partition(":")[0].partition(" below ")[0] for each in made.seen.exploration.unexplored
    )
    return dict(Counter(reasons).most_common())


def format_views(figures: ViewFigures) -> str:
    """Return the figures as lines."""
    kinds = [
        f"{kind} {figures.seen.get(kind, 0)}/{figures.own.get(kind, 0)} of {listed}"
        f" ({figures.elements.get(kind, 0)} elements)"
        for kind, listed in figures.listed.items()
    ]
    untried = ", ".join(f"{reason} {count}" for reason, count in figures.untried.items())
    rate = f"F1 {figures.f1:.3f}" if figures.listed else "nothing is listed to compare with"
    head = (
        f"{figures.application}: {figures.pages} pages, {figures.screens} screens, {rate},"
        f" {figures.seconds} s, ended by {figures.ended_by}, changed: {figures.changed or 'nothing'}"
    )
    lines = [
        head,
        f"    seen/a screen of their own: {', '.join(kinds)}",
        f"    not tried: {untried or '-'}",
        f"    not seen: {', '.join(figures.unseen) or '-'}",
        f"    no screen of their own: {', '.join(figures.merged) or '-'}",
    ]
    lines += [f"    {name}: {', '.join(shown)}" for name, shown in figures.names.items()]
    return "\n".join(lines)
