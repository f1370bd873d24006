"""Stores for the knowledge of websites, in generations that readers always see complete.

`ports.py` defines a document store and a graph store, `sqlite/`, `mongodb/` and `arangodb/` implement them.
`knowledge_loader.py`, `knowledge_reader.py` and `status.py` work with any implementation.
"""

from kb_store.errors import (
    GenerationGone,
    LeaseLost,
    LoadConflict,
    NoSuchWebsite,
    StoreCorrupt,
    StoreError,
    StoreUnavailable,
)
from kb_store.knowledge_loader import LoadProgress, LoadReport, load_knowledge
from kb_store.knowledge_reader import read_knowledge, revision
from kb_store.ports import DocumentStore, GraphStore
from kb_store.status import StoreStatus, WebsiteStatus, store_status
from kb_store.store_factory import Stores, open_stores

__all__ = [
    "DocumentStore",
    "GenerationGone",
    "GraphStore",
    "LeaseLost",
    "LoadConflict",
    "LoadProgress",
    "LoadReport",
    "NoSuchWebsite",
    "StoreCorrupt",
    "StoreError",
    "StoreStatus",
    "StoreUnavailable",
    "Stores",
    "WebsiteStatus",
    "load_knowledge",
    "open_stores",
    "read_knowledge",
    "revision",
    "store_status",
]
