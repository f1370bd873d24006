"""Pages that somebody sorted by hand, as the learner takes them. Each is read once, then only its sketch is kept."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from kb_schema.base import LocalId
from kb_schema.pages.folder import StoredSnapshot, list_snapshots, read_labels
from kb_schema.pages.limits import PageRefused
from kb_schema.pages.sketch import sketch
from kb_schema.pages.stored import StoredPage
from kb_schema.urls import origin_of, relative_path
from loaders.signatures.seen import ObservedPage
from periplus.errors import UserError

_ID = TypeAdapter(LocalId)


@dataclass(frozen=True, slots=True)
class SortedPage:
    """A stored page, where it lies, and what it was sorted as."""

    stored: StoredSnapshot
    base: str
    """The base URL it is of."""
    observed: ObservedPage

    @property
    def screen(self) -> str | None:
        """None: it is of no screen."""
        return self.observed.screen


def read_sorted(
    folder: Path, labels: Path, base_url: str | None, on_page: Callable[[str], None] = lambda _: None
) -> list[SortedPage]:
    """The labelled pages of a folder; those without a label are left alone. Raises `KnowledgeError` for a folder
    or labels that cannot be used, `UserError` for a page that cannot be read and where no screen is named.
    """
    stored = list_snapshots(folder)
    known = read_labels(labels, {each.name for each in stored}, _screens(labels))
    if not any(known.values()):
        raise UserError(f"{labels} names no screen", fix='write {"NAME": "screen_id"} for some of the pages')
    found = []
    for each in stored:
        if each.name not in known:
            continue
        on_page(each.name)
        base = _base(each, base_url)
        try:
            drawn = sketch(StoredPage(each.read()))
        except PageRefused as exc:
            raise UserError(f"{each.page}: {exc}", fix="leave the page out") from exc
        path = relative_path(each.facts.url, base)
        found.append(SortedPage(each, base, ObservedPage(drawn, path, each.name, known[each.name])))
    return found


def site_of(pages: Sequence[SortedPage], base_url: str | None) -> str:
    """The base URL to write down: the one given, else where most pages were seen."""
    if base_url is not None:
        return base_url
    seen = Counter(page.base for page in pages if page.base)
    if not seen:
        raise UserError("the pages do not say which site they are of", fix="name it: --base-url URL")
    return min(seen, key=lambda base: (-seen[base], base))


def fingerprint(pages: Sequence[SortedPage]) -> str:
    """The same for the same pages sorted alike, wherever they lie; another one for any others."""
    said = sorted([page.stored.name, page.stored.facts.url, page.screen] for page in pages)
    return hashlib.sha256(json.dumps(said).encode()).hexdigest()[:12]


def _base(stored: StoredSnapshot, base_url: str | None) -> str:
    """The one given, unless the page was seen elsewhere: another instance of the site."""
    own = origin_of(stored.facts.url)
    return base_url if base_url is not None and origin_of(base_url) == own else own


def _screens(labels: Path) -> set[str]:
    """The screens that labels name; here, they need not be known."""
    try:
        data = json.loads(labels.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError, RecursionError):
        return set()  # `read_labels` says what is wrong
    given = {each for each in data.values() if isinstance(each, str)} if isinstance(data, dict) else set()
    for each in sorted(given):
        try:
            _ID.validate_python(each)
        except ValidationError as exc:
            raise UserError(
                f"{labels}: {each!r} cannot be the id of a screen",
                fix="use letters, digits, `_`, `-` and `.`, a letter or digit first",
            ) from exc
    return given
