"""The keys of a trace step's metadata, each with one meaning, whoever writes the trace: a run, the recorder or an import.

`session_writer` refuses a step that breaks the schema, `session_reader` leaves the key out and says so. Stages of
synthesis add keys of their own to steps in memory; these are not stored.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from kb_schema.execution_traces import ELEMENT_ID, ELEMENT_ID_BEFORE
from kb_schema.fingerprints import Fingerprint


class WriteAnswer(BaseModel):
    """A write that a step began, and its answer."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    method: str
    url: str
    """Without the values of its query."""
    status: int | None = None
    """The HTTP status; None: not answered; 0: it failed without an answer."""


class StepMetadata(BaseModel):
    """What is known of one action besides its target, arguments and result. Other keys are kept as they are."""

    model_config = ConfigDict(extra="allow", frozen=True)

    element_id: str | None = None
    """The knowledge base's id of the element; it is the same for every row of a list."""
    located_by: Literal["knowledge"] | None = None
    """`knowledge`: the target is a selector of the knowledge base; else a recorder built it from the page."""
    closes_overlay: bool | None = None
    """The step closed an overlay that the knowledge base lists, as every run does where it is in the way."""
    element_tag: str | None = None
    """Tag and attributes of the element, without session ids (MA 4, rule b)."""
    fingerprint: Fingerprint | None = None
    """What the element was like just before the action."""
    said: str | None = None
    """The element in words: its role and name."""
    secret: bool | None = None
    """The value is a secret and is left out."""
    answers: tuple[WriteAnswer, ...] | None = None
    refusal: str | None = None
    """What the application said when it refused the step."""
    warning: str | None = None
    """What the application warned of when it accepted what the step sent."""
    url_after: str | None = None
    """The address after the action."""
    tab: int | None = Field(default=None, ge=0)
    opens_tab: int | None = Field(default=None, ge=0)
    download: str | None = None
    """The name of the file that was downloaded."""
    foreign_frame: str | None = None
    """The address of a frame of another site in which the action was done."""
    description: str | None = None


def check_step_metadata(metadata: Mapping[str, Any]) -> None:
    """Raise `ValueError`, naming the key, if metadata breaks the schema."""
    try:
        StepMetadata.model_validate(metadata)
    except ValidationError as exc:
        first = exc.errors()[0]
        raise ValueError(f"metadata.{'.'.join(map(str, first['loc']))}: {first['msg']}") from exc


def read_step_metadata(metadata: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Return stored metadata that fits the schema, and a sentence for each key that does not and was left out.

    Traces that were written before 2026-11-23 have the element's id under another key.
    """
    kept = dict(metadata)
    before = kept.get(ELEMENT_ID_BEFORE)
    if isinstance(before, str) and ELEMENT_ID not in kept:
        kept[ELEMENT_ID] = kept.pop(ELEMENT_ID_BEFORE)
    problems: list[str] = []
    try:
        StepMetadata.model_validate(kept)
    except ValidationError as exc:
        for error in exc.errors():
            key = str(error["loc"][0])
            if key in kept:
                del kept[key]
                problems.append(f"metadata.{'.'.join(map(str, error['loc']))}: {error['msg']}; left out")
    return kept, problems
