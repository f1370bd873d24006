"""Screens: how to recognise one, and which elements and actions it has (KS 4.1, 4.7)."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, JsonValue, field_validator, model_validator

from kb_schema import url_patterns
from kb_schema.base import Document, LocalId, Metadata, Model, Probability, ScreenRef, Seconds
from kb_schema.conditions import Condition
from kb_schema.error_handling import ErrorRules
from kb_schema.fingerprints import Fingerprint
from kb_schema.selectors import Selector

DEFAULT_THRESHOLD = 0.7
"""The confidence at which a signature is accepted."""


class FieldValidation(Model):
    """What a field accepts; checked before anything is typed."""

    min_length: int | None = Field(default=None, ge=0)
    max_length: int | None = Field(default=None, ge=0)
    pattern: str | None = None
    min: float | None = None
    max: float | None = None

    @model_validator(mode="after")
    def _pattern_compiles(self) -> FieldValidation:
        if self.pattern is not None:
            url_patterns.compile_pattern(self.pattern)
        return self


class Option(Model):
    """One choice of a list."""

    value: str
    label: str | None = None


class Affordance(Model):
    """One action that an element supports (KS 4.1)."""

    action_type: str = Field(min_length=1)
    required: bool = False
    validation: FieldValidation | None = None
    options: tuple[Option, ...] = ()
    """The choices of the list. Another value is refused before anything is typed."""
    options_as_seen: bool = False
    """Whether the options are those that a page had once: it may have others now, so no value is refused."""
    preconditions: tuple[Condition, ...] = ()
    postconditions: tuple[Condition, ...] = ()
    error_handling: ErrorRules = ()
    idempotent: bool | None = None
    """Overrides the value of the action type."""
    destructive: bool = False


class UIElement(Model):
    """An element of a screen, how to find it, and its affordances."""

    element_id: LocalId
    type: str = Field(min_length=1, max_length=100)
    selector: Selector
    affordances: tuple[Affordance, ...] = ()
    metadata: Metadata = Field(default_factory=dict)
    fingerprint: Fingerprint | None = None

    @property
    def label(self) -> str:
        """Its name for people."""
        label = self.metadata.get("label")
        return label if isinstance(label, str) and label else self.element_id.replace("_", " ")


class Signature(Model):
    """How to recognise a screen. Accepts both forms of KS (4.1 inside the screen, 4.7 on its own)."""

    recognition_strategy: str = "multi_indicator"
    """Always `multi_indicator`: the indicators and their weights decide (KS 4.7)."""
    required_indicators: tuple[Condition, ...] = ()
    primary_indicators: tuple[Condition, ...] = ()
    optional_indicators: tuple[Condition, ...] = ()
    exclusion_indicators: tuple[Condition, ...] = ()
    negative_indicators: tuple[Condition, ...] = ()
    confidence_threshold: Probability = DEFAULT_THRESHOLD
    validation_timeout: Seconds = 5.0
    active: bool = True
    """At most one signature of a screen is active."""

    @model_validator(mode="before")
    @classmethod
    def _nested_form(cls, data: Any) -> Any:
        if not isinstance(data, dict) or "indicators" not in data:
            return data
        data = dict(data)
        nested = data.pop("indicators")
        if not isinstance(nested, dict):
            raise ValueError("`indicators` is an object of lists")  # noqa: TRY004 - pydantic reports ValueErrors
        names = {
            "required": "required",
            "primary": "primary",
            "optional": "optional",
            "secondary": "optional",
            "exclusion": "exclusion",
            "negative": "negative",
        }
        for name, indicators in nested.items():
            if name not in names:
                raise ValueError(f"unknown kind of indicator {name!r}; known: {', '.join(names)}")
            field = f"{names[name]}_indicators"
            data[field] = [*data.get(field, ()), *indicators]
        return data

    @field_validator("recognition_strategy")
    @classmethod
    def _is_the_only_one(cls, value: str) -> str:
        if value != "multi_indicator":
            raise ValueError(
                "the only strategy is `multi_indicator`: indicators and their weights decide; leave the field out"
            )
        return value

    @property
    def positive(self) -> tuple[Condition, ...]:
        """Every indicator that counts for the screen."""
        return (*self.required_indicators, *self.primary_indicators, *self.optional_indicators)


class StateSignature(Document, Signature):
    """A signature as a document of its own (KS 4.7)."""

    type: Literal["state_signature"] = "state_signature"
    screen_id: ScreenRef
    signature_id: LocalId | None = None

    @property
    def kind(self) -> str:
        return "state_signature"

    @property
    def local_id(self) -> str:
        return self.signature_id or self.screen_id


LAYER = "layer"
"""The key of `Screen.metadata` for what lies on other pages: `dialog`, `menu` or `panel`."""


class Screen(Document):
    """A page or one of its states (KS 4.1)."""

    type: Literal["screen"] = "screen"
    screen_id: LocalId
    name: str = Field(min_length=1)
    url_patterns: tuple[str, ...] = ()
    url: str | None = None
    """Its address; None: it is reached only by actions."""
    state_signature: Signature | None = None
    ambiguous_of: tuple[LocalId, ...] = ()
    """Screens that nothing tells apart: a page of this one is a page of any of them."""
    layouts: tuple[LocalId, ...] = ()
    """Shared elements of the website that are on this screen too (menus, headers)."""
    ui_elements: tuple[UIElement, ...] = ()
    available_actions: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _patterns_compile(self) -> Screen:
        for pattern in self.url_patterns:
            url_patterns.compile_pattern(pattern)
        return self

    @property
    def kind(self) -> str:
        return "screen"

    @property
    def local_id(self) -> str:
        return self.screen_id

    @property
    def description(self) -> str:
        """The author's description, or an empty text."""
        text: JsonValue = self.metadata.get("description")
        return text if isinstance(text, str) else ""
