"""From older forms of the vocabulary to today's: `upgrade`, applied by loaders and by reads of a store.

A migration is a pure function from a document of version n, as JSON, to the same document of version
n + 1. Adding one: raise `kb_schema.base.SCHEMA_VERSION`, write `from_N.py` with a function under
`@migration(N)`, import it below, and keep a sample of both versions in `tests/data/migrations/`.
"""

from kb_schema.migrations import from_0
from kb_schema.migrations.registry import (
    MIGRATIONS,
    UNSTATED,
    NewerSchemaVersion,
    Upgraded,
    stated_version,
    upgrade,
)

__all__ = [
    "MIGRATIONS",
    "UNSTATED",
    "NewerSchemaVersion",
    "Upgraded",
    "from_0",
    "stated_version",
    "upgrade",
]
