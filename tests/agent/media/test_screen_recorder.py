from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from agent.media.media_probe import grab_frame, probe_media
from agent.media.media_tools import FFMPEG, MediaError, MediaToolFailed, MediaToolMissing, run_tool
from agent.media.screen_recorder import ScreenRecorder
from tests.support.processes import process_is_alive

if TYPE_CHECKING:
    from playwright.async_api import BrowserContext, Page

pytestmark = [pytest.mark.usefixtures("ffmpeg"), pytest.mark.sampled(0.5)]

FILMER = """
import asyncio, sys
from pathlib import Path
from playwright.async_api import async_playwright
from agent.browser.launch import launch
from agent.media.screen_recorder import ScreenRecorder

async def main():
    async with async_playwright() as playwright:
        page = await (await launch(playwright)).new_page()
        recorder = ScreenRecorder()
        await recorder.start(page, Path(sys.argv[1]))
        while recorder.now() < 2:
            await asyncio.sleep(0.05)
        print(recorder._film._process.pid, flush=True)
        await asyncio.Event().wait()

asyncio.run(main())
"""

COLOURS = {"red": (255, 0, 0), "lime": (0, 255, 0), "blue": (0, 0, 255)}


def _plain(colour: str) -> str:
    return f"<title>{colour}</title><body style='margin:0;background:{colour}'><h1>{colour}</h1></body>"


_ONE_PIXEL = ("-vf", "crop=iw/2:ih/2,scale=1:1", "-frames:v", "1", "-f", "rawvideo", "-pix_fmt", "rgb24", "-")


def _nearest(pixel: bytes) -> str:
    return min(COLOURS, key=lambda name: sum(abs(a - b) for a, b in zip(pixel, COLOURS[name], strict=True)))


async def _colour_at(video: Path, at_s: float) -> str:
    """The name of the colour that fills most of the picture."""
    return _nearest(
        await run_tool(FFMPEG, *("-v", "error", "-ss", f"{at_s:.3f}", "-i", str(video)), *_ONE_PIXEL)
    )


async def _film_until_it_shows(recorder: ScreenRecorder, colour: str) -> float:
    """Go on until the browser sent a picture of that colour, and for a few frames more; when it was there."""
    async with asyncio.timeout(60):
        while True:
            picture = recorder._latest
            seen = _nearest(await run_tool(FFMPEG, *("-v", "error", "-i", "-"), *_ONE_PIXEL, stdin=picture))
            if seen == colour:
                break
    seen_at = recorder.now() + 0.04
    await _film_for(recorder, 0.2)
    return seen_at


async def _film_for(recorder: ScreenRecorder, seconds: float) -> None:
    """Wait until the film is `seconds` longer: the one clock that this module is about."""
    until = recorder.now() + seconds
    while recorder.now() < until:  # noqa: ASYNC110  # no event tells film time
        await asyncio.sleep(0.02)


async def test_a_still_page_gives_a_film_of_full_length_and_rate(page: Page, tmp_path: Path) -> None:
    await page.set_content(_plain("red"))
    recorder = ScreenRecorder()
    await recorder.start(page, tmp_path / "still.mp4")
    await _film_for(recorder, 1.5)
    until = recorder.now()
    recording = await recorder.stop()
    assert recording.duration_s == pytest.approx(until, abs=0.1)
    video = (await probe_media(recording.path)).stream("video")
    assert video is not None
    assert (video.codec, video.width, video.height, video.fps) == ("h264", 1280, 720, 25)
    assert video.pixel_format == "yuv420p"
    assert video.frames == recording.frames
    assert await _colour_at(recording.path, 0) == "red"


