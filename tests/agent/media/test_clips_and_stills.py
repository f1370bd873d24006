"""Clips become one film, a poster and a GIF."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.media.film_assembly import join_clips
from agent.media.film_stills import GifLimits, make_gif, make_poster
from agent.media.media_probe import probe_media
from agent.media.media_tools import FFMPEG, MediaInputError, run_tool
from agent.media.screen_recorder import ScreenRecording

pytestmark = pytest.mark.usefixtures("ffmpeg")

RGB = {"red": (255, 0, 0), "lime": (0, 255, 0), "blue": (0, 0, 255)}
SIZE, FPS = (320, 180), 25


async def clip(path: Path, colour: str, frames: int) -> ScreenRecording:
    """Of one colour, written as a recorder writes: in fragments, of unknown length."""
    await run_tool(
        FFMPEG,
        *("-v", "error", "-f", "lavfi", "-i", f"color={colour}:size=320x180:rate=25", "-frames:v", str(frames)),
        *("-c:v", "libx264", "-tune", "zerolatency", "-pix_fmt", "yuv420p", "-g", "50"),
        *("-movflags", "+frag_keyframe+empty_moov+default_base_moof", "-frag_duration", "1000000", str(path)),
    )  # fmt: skip
    return ScreenRecording(path, frames, frames / FPS, SIZE, FPS)


async def colours(film: Path) -> list[str]:
    """Of each picture of a film."""
    raw = await run_tool(
        FFMPEG, *("-v", "error", "-i", str(film), "-vf", "scale=1:1"), *("-f", "rawvideo", "-pix_fmt", "rgb24", "-")
    )  # fmt: skip
    pixels = [raw[at : at + 3] for at in range(0, len(raw), 3)]
    return [
        min(RGB, key=lambda name: sum(abs(a - b) for a, b in zip(pixel, RGB[name], strict=True))) for pixel in pixels
    ]  # fmt: skip


async def test_each_clip_begins_at_its_frame_and_none_is_lost(tmp_path: Path) -> None:
    wanted = [("red", 33), ("lime", 7), ("blue", 101), ("red", 1)]
    folder = tmp_path / "it's"
    folder.mkdir()
    clips = [await clip(folder / f"{n}.mp4", *each) for n, each in enumerate(wanted)]
    film = await join_clips(clips, tmp_path / "made" / "film.mp4")
    assert await colours(film) == [name for name, frames in wanted for _ in range(frames)]
    info = await probe_media(film)
    assert info.duration_s == pytest.approx(142 / FPS, abs=0.01)
    assert [path.name for path in film.parent.iterdir()] == ["film.mp4"]


async def test_clips_that_do_not_fit_together_are_refused(tmp_path: Path) -> None:
    one = await clip(tmp_path / "1.mp4", "red", 5)
    other = ScreenRecording(one.path, 5, 0.5, SIZE, 10)
    for clips in ([], [one, other]):
        with pytest.raises(MediaInputError, match="one size and rate"):
            await join_clips(clips, tmp_path / "film.mp4")


async def test_a_poster_is_the_picture_of_its_moment_or_the_last_one(tmp_path: Path) -> None:
    film = await join_clips(
        [await clip(tmp_path / "1.mp4", "red", 25), await clip(tmp_path / "2.mp4", "blue", 25)], tmp_path / "film.mp4"
    )  # fmt: skip
    assert (await colours(await make_poster(film, 0.4, tmp_path / "early.png"))) == ["red"]
    assert (await colours(await make_poster(film, 99, tmp_path / "late.png"))) == ["blue"]


async def _moving(path: Path, seconds: int) -> Path:
    await run_tool(
        FFMPEG,
        *("-v", "error", "-f", "lavfi", "-i", f"testsrc2=size=640x360:rate=25:duration={seconds}"),
        *("-c:v", "libx264", "-pix_fmt", "yuv420p", str(path)),
    )
    return path


async def test_a_gif_keeps_to_its_size_by_being_smaller_and_to_its_length_by_being_faster(
    tmp_path: Path,
) -> None:
    film = await _moving(tmp_path / "film.mp4", 4)
    large = await make_gif(film, tmp_path / "large.gif", GifLimits(width=400))
    seen = await probe_media(large)
    assert (seen.streams[0].codec, seen.streams[0].width) == ("gif", 400)
    assert seen.duration_s == pytest.approx(4, abs=0.3)
    bound = large.stat().st_size // 2
    small = await make_gif(film, tmp_path / "small.gif", GifLimits(max_bytes=bound, width=400))
    assert small.stat().st_size <= bound
    assert ((await probe_media(small)).streams[0].width or 0) < 400
    short = await make_gif(film, tmp_path / "short.gif", GifLimits(longest_s=2, width=200))
    assert (await probe_media(short)).duration_s == pytest.approx(2, abs=0.3)


async def test_a_gif_that_cannot_be_small_enough_is_not_written(tmp_path: Path) -> None:
    film = await _moving(tmp_path / "film.mp4", 1)
    with pytest.raises(MediaInputError, match="the limit is 1,000"):
        await make_gif(film, tmp_path / "never.gif", GifLimits(max_bytes=1000))
    assert not list(tmp_path.glob("*.gif"))
