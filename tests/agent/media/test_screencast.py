from __future__ import annotations

import asyncio
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

from agent.media.media_tools import MediaError
from agent.media.screencast import Screencast, ScreencastImage, jpeg_size

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from playwright.async_api import BrowserContext, Page

LONGEST_S = 15.0
MOVING = (
    "<style>@keyframes go{to{margin-left:900px}} i{display:block;width:300px;height:600px;"
    "background:blue;animation:go 1s linear infinite alternate}</style><i></i>"
)


@pytest.fixture
async def picture() -> AsyncIterator[Screencast]:
    made = Screencast()
    yield made
    await made.stop()


async def _colour(page: Page, frame: ScreencastImage) -> list[int]:
    """The middle pixel, as a browser decodes it."""
    return await page.evaluate(
        """async (bytes) => {
          const image = await createImageBitmap(new Blob([new Uint8Array(bytes)], {type: "image/jpeg"}));
          const canvas = new OffscreenCanvas(image.width, image.height);
          const pen = canvas.getContext("2d");
          pen.drawImage(image, 0, 0);
          return [...pen.getImageData(image.width / 2, image.height / 2, 1, 1).data.slice(0, 3)];
        }""",
        list(frame.jpeg),
    )


async def _until(picture: Screencast, eye: Page, wanted: list[int]) -> None:
    """Watch until the picture is of that colour, more or less."""
    async with asyncio.timeout(LONGEST_S):
        async for frame in picture.frames(again_after_s=0.2):
            seen = await _colour(eye, frame)
            if all(abs(a - b) < 12 for a, b in zip(seen, wanted, strict=True)):
                return


async def _take(picture: Screencast, count: int) -> list[ScreencastImage]:
    taken: list[ScreencastImage] = []
    async with asyncio.timeout(LONGEST_S):
        async for frame in picture.frames():
            taken.append(frame)
            if len(taken) == count:
                break
    return taken


async def test_the_picture_is_what_the_page_shows_and_follows_it(
    page: Page, context: BrowserContext, picture: Screencast
) -> None:
    eye = await context.new_page()
    await page.bring_to_front()
    await page.set_content("<body style='background:rgb(200,0,0)'>")
    await picture.start(page, size=(640, 360))
    assert picture.latest is not None
    assert picture.latest.size == (640, 360)
    await _until(picture, eye, [200, 0, 0])
    await page.evaluate("document.body.style.background = 'rgb(0,0,200)'")
    await _until(picture, eye, [0, 0, 200])
    other = await context.new_page()
    await other.set_content("<body style='background:rgb(0,150,0)'>")
    await picture.follow(other)
    await _until(picture, eye, [0, 150, 0])


async def test_every_watcher_gets_the_newest_and_a_slow_one_loses_what_came_between(
    page: Page, picture: Screencast
) -> None:
    await page.set_content(MOVING)
    await picture.start(page, size=(320, 180), fps=25)
    slow = picture.frames()
    first = await anext(slow)
    quick = await _take(picture, 8)
    newest = picture.latest
    later = await anext(slow)
    await slow.aclose()
    assert first.at_s < quick[-1].at_s <= later.at_s
    assert newest is not None
    assert later.at_s >= newest.at_s


async def test_frames_come_no_faster_than_asked_for_and_the_last_of_a_burst_comes(
    page: Page, context: BrowserContext, picture: Screencast
) -> None:
    eye = await context.new_page()
    await page.bring_to_front()
    await page.set_content(MOVING)
    await picture.start(page, size=(320, 180), fps=4)
    came: list[float] = []
    async for _ in picture.frames():
        came.append(picture._published_at)
        if len(came) == 5:
            break
    assert min(b - a for a, b in pairwise(came)) > 0.249, "at 4 a second they are 0.25 s apart"
    await page.set_content("<body style='background:rgb(0,150,0)'>")
    await _until(picture, eye, [0, 150, 0])


async def test_a_page_that_paints_nothing_is_seen_at_once_and_again(page: Page, picture: Screencast) -> None:
    await page.set_content("<p>still")
    await picture.start(page)
    seen = []
    async with asyncio.timeout(LONGEST_S):
        async for frame in picture.frames(again_after_s=0.05):
            seen.append(frame)
            if len(seen) == 4:
                break
    assert len(seen) == 4


async def test_watching_ends_when_the_picture_does(page: Page) -> None:
    picture = Screencast()
    await picture.start(page)

    async def watch() -> int:
        return len([frame async for frame in picture.frames()])

    watchers = [asyncio.create_task(watch()) for _ in range(3)]
    await anext(picture.frames())
    await picture.stop()
    await picture.stop()
    counts = await asyncio.wait_for(asyncio.gather(*watchers), LONGEST_S)
    assert all(count <= 2 for count in counts)
    assert not picture._watchers
    await picture.start(page)  # the page is free again, and so is the picture
    await picture.stop()


async def test_a_page_has_one_picture_and_the_second_is_told(page: Page, picture: Screencast) -> None:
    await picture.start(page)
    with pytest.raises(MediaError, match="already started"):
        await picture.start(page)
    with pytest.raises(MediaError, match="cannot stream this page"):
        await Screencast().start(page)
    assert (await _take(picture, 1))[0].jpeg  # and the first one goes on


async def test_a_page_that_closes_leaves_its_last_picture(page: Page, picture: Screencast) -> None:
    await page.set_content("<p>soon gone")
    await picture.start(page)
    await page.close()
    assert (await _take(picture, 1))[0].jpeg
    await picture.stop()


@pytest.mark.parametrize("junk", [b"", b"\xff\xd8", b"\x89PNG....", b"\xff\xd8\xff\xc4\x00\x02" * 2])
def test_what_is_no_jpeg_is_said(junk: bytes) -> None:
    with pytest.raises(MediaError, match="expected a JPEG"):
        jpeg_size(junk)
