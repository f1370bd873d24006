"""Snapshots and labels on disk: `NAME.html` beside `NAME.json`, and `{NAME: screen_id}`.

`NAME` may contain folders (`v2/agent_create`). All problems of a folder are reported together, before the
first page is read.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pydantic import ValidationError

from kb_schema.documents import did_you_mean, problems_of
from kb_schema.errors import KnowledgeError, Problem
from kb_schema.page_snapshots import PageSnapshot

PAGE_SUFFIX, FACTS_SUFFIX = ".html", ".json"
MOST_BYTES = 40_000_000
"""The size of a file; a page has at most ten million characters."""

Labels = dict[str, str | None]
"""Name of a snapshot -> its screen; None: a page of no known screen."""


@dataclass(frozen=True, slots=True)
class StoredSnapshot:
    """A snapshot of a folder. Its facts are loaded; its page is read on demand."""

    name: str
    page: Path
    facts: PageSnapshot = field(repr=False)
    """Everything but the HTML."""

    def read(self) -> PageSnapshot:
        """Return the whole snapshot. Raises `KnowledgeError` if its page is not text."""
        return self.facts.model_copy(update={"html": _text(self.page, f"{self.name}{PAGE_SUFFIX}")})


def list_snapshots(folder: Path) -> list[StoredSnapshot]:
    """Return the snapshots of a folder, sorted by name.

    Raises `KnowledgeError` with all problems: a missing folder, a page without facts or the reverse, invalid
    facts, no snapshot at all.
    """
    if not folder.is_dir():
        message = "is not a folder" if folder.exists() else "there is no such folder"
        raise _refused(message, str(folder), "name the folder that holds NAME.html and NAME.json")
    pages, files = (_by_name(folder, suffix) for suffix in (PAGE_SUFFIX, FACTS_SUFFIX))
    problems: list[Problem] = []
    found: list[StoredSnapshot] = []
    for name, page in pages.items():
        try:
            found.append(StoredSnapshot(name, page, _facts(name, files.get(name))))
        except KnowledgeError as exc:
            problems += exc.problems
    problems += _pageless((name, file) for name, file in files.items() if name not in pages)
    if not problems and not found:
        raise _refused(
            "holds no snapshot", str(folder), "put NAME.html with NAME.json there: periplus snapshot URL"
        )
    if problems:
        raise KnowledgeError(problems)
    return found


def write_snapshot(snapshot: PageSnapshot, path: Path) -> tuple[Path, Path]:
    """Write `path`.html and `path`.json and return both paths.

    A suffix of either kind is removed from `path`, and the folder is created. Raises `OSError`.
    """
    stem = path.with_suffix("") if path.suffix in (PAGE_SUFFIX, FACTS_SUFFIX) else path
    page, facts = (stem.with_name(stem.name + suffix) for suffix in (PAGE_SUFFIX, FACTS_SUFFIX))
    stem.parent.mkdir(parents=True, exist_ok=True)
    stored = {"url": snapshot.url, "title": snapshot.title, **snapshot.to_json()}
    stored.pop("html", None)
    page.write_text(snapshot.html, encoding="utf-8", newline="")
    facts.write_text(json.dumps(stored, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return page, facts


def read_labels(file: Path, names: Collection[str], screens: Collection[str]) -> Labels:
    """Return the labels of snapshots.

    Raises `KnowledgeError` with every label that names an unknown snapshot or screen.
    """
    source = str(file)
    data = _json(file, source)
    if not isinstance(data, dict):
        raise _refused("is not one JSON object", source, 'write {"NAME": "screen_id", ...}')
    problems = [
        problem
        for name, screen_id in data.items()
        for problem in _label_problems(name, screen_id, source, names, screens)
    ]
    if problems:
        raise KnowledgeError(problems)
    return data


def _label_problems(
    name: str, screen_id: Any, source: str, names: Collection[str], screens: Collection[str]
) -> Iterable[Problem]:
    path = f"$.{name}"
    if name not in names:
        fix = did_you_mean(name, sorted(names)) or f"save it as {name}{PAGE_SUFFIX}, or remove the label"
        yield Problem(f"no snapshot {name!r}", path=path, source=source, fix=fix, rule="labels")
    if screen_id is None or screen_id in screens:
        return
    if not isinstance(screen_id, str):
        message, fix = "a label is the id of a screen", "or null, for a page that is no known screen"
    else:
        message = f"no screen {screen_id!r}"
        fix = did_you_mean(screen_id, sorted(screens)) or "null stands for a page that is no known screen"
    yield Problem(message, path=path, source=source, fix=fix, rule="labels")


def _by_name(folder: Path, suffix: str) -> dict[str, Path]:
    found = (path for path in sorted(folder.rglob(f"*{suffix}")) if path.is_file())
    return {path.relative_to(folder).as_posix().removesuffix(suffix): path for path in found}


def _facts(name: str, file: Path | None) -> PageSnapshot:
    source = f"{name}{FACTS_SUFFIX}"
    if file is None:
        raise _refused(
            f"{name}{PAGE_SUFFIX} is here without it", source, 'write {"url": ..., "title": ...} into it'
        )
    data = _json(file, source)
    if not isinstance(data, dict):
        raise _refused("is not one JSON object", source, 'write {"url": ..., "title": ...}')
    if "html" in data:
        raise _refused("holds the page itself", source, f"move `html` to {name}{PAGE_SUFFIX}")
    try:
        facts = PageSnapshot.model_validate_json(json.dumps(data))
    except ValidationError as exc:
        raise KnowledgeError(problems_of(exc, data, source=source)) from exc
    try:
        urlsplit(facts.url)
    except ValueError as exc:
        message = f"{facts.url!r} is no URL: {exc}"
        raise KnowledgeError(
            [Problem(message, path="$.url", source=source, fix="write the page's address")]
        ) from exc
    return facts


def _pageless(files: Iterable[tuple[str, Path]]) -> Iterable[Problem]:
    """Yield a problem for facts without a page. Other JSON files (labels, say) may be in the folder."""
    for name, file in files:
        source = f"{name}{FACTS_SUFFIX}"
        try:
            data = _json(file, source)
        except KnowledgeError as exc:
            yield from exc.problems
            continue
        if isinstance(data, dict) and "url" in data and set(data) <= set(PageSnapshot.model_fields):
            fix = f"save the page as {name}{PAGE_SUFFIX}, or remove the file"
            yield Problem(f"there is no {name}{PAGE_SUFFIX}", source=source, fix=fix, rule="syntax")


def _json(file: Path, source: str) -> Any:
    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) != len(pairs):
            keys = [key for key, _ in pairs]
            twice = next(key for key in keys if keys.count(key) > 1)
            raise _refused(f"{twice!r} stands there twice", source, "keep one of the two")
        return found

    try:
        return json.loads(_text(file, source), object_pairs_hook=once)
    except json.JSONDecodeError as exc:
        place = f"line {exc.lineno}, column {exc.colno}"
        raise _refused(f"is not JSON: {exc.msg} ({place})", source, "correct the file") from exc
    except RecursionError as exc:
        raise _refused("is nested too deep", source, "correct the file") from exc


def _text(file: Path, source: str) -> str:
    try:
        if file.stat().st_size > MOST_BYTES:
            raise _refused(f"is larger than {MOST_BYTES // 1_000_000} MB", source, "leave the page out")
        return file.read_bytes().decode("utf-8-sig")
    except OSError as exc:
        raise _refused(
            f"cannot be read: {exc.strerror or exc}", source, "name a file that can be read"
        ) from exc
    except UnicodeDecodeError as exc:
        raise _refused(f"is not UTF-8 text (byte {exc.start})", source, "save it as UTF-8") from exc


def _refused(message: str, source: str, fix: str) -> KnowledgeError:
    return KnowledgeError([Problem(message, source=source, fix=fix, rule="syntax")])
