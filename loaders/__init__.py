"""Imports and exports knowledge: files, recordings, other tools' formats, explorations.

Uses the schema and the stores.

A name is imported when it is used first (decision 0116).
"""

from typing import TYPE_CHECKING

from kb_schema.public_names import import_on_use

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

__getattr__ = import_on_use(__name__, _MODULES)
