"""Values that a run asks for while it runs (`agent.context.Asker`), answered by a later call."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from typing import Any

from agent.engine.stopping import Stop
from periplus.agent_server.answers import Need

PATIENCE_S = 600.0
"""How long a run waits for a value, its browser open. Then it ends with `needs_person`."""


class Questions:
    """The questions of one run. `tell` hears when one is open or answered."""

    def __init__(self, stop: Stop, tell: Callable[[], None], *, patience_s: float = PATIENCE_S) -> None:
        self._stop, self._tell, self._patience_s = stop, tell, patience_s
        self._known: dict[str, str] = {}
        self._changed = asyncio.Event()
        self.open: Need | None = None
        """What the run waits for now."""

    async def ask(self, name: str, prompt: str, *, secret: bool) -> str | None:
        """The value, once somebody gives it; None where nobody does in time."""
        self.open = Need(name=name, question=prompt, secret=secret)
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
        """Values by name; the others are kept for later questions."""
        self._known |= {
            name: value if isinstance(value, str) else json.dumps(value) for name, value in values.items()
        }
        if self.open is not None and self.open.name in self._known:
            self.open = None
        self._changed.set()

    def give_up(self) -> None:
        """The run is to stop: whoever waits looks up."""
        self._changed.set()
