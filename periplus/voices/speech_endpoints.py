"""Three protocols of speech endpoints: what is sent for a text, and what the answer says.

`openai` is `POST /audio/speech` (also servers of Kokoro, Piper and others), `elevenlabs` is
`POST /v1/text-to-speech/VOICE/with-timestamps`, `azure` is `POST /cognitiveservices/v1` with SSML. Nothing is sent from here.
"""

from __future__ import annotations

import base64
import binascii
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol, Self
from urllib.parse import quote, urlsplit
from xml.sax.saxutils import escape, quoteattr

from agent.media.media_tools import MediaInputError
from kb_schema.url_patterns import LOOPBACK

ELEVENLABS_RATE = 22_050


@dataclass(frozen=True, slots=True)
class SpeechRequest:
    """Voice, language and speed of all texts."""

    voice: str
    language: str
    speed: float
    url: str | None
    key: str | None
    options: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class HttpCall:
    """A POST request."""

    url: str
    headers: Mapping[str, str] = field(repr=False)
    body: bytes


@dataclass(frozen=True, slots=True)
class SpokenText:
    """An answer: sound, and the start of each character in seconds if the endpoint tells it."""

    sound: bytes
    rate: int | None = None
    """Samples a second of raw 16-bit mono samples; None: `sound` is a WAV file."""
    characters: Sequence[float] = ()


class SpeechProtocol(Protocol):
    """How one kind of endpoint is asked."""

    name: str

    def call(self, text: str) -> HttpCall:
        """Return the request for a text."""

    def read(self, body: bytes, text: str) -> SpokenText:
        """Return the answer's sound. Raises `MediaInputError` if it is none."""

    def at_pace(self, pace: float) -> Self:
        """Return the same at this factor of its speed."""

    @property
    def identity(self) -> str:
        """What makes the sound of equal texts equal: engine, address, voice, speed."""


class _Endpoint:
    name = ""
    key_variable = ""
    default_url = ""
    known: frozenset[str] = frozenset()
    """Options that it has."""

    def __init__(self, request: SpeechRequest) -> None:
        """Raises `ValueError` with what is missing."""
        self._request = request
        self._key = request.key or os.environ.get(self.key_variable) or ""
        self._url = self._find_url().rstrip("/")
        address = urlsplit(self._url)
        if address.scheme not in ("http", "https") or not address.hostname or address.username:
            raise ValueError(f"expected the address of an endpoint (https://HOST/...), found {request.url!r}")
        if self._key and address.scheme == "http" and address.hostname not in LOOPBACK:
            raise ValueError(f"{self._url} would get the key unencrypted: use https")
        if not self._key and self._url == self.default_url.rstrip("/"):
            raise ValueError(f"no key: set PERIPLUS_VOICE_KEY or {self.key_variable}")
        unknown = sorted(set(request.options) - self.known)
        if unknown:
            raise ValueError(
                f"{self.name} has no option {unknown[0]!r}; it has {', '.join(sorted(self.known)) or 'none'}"
            )

    def _find_url(self) -> str:
        return self._request.url or self.default_url

    def at_pace(self, pace: float) -> Self:
        """Return the same at this factor of its speed."""
        return type(self)(replace(self._request, speed=self._request.speed * pace))

    @property
    def identity(self) -> str:
        """Engine, address, voice, language, speed and options."""
        asked = self._request
        return "\0".join(
            [
                self.name,
                self._url,
                asked.voice,
                asked.language,
                f"{asked.speed:g}",
                json.dumps(dict(asked.options)),
            ]
        )


class OpenAiSpeech(_Endpoint):
    """`POST {url}/audio/speech`. The protocol has no word times."""

    name, key_variable, default_url = "openai", "OPENAI_API_KEY", "https://api.openai.com/v1"
    known = frozenset({"model", "instructions"})

    def call(self, text: str) -> HttpCall:
        """Return the request for a text."""
        asked = self._request
        body = {
            "model": asked.options.get("model", "gpt-4o-mini-tts"),
            "voice": asked.voice or "alloy",
            "input": text,
            "response_format": "wav",
            "speed": min(4.0, max(0.25, asked.speed)),
        }
        if "instructions" in asked.options:
            body["instructions"] = asked.options["instructions"]
        headers = {"Authorization": f"Bearer {self._key}"} if self._key else {}
        return HttpCall(f"{self._url}/audio/speech", headers | _JSON, json.dumps(body).encode())

    def read(self, body: bytes, text: str) -> SpokenText:  # noqa: ARG002 - of the protocol
        """Return the answer's sound."""
        return SpokenText(body)