async def test_an_animated_page_moves_in_the_film(page: Page, tmp_path: Path) -> None:
    await page.set_content(
        "<style>@keyframes go{to{margin-left:900px}} i{display:block;width:300px;height:600px;"
        "background:blue;animation:go 1s linear infinite alternate}</style><i></i>"
    )
    recorder = ScreenRecorder()
    await recorder.start(page, tmp_path / "moving.mp4", size=(640, 360), fps=10)
    await _film_for(recorder, 1.5)
    recording = await recorder.stop()
    hashes = await run_tool(
        FFMPEG,
        *("-v", "error", "-i", str(recording.path), "-f", "framemd5", "-"),
    )
    pictures = {line.split(b",")[-1] for line in hashes.splitlines() if not line.startswith(b"#")}
    assert recording.frames >= 15
    assert len(pictures) >= 5


async def test_what_happens_at_now_is_seen_at_now(page: Page, tmp_path: Path) -> None:
    await page.set_content(_plain("red"))
    recorder = ScreenRecorder()
    await recorder.start(page, tmp_path / "clock.mp4")
    await _film_for(recorder, 0.8)
    changed_at = recorder.now()
    await page.evaluate("document.body.style.background = 'lime'")
    seen_at = await _film_until_it_shows(recorder, "lime")
    path = (await recorder.stop()).path
    assert await _colour_at(path, changed_at - 0.1) == "red"
    assert await _colour_at(path, seen_at) == "lime"


async def test_the_film_goes_on_over_navigation(page: Page, tmp_path: Path) -> None:
    await page.goto(f"data:text/html,{_plain('red')}")
    recorder = ScreenRecorder()
    await recorder.start(page, tmp_path / "navigation.mp4")
    await _film_for(recorder, 0.4)
    await page.goto("about:blank")
    await page.goto(f"data:text/html,{_plain('blue')}")
    await _film_until_it_shows(recorder, "blue")
    recording = await recorder.stop()
    assert await _colour_at(recording.path, 0.2) == "red"
    assert await _colour_at(recording.path, recording.duration_s - 0.1) == "blue"


async def test_the_film_follows_to_another_page_and_outlives_a_closed_one(
    page: Page, context: BrowserContext, tmp_path: Path
) -> None:
    await page.set_content(_plain("red"))
    recorder = ScreenRecorder()
    await recorder.start(page, tmp_path / "pages.mp4")
    await _film_for(recorder, 0.4)
    other = await context.new_page()
    await other.set_content(_plain("lime"))
    await page.close()
    await recorder.follow(other)
    await _film_until_it_shows(recorder, "lime")
    await other.close()
    await _film_for(recorder, 0.3)
    recording = await recorder.stop()
    assert not recorder.failed
    assert await _colour_at(recording.path, 0.2) == "red"
    assert await _colour_at(recording.path, recording.duration_s - 0.1) == "lime"


async def test_a_window_of_another_shape_is_fitted_into_the_film(
    context: BrowserContext, tmp_path: Path
) -> None:
    page = await context.new_page()
    await page.set_viewport_size({"width": 500, "height": 701})
    await page.set_content(_plain("blue"))
    recorder = ScreenRecorder()
    await recorder.start(page, tmp_path / "tall.mp4", size=(640, 360))
    await _film_for(recorder, 0.3)
    await page.set_viewport_size({"width": 900, "height": 301})
    await _film_for(recorder, 0.3)
    await _film_until_it_shows(recorder, "blue")
    recording = await recorder.stop()
    video = (await probe_media(recording.path)).stream("video")
    assert video is not None
    assert (video.width, video.height) == (640, 360)
    assert await _colour_at(recording.path, recording.duration_s - 0.1) == "blue"


async def test_stopping_twice_gives_the_same_answer(page: Page, tmp_path: Path) -> None:
    recorder = ScreenRecorder()
    await recorder.start(page, tmp_path / "twice.mp4")
    assert await recorder.stop() == await recorder.stop()


async def test_the_page_may_be_filmed_again_by_another_recorder(page: Page, tmp_path: Path) -> None:
    await page.set_content(_plain("red"))
    for name in ("first", "second"):
        recorder = ScreenRecorder()
        await recorder.start(page, tmp_path / f"{name}.mp4")
        await recorder.stop()
    assert await _colour_at(tmp_path / "second.mp4", 0) == "red"


