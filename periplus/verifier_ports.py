"""The interfaces that the service uses: verifying a requirement, and checking that a browser starts."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from agent.events import Event
from agent.execution.stop_request import StopRequest
from kb_schema.verification import Requirement, VerdictReport

STOPPED = "stopped:"
"""Prefix of the note in a report of a run that was stopped before its end."""


class VerifierPort(Protocol):
    """Verifies requirements, several at a time, each isolated from the others.

    The implementation with a browser is `periplus.verification.requirement_verifier`. With the `run_id` of an
    interrupted run it resumes that run, or starts it again.
    """

    async def verify(
        self, requirement: Requirement, *, run_id: str, tell: Callable[[Event], None], stop: StopRequest
    ) -> VerdictReport:
        """Return the verdict. `tell` receives events and returns at once.

        If `stop` ends it early, it raises `agent.execution.stop_request.RunStopped`, or a note of the report
        begins with `STOPPED`.
        """


VerifierOpener = Callable[[], AbstractAsyncContextManager[VerifierPort]]
"""Opens a verifier when the first run starts; it is closed when the service stops."""


class BrowserCheck(Protocol):
    """Checks whether a browser starts."""

    async def __call__(self) -> str | None:
        """Return why no browser starts; None if one does."""
