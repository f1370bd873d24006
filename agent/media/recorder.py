"""Recording a browser page to a silent MP4, against a clock that narration and chapters share.

Playwright's screencast sends a JPEG whenever the page changes; a pump repeats the newest one at a fixed
rate into ffmpeg. Frame n of the file therefore shows the page as it was n/fps seconds after the start,
however seldom it changed. Voice, captions and chapters are added afterwards (`agent.media.mux`).
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING

from playwright.async_api import Error as PlaywrightError

from agent.media.tools import FFMPEG, MediaError, MediaToolFailed, tail_of_file

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from playwright.async_api import Page, ScreencastFrame

JPEG_QUALITY = 85  # the picture is encoded once more; lower shows around text
FIRST_FRAME_TIMEOUT_S = 2.0  # a page that paints nothing sends no frame: then a screenshot begins the film
FINISH_TIMEOUT_S = 30.0  # how long ffmpeg may take to write what is left
KEYFRAME_EVERY_S = 2  # where a player can jump to


@dataclass(frozen=True)
class Recording:
    """A finished film: silent H.264 in a fragmented MP4."""

    path: Path
    frames: int
    duration_s: float
    size: tuple[int, int]
    fps: int


class ScreenRecorder:
    """Films one page at a time; `follow` changes the page without a cut in the file.

    The page is never held up: frames are only noted when they come, and a pump of our own writes them.
    If ffmpeg dies the run goes on, and `stop` tells. If *we* die, ffmpeg sees its input end and finishes
    the file; if ffmpeg itself is killed, what it had written can still be played (fragmented MP4).
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._page: Page | None = None
        self._latest = b""
        self._first_frame = asyncio.Event()
        self._film: _Film | None = None
        self._pump: asyncio.Task[None] | None = None
        self._started_at = 0.0

    async def start(
        self, page: Page, path: Path, *, size: tuple[int, int] = (1280, 720), fps: int = 25
    ) -> None:
        """Begin to film `page` into the MP4 `path`, `size` in pixels (even numbers).

        Returns when the first picture is there; `now()` counts from that moment. Raises MediaToolMissing
        without ffmpeg, MediaError when already recording.
        """
        if self._film is not None:
            raise MediaError("this recorder has been started already; use a new one for another film")
        self._film = await _Film.open(path, size, fps)
        try:
            await self.follow(page)
            if not self._latest:
                await self._await_first_frame(page)
        except BaseException:
            await self._film.close()
            raise
        self._started_at = self._clock()
        self._pump = asyncio.create_task(self._run_pump(self._film), name="screen-recorder")

    async def follow(self, page: Page) -> None:
        """Film `page` from now on. The last picture of the page before stays until the new one paints."""
        if self._film is None:
            raise MediaError("start the recorder before it can follow a page")
        if page is self._page:
            return
        await self._leave_page()
        width, height = self._film.size
        await page.screencast.start(
            on_frame=self._note_frame,
            size={"width": width, "height": height},
            quality=JPEG_QUALITY,
        )
        self._page = page

    def now(self) -> float:
        """Return the seconds of film so far: the position at which something happening now is seen."""
        if self._pump is None:
            raise MediaError("start the recorder before asking for its time")
        return self._clock() - self._started_at

    @property
    def failed(self) -> bool:
        """Whether the film broke off: ffmpeg ended before `stop`. The run it films may go on."""
        return self._pump is not None and self._pump.done() and not self._pump.cancelled()

    async def stop(self) -> Recording:
        """End the film and return what it is. May be called again, with the same answer.

        Raises MediaToolFailed if ffmpeg broke off; the file then has what came before.
        """
        film = self._film
        if film is None or self._pump is None:
            raise MediaError("the recorder was not started")
        if not self._pump.done():
            film.write_until(self.now(), self._latest)
            self._pump.cancel()
        await asyncio.wait([self._pump])
        await self._leave_page()
        if not self._pump.cancelled() and (bug := self._pump.exception()) is not None:
            await film.close()
            raise bug
        return await film.close()

    def _note_frame(self, frame: ScreencastFrame) -> None:
        self._latest = frame["data"]
        self._first_frame.set()

    async def _await_first_frame(self, page: Page) -> None:
        try:
            await asyncio.wait_for(self._first_frame.wait(), FIRST_FRAME_TIMEOUT_S)
        except TimeoutError:
            self._latest = await page.screenshot(type="jpeg", quality=JPEG_QUALITY)

    async def _leave_page(self) -> None:
        page, self._page = self._page, None
        if page is not None:
            with suppress(PlaywrightError):  # a page that is closed films nothing anyway
                await page.screencast.stop()

    async def _run_pump(self, film: _Film) -> None:
        """Write the newest picture once per frame time; frames that came late are made up for at once."""
        while film.is_open:
            film.write_until(self.now(), self._latest)
            await film.drain()
            due = (film.frames + 1) / film.fps
            await asyncio.sleep(max(0.0, due - self.now()))


