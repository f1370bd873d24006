"""How right a map is: its pages grouped into screens, against who knew the site before."""

from __future__ import annotations

import io
import re
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import yaml
from playwright.async_api import Browser
from rich.console import Console

from kb_schema import KnowledgeBase
from kb_schema.explorations import ExplorationPage, MapLimits
from kb_schema.page_snapshots import PageSnapshot
from loaders.exploration_import.explored_pages import ExploredSite
from mcp_server.identification.screen_identification import identify
from mcp_server.knowledge.compiled_view import compile_view
from periplus.exploration.map_folder import MapFolder
from periplus.exploration.map_run import MapRunPlan, map_website
from periplus.exploration.map_view import MapView
from periplus.exploration.sign_in_methods import sign_in_with_form
from web_pages.stored_pages import answer_probes

DJANGO = Path(__file__).parents[1] / "data" / "mapping" / "django.yaml"

NOT_BY_LOOKING = {
    "login_code": "asked for only where an account wants it",
    "session_expired": "comes up when a session ends meanwhile",
    "error_not_found": "no page leads to what is not there",
    "error_server": "comes up when the site fails",
    "campaign_create_audience": "behind a button that sends a form",
    "campaign_create_review": "behind a button that sends a form",
}
"""Screens that read-only rules do not lead to, and why."""


@dataclass(frozen=True)
class Rates:
    """Of pairs of pages: which share that was put together belongs together, and the other way round."""

    precision: float
    recall: float
    pages: int

    @property
    def f1(self) -> float:
        both = self.precision + self.recall
        return 2 * self.precision * self.recall / both if both else 0.0

    def __str__(self) -> str:
        return f"precision {self.precision:.3f}, recall {self.recall:.3f}, F1 {self.f1:.3f} of {self.pages} pages"


def pairwise(found: Mapping[str, str], truth: Mapping[str, str]) -> Rates:
    """By page id: what it was taken for, what it is. Pages that nothing is known of are left out.

    >>> pairwise({"a": "x", "b": "x", "c": "x"}, {"a": "1", "b": "1", "c": "2"}).f1
    0.5
    """
    pages = sorted(found.keys() & truth.keys())
    both = _pairs(Counter((found[page], truth[page]) for page in pages).values())
    taken = _pairs(Counter(found[page] for page in pages).values())
    true = _pairs(Counter(truth[page] for page in pages).values())
    return Rates(both / taken if taken else 1.0, both / true if true else 1.0, len(pages))


def _pairs(sizes: Iterable[int]) -> int:
    return sum(size * (size - 1) // 2 for size in sizes)


def identified(knowledge: KnowledgeBase, pages: Mapping[str, PageSnapshot], base: str) -> dict[str, str]:
    """The screen of each page that the knowledge knows."""
    view = compile_view(knowledge, "g")
    found = {
        page_id: identify(view, page, answer_probes, base_url=base).screen_id
        for page_id, page in pages.items()
    }
    return {page_id: screen for page_id, screen in found.items() if screen is not None}


@dataclass(frozen=True)
class MappedSite:
    """A map of a running site."""

    seen: ExploredSite
    knowledge: KnowledgeBase
    labels: Mapping[str, str]
    """By page id: the screen in which the map put it."""
    own: Mapping[str, str]
    """By page id: the screen for which the map itself takes it."""
    seconds: float


async def map_site(
    browser: Browser, url: str, path: Path, account: Mapping[str, str], seconds: float, **more: Any
) -> MappedSite:
    """Map a site from an address, signed in with its form if there is an account, into a folder.

    `seconds`: for exploring. `more`: further fields of `MapRunPlan`.
    """
    began = time.monotonic()
    folder = MapFolder(path)
    plan = MapRunPlan("site", url, folder, MapLimits(per_second=100.0, seconds=seconds), **more)
    sign_in = (lambda each: sign_in_with_form(each, url, account)) if account else None
    explored, _ = await map_website(browser, plan, sign_in, MapView(Console(file=io.StringIO()), "a map"))
    seen = ExploredSite(folder.exploration, folder.signed_out)
    labels = {page: screen for screen, pages in explored.screens.items() for page in pages}
    own = identified(explored.knowledge, {p: seen.snapshot(p) for p in labels}, seen.exploration.base_url)
    return MappedSite(seen, explored.knowledge, labels, own, time.monotonic() - began)


class DjangoTruth:
    """The list of screens that was written down before."""

    def __init__(self) -> None:
        told = yaml.safe_load(DJANGO.read_text(encoding="utf-8"))
        self.patterns: dict[str, str] = dict(told["screens"])
        for model in told["models"]:
            for view, pattern in told["views"].items():
                self.patterns[f"{model.replace('/', '_')}_{view}"] = pattern.replace("{model}", model)
        self.only_when_allowed = {
            screen for screen in self.patterns if screen.rpartition("_")[2] in told["only_when_allowed"]
        }

    def screens(self, pages: Iterable[ExplorationPage]) -> dict[str, str]:
        """The screen of each page whose path is one of the list's."""
        found = {}
        for page in pages:
            path = urlsplit(page.url).path
            screen = next((s for s, pattern in self.patterns.items() if re.fullmatch(pattern, path)), None)
            if screen is not None:
                found[page.page_id] = screen
        return found
