"""What stands for a film where none can be played: a poster, and an animated GIF for a README."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from agent.media.probe import grab_frame, probe
from agent.media.tools import FFMPEG, MediaInputError, run_tool


@dataclass(frozen=True, slots=True)
class GifLimits:
    """What an animated picture may be."""

    max_bytes: int = 8_000_000
    """What a README's host shows without complaint; larger ones load too slowly to be seen."""
    longest_s: float = 60.0
    """A longer film is shown faster, to this length."""
    width: int = 800
    """Pixels, at most."""


TRIES: tuple[tuple[float, int], ...] = ((1.0, 10), (0.8, 8), (0.8, 5), (0.6, 5), (0.5, 4), (0.4, 3))
"""Share of the width, and pictures a second: the next one is tried where the GIF is too large."""
COLOURS = 128
"""In the palette, which is made for the film."""


async def make_poster(film: Path, at_s: float, target: Path) -> Path:
    """Write the picture at `at_s` seconds, or the last one before it where the film is shorter."""
    info = await probe(film)
    return await grab_frame(film, max(0.0, min(at_s, info.duration_s - 0.2)), target)


async def make_gif(film: Path, target: Path, limits: GifLimits | None = None) -> Path:
    """Write `film` as an animated GIF within `limits`, and return `target`.

    It is as large and as smooth as its size allows. Raises MediaInputError where the smallest one is still
    too large, or where there is no picture, MediaToolFailed.
    """
    limits = limits or GifLimits()
    info = await probe(film)
    video = info.stream("video")
    if video is None or not video.width:
        raise MediaInputError(f"{film} has no picture")
    target.parent.mkdir(parents=True, exist_ok=True)
    size = 0
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".gif-") as scratch:
        made = Path(scratch) / "made.gif"
        for filters in _filters(min(limits.width, video.width), info.duration_s, limits):
            await run_tool(
                FFMPEG,
                *("-v", "error", "-nostdin", "-y", "-i", str(film)),
                *("-filter_complex", filters, "-loop", "0", str(made)),
            )
            size = made.stat().st_size
            if size <= limits.max_bytes:
                made.replace(target)
                return target
    raise MediaInputError(
        f"{film.name} makes a GIF of {size:,} bytes at the least, {limits.max_bytes:,} are allowed"
    )


def _filters(width: int, duration_s: float, limits: GifLimits) -> Iterator[str]:
    faster = min(1.0, limits.longest_s / duration_s) if duration_s else 1.0
    for share, fps in TRIES:
        even = max(2, round(width * share / 2) * 2)
        # Only what changes is written: most of a page stands still most of the time.
        yield (
            f"[0:v]setpts={faster:.6f}*PTS,fps={fps},scale={even}:-2:flags=lanczos,split[a][b];"
            f"[a]palettegen=max_colors={COLOURS}:stats_mode=full[p];"
            "[b][p]paletteuse=dither=bayer:bayer_scale=4:diff_mode=rectangle"
        )
