"""The film is enlarged around what is pointed at, comes back, and its captions are whole."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from agent.media.captions import Cue
from agent.media.film_zoom import HOLD_S, MOST, MOVE_S, PointedBox, place_captions, plan_views, zoom_film
from agent.media.media_probe import probe_media
from agent.media.media_tools import FFMPEG, run_tool

SIZE = (640, 360)


def test_the_view_moves_to_a_box_holds_and_comes_back():
    views = plan_views([PointedBox(2.0, 600, 340, 20, 10)], SIZE, 20.0)
    assert [each.at_s for each in views] == pytest.approx(
        [0, 2, 2 + MOVE_S, 2 + MOVE_S + HOLD_S, 2 + 2 * MOVE_S + HOLD_S]
    )
    assert [each.width for each in views] == pytest.approx([640, 640, 400, 400, 640])
    close = views[2]
    assert close.left + close.width == pytest.approx(640)  # it lies inside of the picture
    assert close.top + close.width * 9 / 16 == pytest.approx(360)


def test_the_view_goes_from_box_to_box_and_passes_over_those_that_are_left_at_once():
    near = [PointedBox(1.0, 10, 10, 20, 10), PointedBox(1.2, 600, 10, 20, 10), PointedBox(3.0, 10, 300, 9, 9)]
    views = plan_views(near, SIZE, 30.0)
    assert [each.width for each in views[:-1]] == [640, 640, 400, 400, 400, 400]
    assert views[2].left == 240  # the second box; the first was left after 0.2 s
    assert all(a.at_s <= b.at_s for a, b in pairwise(views))
    soon = [
        PointedBox(1.0, 10, 10, 9, 9),
        PointedBox(4.0, 600, 10, 9, 9),
    ]  # no time to come back and go again
    assert [each.width for each in plan_views(soon, SIZE, 30.0)].count(640) == 3
    far = plan_views([PointedBox(1.0, 10, 10, 9, 9), PointedBox(9.0, 600, 10, 9, 9)], SIZE, 30.0)
    assert [each.width for each in far].count(640) == 5  # it comes back in between


@pytest.mark.parametrize(
    "box", [PointedBox(1, 0, 0, 640, 20), PointedBox(1, 0, 0, 20, 360), PointedBox(99, 0, 0, 5, 5)]
)
def test_large_boxes_and_those_after_the_end_enlarge_nothing(box):
    assert len(plan_views([box], SIZE, 20.0)) == 1


def test_many_boxes_stay_in_order_of_time_and_inside_of_the_picture():
    boxes = [PointedBox(n * 0.9, 37 * n % 640, 53 * n % 360, 5 + n % 300, 20) for n in range(200)]
    views = plan_views(boxes, SIZE, 181.0)
    assert all(a.at_s <= b.at_s for a, b in pairwise(views))
    for each in views:
        assert 640 / MOST - 0.1 <= each.width <= 640
        assert -0.1 <= each.left <= 640 - each.width + 0.1
        assert -0.1 <= each.top <= 360 - each.width * 9 / 16 + 0.1
    assert views[-1].width == 640


def test_a_caption_that_would_cover_what_is_pointed_at_is_at_the_upper_edge():
    cues = [Cue(0, 2, "one"), Cue(2, 4, "two"), Cue(8, 9, "three")]
    low, middle = PointedBox(3, 300, 340, 40, 15), PointedBox(3, 300, 170, 40, 20)
    assert [each.text for each in place_captions(cues, [low], SIZE)] == ["one", r"{\an8}two", "three"]
    assert place_captions(cues, [middle], SIZE) == cues


async def test_the_picture_is_larger_around_the_box_and_the_caption_is_not_cut(ffmpeg, tmp_path: Path):
    plain = tmp_path / "plain.mp4"
    square = "drawbox=x=40:y=40:w=40:h=40:color=red:t=fill"
    await run_tool(
        FFMPEG,
        *("-v", "error", "-f", "lavfi", "-i", f"color=c=blue:size=640x360:rate=30:duration=5,{square}"),
        *("-c:v", "libx264", "-pix_fmt", "yuv420p", str(plain)),
    )
    cues = [Cue(0.2, 4.8, "A caption that is wide enough\nto be cut by an enlarged picture")]
    made = await zoom_film(plain, tmp_path / "zoomed.mp4", [PointedBox(0.5, 40, 40, 40, 40)], cues, fps=30)
    info = await probe_media(made)
    assert info.duration_s == pytest.approx(5, abs=0.1)

    async def measure(at_s: float) -> tuple[int, list[int]]:
        """The number of red pixels; and left, top, right and bottom of the caption's white ones."""
        raw = await run_tool(
            FFMPEG,
            *("-v", "error", "-ss", f"{at_s:.3f}", "-i", str(made), "-frames:v", "1"),
            *("-f", "rawvideo", "-pix_fmt", "rgb24", "-"),
        )
        frame = np.frombuffer(raw, np.uint8).reshape(360, 640, 3)
        rows, columns = np.nonzero((frame > 200).all(axis=2))
        red = int(((frame[..., 0] > 180) & (frame[..., 2] < 90)).sum())
        return red, [int(each) for each in (columns.min(), rows.min(), columns.max(), rows.max())]

    before, caption = await measure(0.3)
    assert caption[1] > 180
    close, caption_close = await measure(1.8)
    after, _ = await measure(4.6)
    assert close == pytest.approx(before * MOST**2, rel=0.15)
    assert after == pytest.approx(before, rel=0.05)
    assert caption_close == pytest.approx(caption, abs=3)
    assert caption[0] > 10
    assert caption[2] < 630
    assert caption[3] < 360
