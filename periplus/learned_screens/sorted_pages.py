"""Reads manually sorted pages. Each page is read once; only its profile is kept."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from kb_schema.base import LocalId
from kb_schema.snapshot_folder import Labels, StoredSnapshot, list_snapshots, read_labels
from kb_schema.url_patterns import origin_of, relative_path
from loaders.screen_learner.observed_pages import ObservedPage
from periplus.errors import UserError
from periplus.foreign_input import DEFAULT_BUDGET, ImportBudget, read_foreign
from web_pages.page_limits import PageRefused
from web_pages.page_profiles import build_page_profile
from web_pages.stored_pages import StoredPage

_ID = TypeAdapter(LocalId)


@dataclass(frozen=True, slots=True)
class SortedPage:
    """A stored page with its path and its label."""

    stored: StoredSnapshot
    base: str
    """Base URL of the page's website."""
    observed: ObservedPage

    @property
    def screen(self) -> str | None:
        """The screen id; None if the page belongs to no screen."""
        return self.observed.screen


def read_sorted_pages(
    folder: Path,
    labels: Path,
    base_url: str | None,
    budget: ImportBudget = DEFAULT_BUDGET,
    on_page: Callable[[str], None] = lambda _: None,
) -> list[SortedPage]:
    """Return the labelled pages of a folder; pages without a label are ignored.

    Facts and labels are read in a process with limits; pages have the limits of `web_pages.page_limits`.
    Raises `KnowledgeError` for an invalid folder or label file, `InputTooLarge` for too much of it, and `UserError` for an unreadable page or if
    the labels contain no screen.
    """
    stored, known = read_foreign((folder, labels), budget, _read_labelled, folder, labels)
    if not any(known.values()):
        raise UserError(
            f"{labels} contains no screen id", fix='add {"NAME": "screen_id"} for some of the pages'
        )
    found = []
    for each in stored:
        if each.name in known:
            on_page(each.name)
            found.append(_read_page(each, base_url, known[each.name]))
    return found


def read_stored_pages(
    folder: Path, base_url: str | None, budget: ImportBudget = DEFAULT_BUDGET
) -> list[SortedPage]:
    """Return all pages of a folder, without labels. Raises as `read_sorted_pages` does."""
    stored = read_foreign(folder, budget, list_snapshots, folder)
    return [_read_page(each, base_url, None) for each in stored]


def _read_page(stored: StoredSnapshot, base_url: str | None, screen: str | None) -> SortedPage:
    base = _base(stored, base_url)
    try:
        drawn = build_page_profile(StoredPage(stored.read()))
    except PageRefused as exc:
        raise UserError(f"{stored.page}: {exc}", fix="leave the page out") from exc
    path = relative_path(stored.facts.url, base)
    return SortedPage(stored, base, ObservedPage(drawn, path, stored.name, screen))


def _read_labelled(folder: Path, labels: Path) -> tuple[list[StoredSnapshot], Labels]:
    stored = list_snapshots(folder)
    return stored, read_labels(labels, {each.name for each in stored}, _screens(labels))


def choose_base_url(pages: Sequence[SortedPage], base_url: str | None) -> str:
    """Return the given base URL, else the one of most pages."""
    if base_url is not None:
        return base_url
    seen = Counter(page.base for page in pages if page.base)
    if not seen:
        raise UserError(
            "the pages do not contain the address of their website", fix="set it with --base-url URL"
        )
    return min(seen, key=lambda base: (-seen[base], base))


def hash_sorted_pages(pages: Sequence[SortedPage]) -> str:
    """Return a hash of the pages and their labels that does not depend on their location."""
    said = sorted([page.stored.name, page.stored.facts.url, page.screen] for page in pages)
    return hashlib.sha256(json.dumps(said).encode()).hexdigest()[:12]


def _base(stored: StoredSnapshot, base_url: str | None) -> str:
    """Return the given base URL, unless the page is from another instance of the website."""
    own = origin_of(stored.facts.url)
    return base_url if base_url is not None and origin_of(base_url) == own else own


def _screens(labels: Path) -> set[str]:
    """Return the screens in a label file; they need not exist in the knowledge base."""
    try:
        data = json.loads(labels.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError, RecursionError):
        return set()  # `read_labels` reports the error
    given = {each for each in data.values() if isinstance(each, str)} if isinstance(data, dict) else set()
    for each in sorted(given):
        try:
            _ID.validate_python(each)
        except ValidationError as exc:
            raise UserError(
                f"{labels}: {each!r} is not a valid screen id",
                fix="use letters, digits, `_`, `-` and `.`, starting with a letter or digit",
            ) from exc
    return given
