"""REST models of demos for visitors."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, StringConstraints

NAME = r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}$"
LONGEST_SAY = 1_000
"""Most characters."""
Name = Annotated[str, StringConstraints(pattern=NAME)]

_VISIT: dict[str, JsonValue] = {
    "visit_id": "5f0c2a91d3b64e77",
    "label": "Acme, second call",
    "website": "spadeworks",
    "flow": "spadeworks_tour",
    "language": "en",
    "state": "waiting",
    "ended": None,
    "shows": 0,
    "run_id": "",
    "watched_by": 0,
    "lead_form": False,
    "expires_at": "2026-11-25T19:30:00Z",
}


class VisitRequest(BaseModel):
    """A demo to create a link for."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"flow": "spadeworks_tour", "label": "Acme, second call"}]},
    )

    website: Name | None = Field(
        default=None, description="Default: the website the service was started with."
    )
    flow: Name | None = Field(
        default=None, description="A presentation flow of the website; default: its own."
    )
    language: Annotated[str, StringConstraints(pattern=r"^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*$")] | None = (
        Field(default=None, description="Language of narration and page; default: the flow's own.")
    )
    speed: float = Field(default=1.0, ge=0.5, le=3.0, description="Speed of speech and pointer.")
    voice: bool = Field(default=True, description="false: captions only.")
    hours: float | None = Field(default=None, gt=0, le=8_760, description="Validity of the link.")
    label: str = Field(
        default="", max_length=80, description="A note for your own list: for whom the link is."
    )


class VisitView(BaseModel):
    """A link and the state of its demo."""

    model_config = ConfigDict(json_schema_extra={"examples": [_VISIT]})

    visit_id: str
    label: str
    website: str
    flow: str
    language: str
    state: Literal["waiting", "starting", "playing", "ended"]
    ended: str | None = Field(
        description="Why it ended: `finished`, `left`, `absent`, `too_long`, `closed`, `failed`."
    )
    shows: int = Field(description="How often it was started.")
    run_id: str = Field(description="Run id of the latest demo, for `periplus runs show`.")
    watched_by: int = Field(description="Number of pages that have it open.")
    lead_form: bool = Field(
        description="Whether its page has the flow's form; false without one, or if PERIPLUS_VISITOR_RETENTION_DAYS is 0."
    )
    expires_at: datetime


class VisitMade(VisitView):
    """A new link."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{**_VISIT, "url": "https://demo.example.com/visit/8kT...", "token": "8kT..."}]
        }
    )

    url: str = Field(
        description="The URL to send to the visitor. It is not stored. Anyone who has it may watch."
    )
    token: str = Field(description="The last part of the URL.")


class VisitList(BaseModel):
    """Every valid link."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"visits": [_VISIT]}]})

    visits: list[VisitView]


class Say(BaseModel):
    """A visitor's words, from the chat box or a button."""

    model_config = ConfigDict(extra="forbid")

    text: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=LONGEST_SAY)]
    by: Literal["text", "button"] = "text"


class Writing(BaseModel):
    """Whether the visitor is typing."""

    model_config = ConfigDict(extra="forbid")

    writing: bool
