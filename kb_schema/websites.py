"""The website document: base URL, sign-in conditions, and what all screens share."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, JsonValue, field_validator

from kb_schema.action_calls import ActionCall
from kb_schema.base import Document, LocalId, Model, TaskRef
from kb_schema.conditions import Condition
from kb_schema.resilience_policy import ResilienceRules
from kb_schema.screens import UIElement
from kb_schema.url_patterns import origin_of


class Overlay(Model):
    """An overlay that may cover any screen, and the control that closes it."""

    overlay_id: LocalId
    present_when: Condition
    dismiss: ActionCall


class DefaultRecovery(Model):
    """The recovery if no other is known: independent actions, tried in order."""

    actions: tuple[ActionCall, ...] = Field(min_length=1)


class Website(Document):
    """The document of a website itself."""

    type: Literal["website"] = "website"
    website_id: LocalId
    name: str = Field(min_length=1)
    base_url: str
    """As authored; `--base-url` overrides it."""
    allowed_origins: tuple[str, ...] = ()
    """Further origins where the agent may act."""
    description: str = ""
    authenticated_when: tuple[Condition, ...] = ()
    """All hold exactly when the user is signed in."""
    login_task_id: TaskRef | None = None
    default_recovery: DefaultRecovery | None = None
    layouts: dict[str, tuple[UIElement, ...]] = Field(default_factory=dict)
    overlays: tuple[Overlay, ...] = ()
    strategy_order: tuple[str, ...] = (
        "label",
        "placeholder",
        "role_name",
        "relational_css",
        "shadow_pierce",
        "fallback_css",
    )
    """The order of discovery strategies (PACTS 5.1) for this site."""
    global_context: dict[str, JsonValue] = Field(default_factory=dict)
    """Defaults for inputs whose source is `global_context`."""
    retention_days: int = Field(default=30, ge=0)
    resilience: ResilienceRules = ResilienceRules()
    """Resilience rules for runs on this website (WR)."""

    @field_validator("base_url")
    @classmethod
    def _absolute(cls, value: str) -> str:
        if not origin_of(value).startswith(("http://", "https://")):
            raise ValueError("base_url must be an absolute http(s) URL, e.g. https://app.example.com")
        return value.rstrip("/")

    @property
    def kind(self) -> str:
        return "website"

    @property
    def local_id(self) -> str:
        return self.website_id
