"""Enlarges a film around what is pointed at, and draws the captions over the enlarged picture.

The picture is encoded once more. Captions are drawn here and not on the page, so that they are never cut.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, zip_longest
from pathlib import Path

from agent.media.captions import Cue, render_srt
from agent.media.media_probe import probe_media
from agent.media.media_tools import FFMPEG, MediaInputError, run_tool

MOST = 1.6
"""The largest enlargement."""
LEAST = 1.15
"""Less is not worth a movement: the whole picture is shown."""
FILLED = 0.7
"""The share of the picture that what is pointed at may fill."""
MOVE_S = 0.7
HOLD_S = 1.8
"""Seconds of a movement, and after it until the whole picture is shown again, unless something else is pointed at."""
APART_S = 2 * MOVE_S + 1.0
"""With less time between two boxes the view goes from one to the other, and does not come back in between."""
SCALED = 2
"""Positions are whole pixels; on a picture of twice the size a slow movement does not tremble."""
CAPTION_STYLE = (
    "FontName=DejaVu Sans,FontSize=13,BorderStyle=3,Outline=4,Shadow=0,OutlineColour=&H40141414,MarginV=14"
)
"""Of libass, whose picture has 288 lines."""
CAPTION_SHARE = 0.2
"""The share of the picture's height that captions of two lines take at the lower edge."""
UPPER_EDGE = "{\\an8}"
"""Marks a caption of an SRT file for the upper edge."""


@dataclass(frozen=True, slots=True)
class PointedBox:
    """What the pointer or the ring of a film moves to, in pixels of the page."""

    at_s: float
    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class FilmView:
    """The part of the picture that is seen at a time: its left and upper edge and its width, in pixels."""

    at_s: float
    left: float
    top: float
    width: float

    def at(self, at_s: float) -> FilmView:
        """Return the same part at another time."""
        return FilmView(at_s, self.left, self.top, self.width)

    def shows_as(self, other: FilmView) -> bool:
        """Return whether both show the same part."""
        return (self.left, self.top, self.width) == (other.left, other.top, other.width)


def plan_views(boxes: Sequence[PointedBox], size: tuple[int, int], duration_s: float) -> list[FilmView]:
    """Return the views between which the film moves, in order of time; the first and the last are the whole picture.

    A box after which another one follows within the time of a movement is not moved to.
    """
    whole = FilmView(0.0, 0.0, 0.0, float(size[0]))
    views = [whole]
    ordered = sorted((each for each in boxes if each.at_s < duration_s), key=lambda each: each.at_s)
    back_s = 0.0
    for box, after in zip_longest(ordered, ordered[1:]):
        if after is not None and after.at_s - box.at_s < MOVE_S and _frame(after, size) != _frame(box, size):
            continue
        wanted = FilmView(0.0, *_frame(box, size))
        last = views[-1]
        begin = max(box.at_s, last.at_s)
        if begin >= back_s + APART_S and not last.shows_as(whole):
            views += _move(last, whole, back_s)
            last = views[-1]
            begin = max(begin, last.at_s)
        if not wanted.shows_as(last):
            views += _move(last, wanted, begin)
        back_s = max(views[-1].at_s, box.at_s) + HOLD_S
    if not views[-1].shows_as(whole):
        back_s = max(views[-1].at_s, min(back_s, duration_s - MOVE_S))
        views += _move(views[-1], whole, back_s)
    return views


def _move(before: FilmView, to: FilmView, begin_s: float) -> list[FilmView]:
    return [before.at(begin_s), to.at(begin_s + MOVE_S)]


def _frame(box: PointedBox, size: tuple[int, int]) -> tuple[float, float, float]:
    """Return left, top and width of the view around a box; it lies inside of the picture."""
    wide, high = size
    zoom = min(MOST, FILLED * wide / max(box.width, 1.0), FILLED * high / max(box.height, 1.0))
    if zoom < LEAST:
        return (0.0, 0.0, float(wide))
    seen_w, seen_h = wide / zoom, high / zoom
    left = min(max(box.x + box.width / 2 - seen_w / 2, 0.0), wide - seen_w)
    top = min(max(box.y + box.height / 2 - seen_h / 2, 0.0), high - seen_h)
    return (round(left, 1), round(top, 1), round(seen_w, 1))


