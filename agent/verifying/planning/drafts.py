"""What every format comes to before it is judged: texts with the places they stand at.

Readers of formats make drafts and know nothing of actions, outcomes and URLs; `composing` judges them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from pathlib import Path

from kb_schema.verification import Outcome, Place


@dataclass(frozen=True, slots=True)
class Said:
    """A text and where it stands."""

    text: str
    place: Place


@dataclass(frozen=True, slots=True)
class StepDraft:
    """One step as it is written; what is None was not said."""

    place: Place
    element: Said | None = None
    region: Said | None = None
    action: Said | None = None
    value: Said | None = None
    exact: bool = False
    """The value is as it stands: an empty one is meant. Else `""` stands for it."""
    expected: tuple[Said, ...] = ()
    outcomes: tuple[Outcome, ...] = ()
    """Outcomes that are read already."""

    def expecting(self, *outcomes: Outcome) -> StepDraft:
        """The step with further outcomes."""
        return replace(self, outcomes=(*self.outcomes, *outcomes))


@dataclass(slots=True)
class Draft:
    """One requirement as it is written."""

    place: Place
    fallback_id: str
    """Its `req_id` where none is said: the name of the sheet or file, made fit."""
    req_id: Said | None = None
    title: Said | None = None
    url: Said | None = None
    login: Said | None = None
    tags: tuple[Said, ...] = ()
    steps: list[StepDraft] = field(default_factory=list)
    folder: Path | None = None
    """Where relative paths of files begin; None: there is no such place."""


def slug(text: str) -> str:
    """A text as a `req_id`: letters, digits, `_`, `.` and `-`; `requirement` where nothing is left."""
    fit = re.sub(r"[^A-Za-z0-9_.-]+", "_", text.strip()).strip("_.-")
    return fit[:100].rstrip("_.-") or "requirement"


_IDENTIFIED = re.compile(
    r"""\[(?P<boxed>[A-Za-z0-9][\w.-]{0,99})\]\s*(?P<rest1>.*)
      | (?P<marked>[A-Za-z0-9][A-Za-z0-9_.-]{0,99})(?::\s+|\s+[-\u2013\u2014]\s+)(?P<rest2>.+)
      | (?P<numbered>(?=[A-Za-z0-9_.-]*\d)[A-Za-z][A-Za-z0-9_.-]{0,99})\s+(?P<rest3>.+)
      | (?P<single>[A-Za-z0-9][A-Za-z0-9_.-]{0,99}):?""",
    re.VERBOSE | re.ASCII,
)


def named(heading: str) -> tuple[str | None, str]:
    """A heading's `req_id` and title: `REQ-1: Sign in`, `REQ-1 Sign in`, `[sign_in] Sign in`, `sign_in`.

    None for a heading that is only a title.
    """
    heading = heading.strip()
    found = _IDENTIFIED.fullmatch(heading)
    if found is None:
        return None, heading
    req_id = found["boxed"] or found["marked"] or found["numbered"] or found["single"]
    return req_id, (found["rest1"] or found["rest2"] or found["rest3"] or "").strip()