async def test_a_recorder_used_out_of_order_says_so(page: Page, tmp_path: Path) -> None:
    recorder = ScreenRecorder()
    with pytest.raises(MediaError, match="start the recorder"):
        recorder.now()
    with pytest.raises(MediaError, match="not started"):
        await recorder.stop()
    await recorder.start(page, tmp_path / "once.mp4")
    with pytest.raises(MediaError, match="already started"):
        await recorder.start(page, tmp_path / "again.mp4")
    await recorder.stop()


async def test_without_ffmpeg_the_error_names_what_to_install(
    page: Page, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MediaToolMissing, match="apt-get install ffmpeg"):
        await ScreenRecorder().start(page, tmp_path / "none.mp4")


async def test_a_killed_ffmpeg_leaves_a_film_that_plays_and_the_page_goes_on(
    page: Page, tmp_path: Path
) -> None:
    await page.set_content(
        "<style>@keyframes go{to{margin-left:900px}} i{display:block;width:300px;height:600px;"
        "background:blue;animation:go 1s linear infinite alternate}</style><i></i>"
    )
    recorder = ScreenRecorder()
    await recorder.start(page, tmp_path / "killed.mp4")
    async with asyncio.timeout(30):
        while sum(found.stat().st_size for found in tmp_path.glob("killed.mp4")) < 50_000:
            await _film_for(recorder, 0.1)
    assert recorder._film is not None
    os.kill(recorder._film._process.pid, signal.SIGKILL)
    while not recorder.failed:
        await page.evaluate("1")
    with pytest.raises(MediaToolFailed, match="ffmpeg failed"):
        await recorder.stop()
    assert (await probe_media(tmp_path / "killed.mp4")).duration_s > 0.5
    await grab_frame(tmp_path / "killed.mp4", 0.5, tmp_path / "killed.png")
    assert (tmp_path / "killed.png").stat().st_size > 0


async def test_when_we_are_killed_ffmpeg_finishes_the_film_and_ends(tmp_path: Path) -> None:
    film = tmp_path / "orphan.mp4"
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", FILMER, str(film)), stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    ffmpeg_pid = int(await process.stdout.readline())
    process.kill()
    await process.wait()
    async with asyncio.timeout(20):
        while process_is_alive(ffmpeg_pid):  # noqa: ASYNC110  # no event tells that a stranger ended
            await asyncio.sleep(0.05)
    assert (await probe_media(film)).duration_s == pytest.approx(2, abs=0.3)


async def test_a_film_that_cannot_be_written_fails_with_ffmpegs_reason(page: Page, tmp_path: Path) -> None:
    (tmp_path / "folder.mp4").mkdir()
    recorder = ScreenRecorder()
    await recorder.start(page, tmp_path / "folder.mp4")
    with pytest.raises(MediaToolFailed, match="Is a directory"):
        await recorder.stop()


async def test_a_film_is_cut_into_clips_and_its_time_stands_still_between_them(
    page: Page, tmp_path: Path
) -> None:
    await page.set_content(_plain("red"))
    recorder = ScreenRecorder()
    await recorder.start(page, None)
    assert recorder.now() == 0
    assert await recorder.cut(tmp_path / "1.mp4") is None
    await _film_for(recorder, 0.5)
    first = await recorder.cut(None)
    assert first is not None
    assert recorder.now() == first.duration_s
    recorder.lay(3.0)
    await page.set_content(_plain("lime"))  # nobody films it
    assert recorder.now() == pytest.approx(first.duration_s + 3.0)
    await page.set_content(_plain("blue"))
    await recorder.cut(tmp_path / "2.mp4")
    with pytest.raises(MediaError, match="can only be inserted"):
        recorder.lay(1.0)
    await _film_until_it_shows(recorder, "blue")
    second = await recorder.stop()
    assert recorder.now() == pytest.approx(first.duration_s + 3.0 + second.duration_s)
    assert await _colour_at(first.path, 0.2) == "red"
    assert await _colour_at(second.path, second.duration_s - 0.1) == "blue"
