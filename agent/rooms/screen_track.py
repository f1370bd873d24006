"""Shows the browser's picture as a screen-share track."""

from __future__ import annotations

import io
import logging

import av
from av.error import FFmpegError
from livekit import rtc

from agent.media.screencast import Screencast

LOG = logging.getLogger(__name__)
AGAIN_S = 1.0
"""Seconds until an unchanged picture is sent again, for new visitors."""
FPS = 12
MAX_BITRATE = 2_500_000


class ScreenTrack:
    """Sends JPEG frames to the room."""

    def __init__(self, room: rtc.Room, size: tuple[int, int]) -> None:
        """`size`: announced size in pixels; frames may differ."""
        self._room = room
        self._source = rtc.VideoSource(*size, is_screencast=True)
        self.shown = 0
        """Number of frames sent."""

    async def publish(self) -> None:
        """Publish the track in the room."""
        track = rtc.LocalVideoTrack.create_video_track("screen", self._source)
        options = rtc.TrackPublishOptions(
            source=rtc.TrackSource.SOURCE_SCREENSHARE,
            simulcast=False,  # one size is enough for one or two viewers, and takes half the time to encode
            video_encoding=rtc.VideoEncoding(max_framerate=FPS, max_bitrate=MAX_BITRATE),
        )
        await self._room.local_participant.publish_track(track, options)

    async def follow(self, picture: Screencast) -> None:
        """Send the picture until it is stopped."""
        async for frame in picture.frames(again_after_s=AGAIN_S):
            try:
                self._source.capture_frame(decode_jpeg(frame.jpeg))
            except FFmpegError as exc:  # the next frame follows soon
                LOG.warning("could not decode a frame: %s", exc)
                continue
            self.shown += 1

    async def close(self) -> None:
        """Close the track. May be called again."""
        await self._source.aclose()


def decode_jpeg(jpeg: bytes) -> rtc.VideoFrame:
    """Return a JPEG as the planes that video codecs take; odd sizes lose a row or column. Raises
    `FFmpegError`.
    """
    with av.open(io.BytesIO(jpeg), mode="r", format="mjpeg") as container:
        picture = next(container.decode(video=0))
    width, height = picture.width - picture.width % 2, picture.height - picture.height % 2
    limited = (
        picture.reformat(  # JPEG uses all 256 levels and video codecs do not, so colours would be too strong
            width, height, format="yuv420p", src_color_range="JPEG", dst_color_range="MPEG"
        )
    )
    planes = limited.to_ndarray()
    return rtc.VideoFrame(width, height, rtc.VideoBufferType.I420, planes.tobytes())
