"""Imports and exports knowledge: files, recordings, other tools' formats, explorations.

Uses the schema and the stores.

A name is imported when it is used first (decision 0116).
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from loaders.diffs.knowledge_diff import (
        AddedDocument,
        ChangedDocument,
        KnowledgeDiff,
        RemovedDocument,
        diff_knowledge,
    )
    from loaders.files.folder_reader import read_folder, read_knowledge_folder
    from loaders.files.folder_writer import TargetFolderOccupied, write_folder

_MODULES = {
    "AddedDocument": "diffs.knowledge_diff",
    "ChangedDocument": "diffs.knowledge_diff",
    "KnowledgeDiff": "diffs.knowledge_diff",
    "RemovedDocument": "diffs.knowledge_diff",
    "TargetFolderOccupied": "files.folder_writer",
    "diff_knowledge": "diffs.knowledge_diff",
    "read_folder": "files.folder_reader",
    "read_knowledge_folder": "files.folder_reader",
    "write_folder": "files.folder_writer",
}

__all__ = [
    "AddedDocument",
    "ChangedDocument",
    "KnowledgeDiff",
    "RemovedDocument",
    "TargetFolderOccupied",
    "diff_knowledge",
    "read_folder",
    "read_knowledge_folder",
    "write_folder",
]


def __getattr__(name: str) -> Any:
    """Import a public name when it is used first."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    globals()[name] = value
    return value
