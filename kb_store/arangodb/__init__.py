"""The graph in ArangoDB: vertices and edges in generations, learned numbers, and path queries in AQL.

`graph_store.py` and `learned_store.py` implement the ports, `graph_queries.py` has the queries that the
server answers itself, `aql.py` all query texts, `database_schema.py` the collections and indexes,
`record_codec.py` and `document_keys.py` the form of a stored document.
"""

from kb_store.arangodb.graph_queries import ArangoQueries
from kb_store.arangodb.graph_store import ArangoGraphStore
from kb_store.arangodb.learned_store import ArangoLearnedStore
from kb_store.arangodb.server_address import ArangoAddress

__all__ = ["ArangoAddress", "ArangoGraphStore", "ArangoLearnedStore", "ArangoQueries"]
