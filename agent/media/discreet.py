"""A voice that leaves no trace of what is personal: that is spoken without being kept between shows."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

from agent.media.voice import Speech, Voice


class DiscreetVoice:
    """One voice in two: what is said to everybody is kept as `common` keeps it, the rest as `own` does.

    `redact` takes out what is personal: a text that it changes is. `own` is made when it is first needed.
    """

    def __init__(self, common: Voice, own: Callable[[], Voice], redact: Callable[[Any], Any]) -> None:
        self._common, self._make_own, self._redact = common, own, redact

    @cached_property
    def _own(self) -> Voice:
        return self._make_own()

    @property
    def audible(self) -> bool:
        """As the common one."""
        return self._common.audible

    async def synthesize(self, text: str) -> Speech:
        """Return `text` as speech. Raises as the voices do."""
        voice = self._common if self._redact(text) == text else self._own
        return await voice.synthesize(text)

    def at_pace(self, pace: float) -> DiscreetVoice:
        """Both at another pace."""
        return DiscreetVoice(self._common.at_pace(pace), lambda: self._own.at_pace(pace), self._redact)
