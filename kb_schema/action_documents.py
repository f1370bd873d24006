"""Action documents: reusable recipes made of action types (KS 4.2)."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, JsonValue, model_validator

from kb_schema.action_calls import ExecutionStep
from kb_schema.base import ActionRef, Document, LocalId, Model
from kb_schema.conditions import Condition
from kb_schema.declared_types import convert_parameter
from kb_schema.effects import Effect
from kb_schema.error_handling import ErrorRules
from kb_schema.templates import variables


class Parameter(Model):
    """One parameter of an action."""

    type: Literal["string", "number", "integer", "boolean", "object", "array"] = "string"
    required: bool = False
    default: JsonValue = None
    description: str = ""
    secret: bool = False

    @model_validator(mode="after")
    def _default_has_the_type(self) -> Parameter:
        template = isinstance(self.default, str) and variables(self.default)
        if self.default is None or template or self.type == "string":
            return self
        try:
            convert_parameter(self.type, self.default)
        except ValueError as exc:
            raise ValueError(f"default: expected {self.type}" if self.secret else f"default: {exc}") from None
        return self


class ActionReversal(Model):
    """The action that reverses this one (KS 9.7)."""

    action_id: ActionRef
    parameters: dict[str, JsonValue] = Field(default_factory=dict)


class Action(Document):
    """A reusable action with its preconditions, postconditions and error handling."""

    type: Literal["action"] = "action"
    action_id: LocalId
    name: str = Field(min_length=1)
    description: str = ""
    category: str = ""
    parameters: dict[str, Parameter] = Field(default_factory=dict)
    preconditions: tuple[Condition, ...] = ()
    execution_steps: tuple[ExecutionStep, ...] = ()
    postconditions: tuple[Condition, ...] = ()
    error_handling: ErrorRules = ()
    side_effects: tuple[Effect, ...] = ()
    idempotent: bool = False
    reversible_by: ActionRef | None = None
    reversibility: ActionReversal | None = None

    @model_validator(mode="after")
    def _reversal_agrees(self) -> Action:
        if self.reversibility and self.reversible_by and self.reversibility.action_id != self.reversible_by:
            raise ValueError(
                f"reversible_by is {self.reversible_by!r} but reversibility names "
                f"{self.reversibility.action_id!r}"
            )
        return self

    @property
    def kind(self) -> str:
        return "action"

    @property
    def local_id(self) -> str:
        return self.action_id
