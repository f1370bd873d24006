"""Stopping a run in good order: what is being done comes to its end, the next step does not begin."""

from __future__ import annotations


class Stopped(BaseException):
    """The run was asked to stop, and did, between two steps. What was done is kept; it can be carried on.

    As with a cancelled task of asyncio, nothing on the way up is to take it for a failed step.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Stop:
    """Asked for from outside, heeded by the engine before every step."""

    def __init__(self) -> None:
        self.reason: str | None = None
        """Why the run is to stop; None: it is to go on."""

    def ask(self, reason: str) -> None:
        """From now on no step begins. The first reason counts."""
        self.reason = self.reason or reason

    def check(self) -> None:
        """Raises `Stopped` where it was asked for."""
        if self.reason is not None:
            raise Stopped(self.reason)
