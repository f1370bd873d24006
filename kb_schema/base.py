"""What every model of the vocabulary shares: strictness, identifiers, references, durations.

Nothing here knows a document kind; kinds live in their own modules.
"""

from __future__ import annotations

import hashlib
import json
import re
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, JsonValue, StringConstraints

SCHEMA_VERSION = 1
"""The version written into every document (KS 8.1). Migrations lead from one to the next."""


class Model(BaseModel):
    """A strict, immutable model: unknown keys are refused, values are never changed in place."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)

    def to_json(self) -> dict[str, Any]:
        """The document as plain JSON, without what is absent or left at its default."""
        return self.model_dump(mode="json", by_alias=True, exclude_defaults=True)


LocalId = Annotated[
    str, StringConstraints(min_length=1, max_length=200, pattern=r"^[A-Za-z0-9][A-Za-z0-9_.\-]*$")
]
"""An identifier that is unique within one website and kind (DESIGN 3)."""

Metadata = dict[str, JsonValue]
"""Free notes of the author. Nothing in Periplus depends on what is inside."""

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
"""The names KS uses for one collection, each with the kind it stands for (DESIGN 9)."""

_REFERENCE = re.compile(r"^(?P<collection>[a-z_]+)[/:](?P<id>.+)$")

CURRENT_SCREEN = "current"
"""`screen/current`: the screen one is on (DESIGN 3)."""


def split_reference(reference: str) -> tuple[str | None, str]:
    """`"groups/x"` -> `("screen_group", "x")`; a bare id has no kind.

    Raises nothing: a prefix that names no collection stays part of the id and fails as an id.
    """
    match = _REFERENCE.match(reference)
    if match is None or match["collection"] not in _COLLECTION_ALIASES:
        return None, reference
    return _COLLECTION_ALIASES[match["collection"]], match["id"]


def digest(data: Any) -> str:
    """Eight characters that stand for JSON data: parallel edges without an id keep apart by it."""
    return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()[:8]


def _reference_to(*kinds: str) -> BeforeValidator:
    def normalise(value: Any) -> Any:
        if not isinstance(value, str):
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
    """What every stored document and edge carries beside its own fields."""

    website_id: LocalId | None = None
    """Filled in from the website document of the folder a document is loaded from."""
    schema_version: int = Field(default=SCHEMA_VERSION, ge=1)
    metadata: Metadata = Field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """As any model, but always with its `type`: what it is must survive."""
        return {"type": getattr(self, "type", self.kind), **super().to_json()}

    @property
    def kind(self) -> str:
        """`screen`, `task`, `transition`, ...: the document kind."""
        raise NotImplementedError

    @property
    def local_id(self) -> str:
        """The identifier within website and kind; edges derive one where they carry none."""
        raise NotImplementedError
