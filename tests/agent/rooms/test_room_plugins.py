"""Models, voices and recognisers by plugin: plugged in by name, held to what is known, gone without harm."""

from __future__ import annotations

import wave

import pytest

from agent.inferencer import InferenceFailed
from agent.media.voice import EspeakVoice
from agent.rooms.plugin_voice import PluginVoice
from periplus.errors import UserError
from periplus.rooms import room_language_model as room_model
from periplus.rooms.livekit_plugins import LivekitPlugins
from periplus.rooms.room_language_model import TOOLS, RoomLanguageModel
from periplus.rooms.room_settings import RoomSettings
from tests.support import room_plugins
from tests.support.room_house import open_house
from tests.support.room_plugins import LLM, PROVIDER, STT, TTS, scripted_plugins  # noqa: F401 - a fixture
from tests.support.room_visitor import entered


@pytest.mark.usefixtures("scripted_plugins")
def test_plugins_are_made_anew_for_each_room_with_their_options():
    plugins = LivekitPlugins.from_settings(
        RoomSettings(stt=f"{PROVIDER}?words=hello there", llm=PROVIDER, tts=PROVIDER)
    )
    first, second = plugins.stt(), plugins.stt()
    assert isinstance(first, STT)
    assert first is not second
    assert first._words == "hello there"
    assert isinstance(plugins.llm(), LLM)
    assert isinstance(plugins.tts(), TTS)


@pytest.mark.usefixtures("scripted_plugins")
def test_an_option_that_there_is_not_is_told_by_the_variable_it_stands_in():
    with pytest.raises(UserError, match=r"PERIPLUS_LIVEKIT_TTS: .*unexpected"):
        LivekitPlugins.from_settings(RoomSettings(tts=f"{PROVIDER}?nonsense=1"))


async def test_a_model_may_read_the_knowledge_over_mcp_and_nothing_else(environment):
    llm = LLM()
    said = await RoomLanguageModel(llm, environment.stores, "spadeworks").infer(
        "What languages does it speak?"
    )
    assert said == llm.says
    assert llm.tools == TOOLS
    assert any("agent" in found for found in llm.found)
    assert llm.asked[0] == "What languages does it speak?"


async def test_a_model_that_says_nothing_in_time_is_not_waited_for(environment, monkeypatch):
    monkeypatch.setattr(room_model, "ANSWER_S", 0.001)
    with pytest.raises(InferenceFailed, match="no answer within"):
        await RoomLanguageModel(LLM(), environment.stores, "spadeworks").infer("Why?")


async def test_a_model_that_says_nothing_at_all_has_failed(environment):
    with pytest.raises(InferenceFailed):
        await RoomLanguageModel(LLM(says="", tool=""), environment.stores, "spadeworks").infer("Why?")


async def test_a_plugins_voice_is_known_before_it_is_heard():
    tts = TTS()
    voice = PluginVoice(tts)
    speech = await voice.synthesize("Here  we are.")
    assert speech.text == "Here we are."
    assert abs(speech.duration_s - len(speech.text) / 20) < 0.05
    assert [word.text for word in speech.words] == ["Here", "we", "are."]
    with wave.open(str(speech.wav), "rb") as sound:
        assert abs(sound.getnframes() / sound.getframerate() - speech.duration_s) < 0.01
    assert await voice.synthesize("Here we are.") is speech
    assert tts.spoken == ["Here we are."]
    assert (await voice.synthesize("  ")).duration_s == 0


async def test_where_a_plugin_cannot_speak_another_voice_does():
    speech = await PluginVoice(TTS(fails="yes")).synthesize("Here we are.")
    assert speech.wav is None  # silence of the same length
    assert speech.duration_s > 0.5


async def test_what_a_plugin_spoke_is_gone_with_its_voice():
    voice = PluginVoice(TTS())
    wav = (await voice.synthesize("Here we are.")).wav
    assert wav.exists()
    del voice
    assert not wav.exists()


@pytest.mark.sampled(0.5)
@pytest.mark.timeout(240)
@pytest.mark.usefixtures("espeak", "scripted_plugins")
async def test_with_plugins_a_spoken_question_is_answered_by_the_model_in_the_plugins_voice(
    livekit_server, environment, tmp_path
):
    room_plugins.STT.words = "What languages does it speak?"
    question = await EspeakVoice(tmp_path, voice="en-us").synthesize("What languages does it speak?")
    plugins = LivekitPlugins(stt_name=PROVIDER, llm_name=PROVIDER, tts_name=PROVIDER)
    async with open_house(livekit_server, environment, plugins) as house, entered(house.ticket()) as visitor:
        await visitor.until(lambda: any(each.text for each in visitor.said), "a word")
        await visitor.speak(question.wav)
        understood = await visitor.event("understood")
        answered = await visitor.event("answered")
        await visitor.press("stop")
        await visitor.event("ended")
    assert understood["text"] == "What languages does it speak?"
    assert answered["answer"] == "It speaks English, Hindi and Spanish."
    assert answered["sources"]
