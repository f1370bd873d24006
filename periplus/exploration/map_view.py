"""The progress view of `periplus map`: progress, current page, and the growing map."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from rich.console import Console, Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from agent.exploration.exploration_events import (
    ExplorationEnded,
    ExplorationProgress,
    ExplorationSignedOut,
    ExplorationWaiting,
    MapEvent,
    OfferSkipped,
    PageFound,
    TransitionAttempted,
)
from agent.exploration.pages.page_addresses import build_place_path
from kb_schema.address_secrets import mask_address_secrets
from loaders.markup_escapes import format_count
from periplus.terminal.live_view import TerminalView

MOST_SHOWN = 24
"""Maximum number of places in the view."""
_LONGEST = 160
ENDED = {
    "done": "everything that may be tried was tried, of similar pages a few",
    "states": "the limit of pages was reached (--states)",
    "depth": "the limit of steps from the start page was reached (--depth)",
    "time": "the time limit was reached (--time)",
    "stopped": "it was stopped",
    "signed_out": "the website signed out, and signing in again failed",
    None: "it was interrupted",
}
"""Why an exploration ended -> the same in words."""
OUTCOMES = {"arrived": "opened", "stayed": "stayed on the page", "refused": "could not be used:"}
"""Outcome of a tried control -> the same in words."""


@dataclass(slots=True)
class _AddressGroup:
    """Pages whose addresses differ only in ids."""

    path: str
    titles: dict[str, None] = field(default_factory=dict)
    pages: int = 0


class MapView(TerminalView):
    """Displays the events of an exploration."""

    def __init__(self, console: Console, title: str) -> None:
        super().__init__(console)
        self._title = title
        self._began = time.monotonic()
        self._places: dict[str, _AddressGroup] = {}
        self._titles: dict[str, str] = {}
        self._pages = self._passages = self._left = self._skipped = 0
        self._here = self._note = ""

    def __call__(self, event: MapEvent) -> None:
        """Handle an event."""
        match event:
            case PageFound(page_id=page_id, title=title, url=url, offers=offers):
                self._found(page_id, format_plain_text(title), url)
                self._line(
                    f"  + {format_plain_text(title) or '-'}  {format_plain_text(url)}  ({offers} controls)"
                )
            case TransitionAttempted(
                from_page=from_page, what=what, outcome=outcome, to_page=to_page, message=message
            ):
                self._here = f"{self._titles.get(from_page, from_page)}: {format_plain_text(what)}"
                end = self._titles.get(to_page or "", "")
                reached = f"{OUTCOMES.get(outcome, outcome)} {end}".strip()
                led = reached + (f": {format_plain_text(message)}" if message else "")
                self._line(f"  > {self._here} -> {led}")
            case OfferSkipped(what=what, reason=reason):
                self._skipped += 1
                self._line(f"  - {format_plain_text(what)}: {format_plain_text(reason)}")
            case ExplorationWaiting(seconds=seconds, reason=reason):
                self._note = f"waiting {seconds:.1f} s: {format_plain_text(reason)}"
            case ExplorationSignedOut(url=url, again=again):
                told = {
                    "trying": "signing in again",
                    "signed_in": "signed in again",
                    "failed": "cannot sign in again",
                }
                self._note = f"signed out at {format_plain_text(url)}: {told[again]}"
                self._line(f"  ! {self._note}")
            case ExplorationProgress(pages=pages, passages=passages, left=left):
                self._pages, self._passages, self._left = pages, passages, left
                self._note = ""
            case ExplorationEnded(reason=reason, pages=pages, passages=passages):
                counts = f"{format_count(pages, 'page')}, {format_count(passages, 'control')} tried"
                self._line(f"explored: {counts}; {ENDED[reason]}")

    def say(self, text: str) -> None:
        """Show what is being done besides exploring."""
        self._note = text
        self._line(text)

    def _found(self, page_id: str, title: str, url: str) -> None:
        self._titles[page_id] = self._choose_label(page_id, title, url)
        place = build_place_path(url)
        known = self._places.setdefault(place, _AddressGroup(urlsplit(place).path or "/"))
        known.pages += 1
        known.titles.setdefault(title)

    def _choose_label(self, page_id: str, title: str, url: str) -> str:
        """Return a name for a page that no other page has: its title and address, else also its id."""
        parts = urlsplit(url)
        route = f"#{parts.fragment}" if parts.fragment.startswith(("/", "!")) else ""
        address = format_plain_text(f"{parts.path or '/'}{route}")
        label = f"{title} ({address})" if title else address
        return f"{label} {page_id}" if label in self._titles.values() else label

    def _render(self) -> RenderableType:
        grid = Table.grid(padding=(0, 2))
        grid.add_column(style="dim", justify="right", no_wrap=True)
        grid.add_column(ratio=1)
        minutes, seconds = divmod(round(time.monotonic() - self._began), 60)
        counts = f"{self._pages} pages, {len(self._places)} places, {self._passages} controls tried, {self._left} to try"
        grid.add_row("found", Text(f"{counts}, {self._skipped} left alone"))
        grid.add_row("now", Text(self._here))
        if self._note:
            grid.add_row("", Text(self._note, style="yellow"))
        grid.add_row("time", Text(f"{minutes}:{seconds:02d}, Ctrl-C ends and keeps what is there"))
        return Panel(Group(grid, self._tree()), title=Text(self._title), border_style="blue", padding=(1, 2))

    def _tree(self) -> Tree:
        """Return the tree of places by their paths."""
        tree = Tree(Text("the map so far", style="dim"))
        shown = sorted(self._places.values(), key=lambda each: each.path)
        nodes: dict[str, Tree] = {}
        for place in shown[:MOST_SHOWN]:
            path = place.path.rstrip("/")
            above = next((nodes[up] for up in _list_parent_paths(path) if up in nodes), tree)
            name = next((title for title in place.titles if title), place.path)
            more = f"  x{place.pages}" if place.pages > 1 else ""
            nodes[path] = above.add(Text.assemble((name, "bold"), f"  {place.path}", (more, "dim")))
        if len(shown) > MOST_SHOWN:
            tree.add(Text(f"and {len(shown) - MOST_SHOWN} more", style="dim"))
        return tree


def format_plain_text(text: str) -> str:
    """Return a website's text on one line, without terminal control characters and without secrets in addresses."""
    line = " ".join("".join(char if char.isprintable() else " " for char in text).split())
    line = mask_address_secrets(line)
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"


def _list_parent_paths(path: str) -> list[str]:
    parts = path.split("/")
    return ["/".join(parts[:count]) for count in range(len(parts) - 1, 0, -1)]
