"""What is personal is spoken, and not kept with what everybody hears."""

from __future__ import annotations

import pytest

from agent.media.media_tools import ESPEAK
from agent.media.voice import EspeakVoice, PersonalTextVoice, SilentVoice
from agent.personal_data import PersonalData


@pytest.mark.skipif(not ESPEAK.find(), reason="espeak-ng is not installed")
async def test_a_sentence_with_a_name_is_spoken_and_not_kept(tmp_path):
    personal = PersonalData()
    voice = PersonalTextVoice(EspeakVoice(tmp_path / "kept"), EspeakVoice, personal.redact)
    common = await voice.synthesize("Nice to meet you.")
    kept = sorted((tmp_path / "kept").iterdir())
    assert common.wav in kept
    personal.keep("Philippa")
    said = await voice.synthesize("Nice to meet you, Philippa.")
    assert said.duration_s > common.duration_s
    assert said.wav.stat().st_size > 1_000
    assert sorted((tmp_path / "kept").iterdir()) == kept
    faster = await voice.at_pace(2.0).synthesize("Nice to meet you, Philippa.")
    assert faster.duration_s < said.duration_s
    assert sorted((tmp_path / "kept").iterdir()) == kept


async def test_without_anything_personal_there_is_one_voice():
    def never() -> SilentVoice:
        raise AssertionError("nothing personal was said")

    voice = PersonalTextVoice(SilentVoice(), never, PersonalData().redact)
    assert (await voice.synthesize("Hello.")).duration_s > 0
    assert not voice.audible
