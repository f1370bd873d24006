"""Records a browser page to a silent MP4, on a clock shared with narration and chapters.

The page's picture (`agent.media.screencast`) changes when the page does; a task writes the newest frame into
ffmpeg at a fixed rate. So frame n of the file shows the page n/fps seconds after the start. Voice, captions
and chapters are added afterwards (`agent.media.film_assembly`).
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING

from agent.media.media_tools import FFMPEG, MediaError, MediaToolFailed, read_error_file_tail
from agent.media.screencast import Screencast

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from playwright.async_api import Page

JPEG_QUALITY = 85  # the picture is encoded twice; a lower quality shows around text
FINISH_TIMEOUT_S = 30.0  # seconds for ffmpeg to write the rest
KEYFRAME_EVERY_S = 2  # where a player can seek to


@dataclass(frozen=True)
class ScreenRecording:
    """A finished film: silent H.264 in a fragmented MP4."""

    path: Path
    frames: int
    duration_s: float
    size: tuple[int, int]
    fps: int


class ScreenRecorder:
    """Films one page at a time; `follow` changes the page without a cut in the file.

    The page is never delayed: frames are only stored when they arrive, and a separate task writes them. If
    ffmpeg dies, the run continues and `stop` reports it. If this process dies, ffmpeg sees the end of its
    input and finishes the file. If ffmpeg is killed, the file so far can be played (fragmented MP4).
    """

    def __init__(
        self, clock: Callable[[], float] = time.monotonic, *, picture: Screencast | None = None
    ) -> None:
        """`picture`: a picture with other watchers. It is started with the film if necessary, and not stopped
        with it. None: the film has its own.
        """
        self._clock = clock
        self._shared = picture is not None
        self._picture = picture or Screencast(quality=JPEG_QUALITY)
        self._film: _FilmWriter | None = None
        self._pump: asyncio.Task[None] | None = None
        self._started_at = self._before_s = 0.0
        self._shape: tuple[tuple[int, int], int] | None = None

    async def start(
        self, page: Page, path: Path | None, *, size: tuple[int, int] = (1280, 720), fps: int = 30
    ) -> None:
        """Film `page` into the MP4 `path`, `size` in pixels (even numbers); None: nothing is filmed until the
        first `cut`.

        Returns when the first picture was received; `now()` counts from then. Raises MediaToolMissing without
        ffmpeg, and MediaError if it is already recording.
        """
        if self._shape is not None:
            raise MediaError("this recorder was already started; use a new one for another film")
        self._shape = size, fps
        FFMPEG.require()
        self._film = await _FilmWriter.open(path, size, fps) if path is not None else None
        try:
            if self._picture.running:
                await self._picture.follow(page)
            else:
                await self._picture.start(page, size, fps)
        except BaseException:
            if self._film is not None:
                await self._film.close()
            raise
        self._begin_pump()

    async def follow(self, page: Page) -> None:
        """Film `page` from now on. The last picture of the previous page stays until the new one paints."""
        if self._shape is None:
            raise MediaError("start the recorder before it can follow a page")
        await self._picture.follow(page)

    async def cut(self, path: Path | None) -> ScreenRecording | None:
        """End the film here and continue in another file; None: nothing is filmed until the next cut.

        Returns the film since the last cut, None if there is none. `now()` stands still while nothing is
        filmed. Raises as `start` and `stop` do.
        """
        if self._shape is None:
            raise MediaError("start the recorder before it can cut")
        ended = await self._end_film(self._film) if self._is_rolling and self._film else None
        if path is not None:
            self._film = await _FilmWriter.open(path, *self._shape)
            self._begin_pump()
        return ended

    def lay(self, seconds: float) -> None:
        """Insert a film made elsewhere: `now()` continues after it.

        Raises MediaError while a film is being recorded.
        """
        if self._is_rolling:
            raise MediaError("a film can only be inserted after `cut(None)`, while nothing is recorded")
        self._before_s += seconds

    def now(self) -> float:
        """Return the seconds of film so far: the position at which a current event is seen."""
        if self._shape is None:
            raise MediaError("start the recorder before asking for its time")
        return self._before_s + (self._clip_s() if self._is_rolling else 0.0)

    @property
    def _is_rolling(self) -> bool:
        return self._film is not None and not self._film.is_over

    def _clip_s(self) -> float:
        """Seconds since the last cut."""
        return self._clock() - self._started_at

    def _begin_pump(self) -> None:
        self._started_at = self._clock()
        if self._film is not None:
            self._pump = asyncio.create_task(self._run_pump(self._film), name="screen-recorder")

    @property
    def failed(self) -> bool:
        """Whether ffmpeg ended before `stop`. The filmed run may continue."""
        return self._pump is not None and self._pump.done() and not self._pump.cancelled()

    async def stop(self) -> ScreenRecording:
        """End the film and return the part since the last cut. Later calls return the same.

        Raises MediaToolFailed if ffmpeg ended early; the file then contains the film until then.
        """
        if self._film is None:
            await self._leave_page()
            raise MediaError("the recorder was not started, or nothing was filmed")
        try:
            return await self._end_film(self._film)
        finally:
            await self._leave_page()

    async def _end_film(self, film: _FilmWriter) -> ScreenRecording:
        """Write due frames and close the file. Raises MediaToolFailed."""
        pump = self._pump
        if film.is_over or pump is None:
            return await film.close()
        if not pump.done():
            film.write_until(self._clip_s(), self._latest)
            pump.cancel()
        await asyncio.wait([pump])
        self._before_s += film.frames / film.fps
        recording = await film.close()
        if not pump.cancelled() and (bug := pump.exception()) is not None:
            raise bug
        return recording

    @property
    def _latest(self) -> bytes:
        frame = self._picture.latest
        return b"" if frame is None else frame.jpeg

    async def _leave_page(self) -> None:
        if not self._shared:
            await self._picture.stop()

    async def _run_pump(self, film: _FilmWriter) -> None:
        """Write the newest picture once per frame; make up for delays at once."""
        while film.is_open:
            film.write_until(self._clip_s(), self._latest)
            await film.drain()
            due = (film.frames + 1) / film.fps
            await asyncio.sleep(max(0.0, due - self._clip_s()))


class _FilmWriter:
    """An ffmpeg process that takes JPEGs and writes an MP4."""

    def __init__(
        self,
        process: asyncio.subprocess.Process,
        stderr: IO[bytes],
        path: Path,
        size: tuple[int, int],
        fps: int,
    ) -> None:
        if process.stdin is None:  # the end was requested
            raise MediaError("ffmpeg has no input")
        self._stdin = process.stdin
        self._process = process
        self._stderr = stderr
        self._outcome: ScreenRecording | MediaToolFailed | None = None
        self.path = path
        self.size = size
        self.fps = fps
        self.frames = 0
        self._ended = False
        self.is_open = True
        """Whether ffmpeg is alive, so that frames can be written."""

    @classmethod
    async def open(cls, path: Path, size: tuple[int, int], fps: int) -> _FilmWriter:
        program = FFMPEG.require()
        path.parent.mkdir(parents=True, exist_ok=True)
        stderr = tempfile.TemporaryFile()  # noqa: SIM115  # closed with the film; a pipe would want a reader
        process = await asyncio.create_subprocess_exec(
            program,
            *_ffmpeg_args(path, size, fps),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=stderr,
            start_new_session=True,  # Ctrl-C only reaches this process; ffmpeg ends with its input
        )
        return cls(process, stderr, path, size, fps)

    def write_until(self, now_s: float, picture: bytes) -> None:
        """Queue `picture` for every frame that is due at `now_s` and not yet written."""
        due = int(now_s * self.fps) + 1
        if self.is_open and due > self.frames:
            self._stdin.write(picture * (due - self.frames))
            self.frames = due

    async def drain(self) -> None:
        """Wait until ffmpeg has taken the queue; if ffmpeg died, close the film."""
        try:
            await self._stdin.drain()
        except (BrokenPipeError, ConnectionResetError):
            self.is_open = False

    @property
    def is_over(self) -> bool:
        """Whether its end was requested."""
        return self._ended

    async def close(self) -> ScreenRecording:
        """End the input, wait for ffmpeg and return the film. Raises MediaToolFailed."""
        self._ended = True
        if self._outcome is None:
            self._outcome = await self._finish()
        if isinstance(self._outcome, MediaToolFailed):
            raise self._outcome
        return self._outcome

    async def _finish(self) -> ScreenRecording | MediaToolFailed:
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
                return MediaToolFailed(FFMPEG.program, returncode, read_error_file_tail(self._stderr))
        return ScreenRecording(self.path, self.frames, self.frames / self.fps, self.size, self.fps)


def _ffmpeg_args(path: Path, size: tuple[int, int], fps: int) -> list[str]:
    width, height = size
    # Pages may have another size, or change it: every frame is fitted into the film's size.
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
        *("-flush_packets", "1", "-f", "mp4", str(path)),  # the file on disk is at most a second behind
    ]
