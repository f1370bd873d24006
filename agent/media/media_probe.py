"""Reads media files with ffprobe, and extracts one picture of a film."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import AliasPath, BaseModel, BeforeValidator, ConfigDict, Field

from agent.media.media_tools import FFMPEG, FFPROBE, run_tool

if TYPE_CHECKING:
    from pathlib import Path


def _rate(value: object) -> object:
    """Return ffprobe's `25/1` as frames per second; `0/0` (no rate) as 0."""
    if not isinstance(value, str):
        return value
    top, _, bottom = value.partition("/")
    return float(Fraction(int(top), int(bottom or 1))) if int(bottom or 1) else 0.0


class _Probed(BaseModel):
    """Ignores unknown fields of ffprobe's output."""

    model_config = ConfigDict(extra="ignore", frozen=True, populate_by_name=True)


class StreamInfo(_Probed):
    """One stream; fields that its kind does not have are None."""

    kind: Literal["video", "audio", "subtitle", "data"] = Field(validation_alias="codec_type")
    codec: str = Field(default="", validation_alias="codec_name")
    width: int | None = None
    height: int | None = None
    pixel_format: str | None = Field(default=None, validation_alias="pix_fmt")
    fps: Annotated[float, BeforeValidator(_rate)] | None = Field(
        default=None, validation_alias="avg_frame_rate"
    )
    frames: int | None = Field(default=None, validation_alias="nb_read_packets")
    sample_rate: int | None = None
    channels: int | None = None
    duration_s: float | None = Field(default=None, validation_alias="duration")


class ChapterInfo(_Probed):
    """One chapter, in seconds."""

    start_s: float = Field(validation_alias="start_time")
    end_s: float = Field(validation_alias="end_time")
    title: str = Field(default="", validation_alias=AliasPath("tags", "title"))


class MediaInfo(_Probed):
    """A media file: its duration, streams and chapters."""

    duration_s: float = Field(default=0.0, validation_alias=AliasPath("format", "duration"))
    title: str | None = Field(default=None, validation_alias=AliasPath("format", "tags", "title"))
    streams: tuple[StreamInfo, ...] = ()
    chapters: tuple[ChapterInfo, ...] = ()

    def stream(self, kind: Literal["video", "audio", "subtitle"]) -> StreamInfo | None:
        """Return the first stream of a kind; None if there is none."""
        return next((each for each in self.streams if each.kind == kind), None)


async def probe_media(path: Path) -> MediaInfo:
    """Return the contents of `path`. Frames are counted, so a long film takes a moment.

    Raises MediaToolFailed for a file that is no media, and MediaToolMissing without ffprobe.
    """
    said = await run_tool(
        FFPROBE,
        *("-v", "error", "-count_packets", "-show_format", "-show_streams", "-show_chapters"),
        *("-of", "json", str(path)),
    )
    return MediaInfo.model_validate_json(said)


async def grab_frame(video: Path, at_s: float, image: Path) -> Path:
    """Write the picture at `at_s` seconds of `video` to `image` (its suffix says PNG or JPEG)."""
    await run_tool(
        FFMPEG,
        *("-v", "error", "-y", "-ss", f"{at_s:.3f}", "-i", str(video)),
        *("-frames:v", "1", "-update", "1", str(image)),
    )
    return image
