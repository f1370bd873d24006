from __future__ import annotations

import asyncio
import wave
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.media.tools import ESPEAK, MediaToolMissing
from agent.media.voice import _SENTENCE, EspeakVoice, SilentVoice, find_voice

TEXT = "Hello there. This is the dashboard, where every call shows up! Shall we?"


async def test_silence_lasts_as_long_as_speech_would() -> None:
    speech = await SilentVoice().synthesize("a" * 100)
    assert speech.duration_s == pytest.approx(5.57)
    assert speech.wav is None


async def test_twice_the_speed_takes_half_the_time() -> None:
    slow, fast = await SilentVoice().synthesize(TEXT), await SilentVoice(speed=2).synthesize(TEXT)
    assert fast.duration_s == pytest.approx(slow.duration_s / 2)


@pytest.mark.parametrize("speed", [0, -1])
def test_a_speed_that_makes_no_sense_is_refused(speed: float) -> None:
    with pytest.raises(ValueError, match="above 0"):
        SilentVoice(speed)


@given(st.text(max_size=300))
def test_sentences_have_all_the_words_of_any_text(text: str) -> None:
    plain = " ".join(text.split())
    assert [word for sentence in _SENTENCE.findall(plain) for word in sentence.split()] == plain.split()


@pytest.mark.usefixtures("espeak")
async def test_espeak_speaks_every_word_in_order(tmp_path: Path) -> None:
    speech = await EspeakVoice(tmp_path).synthesize(TEXT)
    assert speech.wav is not None
    with wave.open(str(speech.wav)) as sound:
        assert sound.getnframes() / sound.getframerate() == pytest.approx(speech.duration_s)
        assert max(sound.readframes(sound.getnframes())) > 0
    assert [word.text for word in speech.words] == TEXT.split()
    starts = [word.start_s for word in speech.words]
    assert starts == sorted(starts)
    assert starts[0] == 0
    assert starts[-1] < speech.duration_s


@pytest.mark.usefixtures("espeak")
async def test_the_estimate_is_near_what_espeak_takes(tmp_path: Path) -> None:
    spoken = await EspeakVoice(tmp_path).synthesize(TEXT)
    silent = await SilentVoice().synthesize(TEXT)
    assert silent.duration_s == pytest.approx(spoken.duration_s, rel=0.25)


@pytest.mark.usefixtures("espeak")
async def test_what_was_said_once_is_not_spoken_again(tmp_path: Path) -> None:
    voice = EspeakVoice(tmp_path)
    first, second = await asyncio.gather(voice.synthesize(TEXT), voice.synthesize(f" {TEXT}\n"))
    assert first is second
    assert not list(tmp_path.glob("*.part"))


@pytest.mark.usefixtures("espeak")
async def test_a_faster_voice_is_shorter_and_does_not_mix_with_the_slower(tmp_path: Path) -> None:
    slow = await EspeakVoice(tmp_path).synthesize(TEXT)
    fast = await EspeakVoice(tmp_path, speed=2).synthesize(TEXT)
    assert fast.duration_s < 0.7 * slow.duration_s


@pytest.mark.usefixtures("espeak")
@pytest.mark.parametrize(
    "text", ["--help", "-f /etc/passwd", "[[at:click]] <speak>&amp;</speak>", "…", "日本"]
)
async def test_text_is_only_ever_text(text: str, tmp_path: Path) -> None:
    speech = await EspeakVoice(tmp_path).synthesize(text)
    assert speech.wav is not None
    assert speech.duration_s < 15


async def test_nothing_to_say_takes_no_time(tmp_path: Path) -> None:
    assert (await SilentVoice().synthesize(" \n")).duration_s == 0


def test_without_espeak_the_voice_is_silent_and_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    assert not find_voice(enabled=True).audible
    with pytest.raises(MediaToolMissing, match="apt-get install espeak-ng") as caught:
        EspeakVoice()
    assert caught.value.program == ESPEAK.program


@pytest.mark.usefixtures("espeak")
def test_a_voice_is_chosen_by_wish() -> None:
    assert find_voice(enabled=True).audible
    assert not find_voice(enabled=False).audible
