"""Voices that an endpoint speaks, against a local server that speaks the three protocols."""

from __future__ import annotations

import base64
import json
import math
import re
import struct
import threading
import wave
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BytesIO
from typing import Any

import pytest

from agent.media.media_tools import MediaInputError
from agent.media.voice import SilentVoice, Speech
from periplus.errors import UserError
from periplus.voices import voice_selection
from periplus.voices.endpoint_voice import EndpointVoice, SpeechEndpointError
from periplus.voices.voice_selection import VoiceRequest, check_voice, open_voice, parse_voice
from periplus.voices.word_alignment import align_words, find_pauses, read_wav

RATE = 22_050
SYLLABLE_S, PAUSE_S = 0.2, 0.3
TEXT = "Here is the month. Nearly thirteen thousand calls, and that is a record."
KEY = "voice-key-1"


def speak(text: str) -> tuple[bytes, list[float]]:
    """Return a tone for each word, with a pause after punctuation; and when each word begins."""
    sound, starts = array("h"), list[float]()
    for word in text.split():
        starts.append(len(sound) / RATE)
        length = round(SYLLABLE_S * (len(word) + 1) / 5 * RATE)
        sound.extend(round(9_000 * math.sin(at / 9)) for at in range(length))
        if re.search(r"[.,!?]$", word):
            sound.extend([0] * round(PAUSE_S * RATE))
    return sound.tobytes(), starts


@dataclass
class Endpoint:
    """A speech endpoint, and what it was asked."""

    url: str
    asked: list[tuple[str, dict[str, str], bytes]] = field(default_factory=list)
    status: int = 200
    streamed: bool = False


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            given.asked.append((self.path, {k.lower(): v for k, v in self.headers.items()}, body))
            answer = b'{"error": "no such voice"}' if given.status != 200 else answers(self.path, body)
            self.send_response(given.status)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_: Any) -> None:
            """Be silent."""

    def answers(path: str, body: bytes) -> bytes:
        if path.startswith("/v1/text-to-speech/"):
            text = json.loads(body)["text"]
            sound, starts = speak(text)
            words = iter(starts)
            at, times = 0.0, list[float]()
            for index, letter in enumerate(text):
                if letter != " " and (index == 0 or text[index - 1] == " "):
                    at = next(words)
                times.append(at)
            return json.dumps({
                "audio_base64": base64.b64encode(sound).decode(),
                "alignment": {"characters": list(text), "character_start_times_seconds": times},
            }).encode()  # fmt: skip
        if path == "/v1/audio/speech":
            return _wav(speak(json.loads(body)["input"])[0])
        return _wav(speak(re.sub(r"<[^>]+>", "", body.decode()))[0])

    def _wav(sound: bytes) -> bytes:
        made = BytesIO()
        with wave.open(made, "wb") as file:
            file.setnchannels(1)
            file.setsampwidth(2)
            file.setframerate(RATE)
            file.writeframes(sound)
        whole = made.getvalue()
        if given.streamed:  # the length is not known when the first bytes are sent
            whole = whole[:4] + b"\xff" * 4 + whole[8:40] + b"\xff" * 4 + whole[44:]
        return whole

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    given = Endpoint(f"http://127.0.0.1:{server.server_address[1]}")
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield given
    server.shutdown()
    server.server_close()


def _open(endpoint: Endpoint, engine: str, folder: Any, *, key: str | None = KEY, speed: float = 1.0) -> Any:
    address = {"openai": "/v1", "elevenlabs": "", "azure": "/cognitiveservices/v1"}[engine]
    spec = parse_voice(f"{engine}:nova@{endpoint.url}{address}")
    return open_voice(spec, folder=folder, speed=speed, language="en", key=key)


def _off(speech: Speech) -> float:
    """Return how far the word times are from those of the sound at most, in seconds."""
    return max(abs(word.start_s - at) for word, at in zip(speech.words, speak(TEXT)[1], strict=True))


@pytest.mark.parametrize("engine", ["openai", "elevenlabs", "azure"])
async def test_an_endpoint_speaks_with_the_time_of_each_word_and_is_asked_once(endpoint, tmp_path, engine):
    voice = _open(endpoint, engine, tmp_path)
    speech = await voice.synthesize(TEXT)
    sound = speak(TEXT)[0]
    assert speech.duration_s == pytest.approx(len(sound) / 2 / RATE)
    assert [word.text for word in speech.words] == TEXT.split()
    assert _off(speech) < 0.08
    with wave.open(str(speech.wav)) as file:
        assert file.readframes(file.getnframes()) == sound
    again = await _open(endpoint, engine, tmp_path).synthesize(f"  {TEXT} ")  # a new process, the same cache
    assert again == speech
    assert len(endpoint.asked) == 1
    path, headers, body = endpoint.asked[0]
    if engine == "openai":
        assert path == "/v1/audio/speech"
        assert headers["authorization"] == f"Bearer {KEY}"
        assert json.loads(body) | {"voice": "nova", "input": TEXT, "response_format": "wav"} == json.loads(
            body
        )
    elif engine == "elevenlabs":
        assert path == f"/v1/text-to-speech/nova/with-timestamps?output_format=pcm_{RATE}"
        assert headers["xi-api-key"] == KEY
    else:
        assert headers["ocp-apim-subscription-key"] == KEY
        assert b'<voice name="nova">' in body
    assert KEY not in "".join(file.read_text(errors="ignore") for file in tmp_path.iterdir())


