"""Drafts: what every reader returns. Texts with their places in the file, not checked yet.

Readers know nothing of actions, outcomes and URLs; `requirement_composer` checks those.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from kb_schema.verification import ExpectedOutcome, SourceLocation


@dataclass(frozen=True, slots=True)
class LocatedText:
    """A text and its place in the file."""

    text: str
    place: SourceLocation


@dataclass(frozen=True, slots=True)
class StepDraft:
    """One step as it is written; None means the field was not given."""

    place: SourceLocation
    element: LocatedText | None = None
    region: LocatedText | None = None
    action: LocatedText | None = None
    value: LocatedText | None = None
    timeout: LocatedText | None = None
    """Seconds."""
    exact: bool = False
    """The value is final: an empty value is meant. Otherwise `""` means an empty value."""
    expected: tuple[LocatedText, ...] = ()
    outcomes: tuple[ExpectedOutcome, ...] = ()
    """Outcomes that are parsed already."""

    def expecting(self, *outcomes: ExpectedOutcome) -> StepDraft:
        """Return the step with further outcomes."""
        return replace(self, outcomes=(*self.outcomes, *outcomes))


@dataclass(slots=True)
class RequirementDraft:
    """One requirement as it is written."""

    place: SourceLocation
    fallback_id: str
    """Its `req_id` if none is given: the name of the sheet or file, made valid."""
    req_id: LocatedText | None = None
    title: LocatedText | None = None
    url: LocatedText | None = None
    login: LocatedText | None = None
    tags: tuple[LocatedText, ...] = ()
    timeout: LocatedText | None = None
    """Seconds, for the steps that have none of their own."""
    steps: list[StepDraft] = field(default_factory=list)
    folder: Path | None = None
    """The folder that relative file paths start from; None: there is none."""
    checks_files: bool = True
    """Whether files to upload must exist. A server leaves that to its own rule: its answers do not depend on what
    exists on its disk."""


def fill_example(text: str, row: Mapping[str, str] | None) -> str:
    """Return a text with each `<name>` replaced by the cell of this name in a row of examples."""
    return re.sub(r"<([^<>]+)>", lambda match: (row or {}).get(match[1], match[0]), text)


def list_example_names(text: str) -> list[str]:
    """Return the names that a text takes from a row of examples."""
    return re.findall(r"<([^<>\s][^<>]*)>", text)


def quote_name(element: str) -> str:
    """Return the name of an element so that only its last `@` begins a region."""
    return f'"{element}"' if element.count("@") > 1 else element


def slug(text: str) -> str:
    """Return the text as a `req_id`: letters, digits, `_`, `.` and `-`; `requirement` if nothing is left."""
    fit = re.sub(r"[^A-Za-z0-9_.-]+", "_", text.strip()).strip("_.-")
    return fit[:100].rstrip("_.-") or "requirement"


_IDENTIFIED = re.compile(
    r"""\[(?P<boxed>[A-Za-z0-9][\w.-]{0,99})\]\s*(?P<rest1>.*)
      | (?P<marked>[A-Za-z0-9][A-Za-z0-9_.-]{0,99})(?::\s+|\s+[-\u2013\u2014]\s+)(?P<rest2>.+)
      | (?P<numbered>(?=[A-Za-z0-9_.-]*\d)[A-Za-z][A-Za-z0-9_.-]{0,99})\s+(?P<rest3>.+)
      | (?P<single>[A-Za-z0-9][A-Za-z0-9_.-]{0,99}):?""",
    re.VERBOSE | re.ASCII,
)


def parse_heading(heading: str) -> tuple[str | None, str]:
    """Return the `req_id` and title of a heading: `REQ-1: Sign in`, `REQ-1 Sign in`, `[sign_in] Sign in`,
    `sign_in`.

    None if the heading is only a title.
    """
    heading = heading.strip()
    found = _IDENTIFIED.fullmatch(heading)
    if found is None:
        return None, heading
    req_id = found["boxed"] or found["marked"] or found["numbered"] or found["single"]
    return req_id, (found["rest1"] or found["rest2"] or found["rest3"] or "").strip()
