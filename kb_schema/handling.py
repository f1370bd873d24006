"""What to do when something goes wrong: one rule model for affordances, actions, steps, tasks."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, Field, model_validator

from kb_schema.base import Document, LocalId, Model, ScreenRef, Seconds
from kb_schema.calls import ActionCall


class ErrorRule(Model):
    """On this error, this recovery (KS 4.1-4.3)."""

    condition: str = Field(min_length=1)
    """Name of an error (`validation_error`, `element_not_found`, `timeout`, ...)."""
    recovery: str = Field(min_length=1)
    """A named recovery, an `error_recovery` document or a task."""
    retry: bool = False
    max_retries: int = Field(default=1, ge=0, le=10)
    wait_time: Seconds | None = None
    retry_step: str | None = None
    fallback: str | None = None
    reason: str | None = None

    @model_validator(mode="before")
    @classmethod
    def _failure_recovery_form(cls, data: Any) -> Any:
        """KS 4.3 `failure_recovery` says `action` for `recovery`."""
        if isinstance(data, dict) and "action" in data and "recovery" not in data:
            data = dict(data)
            data["recovery"] = data.pop("action")
        return data


def _rule_list(data: Any) -> Any:
    """A mapping from error name to rule becomes the list; KS writes both."""
    if isinstance(data, dict):
        return [
            {"condition": name, **rule} if isinstance(rule, dict) else rule for name, rule in data.items()
        ]
    return data


ErrorRules = Annotated[tuple[ErrorRule, ...], BeforeValidator(_rule_list)]


class FailureRecovery(Model):
    """A task's own strategies, in order (KS 4.3)."""

    strategies: tuple[ErrorRule, ...] = ()


class RecoveryStep(Model):
    """One thing to try, a named recovery or an action."""

    recovery: str | None = None
    action: ActionCall | None = None
    retry: bool = True
    max_retries: int = Field(default=1, ge=0, le=10)
    wait_time: Seconds | None = None

    @model_validator(mode="after")
    def _one_of_both(self) -> RecoveryStep:
        if (self.recovery is None) == (self.action is None):
            raise ValueError("a recovery step has either `recovery` or `action`")
        return self


class ErrorRecovery(Document):
    """An error recovery strategy of a website (KS 5): what to try for which errors, where."""

    type: str = Field(default="error_recovery", pattern="^error_recovery$")
    recovery_id: LocalId
    name: str = ""
    description: str = ""
    conditions: tuple[str, ...] = Field(min_length=1)
    """Error names it is for."""
    screens: tuple[ScreenRef, ...] = ()
    """Screens it is for; empty: everywhere."""
    actions: tuple[str, ...] = ()
    """Actions it is for; empty: all."""
    strategies: tuple[RecoveryStep, ...] = Field(min_length=1)

    @property
    def kind(self) -> str:
        return "error_recovery"

    @property
    def local_id(self) -> str:
        return self.recovery_id
