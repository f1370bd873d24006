"""Outputs of global scope, which outlive the process (KS 9.1 `context_persistence: global`)."""

from __future__ import annotations

from pydantic import Field, JsonValue

from kb_schema.base import LocalId, Model, VariableName
from kb_schema.run_records import Moment

MAX_KEPT_VALUES = 500
"""The most values of one person on one website; those kept longest ago are dropped."""
MAX_VALUE_CHARACTERS = 100_000
"""A longer value, as JSON, is not kept."""


class KeptValue(Model):
    """The last output of a name. Secrets are never among them."""

    website_id: LocalId
    person: str = Field(max_length=64)
    """A digest of the account that was signed in; empty: the website has no sign-in."""
    name: VariableName
    value: JsonValue
    task_id: str = Field(min_length=1, max_length=400)
    """The task that it was an output of."""
    kept_at: Moment
