"""The stores in MongoDB: documents, and the graph if there is no ArangoDB."""

from kb_store.mongodb.connection import MongoConnection
from kb_store.mongodb.document_store import MongoDocumentStore
from kb_store.mongodb.graph_store import MongoGraphStore

__all__ = ["MongoConnection", "MongoDocumentStore", "MongoGraphStore"]
