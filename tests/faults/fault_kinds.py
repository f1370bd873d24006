"""The kinds of faults: `@fault_kind` registers a function that makes one run of a kind in a folder."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

FaultRun = Callable[[Path, random.Random], Awaitable[None]]
"""Takes an empty folder and the source of its chances. Raises `AssertionError` for what must not be."""


@dataclass(frozen=True, slots=True)
class FaultKind:
    """One kind."""

    name: str
    summary: str
    run: FaultRun


FAULTS: dict[str, FaultKind] = {}


class CannotBeMade(Exception):
    """This machine does not allow the fault. The text says what it lacks; `installable`: a setup of ours brings it."""

    def __init__(self, message: str, *, installable: bool = False) -> None:
        super().__init__(message)
        self.installable = installable


def fault_kind(name: str, summary: str) -> Callable[[FaultRun], FaultRun]:
    """Register a function as a kind."""

    def register(run: FaultRun) -> FaultRun:
        FAULTS[name] = FaultKind(name, summary, run)
        return run

    return register
