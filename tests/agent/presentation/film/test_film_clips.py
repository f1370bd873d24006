"""What a film is put together from: looks of pages, keys of segments, clips on the shelf."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from agent.media.screen_recorder import ScreenRecording
from agent.media.voice import Speech, SpokenWord
from agent.presentation.film import clip_store
from agent.presentation.film.clip_keys import compute_clip_key, hash_document
from agent.presentation.film.clip_store import ClipStore
from agent.presentation.film.page_appearance import capture_appearance, hash_appearance
from agent.presentation.narration.narrator import SpokenUtterance
from kb_schema.presentation_flows import PresentationFlow
from kb_schema.screens import Screen

if TYPE_CHECKING:
    from playwright.async_api import Page

PAGE = """<title>t</title><style>b { color: navy }</style>
<h1>Agents</h1><p>17 agents, <b>Ann Lee</b> joined 2 min ago</p>
<input placeholder=Name><div id=box></div><div role=status></div>"""


async def _look(page: Page, change: str = "", values: tuple[str, ...] = ()) -> str:
    await page.set_content(PAGE)
    if change:
        await page.evaluate(change)
    return await capture_appearance(page, values)


@pytest.mark.parametrize(
    "change",
    [
        "document.querySelector('p').firstChild.data = '18 agents, '",
        "document.querySelector('p').lastChild.data = ' joined just now'",
        "document.querySelector('[role=status]').textContent = 'Saved'",
        "document.querySelector('input').focus()",
        "document.title = 'other'",
        "document.documentElement.append(document.createElement('pp-stage'))",
    ],
)
async def test_a_page_looks_the_same_with_other_numbers_times_and_announcements(
    page: Page, change: str
) -> None:
    assert await _look(page, change) == await _look(page)


@pytest.mark.parametrize(
    "change",
    [
        "document.querySelector('h1').textContent = 'Voices'",
        "document.querySelector('b').textContent = 'Bob Ray'",
        "document.querySelector('input').placeholder = 'Title'",
        "document.querySelector('h1').hidden = true",
        "document.querySelector('h1').style.color = 'teal'",
        "document.querySelector('#box').append(document.createElement('hr'))",
        "document.querySelector('#box').attachShadow({mode: 'open'}).innerHTML = '<p>new</p>'",
    ],
)
async def test_a_page_looks_different_where_a_viewer_would_see_it(page: Page, change: str) -> None:
    assert await _look(page, change) != await _look(page)


async def test_a_pointer_over_an_element_that_does_not_show_it_changes_nothing(page: Page) -> None:
    plain = await _look(page)
    await page.hover("h1")
    assert await capture_appearance(page) == plain


async def test_what_the_show_brought_itself_is_no_part_of_the_look(page: Page) -> None:
    other = "document.querySelector('b').textContent = 'Bob Ray'"
    assert await _look(page, other, ("Bob Ray",)) == await _look(page, values=("Ann Lee",))


def test_a_short_value_of_the_show_does_not_blank_the_words_it_is_part_of() -> None:
    assert hash_appearance("an apple", "", ["a"]) != hash_appearance("an orange", "", ["a"])


# -- keys ----------------------------------------------------------------------------------------------

HELLO = {
    "segment_id": "hello", "type": "conversational", "title": "Hello", "narration_template": "I am {guest}.",
    "duration": 5, "required": False,
}  # fmt: skip


def _key(
    look: str = "look", values: dict[str, str] | None = None, voice: str = "en", **changed: object
) -> str:
    transitions = changed.pop("transitions", [])
    flow = PresentationFlow.model_validate(
        {"flow_id": "f", "name": "F", "segments": [{**HELLO, **changed}, {**HELLO, "segment_id": "next"}],
         "transitions": transitions}
    )  # fmt: skip
    return compute_clip_key(
        flow, flow.segments[0], style={"voice": voice}, look=look, values=values or {"guest": "Ann"}
    )


@pytest.mark.parametrize(
    "changed",
    [
        {"narration_template": "I was {guest}."},
        {"title": "Hi"},
        {"voice": "de"},
        {"look": "another"},
        {"values": {"guest": "Bob"}},
        {"transitions": [{"from_segment": "hello", "to_segment": "next", "narration_template": "Come."}]},
        {"narrative_hooks": [{"hook_type": "after", "narration": "There."}]},
    ],
)
def test_a_clip_depends_on_what_is_said_and_seen(changed: dict[str, object]) -> None:
    assert _key(**changed) != _key()  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "changed",
    [
        {"duration": 9},
        {"required": True},
        {"values": {"guest": "Ann", "other": "unnamed"}},
        {"translations": {"de": {"narration_template": "Ich bin {guest}."}}},
    ],
)
def test_a_clip_does_not_depend_on_what_nobody_hears_or_sees(changed: dict[str, object]) -> None:
    assert _key(**changed) == _key()  # type: ignore[arg-type]


def _screen(css: str = "#a", **more: object) -> Screen:
    element = {
        "element_id": "a", "type": "button",
        "selector": {"strategies": [{"type": "css", "value": css, **more}]},
    }  # fmt: skip
    return Screen.model_validate(
        {"screen_id": "s", "name": "S", "url_patterns": ["/"], "ui_elements": [element]}
    )


def test_knowledge_is_another_when_it_says_so_and_not_when_something_was_learned() -> None:
    assert hash_document(_screen("#b")) != hash_document(_screen())
    assert hash_document(_screen(confidence=0.4)) == hash_document(_screen())


# -- clips ---------------------------------------------------------------------------------------------


def _recording(folder: Path, content: bytes = b"film") -> ScreenRecording:
    path = folder / "take.mp4"
    path.write_bytes(content)
    return ScreenRecording(path, 50, 2.0, (1280, 720), 25)


def _spoken(folder: Path) -> SpokenUtterance:
    wav = folder / "said.wav"
    wav.write_bytes(b"sound")
    return SpokenUtterance(
        "Hello there.",
        0.5,
        1.0,
        Speech("Hello there.", 1.0, (SpokenWord("Hello", 0.0), SpokenWord("there.", 0.6)), wav),
    )


def test_a_clip_comes_back_with_its_words_at_their_place_in_another_film(tmp_path: Path) -> None:
    clips = ClipStore(tmp_path / "shelf")
    clips.keep(
        "hello", "key", _recording(tmp_path), [_spoken(tmp_path)], needs={"task/a": "1"}, ends_as="end"
    )
    (tmp_path / "take.mp4").unlink()
    (tmp_path / "said.wav").unlink()
    clip = clips.find("hello", "key")
    assert clip is not None
    assert (clip.recording.frames, clip.recording.duration_s, clip.recording.path.read_bytes()) == (
        50,
        2.0,
        b"film",
    )
    assert (clip.record.needs, clip.record.ends_as) == ({"task/a": "1"}, "end")
    (said,) = clip.spoken(start_s=30.0)
    assert (said.text, said.start_s, said.duration_s) == ("Hello there.", 30.5, 1.0)
    assert [word.start_s for word in said.speech.words] == [0.0, 0.6]
    assert said.speech.wav is not None
    assert said.speech.wav.read_bytes() == b"sound"


@pytest.mark.parametrize("missing", ["clip.mp4", "clip.json", "0.wav"])
def test_a_clip_that_is_not_whole_is_none(tmp_path: Path, missing: str) -> None:
    clips = ClipStore(tmp_path / "shelf")
    clip = clips.keep("hello", "key", _recording(tmp_path), [_spoken(tmp_path)])
    (clip.folder / missing).unlink()
    assert clips.find("hello", "key") is None


def test_a_record_that_cannot_be_read_is_no_clip(tmp_path: Path) -> None:
    clips = ClipStore(tmp_path / "shelf")
    clip = clips.keep("hello", "key", _recording(tmp_path), [])
    (clip.folder / "clip.json").write_text('{"segment_id": "hello", "frames": "many"}')
    assert clips.find("hello", "key") is None


def test_the_newest_clips_of_a_segment_are_kept(tmp_path: Path) -> None:
    clips = ClipStore(tmp_path / "shelf")
    for number in range(clip_store.KEPT + 2):
        clip = clips.keep("hello", f"key{number}", _recording(tmp_path), [])
        os.utime(clip.folder, (number, number))
    clips.find("hello", "key2")  # was of use just now
    clips.keep("hello", "last", _recording(tmp_path), [])
    left = {path.name for path in (tmp_path / "shelf" / "hello").iterdir()}
    assert left == {"key2", f"key{clip_store.KEPT}", f"key{clip_store.KEPT + 1}", "last"}


def test_a_clip_of_the_same_key_takes_the_place_of_the_former_one(tmp_path: Path) -> None:
    clips = ClipStore(tmp_path / "shelf")
    clips.keep("hello", "key", _recording(tmp_path, b"old"), [])
    clips.keep("hello", "key", _recording(tmp_path, b"new"), [])
    clip = clips.find("hello", "key")
    assert clip is not None
    assert clip.recording.path.read_bytes() == b"new"
