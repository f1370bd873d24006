"""Assembles films: joins clips without encoding them again, and combines video, speech, captions and chapters
into one MP4.

The result has H.264 as recorded, AAC, mov_text subtitles and chapter marks. The index is at the front, so
that the film starts before it is fully loaded.
"""

from __future__ import annotations

import array
import asyncio
import sys
import tempfile
import wave
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from agent.media.captions import cut_cues, render_webvtt
from agent.media.media_probe import probe_media
from agent.media.media_tools import FFMPEG, MediaInputError, run_tool
from agent.media.screen_recorder import ScreenRecording

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from agent.media.captions import Cue


async def join_clips(clips: Sequence[ScreenRecording], target: Path) -> Path:
    """Write `target` (a silent MP4) from clips of one size and rate, and return it.

    Clip n begins exactly at the sum of the durations before it. Raises MediaInputError if there is no clip or
    two differ in size or rate, and MediaToolFailed.
    """
    if len({(clip.size, clip.fps) for clip in clips}) != 1:
        raise MediaInputError("a film needs at least one clip, and all clips must have one size and rate")
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


def _entry(clip: ScreenRecording) -> str:
    """The length is given, because a film that was written live does not contain its own."""
    quoted = str(clip.path.resolve()).replace("'", r"'\''")
    return f"file '{quoted}'\nduration {clip.frames / clip.fps:.6f}\n"


SAMPLE_BYTES = 2
LOUDEST = 2**15 - 1


@dataclass(frozen=True)
class FilmUtterance:
    """Speech at a time of the film. `stop_s`: where it was interrupted; None: it was not."""

    start_s: float
    wav: Path
    stop_s: float | None = None


@dataclass(frozen=True)
class FilmChapter:
    """A chapter mark; the chapter lasts until the next mark."""

    start_s: float
    title: str


async def mux_film(
    video: Path,
    target: Path,
    *,
    utterances: Sequence[FilmUtterance] = (),
    cues: Sequence[Cue] = (),
    chapters: Sequence[FilmChapter] = (),
    title: str = "",
) -> Path:
    """Write `target` (MP4) from the silent film `video` and its speech, and return it.

    Without utterances the film has no sound track, without cues no subtitles. Everything after the end of the
    film is cut. `target` is only created when it is complete. Raises MediaToolFailed and MediaInputError (a
    file without picture, or WAVs of different formats).
    """
    info = await probe_media(video)
    if info.stream("video") is None:
        raise MediaInputError(f"{video} has no picture")
    target.parent.mkdir(parents=True, exist_ok=True)
    seen = [cue for cue in cut_cues(cues, info.duration_s) if cue.text.strip()]
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".mux-") as scratch:
        folder = Path(scratch)
        inputs: list[Path] = [video]
        codecs = ["-map", "0:v:0", "-c:v", "copy"]
        if utterances:
            inputs.append(folder / "voice.wav")
            await asyncio.to_thread(mix_utterances, utterances, info.duration_s, inputs[-1])
            codecs += ["-map", f"{len(inputs) - 1}:a:0", "-c:a", "aac", "-b:a", "96k"]
        if seen:
            inputs.append(folder / "captions.vtt")
            inputs[-1].write_text(render_webvtt(seen), encoding="utf-8")
            codecs += [
                "-map",
                f"{len(inputs) - 1}:s:0",
                "-c:s",
                "mov_text",
                "-metadata:s:s:0",
                "language=eng",
            ]
        inputs.append(folder / "chapters.txt")
        inputs[-1].write_text(_ffmetadata(title, chapters, info.duration_s), encoding="utf-8")
        codecs += ["-map_metadata", str(len(inputs) - 1), "-map_chapters", str(len(inputs) - 1)]
        whole = folder / "whole.mp4"
        opened = [arg for path in inputs for arg in ("-i", str(path))]
        await run_tool(
            FFMPEG, "-v", "error", "-nostdin", "-y", *opened, *codecs, "-movflags", "+faststart", str(whole)
        )
        whole.replace(target)
    return target


def mix_utterances(utterances: Iterable[FilmUtterance], duration_s: float, target: Path) -> Path:
    """Write utterances to one mono 16-bit track of `duration_s` seconds; overlapping ones are added.

    Raises MediaInputError if a WAV is not mono 16-bit or two differ in sample rate.
    """
    rate = 0
    track = array.array("h")
    heard_until = 0
    for utterance in sorted(utterances, key=lambda each: each.start_s):
        samples, own_rate = _read(utterance.wav)
        if not rate:
            rate = own_rate
            track = array.array("h", bytes(SAMPLE_BYTES * round(duration_s * rate)))
        elif rate != own_rate:
            raise MediaInputError(
                f"{utterance.wav} has {own_rate} samples per second, the others have {rate}"
            )
        begin = round(max(0.0, utterance.start_s) * rate)
        end = min(len(track), begin + len(samples))
        if utterance.stop_s is not None:
            end = min(end, round(utterance.stop_s * rate))
        if end > begin:
            _lay(track, begin, samples[: end - begin], heard_until)
            heard_until = max(heard_until, end)
    _write(track, rate, target)
    return target


def _lay(track: array.array[int], begin: int, samples: array.array[int], heard_until: int) -> None:
    """Add samples to the track; sums are only computed where the track has sound already."""
    overlap = max(0, min(heard_until - begin, len(samples)))
    for index in range(overlap):
        total = track[begin + index] + samples[index]
        track[begin + index] = max(-LOUDEST, min(LOUDEST, total))
    track[begin + overlap : begin + len(samples)] = samples[overlap:]


def _read(wav: Path) -> tuple[array.array[int], int]:
    with wave.open(str(wav), "rb") as sound:
        if (sound.getnchannels(), sound.getsampwidth()) != (1, SAMPLE_BYTES):
            raise MediaInputError(f"{wav} is not mono 16-bit")
        samples = array.array("h", sound.readframes(sound.getnframes()))
        rate = sound.getframerate()
    if sys.byteorder == "big":
        samples.byteswap()
    return samples, rate


def _write(track: array.array[int], rate: int, target: Path) -> None:
    if sys.byteorder == "big":
        track.byteswap()
    with wave.open(str(target), "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(SAMPLE_BYTES)
        sound.setframerate(rate)
        sound.writeframes(track.tobytes())


def _ffmetadata(title: str, chapters: Sequence[FilmChapter], duration_s: float) -> str:
    lines = [";FFMETADATA1"]
    if title:
        lines.append(f"title={_meta_text(title)}")
    marks = sorted((each for each in chapters if each.start_s < duration_s), key=lambda each: each.start_s)
    ends = [each.start_s for each in marks[1:]] + [duration_s]
    for chapter, end in zip(marks, ends, strict=False):  # without marks there is one end too many
        lines += [
            "[CHAPTER]",
            "TIMEBASE=1/1000",
            f"START={max(0, round(chapter.start_s * 1000))}",
            f"END={round(end * 1000)}",
            f"title={_meta_text(chapter.title)}",
        ]
    return "\n".join(lines) + "\n"


def _meta_text(text: str) -> str:
    escaped = " ".join(text.split())
    for special in ("\\", "=", ";", "#"):
        escaped = escaped.replace(special, "\\" + special)
    return escaped
