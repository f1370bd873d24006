"""The progress view of `periplus map`: how far it is, where it is, and the map as it grows."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from rich.console import Console, Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from agent.mapping.events import (
    Ended,
    MapEvent,
    PageFound,
    PassageTried,
    Progress,
    SignedOut,
    Skipped,
    Waiting,
)
from agent.mapping.places import path_of_place
from periplus.live import Shown

MOST_SHOWN = 24
"""Places of the map that are shown at once."""
_LONGEST = 100


@dataclass(slots=True)
class _Place:
    """Pages whose addresses differ in ids only."""

    path: str
    titles: dict[str, None] = field(default_factory=dict)
    pages: int = 0


class MapView(Shown):
    """Hears what an exploration tells."""

    def __init__(self, console: Console, title: str) -> None:
        super().__init__(console)
        self._title = title
        self._began = time.monotonic()
        self._places: dict[str, _Place] = {}
        self._titles: dict[str, str] = {}
        self._pages = self._passages = self._left = self._skipped = 0
        self._here = self._note = ""

    def __call__(self, event: MapEvent) -> None:
        """One thing that happened."""
        match event:
            case PageFound(page_id=page_id, title=title, url=url, offers=offers):
                self._found(page_id, plain(title), url)
                self._line(f"  + {plain(title) or '-'}  {plain(url)}  ({offers} controls)")
            case PassageTried(
                from_page=from_page, what=what, outcome=outcome, to_page=to_page, message=message
            ):
                self._here = f"{self._titles.get(from_page, from_page)}: {plain(what)}"
                end = self._titles.get(to_page or "", "")
                led = f"{outcome} {end}".strip() + (f": {plain(message)}" if message else "")
                self._line(f"  > {self._here} -> {led}")
            case Skipped(what=what, reason=reason):
                self._skipped += 1
                self._line(f"  - {plain(what)}: {plain(reason)}")
            case Waiting(seconds=seconds, reason=reason):
                self._note = f"waiting {seconds:.1f} s: {plain(reason)}"
            case SignedOut(url=url, again=again):
                told = {
                    "trying": "signing in again",
                    "signed_in": "signed in again",
                    "failed": "cannot sign in again",
                }
                self._note = f"signed out at {plain(url)}: {told[again]}"
                self._line(f"  ! {self._note}")
            case Progress(pages=pages, passages=passages, left=left):
                self._pages, self._passages, self._left = pages, passages, left
                self._note = ""
            case Ended(reason=reason, pages=pages, passages=passages):
                self._line(f"explored: {pages} pages, {passages} things tried ({reason})")

    def say(self, text: str) -> None:
        """What is being done beside exploring."""
        self._note = text
        self._line(text)

    def _found(self, page_id: str, title: str, url: str) -> None:
        self._titles[page_id] = title or urlsplit(url).path
        place = path_of_place(url)
        known = self._places.setdefault(place, _Place(urlsplit(place).path or "/"))
        known.pages += 1
        known.titles.setdefault(title)

    def _render(self) -> RenderableType:
        grid = Table.grid(padding=(0, 2))
        grid.add_column(style="dim", justify="right", no_wrap=True)
        grid.add_column(ratio=1)
        minutes, seconds = divmod(round(time.monotonic() - self._began), 60)
        counts = f"{self._pages} pages, {len(self._places)} places, {self._passages} things tried, {self._left} to try"
        grid.add_row("found", Text(f"{counts}, {self._skipped} left alone"))
        grid.add_row("now", Text(self._here))
        if self._note:
            grid.add_row("", Text(self._note, style="yellow"))
        grid.add_row("time", Text(f"{minutes}:{seconds:02d}, Ctrl-C ends and keeps what is there"))
        return Panel(Group(grid, self._tree()), title=Text(self._title), border_style="blue", padding=(1, 2))

    def _tree(self) -> Tree:
        """Places below one another as their addresses are."""
        tree = Tree(Text("the map so far", style="dim"))
        shown = sorted(self._places.values(), key=lambda each: each.path)
        nodes: dict[str, Tree] = {}
        for place in shown[:MOST_SHOWN]:
            path = place.path.rstrip("/")
            above = next((nodes[up] for up in _above(path) if up in nodes), tree)
            name = next((title for title in place.titles if title), place.path)
            more = f"  x{place.pages}" if place.pages > 1 else ""
            nodes[path] = above.add(Text.assemble((name, "bold"), f"  {place.path}", (more, "dim")))
        if len(shown) > MOST_SHOWN:
            tree.add(Text(f"and {len(shown) - MOST_SHOWN} more", style="dim"))
        return tree


def plain(text: str) -> str:
    """Words of a website in one line, without what a terminal would obey."""
    line = "".join(char if char.isprintable() else " " for char in text)
    return " ".join(line.split())[:_LONGEST]


def _above(path: str) -> list[str]:
    parts = path.split("/")
    return ["/".join(parts[:count]) for count in range(len(parts) - 1, 0, -1)]
