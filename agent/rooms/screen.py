"""The browser's picture as a screen-share track."""

from __future__ import annotations

import io
import logging

import av
from av.error import FFmpegError
from livekit import rtc

from agent.media.picture import Picture

LOG = logging.getLogger(__name__)
AGAIN_S = 1.0
"""A page that does not change is sent again this often, for who has just come."""
FPS = 12
MAX_BITRATE = 2_500_000


class ScreenTrack:
    """Shows JPEG frames to who is in the room."""

    def __init__(self, room: rtc.Room, size: tuple[int, int]) -> None:
        """`size` in pixels is what is announced; frames may be of another."""
        self._room = room
        self._source = rtc.VideoSource(*size, is_screencast=True)
        self.shown = 0
        """Frames so far."""

    async def publish(self) -> None:
        """Be seen by who is in the room."""
        track = rtc.LocalVideoTrack.create_video_track("screen", self._source)
        options = rtc.TrackPublishOptions(
            source=rtc.TrackSource.SOURCE_SCREENSHARE,
            simulcast=False,  # one size is enough for one or two watchers, and encodes in half the time
            video_encoding=rtc.VideoEncoding(max_framerate=FPS, max_bitrate=MAX_BITRATE),
        )
        await self._room.local_participant.publish_track(track, options)

    async def follow(self, picture: Picture) -> None:
        """Show the picture until it is stopped."""
        async for frame in picture.frames(again_after_s=AGAIN_S):
            try:
                self._source.capture_frame(decoded(frame.jpeg))
            except FFmpegError as exc:  # a frame less: the next one is soon there
                LOG.warning("a frame could not be read: %s", exc)
                continue
            self.shown += 1

    async def close(self) -> None:
        """The track is over. May be called again."""
        await self._source.aclose()


def decoded(jpeg: bytes) -> rtc.VideoFrame:
    """A JPEG as the planes that video codecs take; odd sizes lose a row or column. Raises `FFmpegError`."""
    with av.open(io.BytesIO(jpeg), mode="r", format="mjpeg") as container:
        picture = next(container.decode(video=0))
    width, height = picture.width - picture.width % 2, picture.height - picture.height % 2
    limited = picture.reformat(  # JPEG uses all 256 levels, video codecs do not: colours would be too strong
        width, height, format="yuv420p", src_color_range="JPEG", dst_color_range="MPEG"
    )
    planes = limited.to_ndarray()
    return rtc.VideoFrame(width, height, rtc.VideoBufferType.I420, planes.tobytes())
