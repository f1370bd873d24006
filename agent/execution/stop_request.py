"""Stops a run between two steps: the present step is finished, the next one does not begin."""

from __future__ import annotations


class RunStopped(BaseException):
    """The run stopped between two steps as requested. Checkpoints are kept; it can be resumed.

    Like the cancellation of an asyncio task, it must not be taken for a failed step.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class StopRequest:
    """Set from outside, checked by the task runner before every step."""

    def __init__(self) -> None:
        self.reason: str | None = None
        """Why the run is to stop; None: it goes on."""

    def ask(self, reason: str) -> None:
        """Request the stop; no further step begins. The first reason counts."""
        self.reason = self.reason or reason

    def check(self) -> None:
        """Raises `RunStopped` if the stop was requested."""
        if self.reason is not None:
            raise RunStopped(self.reason)
