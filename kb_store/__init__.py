"""The shelves: where the knowledge of websites is kept, under generations that are never torn.

`ports.py` says what a store is; `embedded/` is the one that needs no server; `load.py`, `read.py`
and `status.py` are written over the ports and work with any of them.
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
from kb_store.load import LoadProgress, LoadReport, load_knowledge
from kb_store.opening import Stores, open_stores
from kb_store.ports import DocumentStore, GraphStore
from kb_store.read import read_knowledge, revision
from kb_store.status import StoreStatus, WebsiteStatus, store_status

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
