"""What a map came to, for people and for scripts: screens, what was not tried and why, how to go on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from shlex import quote
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from kb_schema.mapping import Exploration, SeenPage
from loaders.cartography import Chart
from periplus.mapping.places import MapFolder
from periplus.mapping.view import plain

MOST_SCREENS, MOST_REASONS, MOST_WARNINGS = 60, 12, 12
ENDED = {
    "done": "everything that may be tried was tried",
    "states": "as many pages are kept as were asked for (--states)",
    "depth": "as deep as was asked for (--depth)",
    "time": "the time is over (--time)",
    "stopped": "it was stopped",
    None: "it was cut off",
}


def untried(exploration: Exploration, pages: Sequence[SeenPage]) -> Counter[str]:
    """How many controls were not tried, by the reason."""
    names = {
        (page.page_id, offer.offer_id): f"{offer.danger}: {offer.name}" if offer.danger else ""
        for page in pages
        for offer in page.offers
    }
    return Counter(
        names.get((each.page_id, each.offer_id or "")) or each.reason for each in exploration.unexplored
    )


def as_json(chart: Chart, folder: MapFolder) -> dict[str, Any]:
    """For scripts."""
    exploration = folder.exploration.exploration
    return {
        "website_id": exploration.website_id,
        "ended_by": exploration.ended_by,
        "pages": sum(len(pages) for pages in chart.screens.values()),
        "screens": {screen_id: list(pages) for screen_id, pages in chart.screens.items()},
        "documents": {kind: len(documents) for kind, documents in chart.knowledge.by_kind.items()},
        "not_tried": dict(untried(exploration, folder.exploration.pages())),
        "warnings": list(chart.warnings),
        "exploration": str(folder.exploration.path),
        "knowledge": str(folder.knowledge),
    }


def tell(console: Console, chart: Chart, folder: MapFolder, *, loaded: bool) -> None:
    """For people."""
    exploration = folder.exploration.exploration
    _screens(console, chart)
    knowledge = chart.knowledge
    _say(
        console,
        f"{len(knowledge.screens)} screens of {sum(map(len, chart.screens.values()))} pages,"
        f" {len(knowledge.transitions)} transitions, {len(knowledge.groups)} groups,"
        f" {len(knowledge.recoveries)} ways out; {ENDED[exploration.ended_by]}",
    )
    _reasons(console, untried(exploration, folder.exploration.pages()))
    for text in chart.warnings[:MOST_WARNINGS]:
        _say(console, f"  ! {plain(text)}", "yellow")
    if len(chart.warnings) > MOST_WARNINGS:
        _say(
            console, f"  and {len(chart.warnings) - MOST_WARNINGS} more remarks (--json has them all)", "dim"
        )
    _say(console, f"knowledge    {folder.knowledge}")
    _say(console, f"exploration  {folder.exploration.path}")
    for line in _next(exploration, folder, loaded=loaded):
        _say(console, f"  {line}", "green")


def _screens(console: Console, chart: Chart) -> None:
    table = Table("screen", "name", "pages", "elements", "ways out of it", box=None, header_style="dim")
    leaving = Counter(edge.from_screen for edge in chart.knowledge.transitions.values())
    for screen_id, pages in list(chart.screens.items())[:MOST_SCREENS]:
        name, elements = chart.knowledge.screens[screen_id].name, chart.knowledge.elements(screen_id)
        counts = [str(number) for number in (len(pages), len(elements), leaving[screen_id])]
        table.add_row(screen_id, Text(plain(name)), *counts)
    console.print(table)
    if len(chart.screens) > MOST_SCREENS:
        _say(console, f"and {len(chart.screens) - MOST_SCREENS} more", "dim")


def _reasons(console: Console, reasons: Mapping[str, int]) -> None:
    if not reasons:
        return
    _say(console, f"not tried: {sum(reasons.values())} controls", "yellow")
    for reason, count in sorted(reasons.items(), key=lambda item: -item[1])[:MOST_REASONS]:
        _say(console, f"  {count:>4}  {plain(reason)}")
    if len(reasons) > MOST_REASONS:
        _say(console, f"  and {len(reasons) - MOST_REASONS} other reasons")


def _next(exploration: Exploration, folder: MapFolder, *, loaded: bool) -> list[str]:
    lines = []
    if exploration.ended_by != "done":
        again = f"periplus map {quote(exploration.starts[0])} --out {quote(str(folder.path))} --resume"
        lines.append(f"{again}{_signing_in(exploration.signed_in_by)}")
    if not loaded:
        lines.append(f"periplus kb load {quote(str(folder.knowledge))}")
    return [*lines, "periplus serve"]


def _signing_in(by: str) -> str:
    """How one was signed in is said again; with what, is not kept."""
    if by.startswith("task "):
        return f" --sign-in {quote(by.removeprefix('task '))} --input NAME=VALUE"
    return {"form": " --sign-in-form --input NAME=VALUE", "storage state": " --storage-state FILE"}.get(
        by, ""
    )


def _say(console: Console, text: str, style: str = "") -> None:
    console.print(Text(text, style=style), soft_wrap=True)
