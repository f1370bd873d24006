"""What is kept of a recorded session: each act with what it changed, the steps and questions of its moment.

The judgement (`session_judgement.py`) is made of this, so that it can be made again without a browser.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class StateChange:
    """What a page kept, when (milliseconds since the epoch), and in which event of the browser."""

    key: str
    value: Any
    at: float
    event: str


@dataclass(frozen=True)
class DoneAct:
    """What a person did, from when to when, and what the page kept up to the next act."""

    act: dict[str, Any]
    begin: float
    end: float
    kept: tuple[StateChange, ...] = ()


@dataclass(frozen=True)
class SessionStep:
    """A step of the recording: its kind, when, what it wrote or chose, and how it is told."""

    kind: str
    time: float
    value: str
    said: str


@dataclass
class SessionVisit:
    """What a person did at one widget, what the recording has of it, and what came of repeating that."""

    widget: str
    begin: float
    acts: list[DoneAct] = field(default_factory=list)
    first: list[StateChange] = field(default_factory=list)
    """What the page kept before the first act."""
    state: dict[str, Any] = field(default_factory=dict)
    """What the person left."""
    steps: list[SessionStep] = field(default_factory=list)
    asked: list[tuple[float, str]] = field(default_factory=list)
    """When something was asked, and the sentence."""
    repeated: str = ""
    """right, told, failed or wrong."""
    differs: str = ""
    """In what the repetition differs."""


@dataclass
class RecordedSession:
    """A session of one person at all widgets of a library."""

    library: str
    seed: int
    minutes: float
    visits: list[SessionVisit] = field(default_factory=list)


def write_session(folder: Path, session: RecordedSession) -> None:
    """Keep a session as JSON."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{session.library}-{session.seed}-{session.minutes:g}.json"
    file.write_text(json.dumps(asdict(session), ensure_ascii=False), "utf-8")


def read_sessions(folder: Path) -> Iterator[RecordedSession]:
    """Return the sessions that are kept in a folder."""
    for file in sorted(folder.glob("*.json")) if folder.is_dir() else ():
        said = json.loads(file.read_text("utf-8"))
        yield RecordedSession(**{**said, "visits": [_read_visit(each) for each in said["visits"]]})


def _read_visit(said: dict[str, Any]) -> SessionVisit:
    acts = [
        DoneAct(**{**each, "kept": tuple(StateChange(**kept) for kept in each["kept"])})
        for each in said["acts"]
    ]
    return SessionVisit(
        **{
            **said,
            "acts": acts,
            "first": [StateChange(**each) for each in said["first"]],
            "steps": [SessionStep(**each) for each in said["steps"]],
            "asked": [(at, sentence) for at, sentence in said["asked"]],
        }
    )
