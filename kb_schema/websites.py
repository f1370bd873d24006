"""The website: where it is, how to tell one is signed in, what all its screens share."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, JsonValue, field_validator

from kb_schema.base import Document, LocalId, Model, TaskRef
from kb_schema.calls import ActionCall
from kb_schema.conditions import Condition
from kb_schema.resilience import ResilienceRules
from kb_schema.screens import UIElement
from kb_schema.urls import origin_of


class Overlay(Model):
    """Something that gets in the way of any screen, and the control by which it goes away."""

    overlay_id: LocalId
    present_when: Condition
    dismiss: ActionCall


class DefaultRecovery(Model):
    """Where to run when nothing else is known (DESIGN 5): each action is a way of its own, tried in order."""

    actions: tuple[ActionCall, ...] = Field(min_length=1)


class Website(Document):
    """One website's own document (DESIGN 3)."""

    type: Literal["website"] = "website"
    website_id: LocalId
    name: str = Field(min_length=1)
    base_url: str
    """As authored; `--base-url` puts another one in force."""
    allowed_origins: tuple[str, ...] = ()
    """Beside the base URL's own, where the agent may act."""
    description: str = ""
    authenticated_when: tuple[Condition, ...] = ()
    """All hold exactly when one is signed in."""
    login_task_id: TaskRef | None = None
    default_recovery: DefaultRecovery | None = None
    layouts: dict[str, tuple[UIElement, ...]] = Field(default_factory=dict)
    overlays: tuple[Overlay, ...] = ()
    strategy_order: tuple[str, ...] = ("label", "placeholder", "role_name", "relational_css",
                                       "shadow_pierce", "fallback_css")  # fmt: skip
    """Order of discovery strategies (PACTS 5.1); data, per site."""
    global_context: dict[str, JsonValue] = Field(default_factory=dict)
    """Defaults for inputs whose source is `global_context`."""
    retention_days: int = Field(default=30, ge=0)
    resilience: ResilienceRules = ResilienceRules()
    """What holds for runs on this website (WR)."""

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
