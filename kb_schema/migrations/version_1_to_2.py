"""Migrates version 1 to version 2, in which a workflow without success criteria states that it is unverified."""

from __future__ import annotations

from typing import Any

from kb_schema.documents import kind_of
from kb_schema.migrations.migration_registry import migration


@migration(1)
def mark_unverified_workflows(document: dict[str, Any]) -> dict[str, Any]:
    """Set `unverified` on workflows without success criteria."""
    if kind_of(document) == "workflow" and not document.get("success_criteria"):
        document["unverified"] = True
    return document
