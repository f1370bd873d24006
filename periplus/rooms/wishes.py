"""What a demo in a room is to be, as whoever asks for it writes it into the dispatch."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field, ValidationError


class Wishes(BaseModel):
    """The metadata of a dispatch, as JSON. What is left out is as the flow has it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    flow: str | None = Field(default=None, max_length=200)
    language: str | None = Field(default=None, max_length=35)
    speed: float = Field(default=1.0, gt=0, le=3)


class NotUnderstood(ValueError):
    """The metadata of a dispatch is not what it should be; the message says where."""


def read_wishes(metadata: str) -> Wishes:
    """What a dispatch asks for; without metadata, the usual. Raises `NotUnderstood`."""
    if not metadata.strip():
        return Wishes()
    try:
        return Wishes.model_validate_json(metadata)
    except ValidationError as exc:
        first = exc.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"]) or "the metadata"
        raise NotUnderstood(f"{where}: {first['msg']}") from exc
