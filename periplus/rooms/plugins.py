"""Plugins of livekit-agents, by name and options: who recognises speech, words answers, and speaks.

None is needed. Their keys are in the variables they read themselves (`DEEPGRAM_API_KEY`, ...).
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl

from livekit.agents.llm import LLM
from livekit.agents.stt import STT
from livekit.agents.tts import TTS

from periplus.errors import UserError
from periplus.rooms.settings import RoomSettings


@dataclass(frozen=True, slots=True)
class Plugins:
    """What is plugged in; a maker makes one for each room."""

    stt_name: str | None = None
    llm_name: str | None = None
    tts_name: str | None = None

    @classmethod
    def of(cls, settings: RoomSettings) -> Plugins:
        """Those that the settings name, each tried once. Raises `UserError` where one cannot be had."""
        plugins = cls(settings.stt, settings.llm, settings.tts)
        for make in (plugins.stt, plugins.llm, plugins.tts):
            make()
        return plugins

    def stt(self) -> STT[Any] | None:
        """Who recognises speech."""
        return None if self.stt_name is None else _made(self.stt_name, "STT", STT)

    def llm(self) -> LLM[Any] | None:
        """Who words answers."""
        return None if self.llm_name is None else _made(self.llm_name, "LLM", LLM)

    def tts(self) -> TTS[Any] | None:
        """Who speaks."""
        return None if self.tts_name is None else _made(self.tts_name, "TTS", TTS)


def _made(name: str, kind: str, base: type[Any]) -> Any:
    """`deepgram?model=nova-3` -> `livekit.plugins.deepgram.STT(model="nova-3")`."""
    provider, _, options = name.partition("?")
    variable = f"PERIPLUS_LIVEKIT_{kind}"
    if not provider.replace("_", "").isalnum():
        raise UserError(f"{variable}: {provider!r} is no plugin's name", fix="name one, such as `deepgram`")
    module = f"livekit.plugins.{provider}"
    try:
        plugin = importlib.import_module(module)
    except ModuleNotFoundError as exc:
        raise UserError(
            f"{variable}: the plugin {provider!r} is not installed",
            fix=f"pip install livekit-plugins-{provider.replace('_', '-')}",
        ) from exc
    maker = getattr(plugin, kind, None)
    if not (isinstance(maker, type) and issubclass(maker, base)):
        raise UserError(f"{variable}: the plugin {provider!r} has no {kind}", fix="see docs/livekit.md")
    try:
        return maker(**dict(parse_qsl(options)))
    except (TypeError, ValueError) as exc:  # an option that there is not, a key that is not set
        raise UserError(f"{variable}: {exc}", fix=f"see what {module}.{kind} takes") from exc
