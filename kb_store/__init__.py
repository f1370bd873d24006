"""Stores for the knowledge of websites, in generations that readers always see complete.

`ports.py` defines a document store and a graph store, `sqlite/`, `mongodb/` and `arangodb/` implement them.
`knowledge_loader.py`, `knowledge_reader.py` and `status.py` work with any implementation.

A name is imported when it is used first (decision 0116).
"""

from typing import TYPE_CHECKING

from kb_schema.public_names import import_on_use

if TYPE_CHECKING:
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

_MODULES = {
    "DocumentStore": "ports",
    "GenerationGone": "errors",
    "GraphStore": "ports",
    "LeaseLost": "errors",
    "LoadConflict": "errors",
    "LoadProgress": "knowledge_loader",
    "LoadReport": "knowledge_loader",
    "NoSuchWebsite": "errors",
    "StoreCorrupt": "errors",
    "StoreError": "errors",
    "StoreStatus": "status",
    "StoreUnavailable": "errors",
    "Stores": "store_factory",
    "WebsiteStatus": "status",
    "load_knowledge": "knowledge_loader",
    "open_stores": "store_factory",
    "read_knowledge": "knowledge_reader",
    "revision": "knowledge_reader",
    "store_status": "status",
}

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

__getattr__ = import_on_use(__name__, _MODULES)
