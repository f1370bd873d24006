from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from agent.media.captions import CUE_LINES, LINE_CHARS, Cue, build_cues, cut_cues, render_srt, render_webvtt
from agent.media.voice import SilentVoice, SpokenWord

NARRATION = (
    "Welcome to the dashboard. Every call your agents take shows up here within seconds, "
    "with its outcome & how long it took. Let's create a new agent!"
)

GOLDEN_VTT = """\
WEBVTT

1
00:00:01.500 --> 00:00:02.885
Welcome to the dashboard.

2
00:00:02.885 --> 00:00:06.613
Every call your agents take shows
up here within seconds, with its

3
00:00:06.613 --> 00:00:08.105
outcome &amp; how long it took.

4
00:00:08.105 --> 00:00:09.490
Let's create a new agent!
"""


def _shown(cue: Cue) -> list[str]:
    return cue.text.split()


async def test_narration_becomes_the_golden_webvtt() -> None:
    speech = await SilentVoice().synthesize(NARRATION)
    cues = build_cues(NARRATION, 1.5, speech.duration_s, speech.words)
    assert render_webvtt(cues) == GOLDEN_VTT


def test_a_cue_begins_with_its_first_word() -> None:
    words = [SpokenWord("Hello.", 0.0), SpokenWord("And", 2.25), SpokenWord("goodbye.", 2.5)]
    cues = build_cues("Hello. And goodbye.", 10, 3, words)
    assert cues == [Cue(10, 12.25, "Hello."), Cue(12.25, 13, "And goodbye.")]


def test_without_word_times_the_time_is_shared_by_length() -> None:
    first, second = build_cues("Aaaa aaaa. Bbbb bbbb.", 0, 4)
    assert (first.start_s, first.end_s, second.end_s) == (0, 2, 4)


def test_a_closing_quote_stays_with_its_sentence() -> None:
    cues = build_cues('She said "Stop." (Really?) Then she left.', 0, 4)
    assert " ".join(" ".join(cue.text.split()) for cue in cues) == 'She said "Stop." (Really?) Then she left.'


@given(st.text(max_size=400), st.floats(0, 1000), st.floats(0, 100))
def test_any_text_fits_the_screen_and_loses_no_letter(text: str, start: float, duration: float) -> None:
    cues = build_cues(text, start, duration)
    for cue in cues:
        lines = cue.text.splitlines()
        assert 1 <= len(lines) <= CUE_LINES
        assert all(len(line) <= LINE_CHARS for line in cue.text.split("\n"))
        assert cue.start_s < cue.end_s
    assert "".join("".join(_shown(cue)) for cue in cues) == "".join(text.split())


@given(st.lists(st.builds(Cue, st.floats(0, 9e4), st.floats(0, 9e4), st.text(max_size=60))))
def test_no_text_can_break_out_of_a_webvtt_cue(cues: list[Cue]) -> None:
    blocks = render_webvtt(cues).split("\n\n")
    assert all(block.count("-->") == 1 for block in blocks[1:] if block.strip())


def test_markup_in_narration_stays_text() -> None:
    cue = Cue(0, 1, "1 --> 2 <b>&amp;\n\nnext")
    assert "1 --&gt; 2 &lt;b&gt;&amp;amp;\nnext" in render_webvtt([cue])
    srt = render_srt([cue])
    assert srt.count("-->") == 1
    assert "<b>" not in srt


def test_srt_has_commas_and_hours() -> None:
    assert render_srt([Cue(3661.5, 3662, "late")]) == "1\n01:01:01,500 --> 01:01:02,000\nlate\n"


def test_cues_are_written_in_the_order_they_are_seen() -> None:
    written = render_webvtt([Cue(5, 6, "second"), Cue(1, 2, "first"), Cue(3, 4, "  ")])
    assert written.index("first") < written.index("second")
    assert "2\n00:00:05" in written


def test_interrupted_speech_ends_its_captions() -> None:
    cues = [Cue(0, 2, "a"), Cue(2, 4, "b"), Cue(4, 6, "c")]
    assert cut_cues(cues, 3) == [Cue(0, 2, "a"), Cue(2, 3, "b")]


def test_no_words_no_cues() -> None:
    assert build_cues("  \n ", 0, 1) == []
    assert render_webvtt([]) == "WEBVTT\n"
