"""What the service needs done by others: verifying one requirement, and saying whether a browser starts."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from agent.engine.stopping import Stop
from agent.events import Event
from kb_schema.verification import Requirement, VerdictReport

STOPPED = "stopped:"
"""How a note of a report begins that tells that the run stopped before its end."""


class Verifier(Protocol):
    """Verifies requirements, several at a time, each isolated from the others.

    `periplus.verifying.verifier` has the one that drives a browser. It is called again with the `run_id` of a run
    that was interrupted, and then goes on where it was, or begins anew.
    """

    async def verify(
        self, requirement: Requirement, *, run_id: str, tell: Callable[[Event], None], stop: Stop
    ) -> VerdictReport:
        """The verdict. `tell` hears what happens on the way; it returns at once.

        Where it heeded `stop` before it came to its end, it raises `agent.engine.stopping.Stopped`, or a
        note of its report says so (`STOPPED`).
        """


VerifierOpener = Callable[[], AbstractAsyncContextManager[Verifier]]
"""Opens one when the first run begins; closed when the service ends."""


class BrowserCheck(Protocol):
    """Says whether there is a browser to verify with."""

    async def __call__(self) -> str | None:
        """Why there is none; None where one starts."""
