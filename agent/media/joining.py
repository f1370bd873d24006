"""Pieces of film one behind the other, without encoding them again."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from agent.media.recorder import Recording
from agent.media.tools import FFMPEG, MediaInputError, run_tool


async def join(clips: Sequence[Recording], target: Path) -> Path:
    """Write `target` (a silent MP4) from clips of one size and rate, and return it.

    Clip n begins at the sum of the durations before it, to the frame. Raises MediaInputError where there
    is none or two differ in size or rate, MediaToolFailed.
    """
    if len({(clip.size, clip.fps) for clip in clips}) != 1:
        raise MediaInputError("clips of one size and rate are needed to make a film of them")
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".join-") as scratch:
        listed, whole = Path(scratch) / "clips.txt", Path(scratch) / "whole.mp4"
        listed.write_text("".join(map(_entry, clips)), encoding="utf-8")
        await run_tool(
            FFMPEG,
            *("-v", "error", "-nostdin", "-y", "-f", "concat", "-safe", "0", "-i", str(listed)),
            *("-map", "0:v:0", "-c", "copy", "-movflags", "+faststart", str(whole)),
        )
        whole.replace(target)
    return target


def _entry(clip: Recording) -> str:
    """Its length is told, since a film that was written as it went does not know its own."""
    quoted = str(clip.path.resolve()).replace("'", r"'\''")
    return f"file '{quoted}'\nduration {clip.frames / clip.fps:.6f}\n"