class _Film:
    """One ffmpeg that takes JPEGs and writes an MP4."""

    def __init__(
        self,
        process: asyncio.subprocess.Process,
        stderr: IO[bytes],
        path: Path,
        size: tuple[int, int],
        fps: int,
    ) -> None:
        if process.stdin is None:  # it was asked for
            raise MediaError("ffmpeg has no input")
        self._stdin = process.stdin
        self._process = process
        self._stderr = stderr
        self._outcome: Recording | MediaToolFailed | None = None
        self.path = path
        self.size = size
        self.fps = fps
        self.frames = 0
        self.is_open = True

    @classmethod
    async def open(cls, path: Path, size: tuple[int, int], fps: int) -> _Film:
        program = FFMPEG.require()
        path.parent.mkdir(parents=True, exist_ok=True)
        stderr = tempfile.TemporaryFile()  # noqa: SIM115  # closed with the film; a pipe would want a reader
        process = await asyncio.create_subprocess_exec(
            program,
            *_ffmpeg_args(path, size, fps),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=stderr,
            start_new_session=True,  # Ctrl-C is for us; ffmpeg ends when its input does
        )
        return cls(process, stderr, path, size, fps)

    def write_until(self, now_s: float, picture: bytes) -> None:
        """Queue `picture` for every frame that is due at `now_s` and not yet written."""
        due = int(now_s * self.fps) + 1
        if self.is_open and due > self.frames:
            self._stdin.write(picture * (due - self.frames))
            self.frames = due

    async def drain(self) -> None:
        """Wait until ffmpeg has taken what was queued; a dead ffmpeg closes the film."""
        try:
            await self._stdin.drain()
        except (BrokenPipeError, ConnectionResetError):
            self.is_open = False

    async def close(self) -> Recording:
        """End the input, wait for ffmpeg and say what was made; raises MediaToolFailed."""
        if self._outcome is None:
            self._outcome = await self._finish()
        if isinstance(self._outcome, MediaToolFailed):
            raise self._outcome
        return self._outcome

    async def _finish(self) -> Recording | MediaToolFailed:
        self.is_open = False
        self._stdin.close()
        with suppress(BrokenPipeError, ConnectionResetError):
            await self._stdin.wait_closed()
        try:
            returncode = await asyncio.wait_for(self._process.wait(), FINISH_TIMEOUT_S)
        except TimeoutError:
            self._process.kill()
            returncode = await self._process.wait()
        with self._stderr:
            if returncode:
                return MediaToolFailed(FFMPEG.program, returncode, tail_of_file(self._stderr))
        return Recording(self.path, self.frames, self.frames / self.fps, self.size, self.fps)


def _ffmpeg_args(path: Path, size: tuple[int, int], fps: int) -> list[str]:
    width, height = size
    # Pages may be of another shape, or change it: every frame is fitted into the film's own.
    fitted = (
        f"scale={width}:{height}:force_original_aspect_ratio=decrease:out_range=tv,"
        f"pad={width}:{height}:(ow-iw)/2:(oh-ih)/2,setsar=1"
    )
    return [
        *("-hide_banner", "-loglevel", "error", "-y"),
        *("-probesize", "32", "-analyzeduration", "0"),  # begin with the first picture
        *("-f", "image2pipe", "-framerate", str(fps), "-c:v", "mjpeg", "-i", "-"),
        *("-vf", fitted, "-c:v", "libx264", "-preset", "veryfast", "-tune", "zerolatency", "-crf", "23"),
        *("-pix_fmt", "yuv420p", "-color_range", "tv", "-g", str(fps * KEYFRAME_EVERY_S)),
        *("-movflags", "+frag_keyframe+empty_moov+default_base_moof", "-frag_duration", "1000000"),
        *("-flush_packets", "1", "-f", "mp4", str(path)),  # what is on disk is then at most a second old
    ]