@pytest.mark.parametrize("engine", ["openai", "elevenlabs", "azure"])
async def test_another_pace_is_another_sound(endpoint, tmp_path, engine):
    voice = _open(endpoint, engine, tmp_path)
    await voice.synthesize("Hello there.")
    await voice.at_pace(1.1).synthesize("Hello there.")
    first, second = (body.decode() for _, _, body in endpoint.asked)
    assert first != second
    assert "1.1" in second or "+10%" in second


async def test_a_local_endpoint_needs_no_key_and_streams_its_sound(endpoint, tmp_path):
    endpoint.streamed = True
    speech = await _open(endpoint, "openai", tmp_path, key=None).synthesize("One. Two.")
    assert speech.duration_s == pytest.approx(len(speak("One. Two.")[0]) / 2 / RATE)
    assert "authorization" not in endpoint.asked[0][1]


async def test_a_text_is_data_in_ssml(endpoint, tmp_path):
    await _open(endpoint, "azure", tmp_path).synthesize("a < b </voice><voice name='x'> & c")
    assert endpoint.asked[0][2].count(b"<voice") == 1


@pytest.mark.parametrize(
    ("status", "fix"), [(401, "PERIPLUS_VOICE_KEY"), (404, "the voice"), (500, "later"), (302, "later")]
)
async def test_an_endpoint_that_refuses_is_told_before_anything_is_shown(endpoint, tmp_path, status, fix):
    endpoint.status = status
    with pytest.raises(UserError, match=f"answered {status}") as caught:
        await check_voice(_open(endpoint, "openai", tmp_path))
    assert fix in (caught.value.fix or "")
    assert KEY not in str(caught.value)


async def test_an_endpoint_that_is_not_there_is_told_with_its_address(tmp_path):
    voice = open_voice(
        parse_voice("openai:x@http://127.0.0.1:9/v1"), folder=tmp_path, speed=1.0, language="en"
    )
    with pytest.raises(SpeechEndpointError, match=r"127\.0\.0\.1:9.*does not answer"):
        await voice.synthesize("Hello")


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("openai:nova", "OPENAI_API_KEY"),
        ("elevenlabs:", "id of a voice"),
        ("elevenlabs:abc", "ELEVENLABS_API_KEY"),
        ("azure:en-US-JennyNeural", "region"),
        ("azure:en-US-JennyNeural@westeurope", "AZURE_SPEECH_KEY"),
        ("openai:nova@ftp://x/v1", "https://HOST"),
        ("openai:nova@http://127.0.0.1/v1?speed=2", "no option 'speed'"),
        ("polly:joanna", "no voice engine 'polly'"),
    ],
)
def test_what_an_engine_lacks_is_told_with_the_fix(monkeypatch, spec, said):
    for name in ("OPENAI_API_KEY", "ELEVENLABS_API_KEY", "AZURE_SPEECH_KEY", "AZURE_SPEECH_REGION"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(UserError, match=re.escape(said)):
        open_voice(parse_voice(spec), folder=None, speed=1.0, language="en")


def test_a_key_is_not_sent_unencrypted_to_another_machine():
    with pytest.raises(UserError, match="use https"):
        open_voice(
            parse_voice("openai:x@http://tts.example/v1"), folder=None, speed=1, language="en", key="k"
        )


def test_an_engine_of_another_package_is_found_by_its_entry_point(monkeypatch):
    asked: list[VoiceRequest] = []

    class Entry:
        name = "whistle"

        def load(self) -> Any:
            return lambda wanted: asked.append(wanted) or SilentVoice(wanted.speed)

    monkeypatch.setattr(voice_selection, "entry_points", lambda **_: [Entry()])
    voice = open_voice(parse_voice("whistle:low?octave=2"), folder=None, speed=2.0, language="de")
    assert isinstance(voice, SilentVoice)
    assert (asked[0].voice, asked[0].language, asked[0].options) == ("low", "de", {"octave": "2"})


@pytest.mark.parametrize(
    "data",
    [
        b"", b"<html>", b"RIFF\x00\x00\x00\x00WAVE", b"RIFF\x00\x00\x00\x00WAVEdata\xff\xff\xff\xff\x00",
        b"RIFF\x00\x00\x00\x00WAVEfmt \x10\x00\x00\x00" + struct.pack("<HHIIHH", 1, 2, 44_100, 0, 4, 16) + b"data\x04\x00\x00\x00\x00\x00\x00\x00",
    ],
)  # fmt: skip
def test_what_is_no_mono_sound_is_refused(data):
    with pytest.raises(MediaInputError, match="expected"):
        read_wav(data)


def test_pauses_place_the_words_after_them_better_than_their_length_alone():
    sound, starts = speak(TEXT)
    begin, end, pauses = find_pauses(sound, RATE)
    assert begin == 0.0
    assert end <= len(sound) / 2 / RATE
    assert len(pauses) == 2  # the last one is no pause, but the end
    assert max(abs(a - b) for a, b in zip(align_words(TEXT, sound, RATE), starts, strict=True)) < 0.08
    assert align_words("", sound, RATE) == []
    assert find_pauses(bytes(200), RATE)[2] == []


def test_an_endpoints_voice_is_a_voice(tmp_path):
    assert isinstance(
        open_voice(parse_voice("openai:x@http://127.0.0.1/v1"), folder=tmp_path, speed=1, language="en"),
        EndpointVoice,
    )
