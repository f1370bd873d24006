"""Migrates documents from older schema versions to today's: `upgrade`, used by loaders and store reads.

A migration is a pure function from a document of version n, as JSON, to the same document of version n + 1.
To add one: raise `kb_schema.base.SCHEMA_VERSION`, write `version_N_to_M.py` with a function under
`@migration(N)`, import it below, and keep a sample of both versions in `tests/data/migrations/`.
"""

from kb_schema.migrations import version_0_to_1, version_1_to_2
from kb_schema.migrations.migration_registry import (
    MIGRATIONS,
    UNSTATED,
    NewerSchemaVersion,
    UpgradeResult,
    stated_version,
    upgrade,
)

__all__ = [
    "MIGRATIONS",
    "UNSTATED",
    "NewerSchemaVersion",
    "UpgradeResult",
    "stated_version",
    "upgrade",
    "version_0_to_1",
    "version_1_to_2",
]
