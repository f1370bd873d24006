"""Inputs that a run requests (`agent.run_context.InputProvider`) and a later tool call provides."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from typing import Any

from agent.execution.stop_request import StopRequest
from periplus.agent_server.run_answers import NeededInput

PATIENCE_S = 600.0
"""Seconds that a run waits for an input with its browser open; then it ends with `needs_person`."""


class RunQuestions:
    """The input requests of one run. `tell` is called when one is opened or answered."""

    def __init__(
        self, stop: StopRequest, tell: Callable[[], None], *, patience_s: float = PATIENCE_S
    ) -> None:
        self._stop, self._tell, self._patience_s = stop, tell, patience_s
        self._known: dict[str, str] = {}
        self._changed = asyncio.Event()
        self.open: NeededInput | None = None
        """The input that the run waits for."""

    async def ask(self, name: str, prompt: str, *, secret: bool) -> str | None:
        """Wait for the value and return it; None after the timeout."""
        self.open = NeededInput(name=name, question=prompt, secret=secret)
        self._tell()
        try:
            async with asyncio.timeout(self._patience_s):
                while name not in self._known:
                    self._stop.check()
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            return None
        finally:
            self.open = None
        return self._known.pop(name)

    def answer(self, values: Mapping[str, Any]) -> None:
        """Provide values by name; unused ones are kept for later requests."""
        self._known |= {
            name: value if isinstance(value, str) else json.dumps(value) for name, value in values.items()
        }
        if self.open is not None and self.open.name in self._known:
            self.open = None
        self._changed.set()

    def give_up(self) -> None:
        """End waiting, because the run is to stop."""
        self._changed.set()
