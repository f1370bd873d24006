"""Reads the manifest of promises: what the five source documents ask for, and what shows that it is so.

One YAML file for each document. A promise has either tests that show it through what a user can reach, or the decision
note that says why it is different. `open` names what is missing; the number of open promises may only fall.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, model_validator

FOLDER = Path(__file__).parent
ROOT = FOLDER.parents[1]
DECISIONS = ROOT / "docs" / "decisions"
Key = Literal["KS", "MA", "PACTS", "WR", "OL"]
KINDS = ("command", "mcp", "rest", "console", "python")


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Promise(_Strict):
    """One requirement of a document, in our own words."""

    section: str
    """As in `sections` of the document."""
    promise: str = Field(min_length=10)
    through: str | None = None
    """How a user reaches it: `command run`, `mcp find_path`, `rest POST /api/run`, `console /runs`, `python MODULE.NAME`."""
    tests: tuple[str, ...] = ()
    """`tests/FILE.py::test_function`, each of which fails if the promise is broken."""
    decision: str | None = None
    """Number of the note in docs/decisions, for what is different from the document."""
    open: str | None = None
    """What is missing."""

    @model_validator(mode="after")
    def _has_one_answer(self) -> Promise:
        if sum(map(bool, (self.tests, self.decision, self.open))) != 1:
            raise ValueError(f"{self.promise!r} needs either `tests`, a `decision` or `open`")
        if self.tests and (self.through is None or self.through.partition(" ")[0] not in KINDS):
            raise ValueError(
                f"{self.promise!r} has tests, so `through` must begin with one of {', '.join(KINDS)}"
            )
        return self


class SourceDocument(_Strict):
    """One of the five documents, with its sections and promises."""

    key: Key
    title: str
    subject: str
    sections: dict[str, str]
    """Number -> heading, of every section that code, documentation or a promise cites."""
    promises: tuple[Promise, ...]

    @model_validator(mode="after")
    def _sections_are_known(self) -> SourceDocument:
        unknown = {each.section for each in self.promises} - self.sections.keys()
        if unknown:
            raise ValueError(
                f"promises of {self.key} name sections that `sections` has not: {sorted(unknown)}"
            )
        return self


def read_manifest() -> list[SourceDocument]:
    """Return the five documents, in the order of their keys' list. Raises `pydantic.ValidationError`."""
    order: list[str] = list(Key.__args__)
    found = [
        SourceDocument.model_validate(yaml.safe_load(path.read_text(encoding="utf-8")))
        for path in sorted(FOLDER.glob("*.yaml"))
    ]
    return sorted(found, key=lambda each: order.index(each.key))


@cache
def list_tests(path: str) -> frozenset[str]:
    """Return the names of the test functions of a file; none if there is no such file."""
    file = ROOT / path
    if not file.is_file():
        return frozenset()
    tree = ast.parse(file.read_text(encoding="utf-8"))
    functions = (each for each in ast.walk(tree) if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef))
    return frozenset(each.name for each in functions if each.name.startswith("test_"))


def find_decision(number: str) -> Path | None:
    """Return the note of a number, such as `0012`."""
    return next(iter(sorted(DECISIONS.glob(f"{number}-*.md"))), None)


def render_sources(documents: list[SourceDocument]) -> str:
    """Return docs/sources.md."""
    return "\n".join([_HEAD, *_list_documents(documents), "", *_list_sections(documents)]).rstrip() + "\n"


def _list_documents(documents: list[SourceDocument]) -> Iterator[str]:
    yield "| key | title | subject | promises | shown by tests | decided otherwise | open |"
    yield "|---|---|---|---|---|---|---|"
    for each in documents:
        tested = sum(bool(one.tests) for one in each.promises)
        decided = sum(one.decision is not None for one in each.promises)
        left = sum(one.open is not None for one in each.promises)
        yield (
            f"| {each.key} | {each.title} | {each.subject} | {len(each.promises)} | {tested} | {decided} | {left} |"
        )


def _list_sections(documents: list[SourceDocument]) -> Iterator[str]:
    for document in documents:
        yield f"## {document.key}: {document.title}"
        yield ""
        yield "| section | promise | shown by |"
        yield "|---|---|---|"
        for section, heading in document.sections.items():
            mine = [each for each in document.promises if each.section == section]
            yield f"| {document.key} {section} | *{heading}* | |"
            for each in mine:
                yield f"| | {_cell(each.promise)} | {_cell(_describe_answer(each))} |"
        yield ""


def _describe_answer(promise: Promise) -> str:
    if promise.open is not None:
        return f"open: {promise.open}"
    if promise.decision is not None:
        note = find_decision(promise.decision)
        return f"[decision {promise.decision}](decisions/{note.name if note else ''})"
    return f"{promise.through}: " + ", ".join(f"`{each.rpartition('::')[2]}`" for each in promise.tests)


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())


_HEAD = """# Sources

After this page you can read a reference such as `KS 9.7` in a comment or on a page of the documentation, and you know what
shows each promise of the documents. It is written by `python -m tests.promises` from `tests/promises`.

Periplus was designed after five documents of the project that are not part of this repository. What comes from one of
them cites its key and section. A word in backticks (KS `session_context`) is a name in that document. Where code and
document differ, a note in [decisions](decisions) gives the reason. `WR 3` and "WR phase 3" are the same; `WR 3.1` is step 3.1 of that
phase. OL has no numbered sections.
"""
