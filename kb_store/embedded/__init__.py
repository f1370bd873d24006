"""Both stores in one SQLite file: nothing to install, nothing to start."""

from kb_store.embedded.database import Database
from kb_store.embedded.documents import EmbeddedDocumentStore
from kb_store.embedded.graph import EmbeddedGraphStore

__all__ = ["Database", "EmbeddedDocumentStore", "EmbeddedGraphStore"]
