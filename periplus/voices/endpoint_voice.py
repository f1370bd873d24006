"""A voice that a speech endpoint synthesises: requests, the cache, and the time of each word."""

from __future__ import annotations

import asyncio
import hashlib
import json
import tempfile
import urllib.error
import urllib.request
import wave
from pathlib import Path
from uuid import uuid4

from agent.media.media_tools import MediaError, MediaInputError
from agent.media.voice import Speech, SpokenWord
from kb_schema.owner_folders import make_owner_folder
from mcp_server.security.http_openers import build_opener
from periplus.voices.speech_endpoints import SpeechProtocol, SpokenText
from periplus.voices.word_alignment import align_words, read_wav, start_of_words

TIMEOUT_S = 30.0
MOST_BYTES = 64_000_000
LONGEST_TEXT = 4_000
"""Characters of one request; endpoints take 4,096 and more."""
AT_ONCE = 2
FIXES = {
    400: "look at the voice and the model",
    401: "look at the key (PERIPLUS_VOICE_KEY)",
    403: "look at the key (PERIPLUS_VOICE_KEY) and what it may do",
    404: "look at the address, the voice and the model",
    429: "wait, or look at the limits of the account",
}


class SpeechEndpointError(MediaError):
    """The endpoint did not speak. `fix` says what to do."""

    def __init__(self, text: str, fix: str) -> None:
        super().__init__(text)
        self.fix = fix


class EndpointVoice:
    """Speaks through a speech endpoint (`agent.media.voice.Voice`); speech is cached in `folder`."""

    audible = True

    def __init__(self, endpoint: SpeechProtocol, folder: Path | None = None) -> None:
        """`folder` None: speech is deleted with the voice."""
        self._endpoint = endpoint
        self._own = tempfile.TemporaryDirectory(prefix="periplus-voice-") if folder is None else None
        self._folder = Path(self._own.name) if self._own is not None else folder or Path()
        make_owner_folder(self._folder)
        self._known: dict[str, asyncio.Task[Speech]] = {}
        self._room = asyncio.Semaphore(AT_ONCE)

    def at_pace(self, pace: float) -> EndpointVoice:
        """Return the same voice at another speed; both share the cache."""
        if pace <= 0:
            raise ValueError(f"speed must be above 0, not {pace}")
        other = EndpointVoice(self._endpoint.at_pace(pace), self._folder)
        other._own = self._own
        return other

    async def synthesize(self, text: str) -> Speech:
        """Return `text` as speech. Raises `SpeechEndpointError` and `MediaInputError`."""
        text = " ".join(text.split())
        if not text:
            return Speech("", 0.0, ())
        task = self._known.get(text)
        if task is None or (task.done() and (task.cancelled() or task.exception())):
            task = self._known[text] = asyncio.create_task(self._speak(text))
        return await asyncio.shield(task)

    async def _speak(self, text: str) -> Speech:
        digest = hashlib.sha256(f"1\0{self._endpoint.identity}\0{text}".encode()).hexdigest()[:24]
        wav = self._folder / f"{digest}.wav"
        times = wav.with_suffix(".words.json")
        if not times.exists():
            if len(text) > LONGEST_TEXT:
                raise MediaInputError(f"a text of {len(text)} characters is too long for a speech endpoint")
            async with self._room:
                body = await asyncio.to_thread(self._ask, text)
            await asyncio.to_thread(_keep, self._endpoint.read(body, text), text, wav, times)
        starts, seconds = json.loads(await asyncio.to_thread(times.read_text))
        words = tuple(SpokenWord(word, at) for word, at in zip(text.split(), starts, strict=True))
        return Speech(text, seconds, words, wav)

    def _ask(self, text: str) -> bytes:
        call = self._endpoint.call(text)
        request = urllib.request.Request(call.url, call.body, dict(call.headers))  # noqa: S310 - http(s) was checked
        where = f"the speech endpoint {call.url.split('?', maxsplit=1)[0]}"
        try:
            with build_opener(proxies=True).open(request, timeout=TIMEOUT_S) as answer:
                body: bytes = answer.read(MOST_BYTES + 1)
        except urllib.error.HTTPError as exc:
            with exc:
                said = exc.read(300).decode(errors="replace").strip()
            raise SpeechEndpointError(
                f"{where} answered {exc.code}: {said or exc.reason}", FIXES.get(exc.code, "try again later")
            ) from exc
        except OSError as exc:
            reason = getattr(exc, "reason", exc)
            raise SpeechEndpointError(
                f"{where} does not answer: {reason}", "start it, or look at its address"
            ) from exc
        if len(body) > MOST_BYTES:
            raise MediaInputError(f"{where} sent more than {MOST_BYTES // 1_000_000} MB for one text")
        return body


def _keep(spoken: SpokenText, text: str, wav: Path, times: Path) -> None:
    """Write the sound, then the start of each word with the duration; the latter says that both are whole."""
    sound = (
        read_wav(spoken.sound)
        if spoken.rate is None
        else (spoken.sound[: len(spoken.sound) // 2 * 2], spoken.rate)
    )
    samples, rate = sound
    if not samples:
        raise MediaInputError("the speech endpoint returned no sound")
    seconds = len(samples) / 2 / rate
    starts = (
        start_of_words(text, spoken.characters) if spoken.characters else align_words(text, samples, rate)
    )
    part = wav.with_suffix(f".{uuid4().hex}.part")
    with wave.open(str(part), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(rate)
        file.writeframes(samples)
    part.replace(wav)
    part = times.with_suffix(f".{uuid4().hex}.part")
    part.write_text(json.dumps([starts, seconds]), encoding="utf-8")
    part.replace(times)
