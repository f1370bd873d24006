"""Imports and exports knowledge: files, recordings, other tools' formats, explorations.

Uses the schema and the stores.
"""

from loaders.diffs.knowledge_diff import (
    AddedDocument,
    ChangedDocument,
    KnowledgeDiff,
    RemovedDocument,
    diff_knowledge,
)
from loaders.files.folder_reader import read_folder, read_knowledge_folder
from loaders.files.folder_writer import TargetFolderOccupied, write_folder

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
