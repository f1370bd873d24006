"""A knowledge base from a folder of files (DESIGN 8): one document per file, folders by kind.

    website.yaml  screens/*.yaml  tasks/*.yaml  transitions/*.yaml ...   (see `loaders.layout`)

YAML or JSON by extension; a file may hold one document or a list of them. All problems of all
files are told at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kb_schema import (
    MODELS,
    KnowledgeBase,
    KnowledgeError,
    Problem,
    Sourced,
    assemble,
    parse_document,
)
from kb_schema.documents import did_you_mean, kind_of
from kb_schema.migrations import UNSTATED, stated_version, upgrade
from kb_schema.migrations.registry import refuse_newer
from loaders.layout import FOLDER_OF, FOLDERS, SUFFIXES, WEBSITE_STEM
from loaders.text import read_file


@dataclass(frozen=True, slots=True)
class _Raw:
    """One document as it was read, before it is a model."""

    data: Any
    source: str
    kind: str | None
    """What its folder says it is; None for files beside `website.yaml`."""


def read_folder(path: Path) -> list[Sourced]:
    """Every document of a folder, each with the file it is from, unchecked among each other.

    Raises `KnowledgeError` with every problem of every file: file, JSON path, message and fix.
    """
    problems: list[Problem] = []
    raws = list(_raw_documents(path, problems))
    version = _schema_version(raws)
    documents_read = [raw for raw in raws if isinstance(raw.data, Mapping)]
    refuse_newer((stated_version(raw.data, version) or UNSTATED, raw.source) for raw in documents_read)
    documents: list[Sourced] = []
    for raw in raws:
        try:
            documents.append(Sourced(_parsed(raw, version), raw.source))
        except KnowledgeError as exc:
            problems += exc.problems
    if problems:
        raise KnowledgeError(problems)
    return documents


def read_knowledge_folder(path: Path) -> tuple[KnowledgeBase, tuple[Problem, ...]]:
    """A folder as a checked knowledge base, with warnings.

    Raises `KnowledgeError` with every problem of the files, or, when each file is fine by
    itself, with every broken reference and rule among them.
    """
    return assemble(read_folder(path))


def knowledge_files(path: Path) -> Iterator[Path]:
    """The files of a knowledge base's folder that are read, in a stable order."""
    for file in sorted(path.rglob("*")):
        hidden = any(part.startswith(".") for part in file.relative_to(path).parts)
        if file.suffix in SUFFIXES and not hidden and file.is_file():
            yield file


def kind_of_place(name: Path) -> str | None:
    """What the place of a file, relative to its folder, says it holds; None: anything."""
    if len(name.parts) > 1:
        return FOLDERS.get(name.parts[0])
    return "website" if name.stem == WEBSITE_STEM else None


def typed(data: Mapping[str, Any], kind: str | None) -> dict[str, Any]:
    """A document with the type that its place says it has, where it states none."""
    default = None if kind is None else MODELS[kind].model_fields["type"].default
    return {**data} if "type" in data or not isinstance(default, str) else {**data, "type": default}


def _raw_documents(path: Path, problems: list[Problem]) -> Iterator[_Raw]:
    if not path.is_dir():
        message = "is not a folder" if path.exists() else "there is no such folder"
        raise KnowledgeError(
            [Problem(message, source=str(path), fix="name the folder that holds website.yaml")]
        )
    files = list(knowledge_files(path))
    if not files:
        fix = "a knowledge base has a website.yaml and folders like screens/ and tasks/"
        raise KnowledgeError([Problem("holds no .yaml or .json file", source=str(path), fix=fix)])
    for file in files:
        parts = file.relative_to(path).parts
        source = "/".join(parts)
        if len(parts) > 1 and parts[0] not in FOLDERS:
            fix = did_you_mean(parts[0], FOLDERS) or f"one of {', '.join(FOLDERS)}"
            problems.append(Problem(f"unknown folder {parts[0]!r}", source=source, fix=fix, rule="syntax"))
            continue
        kind = kind_of_place(file.relative_to(path))
        try:
            data = read_file(file, source)
        except KnowledgeError as exc:
            problems += exc.problems
            continue
        if isinstance(data, list):
            yield from (_Raw(item, f"{source}[{index}]", kind) for index, item in enumerate(data))
        else:
            yield _Raw(data, source, kind)


def _schema_version(raws: list[_Raw]) -> int:
    """The version of documents that do not say theirs: the website document's, else the oldest."""
    for raw in raws:
        if raw.kind == "website" and isinstance(raw.data, Mapping):
            return stated_version(raw.data) or UNSTATED
    return UNSTATED


def _parsed(raw: _Raw, version: int) -> Any:
    if not isinstance(raw.data, Mapping):
        return parse_document(raw.data, source=raw.source)  # refuses it in its own words
    data = upgrade(typed(raw.data, raw.kind), unstated=version).document
    if "schema_version" not in data:
        data["schema_version"] = version
    stated = kind_of(data)
    if raw.kind is not None and stated is not None and stated != raw.kind:
        home = f"{FOLDER_OF[stated]}/" if stated in FOLDER_OF else "website.yaml"
        problem = Problem(
            f"is a {stated}, but its place is for a {raw.kind}",
            path="$.type",
            source=raw.source,
            fix=f"move it to {home} or correct its type",
        )
        raise KnowledgeError([problem])
    return parse_document(data, source=raw.source)
