"""Makes stills of a film: a poster, and an animated GIF for a README."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from agent.media.media_probe import grab_frame, probe_media
from agent.media.media_tools import FFMPEG, MediaInputError, run_tool


@dataclass(frozen=True, slots=True)
class GifLimits:
    """Limits of an animated picture."""

    max_bytes: int = 8_000_000
    """Most bytes; larger pictures load too slowly in a README."""
    longest_s: float = 60.0
    """A longer film is sped up to this length in seconds."""
    width: int = 800
    """Most pixels of the width."""


TRIES: tuple[tuple[float, int], ...] = ((1.0, 10), (0.8, 8), (0.8, 5), (0.6, 5), (0.5, 4), (0.4, 3))
"""(share of the width, frames per second); the next pair is tried if the GIF is too large."""
COLOURS = 128
"""Number of colours in the film's own palette."""


async def make_poster(film: Path, at_s: float, target: Path) -> Path:
    """Write the picture at `at_s` seconds, or the last one if the film is shorter."""
    info = await probe_media(film)
    return await grab_frame(film, max(0.0, min(at_s, info.duration_s - 0.2)), target)


async def make_gif(film: Path, target: Path, limits: GifLimits | None = None) -> Path:
    """Write `film` as an animated GIF within `limits`, and return `target`.

    It is as large and smooth as the limits allow. Raises MediaInputError if the smallest GIF is too large or
    there is no picture, and MediaToolFailed.
    """
    limits = limits or GifLimits()
    info = await probe_media(film)
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
        f"{film.name}: the smallest GIF has {size:,} bytes, the limit is {limits.max_bytes:,}"
    )


def _filters(width: int, duration_s: float, limits: GifLimits) -> Iterator[str]:
    faster = min(1.0, limits.longest_s / duration_s) if duration_s else 1.0
    for share, fps in TRIES:
        even = max(2, round(width * share / 2) * 2)
        # Only changes are written, because most of a page rarely changes.
        yield (
            f"[0:v]setpts={faster:.6f}*PTS,fps={fps},scale={even}:-2:flags=lanczos,split[a][b];"
            f"[a]palettegen=max_colors={COLOURS}:stats_mode=full[p];"
            "[b][p]paletteuse=dither=bayer:bayer_scale=4:diff_mode=rectangle"
        )
