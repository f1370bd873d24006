"""Captions as they are shown: in the picture, and to whoever listens."""

from __future__ import annotations

from agent.events import Bus
from agent.presenting.records import CaptionShown
from agent.presenting.stage import Stage


class Captioning:
    """What a narrator calls with every caption; "" takes the last one away."""

    def __init__(self, bus: Bus, stage: Stage | None) -> None:
        """`stage` None: they are not drawn."""
        self._bus, self._stage = bus, stage
        self._last = ""

    async def __call__(self, text: str) -> None:
        """Show it, once."""
        if text == self._last:
            return
        self._last = text
        self._bus.tell(CaptionShown(text))
        if self._stage is not None:
            await self._stage.caption(text)
