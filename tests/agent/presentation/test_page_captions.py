"""Captions follow the words: in the picture, and for whoever listens."""

from __future__ import annotations

from agent.events import EventBus
from agent.media.voice import SilentVoice
from agent.presentation.narration.narrator import Narrator
from agent.presentation.page_overlay import CaptionPublisher
from agent.presentation.presentation_records import CaptionShown
from tests.support.clocks import Stepped, settled

TEXT = "This is the first caption. And this one is the second of them."


async def test_each_caption_comes_with_its_words_and_goes_with_the_last() -> None:
    clock, bus, shown = Stepped(), EventBus(), list[tuple[float, str]]()
    bus.listen(lambda e: shown.append((clock(), e.text)) if isinstance(e, CaptionShown) else None)
    narrator = Narrator(SilentVoice(), clock, sleep=clock.sleep, show=CaptionPublisher(bus, None))
    spoken = await narrator.say(TEXT)
    await clock.pass_(30)
    assert spoken is not None
    second = next(w.start_s for w in spoken.speech.words if w.text == "And")
    assert shown == [
        (0.0, "This is the first caption."),
        (second, "And this one is the second of them."),
        (spoken.duration_s, ""),
    ]


async def test_a_caption_goes_at_once_where_the_words_are_cut_and_is_told_once() -> None:
    clock, bus, shown = Stepped(), EventBus(), list[str]()
    bus.listen(lambda e: shown.append(e.text) if isinstance(e, CaptionShown) else None)
    narrator = Narrator(SilentVoice(), clock, sleep=clock.sleep, show=CaptionPublisher(bus, None))
    await narrator.say(TEXT)
    await clock.pass_(0.5)
    await narrator.stop_speaking()
    await narrator.stop_speaking()
    await settled()
    assert shown == ["This is the first caption.", ""]
