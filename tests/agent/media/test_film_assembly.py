from __future__ import annotations

import array
import wave
from pathlib import Path

import pytest

from agent.media.captions import Cue, build_cues
from agent.media.film_assembly import FilmChapter, FilmUtterance, mix_utterances, mux_film
from agent.media.media_probe import grab_frame, probe_media
from agent.media.media_tools import FFMPEG, MediaInputError, MediaToolFailed, run_tool
from agent.media.voice import EspeakVoice

RATE = 1000  # samples a second: numbers that can be counted


def _wav(path: Path, samples: list[int], rate: int = RATE, channels: int = 1) -> Path:
    with wave.open(str(path), "wb") as sound:
        sound.setparams((channels, 2, rate, 0, "NONE", ""))
        sound.writeframes(array.array("h", samples).tobytes())
    return path


def _samples(path: Path) -> list[int]:
    with wave.open(str(path)) as sound:
        return array.array("h", sound.readframes(sound.getnframes())).tolist()


@pytest.fixture
async def silent_film(ffmpeg: None, tmp_path: Path) -> Path:
    path = tmp_path / "silent.mp4"
    await run_tool(
        FFMPEG,
        *("-v", "error", "-f", "lavfi", "-i", "testsrc2=size=320x180:rate=25:duration=4"),
        *("-c:v", "libx264", "-pix_fmt", "yuv420p", str(path)),
    )
    return path


@pytest.mark.usefixtures("espeak")
async def test_the_film_has_picture_voice_captions_and_chapters(silent_film: Path, tmp_path: Path) -> None:
    speech = await EspeakVoice(tmp_path / "voice").synthesize("Two words & more. Then a second sentence.")
    assert speech.wav is not None
    target = await mux_film(
        silent_film,
        tmp_path / "made" / "demo.mp4",
        utterances=[FilmUtterance(0.5, speech.wav)],
        cues=build_cues(speech.text, 0.5, speech.duration_s, speech.words),
        chapters=[FilmChapter(0, "Sign in"), FilmChapter(2, "a=b; #1 \\ two\nlines")],
        title="A tour; of = things",
    )
    info = await probe_media(target)
    assert [(stream.kind, stream.codec) for stream in info.streams[:3]] == [
        ("video", "h264"),
        ("audio", "aac"),
        ("subtitle", "mov_text"),
    ]
    assert info.duration_s == pytest.approx(4, abs=0.1)
    assert info.title == "A tour; of = things"
    assert [(chapter.start_s, chapter.title) for chapter in info.chapters] == [
        (0, "Sign in"),
        (2, "a=b; #1 \\ two lines"),
    ]
    captions = await run_tool(FFMPEG, *("-v", "error", "-i", str(target), "-map", "0:s", "-f", "webvtt", "-"))
    assert "Two words & more." in captions.decode()
    head = target.read_bytes()[:4096]
    assert b"moov" in head, "the index is at the front"
    assert sorted(path.name for path in target.parent.iterdir()) == ["demo.mp4"]


async def test_voice_captions_and_chapters_may_be_left_out(silent_film: Path, tmp_path: Path) -> None:
    info = await probe_media(await mux_film(silent_film, tmp_path / "demo.mp4"))
    assert [stream.kind for stream in info.streams] == ["video"]
    assert info.chapters == ()


async def test_what_lies_beyond_the_film_is_cut(silent_film: Path, tmp_path: Path) -> None:
    long = _wav(tmp_path / "long.wav", [1000] * 8 * 22050, rate=22050)
    target = await mux_film(
        silent_film,
        tmp_path / "demo.mp4",
        utterances=[FilmUtterance(3, long), FilmUtterance(100, long)],
        cues=[Cue(3, 30, "on and on"), Cue(50, 51, "never seen")],
        chapters=[FilmChapter(0, "all"), FilmChapter(60, "never")],
    )
    info = await probe_media(target)
    assert info.duration_s == pytest.approx(4, abs=0.1)
    assert [chapter.title for chapter in info.chapters] == ["all"]


async def test_a_file_that_is_no_film_is_refused_and_nothing_is_left_behind(tmp_path: Path) -> None:
    noise = tmp_path / "noise.mp4"
    noise.write_bytes(b"not a film")
    with pytest.raises(MediaToolFailed, match="ffprobe"):
        await mux_film(noise, tmp_path / "out" / "demo.mp4")
    with pytest.raises(MediaInputError, match="no picture"):
        await mux_film(_wav(tmp_path / "sound.wav", [0] * 500), tmp_path / "out" / "demo.mp4")
    assert not (tmp_path / "out").exists()


def test_utterances_lie_where_they_were_said(tmp_path: Path) -> None:
    one, two = _wav(tmp_path / "one.wav", [1, 2, 3]), _wav(tmp_path / "two.wav", [7, 8])
    track = mix_utterances(
        [FilmUtterance(0.006, two), FilmUtterance(0.001, one)], 0.010, tmp_path / "track.wav"
    )
    assert _samples(track) == [0, 1, 2, 3, 0, 0, 7, 8, 0, 0]


def test_overlapping_utterances_are_added_and_do_not_wrap_around(tmp_path: Path) -> None:
    loud, other = _wav(tmp_path / "loud.wav", [30000] * 3), _wav(tmp_path / "other.wav", [30000, 5, -5])
    track = mix_utterances(
        [FilmUtterance(0, loud), FilmUtterance(0.002, other)], 0.006, tmp_path / "track.wav"
    )
    assert _samples(track) == [30000, 30000, 32767, 5, -5, 0]


def test_interrupted_speech_is_heard_until_it_was_interrupted(tmp_path: Path) -> None:
    wav = _wav(tmp_path / "said.wav", [4, 4, 4, 4])
    track = mix_utterances([FilmUtterance(0.001, wav, stop_s=0.003)], 0.005, tmp_path / "track.wav")
    assert _samples(track) == [0, 4, 4, 0, 0]


def test_sounds_that_do_not_fit_together_are_refused(tmp_path: Path) -> None:
    one, fast = _wav(tmp_path / "one.wav", [1]), _wav(tmp_path / "fast.wav", [1], rate=8000)
    with pytest.raises(MediaInputError, match="8000 samples per second"):
        mix_utterances([FilmUtterance(0, one), FilmUtterance(0.1, fast)], 1, tmp_path / "track.wav")
    with pytest.raises(MediaInputError, match="mono"):
        mix_utterances(
            [FilmUtterance(0, _wav(tmp_path / "stereo.wav", [1, 1], channels=2))], 1, tmp_path / "track.wav"
        )


async def test_a_picture_can_be_taken_out_of_a_film(silent_film: Path, tmp_path: Path) -> None:
    image = await grab_frame(silent_film, 1.5, tmp_path / "still.png")
    assert image.read_bytes().startswith(b"\x89PNG")
