"""The effects of actions and transitions (KS 4.2 side effects, 4.4 effects)."""

from __future__ import annotations

from typing import Annotated, Literal, get_args

from pydantic import Field, JsonValue

from kb_schema.base import Model


class EntityEffect(Model):
    """An entity is created, changed or deleted on the site."""

    type: Literal["creates_entity", "updates_entity", "deletes_entity"]
    entity_type: str = Field(min_length=1)
    entity_id: str | None = None


class MessageEffect(Model):
    """The site shows a message."""

    type: Literal["shows_message"]
    message_type: Literal["success", "info", "warning", "error"] = "info"
    text: str = ""


class ValidationEffect(Model):
    """The site validates a field."""

    type: Literal["triggers_validation"]
    field: str


class FactEffect(Model):
    """A fact that conditions test becomes true or false (`authenticated`)."""

    type: Literal["sets_fact"]
    fact: str = Field(min_length=1)
    value: JsonValue = True


Effect = Annotated[EntityEffect | MessageEffect | ValidationEffect | FactEffect, Field(discriminator="type")]

EFFECT_TYPES = frozenset(
    name
    for model in get_args(get_args(Effect)[0])
    for name in get_args(model.model_fields["type"].annotation)
)
"""Every type of effect."""
