"""What the zoo measures: applications that are not ours, and jobs that a scripted person does in them.

A job is shown three times (`Job.demonstrations`), made into a workflow, and run on the other instances. The truth is
the application's own state: the state after a run must be the state that the scripted person leaves with the same
values.
"""

from __future__ import annotations

import random
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, Protocol

from playwright.async_api import Page

from tests.support.people import Noise

Given = Mapping[str, str]
"""The values of one instance, by name."""
Person = Callable[[Page, Given, Noise], Awaitable[None]]
"""Does the job on an open page with the given values. Raises a Playwright error if it cannot be done."""
Kind = Literal["plain", "quotes", "unicode", "long", "empty", "refused", "existing", "missing"]
"""What is special about the values of an instance.

`refused`: the application's form refuses them. `existing`: the thing exists already. `missing`: the target does
not exist, so nobody can do the job.
"""
SHOWN = 3
"""Demonstrations of a job."""


@dataclass(frozen=True, slots=True)
class Instance:
    """One set of values for a job."""

    name: str
    """The benchmark's task id, or a name of ours."""
    given: Given
    kind: Kind = "plain"
    sentence: str = ""
    """The instance as a sentence with its values; empty: without one."""
    verify: Callable[[str], tuple[bool, str]] | None = None
    """The benchmark's own verifier: base URL -> (done, why)."""


@dataclass(frozen=True, slots=True)
class Job:
    """A job that can be done with different values.

    The first three plain instances are demonstrated; all others are run.
    """

    name: str
    person: Person
    instances: Sequence[Instance]
    start: str = "/"
    """The address at which people begin, relative to the base URL."""
    action: str = ""
    """create, edit, delete or list, for the report."""
    invalid: Given | None = None
    """Values that the application refuses, for a recording that must not count."""
    in_older: bool = True
    """Whether people can do it in the older release, too."""

    @property
    def demonstrations(self) -> list[Instance]:
        """Return the instances that are shown."""
        return [each for each in self.instances if each.kind == "plain"][:SHOWN]

    @property
    def unseen(self) -> list[Instance]:
        """Return the instances that are run."""
        shown = {each.name for each in self.demonstrations}
        return [each for each in self.instances if each.name not in shown]


class RunningApplication(Protocol):
    """A started and seeded application."""

    base_url: str
    secrets: Mapping[str, str]
    """Part of a secret input's name -> its value; `""` is for every other name."""

    async def reset(self) -> None:
        """Restore the seed."""

    async def state(self) -> Any:
        """Return the whole state as JSON, without values that differ by themselves (times, generated ids)."""


@dataclass(frozen=True, slots=True)
class Application:
    """An application of the zoo."""

    name: str
    make: str
    """How it is made, for the report: `server-rendered`, `React`, `single page without a framework`, ..."""
    jobs: Sequence[Job]
    start: Callable[[Path], AbstractAsyncContextManager[RunningApplication]] = field(repr=False)
    """Starts it in a folder of its own, and ends it."""
    start_older: Callable[[Path], AbstractAsyncContextManager[RunningApplication]] | None = field(
        default=None, repr=False
    )
    """The same for an older release; None: there is none that differs."""


def add_invalid(jobs: Sequence[Job], invalid: Mapping[str, Given]) -> list[Job]:
    """Return the jobs, each with the values of its name that the application refuses."""
    return [replace(job, invalid=invalid.get(job.name)) for job in jobs]


class NoNoise(random.Random):
    """Dice for a person who does only what they mean to."""

    def random(self) -> float:
        """Return 1: `Noise` does nothing extra."""
        return 1.0


def fill_sentence(pattern: str, given: Given) -> str:
    """Return a sentence pattern `... '{name}' ...` with the values.

    >>> fill_sentence("Close the issue '{title}' as '{new title}'.", {"title": "A", "new title": "B"})
    "Close the issue 'A' as 'B'."
    """
    return re.sub(r"\{(\w[\w ]*)\}", lambda found: given[found[1]], pattern)


def read_sentence(pattern: str, sentence: str) -> dict[str, str] | None:
    """Return the values of a sentence that fits the pattern `... '{name}' ...`; None if it does not fit.

    >>> read_sentence("Close the issue '{title}'.", "Close the issue 'A'.")
    {'title': 'A'}
    """
    parts = re.split(r"\{(\w+)\}", pattern)
    expression = "".join(
        re.escape(part) if number % 2 == 0 else f"(?P<{part}>.+?)" for number, part in enumerate(parts)
    )
    found = re.fullmatch(expression, sentence)
    return None if found is None else found.groupdict()
