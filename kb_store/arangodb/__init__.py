"""The graph in ArangoDB: vertices and edges under generations, and AQL that finds ways among them.

`store.py` is the port, `queries.py` what the server can answer by itself, `aql.py` the texts of
both, `layout.py` what is created, `rows.py` and `keys.py` how a record becomes a document, and
`learned.py` what was observed of it all.
"""

from kb_store.arangodb.address import ArangoAddress
from kb_store.arangodb.learned import ArangoLearnedStore
from kb_store.arangodb.queries import ArangoQueries
from kb_store.arangodb.store import ArangoGraphStore

__all__ = ["ArangoAddress", "ArangoGraphStore", "ArangoLearnedStore", "ArangoQueries"]
