"""A clapperboard: a page that flashes while a tone is heard, and how far apart the two are in the film."""

from __future__ import annotations

import array
import math
import wave
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from agent.media.film_assembly import FilmUtterance, join_clips, mux_film
from agent.media.media_tools import FFMPEG, run_tool
from agent.media.screen_recorder import ScreenRecorder, ScreenRecording

if TYPE_CHECKING:
    from playwright.async_api import Page

FPS, RATE = 25, 16_000
TONE_S = 0.3
EVERY_S = 1.7
"""Between two claps: no multiple of a frame."""
CUT_EVERY = 4
"""Claps in a clip."""
FLASH = """on => new Promise(done => { document.body.style.background = on ? "white" : "black";
  requestAnimationFrame(() => requestAnimationFrame(done)); })"""


@dataclass(frozen=True, slots=True)
class Together:
    """Seconds by which the picture comes after the sound (negative: before it), clap by clap."""

    offsets_s: list[float]
    at_s: list[float]

    @property
    def drift_s(self) -> float:
        """How much later the picture is at the end than at the beginning: medians of the outer thirds."""
        third = max(1, len(self.offsets_s) // 3)
        return median(self.offsets_s[-third:]) - median(self.offsets_s[:third])

    def told(self) -> str:
        """In a line."""
        return (
            f"{len(self.offsets_s)} claps in {self.at_s[-1]:.0f} s: picture after sound by"
            f" {median(self.offsets_s) * 1000:.0f} ms (median), {max(self.offsets_s, key=abs) * 1000:.0f} ms"
            f" (most); drift {self.drift_s * 1000:.0f} ms"
        )


def median(numbers: list[float]) -> float:
    """The middle one."""
    return sorted(numbers)[len(numbers) // 2]


async def clap(page: Page, folder: Path, seconds: float) -> Together:
    """Film so many seconds of claps in clips, make the film, and look at it."""
    tone = _tone(folder / "tone.wav")
    await page.set_content("<body style='margin:0;background:black'></body>")
    recorder = ScreenRecorder()
    await recorder.start(page, folder / "1.mp4", size=(320, 180), fps=FPS)
    claps, clips = list[float](), list[ScreenRecording]()
    await page.wait_for_timeout(500)  # what begins with the film does not rise in it
    while recorder.now() < seconds:
        until = recorder.now() + EVERY_S - TONE_S
        claps.append(recorder.now())
        await page.evaluate(FLASH, True)
        await page.wait_for_timeout(TONE_S * 1000)
        await page.evaluate(FLASH, False)
        await page.wait_for_timeout(max(0.0, until - recorder.now()) * 1000)
        if len(claps) % CUT_EVERY == 0:
            ended = await recorder.cut(folder / f"{len(clips) + 2}.mp4")
            assert ended is not None
            clips.append(ended)
    clips.append(await recorder.stop())
    film = folder / "film.mp4"
    await mux_film(
        await join_clips(clips, folder / "joined.mp4"),
        film,
        utterances=[FilmUtterance(at, tone) for at in claps],
    )
    seen, heard = _rises(await _brightness(film), 1 / FPS), _rises(await _loudness(film), 0.005)
    assert len(seen) == len(heard) == len(claps)
    return Together([s - h for s, h in zip(seen, heard, strict=True)], heard)


def _rises(levels: list[int], step_s: float) -> list[float]:
    """When something begins, in seconds."""
    return [index * step_s for index in range(1, len(levels)) if levels[index] > 100 >= levels[index - 1]]


async def _brightness(film: Path) -> list[int]:
    """Of every picture, 0 to 255."""
    raw = await run_tool(
        FFMPEG, *("-v", "error", "-i", str(film), "-vf", "scale=1:1", "-f", "rawvideo", "-pix_fmt", "gray", "-")
    )  # fmt: skip
    return list(raw)


async def _loudness(film: Path) -> list[int]:
    """Of every 5 ms, 0 to 255."""
    raw = await run_tool(
        FFMPEG, *("-v", "error", "-i", str(film), "-ac", "1", "-ar", str(RATE), "-f", "s16le", "-")
    )
    samples, step = array.array("h", raw), RATE // 200
    return [max(map(abs, samples[at : at + step])) // 128 for at in range(0, len(samples), step)]


def _tone(path: Path) -> Path:
    samples = array.array(
        "h", (int(28_000 * math.sin(math.tau * 880 * n / RATE)) for n in range(int(TONE_S * RATE)))
    )
    with wave.open(str(path), "wb") as sound:
        sound.setparams((1, 2, RATE, 0, "NONE", ""))
        sound.writeframes(samples.tobytes())
    return path
