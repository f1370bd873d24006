"""Reads a knowledge base from a folder of files: one document per file, folders by kind.

    website.yaml  screens/*.yaml  tasks/*.yaml  transitions/*.yaml ...   (see `loaders.files.folder_layout`)

YAML or JSON by extension; a file may hold one document or a list of them. All problems of all
files are reported together.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kb_schema import (
    MODELS,
    KnowledgeBase,
    KnowledgeError,
    Problem,
    SourcedDocument,
    assemble,
    parse_document,
)
from kb_schema.base import Document
from kb_schema.documents import did_you_mean, kind_of
from kb_schema.migrations import UNSTATED, stated_version, upgrade
from kb_schema.migrations.migration_registry import refuse_newer
from loaders.files.folder_layout import FOLDER_OF, FOLDERS, SUFFIXES, WEBSITE_STEM
from loaders.files.yaml_files import read_file


@dataclass(frozen=True, slots=True)
class _RawDocument:
    """One document as data, before it becomes a model."""

    data: Any
    source: str
    kind: str | None
    """The kind that its folder implies; None for files beside `website.yaml`."""


def read_folder(path: Path, digests: dict[str, str] | None = None) -> list[SourcedDocument]:
    """Return every document of a folder with its file; references are not checked. The digest of each file is added to `digests`.

    Raises `KnowledgeError` with every problem of every file: file, JSON path, message and fix.
    """
    problems: list[Problem] = []
    raws = list(_raw_documents(path, problems, digests))
    return _parse_all(raws, _schema_version(raws), problems)


def read_files(path: Path, names: Sequence[str]) -> tuple[list[SourcedDocument], dict[str, str]]:
    """Return the documents of some files of a folder, as `read_folder` has them, and the files' digests. Raises `KnowledgeError`."""
    problems: list[Problem] = []
    digests: dict[str, str] = {}
    raws = list(_raw_files(path, [path / name for name in names], problems, digests))
    websites = (
        file for file in sorted(path.iterdir()) if file.stem == WEBSITE_STEM and file.suffix in SUFFIXES
    )
    version = _schema_version(list(_raw_files(path, websites, problems)))
    return _parse_all(raws, version, problems), digests


def _parse_all(raws: Sequence[_RawDocument], version: int, problems: list[Problem]) -> list[SourcedDocument]:
    """Return the documents. Raises `KnowledgeError` with the given problems and those of the documents."""
    documents_read = [raw for raw in raws if isinstance(raw.data, Mapping)]
    refuse_newer((stated_version(raw.data, version) or UNSTATED, raw.source) for raw in documents_read)
    documents: list[SourcedDocument] = []
    for raw in raws:
        try:
            documents.append(SourcedDocument(_parsed(raw, version), raw.source))
        except KnowledgeError as exc:
            problems += exc.problems
    if problems:
        raise KnowledgeError(problems)
    return documents


def read_knowledge_folder(path: Path) -> tuple[KnowledgeBase, tuple[Problem, ...]]:
    """Return a folder as a checked knowledge base, with warnings.

    Raises `KnowledgeError` with every problem of the files, or, if each file is valid, with every broken
    reference and rule.
    """
    return assemble(read_folder(path))


def read_with_digests(path: Path) -> tuple[KnowledgeBase, tuple[Problem, ...], dict[str, str]]:
    """Return what `read_knowledge_folder` returns, and the digest of each file as it was read. Raises `KnowledgeError`."""
    digests: dict[str, str] = {}
    return (*assemble(read_folder(path, digests)), digests)


def read_documents_file(file: Path, kind: str) -> list[Document]:
    """Return the documents of one kind in a file outside of a folder; the file need not state the kind.

    Raises `KnowledgeError` with the place of each problem.
    """
    data = read_file(file, str(file))
    items = data if isinstance(data, list) else [data]
    return [
        parse_document(add_type(each, kind) if isinstance(each, Mapping) else each, source=str(file))
        for each in items
    ]


def knowledge_files(path: Path) -> Iterator[Path]:
    """Yield the files of a folder that are read, in a stable order."""
    for file in sorted(path.rglob("*")):
        hidden = any(part.startswith(".") for part in file.relative_to(path).parts)
        if file.suffix in SUFFIXES and not hidden and file.is_file():
            yield file


def kind_of_place(name: Path) -> str | None:
    """Return the kind that a file's relative path implies; None: any."""
    if len(name.parts) > 1:
        return FOLDERS.get(name.parts[0])
    return "website" if name.stem == WEBSITE_STEM else None


def add_type(data: Mapping[str, Any], kind: str | None) -> dict[str, Any]:
    """Return a document with the type implied by its path, if it states none."""
    default = None if kind is None else MODELS[kind].model_fields["type"].default
    return {**data} if "type" in data or not isinstance(default, str) else {**data, "type": default}


def _raw_documents(
    path: Path, problems: list[Problem], digests: dict[str, str] | None
) -> Iterator[_RawDocument]:
    if not path.is_dir():
        message = "is not a folder" if path.exists() else "there is no such folder"
        raise KnowledgeError(
            [Problem(message, source=str(path), fix="name the folder that holds website.yaml")]
        )
    if _is_inner_folder(path):
        raise KnowledgeError(
            [
                Problem(
                    f"holds the {path.name} of the knowledge base in {path.parent}",
                    source=str(path),
                    fix=f"name the folder that holds website.yaml: {path.parent}",
                )
            ]
        )
    files = list(knowledge_files(path))
    if not files:
        fix = "a knowledge base has a website.yaml and folders like screens/ and tasks/"
        raise KnowledgeError([Problem("holds no .yaml or .json file", source=str(path), fix=fix)])
    yield from _raw_files(path, files, problems, digests)


def _raw_files(
    path: Path, files: Iterable[Path], problems: list[Problem], digests: dict[str, str] | None = None
) -> Iterator[_RawDocument]:
    for file in files:
        parts = file.relative_to(path).parts
        source = "/".join(parts)
        if len(parts) > 1 and parts[0] not in FOLDERS:
            fix = did_you_mean(parts[0], FOLDERS) or f"one of {', '.join(FOLDERS)}"
            problems.append(Problem(f"unknown folder {parts[0]!r}", source=source, fix=fix, rule="syntax"))
            continue
        kind = kind_of_place(file.relative_to(path))
        try:
            data = read_file(file, source, digests)
        except KnowledgeError as exc:
            problems += exc.problems
            continue
        if isinstance(data, list):
            yield from (_RawDocument(item, f"{source}[{index}]", kind) for index, item in enumerate(data))
        else:
            yield _RawDocument(data, source, kind)


def _is_inner_folder(path: Path) -> bool:
    """Return whether a folder is one for a kind of document, beside the website's document."""
    around = path.resolve()
    return around.name in FOLDERS and any(
        (around.parent / f"{WEBSITE_STEM}{suffix}").is_file() for suffix in SUFFIXES
    )


def _schema_version(raws: Sequence[_RawDocument]) -> int:
    """Return the version of documents that state none: the website document's, else the oldest."""
    for raw in raws:
        if raw.kind == "website" and isinstance(raw.data, Mapping):
            return stated_version(raw.data) or UNSTATED
    return UNSTATED


def _parsed(raw: _RawDocument, version: int) -> Any:
    if not isinstance(raw.data, Mapping):
        return parse_document(raw.data, source=raw.source)  # which reports it in its own words
    data = upgrade(add_type(raw.data, raw.kind), unstated=version).document
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
