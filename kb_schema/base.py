"""What every document model shares: strictness, identifiers, references, durations.

Document kinds are defined in their own modules, not here.
"""

from __future__ import annotations

import hashlib
import json
import re
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, JsonValue, StringConstraints

SCHEMA_VERSION = 2
"""The version written into every document (KS 8.1). Migrations lead from one version to the next."""


class Model(BaseModel):  # noqa: PLW1641 - pydantic gives frozen models their hash
    """A strict, immutable model: unknown keys are refused, and values never change in place.

    Its validator is built when it is used first (decision 0117).
    """

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True, defer_build=True)

    def __eq__(self, other: object) -> bool:
        """Compare at once what is the same object: a default is one, and each is compared when a document is dumped.

        Two of one type that have nothing beside their fields are compared by those, without what pydantic looks at before.
        """
        if self is other:
            return True
        own, fields = self.__dict__, type(self).__pydantic_fields__
        if (
            type(self) is not type(other)
            or not len(own) == len(other.__dict__) == len(fields)
            or self.__pydantic_extra__ is not None
            or self.__pydantic_private__ is not None
        ):
            return super().__eq__(other)
        return own == other.__dict__

    def to_json(self) -> dict[str, Any]:
        """Return the document as plain JSON, without absent and default values."""
        return self.model_dump(mode="json", by_alias=True, exclude_defaults=True)


LONGEST_TIMEOUT_S = 150.0
"""The longest timeout of an element or an outcome in `verify`: a step is ended after 180 s."""


LocalId = Annotated[
    str, StringConstraints(min_length=1, max_length=200, pattern=r"^[A-Za-z0-9][A-Za-z0-9_.\-]*$")
]
"""An identifier that is unique within one website and kind."""

VariableName = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$", max_length=200)]
"""The name of an input, an output or a loop's item."""

Metadata = dict[str, JsonValue]
"""Free notes of the author. No code depends on their content."""

Seconds = Annotated[float, Field(ge=0, le=86_400, allow_inf_nan=False)]
Milliseconds = Annotated[float, Field(ge=0, le=86_400_000, allow_inf_nan=False)]
Probability = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]

_COLLECTION_ALIASES = {
    "screen": "screen",
    "screens": "screen",
    "screen_group": "screen_group",
    "screen_groups": "screen_group",
    "group": "screen_group",
    "groups": "screen_group",
    "task": "task",
    "tasks": "task",
    "action": "action",
    "actions": "action",
    "transition": "transition",
    "transitions": "transition",
    "workflow": "workflow",
    "workflows": "workflow",
    "presentation": "presentation_flow",
    "presentation_flow": "presentation_flow",
    "presentation_flows": "presentation_flow",
    "state_signature": "state_signature",
    "website": "website",
    "error_recovery": "error_recovery",
}
"""The collection names that KS uses, each with the kind it stands for."""

_REFERENCE = re.compile(r"^(?P<collection>[a-z_]+)[/:](?P<id>.+)$")

CURRENT_SCREEN = "current"
"""`screen/current`: the current screen."""


def split_reference(reference: str) -> tuple[str | None, str]:
    """Return kind and id of a reference: `("screen_group", "x")` for `"groups/x"`; a bare id has no kind.

    Raises nothing: a prefix that is no collection stays part of the id, which then fails validation as an id.
    """
    match = _REFERENCE.match(reference)
    if match is None or match["collection"] not in _COLLECTION_ALIASES:
        return None, reference
    return _COLLECTION_ALIASES[match["collection"]], match["id"]


def digest(data: Any) -> str:
    """Return eight characters that stand for JSON data. They distinguish parallel edges without an id."""
    return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()[:8]


def _reference_to(*kinds: str) -> BeforeValidator:
    def normalise(value: Any) -> Any:
        if not isinstance(value, str):
            return value
        if "/" not in value and ":" not in value:  # nearly always: this runs for every end of every edge
            return value
        kind, local = split_reference(value)
        if kind is not None and kind not in kinds:
            raise ValueError(f"{value!r} names a {kind}, expected a {' or '.join(kinds)}")
        return local

    return BeforeValidator(normalise)


ScreenRef = Annotated[LocalId, _reference_to("screen")]
GroupRef = Annotated[LocalId, _reference_to("screen_group")]
TaskRef = Annotated[LocalId, _reference_to("task")]
ActionRef = Annotated[LocalId, _reference_to("action")]
TransitionRef = Annotated[LocalId, _reference_to("transition")]


class Document(Model):
    """The fields that every stored document and edge has."""

    website_id: LocalId | None = None
    """Set from the website document of the folder that a document is loaded from."""
    schema_version: int = Field(default=SCHEMA_VERSION, ge=1)
    metadata: Metadata = Field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return the document as plain JSON, always with its `type`."""
        return {"type": getattr(self, "type", self.kind), **super().to_json()}

    @property
    def kind(self) -> str:
        """The document kind: `screen`, `task`, `transition`, ..."""
        raise NotImplementedError

    @property
    def local_id(self) -> str:
        """The identifier within website and kind. An edge without one derives it."""
        raise NotImplementedError
