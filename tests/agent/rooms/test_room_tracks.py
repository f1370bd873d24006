"""What a room is given: sound, pictures, words and messages, each without a room."""

from __future__ import annotations

import io
import json
import math
import struct
import wave
from pathlib import Path

import av
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.events import ScreenSeen
from agent.media.voice import Speech, SpokenWord
from agent.presentation.presentation_records import Answered, SegmentEnded, SegmentStatus, TookDetour
from agent.rooms.room_speaker import RATE, resample_wav
from agent.rooms.room_topics import render_event
from agent.rooms.screen_track import decode_jpeg
from agent.rooms.speech_transcript import TOGETHER_S, group_words


def tone(path: Path, rate: int, seconds: float, hertz: float = 440.0) -> Path:
    samples = [int(12_000 * math.sin(2 * math.pi * hertz * i / rate)) for i in range(int(rate * seconds))]
    with wave.open(str(path), "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(2)
        sound.setframerate(rate)
        sound.writeframes(struct.pack(f"<{len(samples)}h", *samples))
    return path


@pytest.mark.parametrize("rate", [16_000, 22_050, RATE, 48_000])
def test_sound_of_any_rate_keeps_its_length_and_its_pitch(tmp_path: Path, rate: int):
    samples = np.frombuffer(resample_wav(tone(tmp_path / "tone.wav", rate, 1.0)), dtype=np.int16)
    assert abs(len(samples) / RATE - 1.0) < 0.02
    spectrum = np.abs(np.fft.rfft(samples.astype(float)))
    assert abs(np.argmax(spectrum) * RATE / len(samples) - 440.0) < 2.0


def jpeg_of(picture: np.ndarray) -> bytes:
    height, width, _ = picture.shape
    out = io.BytesIO()
    with av.open(out, mode="w", format="mjpeg") as container:
        stream = container.add_stream("mjpeg", rate=1)
        stream.width, stream.height, stream.pix_fmt = width, height, "yuvj420p"
        stream.options = {"q:v": "2"}
        for packet in stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")):
            container.mux(packet)
        for packet in stream.encode():
            container.mux(packet)
    return out.getvalue()


@pytest.mark.parametrize("colour", [(0, 0, 0), (255, 255, 255), (200, 30, 30), (20, 90, 200)])
def test_a_picture_keeps_its_colours_on_its_way_into_a_room(colour: tuple[int, int, int]):
    picture = np.full((120, 160, 3), colour, dtype=np.uint8)
    frame = decode_jpeg(jpeg_of(picture))
    assert (frame.width, frame.height) == (160, 120)
    from livekit import rtc  # noqa: PLC0415 - only to look at the frame as the other side does

    back = np.frombuffer(frame.convert(rtc.VideoBufferType.RGB24).data, dtype=np.uint8).reshape(120, 160, 3)
    assert np.abs(back.astype(int) - picture.astype(int)).max() <= 8


def test_a_picture_of_odd_size_loses_a_row_and_a_column():
    frame = decode_jpeg(jpeg_of(np.zeros((121, 161, 3), dtype=np.uint8)))
    assert (frame.width, frame.height) == (160, 120)


@given(st.lists(st.tuples(st.text("abc.,", min_size=1, max_size=8), st.floats(0, 1.5)), max_size=30))
def test_every_word_is_written_once_in_order_and_never_before_it_is_heard(words):
    at, placed = 0.0, []
    for text, gap in words:
        placed.append(SpokenWord(text, at))
        at += gap
    speech = Speech(" ".join(word.text for word in placed) or "Hm.", at, tuple(placed))
    groups = list(group_words(speech))
    assert "".join(text for _, text in groups) == speech.text
    assert [at_s for at_s, _ in groups] == sorted(at_s for at_s, _ in groups)
    position = 0
    for at_s, text in groups:
        for _ in text.split() if placed else ():
            assert at_s <= placed[position].start_s <= at_s + TOGETHER_S
            position += 1


def test_visitors_are_told_what_concerns_them_and_nothing_else():
    told = json.loads(render_event(SegmentEnded("intro", SegmentStatus.SKIPPED, "time is short")))
    assert told == {
        "event": "segment_ended",
        "segment_id": "intro",
        "status": "skipped",
        "reason": "time is short",
        "aside": False,
    }
    answer = json.loads(render_event(Answered("Why?", "Because.", ("Here",))))
    assert (answer["event"], answer["sources"]) == ("answered", ["Here"])
    detour = json.loads(render_event(TookDetour("skip", "intro")))
    assert (detour["event"], detour["kind"]) == ("took_detour", "skip")
    assert render_event(ScreenSeen("login", "Sign in", 1.0, "http://127.0.0.1/login?token=x")) is None
