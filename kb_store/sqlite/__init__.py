"""The stores in one SQLite file: nothing to install, nothing to start."""

from kb_store.sqlite.database import SqliteDatabase
from kb_store.sqlite.document_store import SqliteDocumentStore
from kb_store.sqlite.graph_store import SqliteGraphStore

__all__ = ["SqliteDatabase", "SqliteDocumentStore", "SqliteGraphStore"]
