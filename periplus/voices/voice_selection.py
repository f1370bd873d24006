"""Reads which voice speaks, `ENGINE:VOICE@URL?OPTION=VALUE`, and opens it. One setting for all engines (`PERIPLUS_VOICE`).

An engine is a function `(VoiceRequest) -> agent.media.voice.Voice` under the entry point group `periplus.voices`; it raises
`UserError` for what it cannot use. The built-in ones are in `BUILT_IN`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.metadata import entry_points
from pathlib import Path
from urllib.parse import parse_qsl

from agent.media.voice import EspeakVoice, Voice, VoiceMissing, find_voice
from periplus.errors import UserError
from periplus.voices.endpoint_voice import EndpointVoice, SpeechEndpointError
from periplus.voices.speech_endpoints import AzureSpeech, ElevenLabsSpeech, OpenAiSpeech, SpeechRequest

GROUP = "periplus.voices"
ESPEAK_NAME = "espeak"
_SPEC = re.compile(
    r"(?P<engine>[a-z][a-z0-9_-]*):(?P<voice>[^@?]*)(?:@(?P<url>[^?]+))?(?:\?(?P<options>.*))?"
)


@dataclass(frozen=True, slots=True)
class VoiceRequest:
    """The voice that is wanted."""

    voice: str
    """Name or id of the engine's voice; empty: the engine's default for the language."""
    language: str
    speed: float
    """1 is the usual speed."""
    folder: Path | None
    """Where speech is cached; None: it is not kept."""
    url: str | None = None
    key: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)


OpenVoice = Callable[[VoiceRequest], Voice]


@dataclass(frozen=True, slots=True)
class VoiceSpec:
    """A parsed setting."""

    engine: str
    voice: str = ""
    url: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)


def parse_voice(text: str, where: str = "PERIPLUS_VOICE") -> VoiceSpec:
    """Return a setting's parts; a name without a colon is a voice of espeak-ng. Raises `UserError` for an unknown engine.

    >>> parse_voice("en-us+f3")
    VoiceSpec(engine='espeak', voice='en-us+f3', url=None, options={})
    >>> parse_voice("openai:af_heart@http://127.0.0.1:8880/v1?model=kokoro").url
    'http://127.0.0.1:8880/v1'
    """
    found = _SPEC.fullmatch(text.strip())
    if found is None:
        name = text.strip()
        return VoiceSpec(name) if name in list_engines() else VoiceSpec(ESPEAK_NAME, name)
    engine = found["engine"]
    if engine not in list_engines():
        raise UserError(
            f"{where}: there is no voice engine {engine!r}",
            fix=f"one of {', '.join(list_engines())}, or install a package that brings it",
        )
    return VoiceSpec(engine, found["voice"], found["url"], dict(parse_qsl(found["options"] or "")))


def list_engines() -> tuple[str, ...]:
    """Return the names of the built-in and installed engines."""
    return tuple(sorted({ESPEAK_NAME, *BUILT_IN, *(each.name for each in entry_points(group=GROUP))}))


def open_voice(
    spec: VoiceSpec | None, *, folder: Path | None, speed: float, language: str, key: str | None = None
) -> Voice:
    """Return the voice; None, or espeak-ng where it is not installed: as `agent.media.voice.find_voice`.

    Raises `UserError` if the engine lacks something.
    """
    if spec is None or spec.engine == ESPEAK_NAME:
        name = (spec.voice if spec is not None else "") or None
        return find_voice(True, folder=folder, speed=speed, language=language, voice=name)
    wanted = VoiceRequest(spec.voice, language, speed, folder, spec.url, key, spec.options)
    if spec.engine in BUILT_IN:
        return BUILT_IN[spec.engine](wanted)
    (found,) = entry_points(group=GROUP, name=spec.engine)
    made: Voice = found.load()(wanted)
    return made


async def check_voice(voice: Voice) -> None:
    """Raise `UserError` if the voice does not exist, or its endpoint does not answer."""
    try:
        if isinstance(voice, EspeakVoice):
            await voice.check()
        elif isinstance(voice, EndpointVoice):
            await voice.synthesize("Hello.")
    except VoiceMissing as exc:
        fix = "choose an installed voice: in `voices` of the flow, or with --voice"
        raise UserError(str(exc), fix=fix) from exc
    except SpeechEndpointError as exc:
        raise UserError(str(exc), fix=exc.fix) from exc


def _open_endpoint(protocol: type[OpenAiSpeech | ElevenLabsSpeech | AzureSpeech]) -> OpenVoice:
    def open_(wanted: VoiceRequest) -> Voice:
        request = SpeechRequest(
            wanted.voice, wanted.language, wanted.speed, wanted.url, wanted.key, wanted.options
        )
        try:
            endpoint = protocol(request)
        except ValueError as exc:
            raise UserError(f"the voice cannot be used: {exc}", fix="see docs/voices.md") from exc
        return EndpointVoice(endpoint, wanted.folder)

    return open_


BUILT_IN: Mapping[str, OpenVoice] = {
    "openai": _open_endpoint(OpenAiSpeech),
    "elevenlabs": _open_endpoint(ElevenLabsSpeech),
    "azure": _open_endpoint(AzureSpeech),
}