def place_captions(cues: Sequence[Cue], boxes: Sequence[PointedBox], size: tuple[int, int]) -> list[Cue]:
    """Return the captions; those that would cover what is pointed at are marked for the upper edge."""
    low = [each for each in boxes if _bottom_in_view(each, size) > 1 - CAPTION_SHARE]
    return [
        replace(cue, text=f"{UPPER_EDGE}{cue.text}")
        if any(cue.start_s - MOVE_S - HOLD_S < each.at_s < cue.end_s for each in low)
        else cue
        for cue in cues
    ]


def _bottom_in_view(box: PointedBox, size: tuple[int, int]) -> float:
    """Return the lower edge of a box, when it is enlarged, as a share of the picture's height."""
    _, top, width = _frame(box, size)
    return (box.y + box.height - top) / (width * size[1] / size[0])


async def zoom_film(
    film: Path, target: Path, boxes: Sequence[PointedBox], cues: Sequence[Cue] = (), *, fps: int
) -> Path:
    """Write `target`: the silent film, enlarged around the boxes, with captions drawn over it. Returns `target`.

    Captions are not drawn if ffmpeg cannot draw text. Raises `MediaToolFailed`, and `MediaInputError` without a picture.
    """
    info = await probe_media(film)
    stream = info.stream("video")
    if stream is None or not stream.width or not stream.height:
        raise MediaInputError(f"{film} has no picture")
    size = (stream.width, stream.height)
    views = plan_views(boxes, size, info.duration_s)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".zoom-") as scratch:
        script, captions = Path(scratch) / "filters.txt", Path(scratch) / "captions.srt"
        chain = [_build_zoom_filter(views, size, fps)]
        if cues and await _can_draw_text():
            captions.write_text(render_srt(place_captions(cues, boxes, size)), encoding="utf-8")
            chain.append(f"subtitles=filename={_escape(captions)}:force_style='{CAPTION_STYLE}'")
        script.write_text(",".join(chain), encoding="utf-8")
        whole = Path(scratch) / "whole.mp4"
        await run_tool(
            FFMPEG,
            *("-v", "error", "-nostdin", "-y", "-i", str(film), "-filter_script:v", str(script), "-an"),
            *("-c:v", "libx264", "-preset", "veryfast", "-crf", "20", "-pix_fmt", "yuv420p", "-r", str(fps)),
            str(whole),
        )
        whole.replace(target)
    return target


def _build_zoom_filter(views: Sequence[FilmView], size: tuple[int, int], fps: int) -> str:
    wide, high = size
    width = _build_course([(each.at_s, each.width) for each in views])
    left = _build_course([(each.at_s, each.left) for each in views])
    top = _build_course([(each.at_s, each.top) for each in views])
    return (
        f"scale={SCALED * wide}:{SCALED * high}:flags=bicubic,"
        f"zoompan=z='{wide}/({width})':x='{SCALED}*({left})':y='{SCALED}*({top})'"
        f":d=1:s={wide}x{high}:fps={fps}"
    )


def _build_course(points: Sequence[tuple[float, float]]) -> str:
    """Return an expression of ffmpeg for a value over time that goes smoothly from point to point."""
    terms = []
    for (begin, value), (end, following) in pairwise(points):
        if end <= begin:
            continue
        part = f"{value:.1f}"
        if value != following:
            share = f"((it-{begin:.3f})/{end - begin:.3f})"
            part += f"+({following - value:.1f})*{share}*{share}*(3-2*{share})"
        terms.append(f"gte(it,{begin:.3f})*lt(it,{end:.3f})*({part})")
    last_s, last = points[-1]
    terms.append(f"gte(it,{last_s:.3f})*{last:.1f}")
    return "+".join(terms)


def _escape(path: Path) -> str:
    """Return a path as an option's value inside of a filter script."""
    text = path.as_posix().replace("\\", "\\\\").replace(":", "\\:").replace("'", "\\'")
    return f"'{text}'" if "'" not in text else text


async def _can_draw_text() -> bool:
    return b" subtitles " in await run_tool(FFMPEG, "-hide_banner", "-filters")
