from __future__ import annotations

import array
import asyncio
import wave
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.media import espeak_words, voice
from agent.media.media_tools import ESPEAK, MediaToolMissing
from agent.media.voice import _SENTENCE, EspeakVoice, SilentVoice, VoiceMissing, _time_words, find_voice
from tests.support.needs import lacking

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


@pytest.mark.usefixtures("espeak", "espeak_library")
async def test_a_word_is_heard_where_the_sound_of_it_begins(tmp_path: Path) -> None:
    # A clause boundary is the one place in a sentence that can be seen in its samples: there is silence.
    speech = await EspeakVoice(tmp_path).synthesize("Anna bought bananas, then Otto went home.")
    heard = {word.text: word.start_s for word in speech.words}
    silent_from, silent_to = max(_silences(speech.wav), key=lambda span: span[1] - span[0])
    assert heard["then"] == pytest.approx(silent_to, abs=0.12)
    assert heard["bananas,"] < silent_from
    by_length = await SilentVoice().synthesize(speech.text)
    assert [w.text for w in by_length.words] == [w.text for w in speech.words]


@pytest.mark.usefixtures("espeak")
async def test_without_its_library_words_are_placed_by_their_length(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    none = tmp_path / "none.py"
    none.write_text(f"raise SystemExit({espeak_words.NO_LIBRARY})")
    monkeypatch.setattr(voice, "WORDS_PROGRAM", none)
    speech = await EspeakVoice(tmp_path).synthesize(TEXT)
    assert speech.duration_s > 2
    assert [word.text for word in speech.words] == TEXT.split()


def test_words_that_espeak_counts_differently_begin_with_the_first_of_their_own() -> None:
    times = [(0, 0.0), (7, 200.0), (8, 400.0), (10, 600.0), (16, 900.0)]
    words = _time_words("Nearly 13,452 — calls", 10.0, 1.2, times)
    assert [(w.text, w.start_s) for w in words if w.text != "—"] == [
        ("Nearly", 10.0), ("13,452", 10.2), ("calls", 10.9),
    ]  # fmt: skip
    assert 10.2 < words[2].start_s < 10.9


@given(
    st.text(min_size=1, max_size=60),
    st.lists(st.tuples(st.integers(-2, 70), st.floats(-50, 3000)), max_size=20),
)
def test_whatever_espeak_tells_words_come_one_after_the_other(text: str, times) -> None:
    words = _time_words(" ".join(text.split()), 5.0, 2.0, times)
    starts = [word.start_s for word in words]
    assert [word.text for word in words] == text.split()
    assert starts == sorted(starts)
    assert all(5.0 <= start <= 7.0 for start in starts)


@pytest.mark.usefixtures("espeak")
async def test_another_language_is_another_voice(tmp_path: Path) -> None:
    english = await find_voice(enabled=True, folder=tmp_path).synthesize(TEXT)
    german = await find_voice(enabled=True, folder=tmp_path, language="de").synthesize(TEXT)
    woman = await find_voice(enabled=True, folder=tmp_path, voice="en-gb+f3").synthesize(TEXT)
    assert len({each.wav.read_bytes() for each in (english, german, woman) if each.wav is not None}) == 3


@pytest.mark.usefixtures("espeak")
@pytest.mark.parametrize("program", [None, espeak_words.NO_LIBRARY], ids=["library", "program"])
async def test_a_voice_that_is_not_there_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: int | None
) -> None:
    if program is not None:
        none = tmp_path / "none.py"
        none.write_text(f"raise SystemExit({program})")
        monkeypatch.setattr(voice, "WORDS_PROGRAM", none)
    with pytest.raises(VoiceMissing, match=r"'xx-nobody'.*--voices") as caught:
        await EspeakVoice(tmp_path, voice="xx-nobody").synthesize(TEXT)
    assert caught.value.voice == "xx-nobody"


@pytest.mark.usefixtures("espeak")
async def test_a_voice_at_another_pace_speaks_as_fast_as_one_that_was_made_so(tmp_path: Path) -> None:
    voice = EspeakVoice(tmp_path, speed=1.25)
    slower = await voice.at_pace(0.8).synthesize(TEXT)
    assert slower.wav == (await EspeakVoice(tmp_path).synthesize(TEXT)).wav
    assert slower.duration_s > 1.1 * (await voice.synthesize(TEXT)).duration_s
    silent = SilentVoice(2.0)
    assert (await silent.at_pace(0.5).synthesize(TEXT)).duration_s == pytest.approx(
        2 * (await silent.synthesize(TEXT)).duration_s
    )


@pytest.mark.usefixtures("espeak")
async def test_two_voices_that_say_the_same_do_not_get_in_each_others_way(tmp_path: Path) -> None:
    said = await asyncio.gather(*(EspeakVoice(tmp_path).synthesize(TEXT) for _ in range(4)))
    assert len({each.wav for each in said}) == 1
    assert len({each.words for each in said}) == 1
    assert not list(tmp_path.glob("*.part"))


def _silences(wav: Path | None) -> list[tuple[float, float]]:
    """Stretches of a WAV in which hardly anything is heard, in seconds."""
    assert wav is not None
    with wave.open(str(wav)) as sound:
        rate = sound.getframerate()
        samples = array.array("h", sound.readframes(sound.getnframes()))
    step = rate // 100
    quiet = [max(map(abs, samples[at : at + step])) < 200 for at in range(0, len(samples) - step, step)]
    spans, begun = list[tuple[float, float]](), None
    for at, is_quiet in enumerate([*quiet, False]):
        if is_quiet and begun is None:
            begun = at
        elif not is_quiet and begun is not None:
            spans.append((begun / 100, at / 100))
            begun = None
    return spans


@pytest.fixture
def espeak_library() -> None:
    """espeak-ng's library comes with the program on all systems we know."""
    if espeak_words._library() is None:
        lacking("espeak-ng's library is not installed")


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
