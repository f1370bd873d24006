"""How many screens of a map have a name that a person would keep: those of `map_names.yaml`, written down before."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import yaml

NAMES = Path(__file__).parent / "map_names.yaml"


@dataclass(slots=True)
class NameFigures:
    """Of the screens whose route is listed: how many there are, and how many names would be kept."""

    screens: int = 0
    kept: int = 0
    others: list[str] = field(default_factory=list)
    """Route and name of each screen whose name would not be kept."""


def read_kept_names() -> dict[str, dict[str, frozenset[str]]]:
    """Return the names, by application and route."""
    told = yaml.safe_load(NAMES.read_text(encoding="utf-8"))
    return {
        application: {route: frozenset(_fold(name) for name in names) for route, names in routes.items()}
        for application, routes in told.items()
    }


def measure_names(
    screen_of: Mapping[str, str],
    names: Mapping[str, str],
    urls: Iterable[tuple[str, str]],
    route_of: Callable[[str], str],
    kept: Mapping[str, frozenset[str]],
) -> NameFigures:
    """Judge the name of each screen by the route of most of its pages.

    `screen_of`: page id -> screen id. `names`: those of the screens. `urls`: page ids with addresses.
    """
    routes: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for page_id, url in urls:
        if page_id in screen_of:
            routes[screen_of[page_id]][route_of(url)] += 1
    found = NameFigures()
    for screen_id, counted in routes.items():
        route = min(counted, key=lambda each: (-counted[each], each))
        if route not in kept:
            continue
        found.screens += 1
        if _fold(names[screen_id]) in kept[route]:
            found.kept += 1
        else:
            found.others.append(f"{route}: {names[screen_id]}")
    return found


def _fold(name: str) -> str:
    return " ".join(name.casefold().split())
