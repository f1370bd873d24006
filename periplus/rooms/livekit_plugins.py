"""Loads plugins of livekit-agents by name and options, for speech recognition, answers, and speech.

None of them is required. Each plugin reads its key from its own environment variable (`DEEPGRAM_API_KEY`,
...).
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
from periplus.rooms.room_settings import RoomSettings


@dataclass(frozen=True, slots=True)
class LivekitPlugins:
    """Factories of the configured plugins; each is called once per room."""

    stt_name: str | None = None
    llm_name: str | None = None
    tts_name: str | None = None

    @classmethod
    def from_settings(cls, settings: RoomSettings) -> LivekitPlugins:
        """Return the plugins of the settings, after creating each one once. Raises `UserError` if one cannot
        be created.
        """
        plugins = cls(settings.stt, settings.llm, settings.tts)
        for make in (plugins.stt, plugins.llm, plugins.tts):
            make()
        return plugins

    def stt(self) -> STT[Any] | None:
        """Speech recognition."""
        return None if self.stt_name is None else _load_plugin(self.stt_name, "STT", STT)

    def llm(self) -> LLM[Any] | None:
        """Language model for answers."""
        return None if self.llm_name is None else _load_plugin(self.llm_name, "LLM", LLM)

    def tts(self) -> TTS[Any] | None:
        """Speech synthesis."""
        return None if self.tts_name is None else _load_plugin(self.tts_name, "TTS", TTS)


def _load_plugin(name: str, kind: str, base: type[Any]) -> Any:
    """Return the factory of a plugin: `deepgram?model=nova-3` ->
    `livekit.plugins.deepgram.STT(model="nova-3")`.
    """
    provider, _, options = name.partition("?")
    variable = f"PERIPLUS_LIVEKIT_{kind}"
    if not provider.replace("_", "").isalnum():
        raise UserError(
            f"{variable}: {provider!r} is not a valid plugin name",
            fix="use the name of a plugin, such as `deepgram`",
        )
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
    except (TypeError, ValueError) as exc:  # an unknown option, or a missing key
        raise UserError(f"{variable}: {exc}", fix=f"see the options of {module}.{kind}") from exc
