"""How knowledge gets in and out: files today. Knows the vocabulary and the stores, nothing above."""

from loaders.diff import Added, Changed, KnowledgeDiff, Removed, diff
from loaders.export import FolderInTheWay, write_folder
from loaders.files import read_folder, read_knowledge_folder

__all__ = [
    "Added",
    "Changed",
    "FolderInTheWay",
    "KnowledgeDiff",
    "Removed",
    "diff",
    "read_folder",
    "read_knowledge_folder",
    "write_folder",
]
