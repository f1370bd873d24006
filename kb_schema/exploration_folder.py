"""Reads and writes the folder of an exploration while it goes on (`explorations` describes it).

Lines are appended and flushed to disk one by one, so a killed process loses at most the line it was writing.
An incomplete last line is ignored, and removed before the next write. A page's files are written before its
line. What to explore next is decided in `agent/exploration`.
Secrets that addresses carry are masked in all that is written, and a text of a page that looks like the place of a secret
(`{secret:NAME}`) is data of the page: its braces are replaced.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from kb_schema.address_secrets import mask_address_secrets
from kb_schema.documents import problems_of
from kb_schema.errors import KnowledgeError, Problem
from kb_schema.explorations import (
    AttemptedTransition,
    AttemptStart,
    Exploration,
    ExplorationPage,
    PageRevisit,
)
from kb_schema.nested_models import change_texts
from kb_schema.owner_folders import make_owner_folder
from kb_schema.page_snapshots import PageSnapshot
from kb_schema.placeholders import replace_secret_placeholders
from kb_schema.snapshot_folder import FACTS_SUFFIX, PAGE_SUFFIX, write_snapshot

EXPLORATION_FILE, PAGES_FILE, PASSAGES_FILE = "exploration.json", "pages.jsonl", "passages.jsonl"
BEGUN_FILE, REVISITS_FILE = "begun.jsonl", "revisits.jsonl"
PAGES_FOLDER, PICTURE_SUFFIX = "pages", ".jpg"

M = TypeVar("M", bound=BaseModel)
Redactor = Callable[[str], str]


class ExplorationFolder:
    """One exploration's folder. Reading an invalid folder raises `KnowledgeError` with file and line."""

    def __init__(self, path: Path, *, redact: Redactor | None = None) -> None:
        """`redact`: takes secrets out of each text before it is written."""
        self.path, self._redact = path, redact
        self._tidy: set[str] = set()
        """Files whose last line is known to be complete."""

    @property
    def exists(self) -> bool:
        """Whether an exploration was started here."""
        return (self.path / EXPLORATION_FILE).is_file()

    @property
    def exploration(self) -> Exploration:
        """Return the exploration: its settings, and how it ended."""
        file = self.path / EXPLORATION_FILE
        if not file.is_file():
            raise _refused("there is no exploration", str(file), "name a folder that `periplus map` wrote")
        return _model(Exploration, file.read_bytes(), str(file))

    def pages(self) -> list[ExplorationPage]:
        """Return the pages in the order in which they were found, each in its last written form."""
        found: dict[str, ExplorationPage] = {}
        for page in self._lines(PAGES_FILE, ExplorationPage):
            found[page.page_id] = page
        return list(found.values())

    def passages(self) -> list[AttemptedTransition]:
        """Return the attempted transitions in order."""
        return list(self._lines(PASSAGES_FILE, AttemptedTransition))

    def begun(self) -> list[tuple[str, str]]:
        """Return page and offer of each attempt that was allowed to change something, in order."""
        return [(each.page_id, each.offer_id) for each in self._lines(BEGUN_FILE, AttemptStart)]

    def revisits(self) -> list[PageRevisit]:
        """Return what became of the pages that were opened again, in order."""
        return list(self._lines(REVISITS_FILE, PageRevisit))

    def snapshot(self, page_id: str) -> PageSnapshot:
        """Return the snapshot of a page."""
        page, facts = (self._file(page_id, suffix) for suffix in (PAGE_SUFFIX, FACTS_SUFFIX))
        if not (page.is_file() and facts.is_file()):
            raise _refused("there is no such page", str(page), "name a `page_id` of pages.jsonl")
        stored = _model(PageSnapshot, facts.read_bytes(), str(facts))
        return stored.model_copy(update={"html": page.read_bytes().decode("utf-8-sig", "replace")})

    def snapshots(self) -> dict[str, PageSnapshot]:
        """Return the snapshots of all pages, by id."""
        return {page.page_id: self.snapshot(page.page_id) for page in self.pages()}

    def picture(self, page_id: str) -> Path | None:
        """Return the file of a page's picture (JPEG), or None."""
        file = self._file(page_id, PICTURE_SUFFIX)
        return file if file.is_file() else None

    # -- writing

    def begin(self, exploration: Exploration) -> None:
        """Write the exploration's settings, at the start and again when it resumes. Raises `OSError`."""
        make_owner_folder(self.path / PAGES_FOLDER)
        self._replace(EXPLORATION_FILE, exploration)

    def add_page(
        self, page: ExplorationPage, snapshot: PageSnapshot | None = None, picture: bytes | None = None
    ) -> None:
        """Write a page with its files; without a snapshot, update the record of a known page. Where a secret was taken out, there is no
        picture.
        """
        if snapshot is not None:
            clean = self._clean(snapshot)
            if clean != snapshot:
                snapshot, picture = clean, None
            stored = change_texts(snapshot, _make_plain)
            for file in write_snapshot(stored, self._file(page.page_id, PAGE_SUFFIX)):
                _flush(file)
        if picture is not None:
            file = self._file(page.page_id, PICTURE_SUFFIX)
            file.write_bytes(picture)
            _flush(file)
        if page.picture and self.picture(page.page_id) is None:
            page = page.model_copy(update={"picture": False})
        if mask_address_secrets(page.url) != page.url:  # as it is stored it opens something else
            page = page.model_copy(update={"openable": False})
        self._append(PAGES_FILE, page)

    def add_passage(self, passage: AttemptedTransition) -> None:
        """Append an attempted transition."""
        self._append(PASSAGES_FILE, passage)

    def add_begun(self, page_id: str, offer_id: str) -> None:
        """Record that an attempt that may change something on the site starts now."""
        self._append(BEGUN_FILE, AttemptStart(page_id=page_id, offer_id=offer_id))

    def add_revisit(self, revisit: PageRevisit) -> None:
        """Record what became of a page that was opened again."""
        self._append(REVISITS_FILE, revisit)

    def end(self, exploration: Exploration) -> None:
        """Record how the exploration ended."""
        self._replace(EXPLORATION_FILE, exploration)

    # -- files

    def _file(self, page_id: str, suffix: str) -> Path:
        if not page_id[:1].isalnum() or "/" in page_id or "\\" in page_id or "\0" in page_id:
            raise _refused(f"{page_id[:200]!r} is no id of a page", str(self.path), "name one of pages.jsonl")
        return self.path / PAGES_FOLDER / f"{page_id}{suffix}"

    def _clean(self, model: M) -> M:
        """Return a model without secrets in its texts; the model itself if it has none."""
        return model if self._redact is None else change_texts(model, self._redact)

    def _write(self, model: BaseModel, indent: int | None = None) -> str:
        """Return the JSON of a model as it is stored: without secrets, those of its addresses included."""
        redact = self._redact
        plain = _make_plain if redact is None else lambda text: _make_plain(redact(text))
        return change_texts(model, plain).model_dump_json(exclude_defaults=True, indent=indent)

    def _lines(self, name: str, model: type[M]) -> Iterator[M]:
        file = self.path / name
        if not file.is_file():
            return
        with file.open("rb") as lines:
            for number, line in enumerate(lines, start=1):
                if line.endswith(b"\n"):  # otherwise its writer was killed while writing it
                    yield _model(model, line, f"{file}, line {number}")

    def _append(self, name: str, model: BaseModel) -> None:
        file = self.path / name
        if name not in self._tidy:
            _cut_torn_line(file)
            self._tidy.add(name)
        with file.open("ab") as lines:
            lines.write(self._write(model).encode() + b"\n")
            lines.flush()
            os.fsync(lines.fileno())

    def _replace(self, name: str, model: BaseModel) -> None:
        file = self.path / name
        half = file.with_name(f"{name}.new")
        half.write_text(self._write(model, indent=2) + "\n", encoding="utf-8")
        _flush(half)
        half.replace(file)


def _make_plain(text: str) -> str:
    """Return a text of a website as it may be stored: without the secrets of its addresses, and without placeholders of secrets."""
    return replace_secret_placeholders(mask_address_secrets(text))


def _cut_torn_line(file: Path) -> None:
    """Remove an incomplete last line that a killed writer left."""
    if not file.is_file():
        return
    whole = file.read_bytes()
    kept = whole.rfind(b"\n") + 1
    if kept < len(whole):
        os.truncate(file, kept)


def _flush(file: Path) -> None:
    with file.open("rb+") as opened:
        os.fsync(opened.fileno())


def _model(model: type[M], data: bytes, source: str) -> M:
    try:
        return model.model_validate_json(data)
    except ValidationError as exc:
        raise KnowledgeError(problems_of(exc, None, source=source)) from exc


def _refused(message: str, source: str, fix: str) -> KnowledgeError:
    return KnowledgeError([Problem(message, source=source, fix=fix, rule="syntax")])