class ElevenLabsSpeech(_Endpoint):
    """`POST {url}/v1/text-to-speech/VOICE/with-timestamps`: sound with the start of each character."""

    name, key_variable, default_url = "elevenlabs", "ELEVENLABS_API_KEY", "https://api.elevenlabs.io"
    known = frozenset({"model"})

    def __init__(self, request: SpeechRequest) -> None:
        if not request.voice:
            raise ValueError("elevenlabs needs the id of a voice: elevenlabs:VOICE_ID")
        super().__init__(request)

    def call(self, text: str) -> HttpCall:
        """Return the request for a text."""
        asked = self._request
        body = {
            "text": text,
            "model_id": asked.options.get("model", "eleven_multilingual_v2"),
            "voice_settings": {"speed": min(1.2, max(0.7, asked.speed))},
        }
        path = f"/v1/text-to-speech/{quote(asked.voice, safe='')}/with-timestamps"
        return HttpCall(
            f"{self._url}{path}?output_format=pcm_{ELEVENLABS_RATE}",
            {"xi-api-key": self._key} | _JSON if self._key else dict(_JSON),
            json.dumps(body).encode(),
        )

    def read(self, body: bytes, text: str) -> SpokenText:
        """Return the answer's sound, with the start of each character of the text."""
        try:
            answer = json.loads(body)
            sound = base64.b64decode(answer["audio_base64"], validate=True)
            alignment = answer.get("alignment") or {}
            starts = [float(at) for at in alignment.get("character_start_times_seconds", ())]
            same = "".join(alignment.get("characters", ())) == text
        except (ValueError, KeyError, TypeError, AttributeError, binascii.Error) as exc:
            raise MediaInputError(f"expected sound with its alignment from elevenlabs, found: {exc}") from exc
        return SpokenText(sound, ELEVENLABS_RATE, starts if same and len(starts) == len(text) else ())


class AzureSpeech(_Endpoint):
    """`POST https://REGION.tts.speech.microsoft.com/cognitiveservices/v1` with SSML. Its answers have no word times."""

    name, key_variable = "azure", "AZURE_SPEECH_KEY"

    def _find_url(self) -> str:
        wanted = self._request.url or os.environ.get("AZURE_SPEECH_REGION") or ""
        if not wanted:
            raise ValueError("azure needs a region: azure:VOICE@westeurope, or AZURE_SPEECH_REGION")
        region = wanted.replace("-", "").isalnum()
        if region and not self._key:
            raise ValueError(f"no key: set PERIPLUS_VOICE_KEY or {self.key_variable}")
        return f"https://{wanted}.tts.speech.microsoft.com/cognitiveservices/v1" if region else wanted

    def call(self, text: str) -> HttpCall:
        """Return the request for a text."""
        asked = self._request
        voice = asked.voice or "en-US-JennyNeural"
        language = "-".join(voice.split("-")[:2]) if voice.count("-") > 1 else asked.language
        rate = f"{(min(2.0, max(0.5, asked.speed)) - 1) * 100:+.0f}%"
        body = (
            f"<speak version='1.0' xmlns='http://www.w3.org/2001/10/synthesis' xml:lang={quoteattr(language)}>"
            f"<voice name={quoteattr(voice)}><prosody rate='{rate}'>{escape(text)}</prosody></voice></speak>"
        )
        headers = {
            "Content-Type": "application/ssml+xml",
            "X-Microsoft-OutputFormat": "riff-24khz-16bit-mono-pcm",
            "User-Agent": "periplus",
        }
        key = {"Ocp-Apim-Subscription-Key": self._key} if self._key else {}
        return HttpCall(self._url, headers | key, body.encode())

    def read(self, body: bytes, text: str) -> SpokenText:  # noqa: ARG002 - of the protocol
        """Return the answer's sound."""
        return SpokenText(body)


_JSON = {"Content-Type": "application/json"}
