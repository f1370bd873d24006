"""The stores in MongoDB: documents, and the graph where there is no ArangoDB."""

from kb_store.mongodb.connection import Connection
from kb_store.mongodb.documents import MongoDocumentStore
from kb_store.mongodb.graph import MongoGraphStore

__all__ = ["Connection", "MongoDocumentStore", "MongoGraphStore"]
