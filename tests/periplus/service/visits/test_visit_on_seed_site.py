"""A visitor of the real seed site: the whole way from the link to the end, with voice, and in a LiveKit room."""

from __future__ import annotations

import asyncio
import importlib.util
import os
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from playwright.async_api import async_playwright, expect

from agent.browser.launch import LaunchSettings, launch
from agent.media.voice import EspeakVoice
from agent.presentation.turn_manager import SpeechStopped
from kb_store import open_stores
from kb_store.store_factory import open_runs
from periplus.rooms.room_settings import RoomSettings
from periplus.service.visits.visit import SIZE
from periplus.service.visits.visit_registry import VisitRegistry
from periplus.service.visits.visit_settings import VisitSettings, find_livekit_client
from periplus.service.visits.visit_setup import VisitSite, open_visit_registry
from tests.periplus.service.service_support import served
from tests.support.livekit_server import livekit_running
from tests.support.needs import lacking

pytestmark = pytest.mark.timeout(240)
SHOW_MS = 60_000
_FIRST_PICTURE = """video => new Promise(seen => {
  if (video.videoWidth) seen();
  else video.addEventListener("loadedmetadata", seen, {once: true});
})"""
_LOUD = """async () => {
  // How loud the sound that is attached to the page is, as the loudest of the samples of a second.
  const element = document.querySelector("#voice");
  const context = new AudioContext();
  const source = context.createMediaStreamSource(element.srcObject);
  const analyser = context.createAnalyser();
  source.connect(analyser);
  const samples = new Float32Array(analyser.fftSize);
  let most = 0;
  for (let frame = 0; frame < 60; frame++) {
    await new Promise(requestAnimationFrame);
    analyser.getFloatTimeDomainData(samples);
    most = Math.max(most, ...samples.map(Math.abs));
  }
  await context.close();
  return most;
}"""


@asynccontextmanager
async def _visits(tmp_path, rooms=None) -> AsyncIterator[tuple[VisitRegistry, str]]:
    """The service with Spadeworks beside it, and a link to its tour."""
    async with (
        open_stores(tmp_path) as stores,
        open_runs(tmp_path) as runs,
        open_visit_registry(
            VisitSite(tmp_path, "spadeworks"), stores, runs, settings=VisitSettings(), rooms=rooms
        ) as visits,
        served(tmp_path, visits=visits) as service,
    ):
        made = await service.client.post("/api/visit", json={"speed": 2, "flow": "spadeworks_tour"})
        assert made.status_code == 201, made.text
        yield visits, made.json()["url"]
        await visits.close()
        shows = visits._opener
        assert shows._browser.contexts == [], "every browser context is gone"


async def _begin(page, link: str) -> None:
    await page.goto(link)
    await page.get_by_role("button", name="Start the demo").click()
    await expect(page.locator("#status")).to_have_text("Live", timeout=SHOW_MS)


@pytest.mark.sampled(0.5)
@pytest.mark.usefixtures("espeak")
async def test_a_visitor_sees_hears_interrupts_asks_skips_and_comes_to_the_end(tmp_path, page):
    async with _visits(tmp_path) as (visits, link):
        spoken: list[int] = []
        page.on("response", lambda answer: "/speech/" in answer.url and spoken.append(answer.status))
        await _begin(page, link)
        await expect(page.locator("#picture")).to_be_visible()
        await expect(page.locator("#caption")).not_to_have_text("")
        await page.get_by_label("Ask, or say what you would like to see").fill("What is a campaign?")
        await page.keyboard.press("Enter")
        await expect(page.locator("#lines small.understood")).to_have_text(
            re.compile("campaign"), timeout=SHOW_MS
        )
        await expect(page.locator("#lines li.answer small.sources")).to_be_visible(timeout=SHOW_MS)
        # That there is nothing more to ask is said, and the story goes on.
        await page.locator("#words").fill("no thanks, go on")
        await page.keyboard.press("Enter")
        chapter = page.locator("#chapters [aria-current=step] .title")
        await expect(chapter).to_have_text("The dashboard", timeout=SHOW_MS)
        await page.get_by_role("button", name="Skip").click()
        await expect(page.locator("#chapters li.skipped", has_text="The dashboard")).to_have_text(
            re.compile("as you wished"), timeout=SHOW_MS
        )
        await expect(page.locator("#ending")).to_have_text(
            re.compile("That was the demo"), timeout=2 * SHOW_MS
        )
        (visit,) = visits.all()
        assert visit.ended == "finished"
        assert visit.run_id
        assert set(spoken) <= {200, 206}
        assert len(spoken) >= 3


@pytest.mark.sampled(0.5)
@pytest.mark.usefixtures("espeak")
async def test_two_visitors_at_once_see_shows_of_their_own_and_a_left_one_leaves_nothing(
    tmp_path, page, context
):
    async with _visits(tmp_path) as (visits, link):
        other_visit, token = await visits.make(None, None, speed=2)
        other = await context.new_page()
        await asyncio.gather(_begin(page, link), _begin(other, link.rpartition("/")[0] + f"/{token}"))
        first = next(each for each in visits.all() if each is not other_visit)
        assert first.run_id != other_visit.run_id
        await other.get_by_role("button", name="End", exact=True).click()
        await expect(other.locator("#ending")).to_have_text("You ended the demo.", timeout=SHOW_MS)
        assert len(visits._opener._browser.contexts) == 1
        await expect(page.locator("#status")).to_have_text("Live")


@pytest.mark.skipif(
    importlib.util.find_spec("livekit") is None and not os.environ.get("CI"),
    reason="the extra `livekit` is not installed; `make setup` installs it",
)
@pytest.mark.sampled(0.5)
@pytest.mark.usefixtures("espeak")
async def test_with_livekit_picture_and_voice_come_from_the_room_and_words_from_the_page(
    tmp_path_factory, tmp_path, page
):
    if find_livekit_client() is None:
        lacking("LiveKit's JavaScript client is not bundled: `make setup` does where Node is")
    from periplus.service.visits.visit_rooms import LivekitRooms  # noqa: PLC0415 - an optional extra

    with livekit_running(tmp_path_factory.mktemp("livekit")) as server:
        rooms = LivekitRooms(
            RoomSettings(url=server.url, api_key=server.api_key, api_secret=server.api_secret), SIZE
        )
        async with _visits(tmp_path, rooms) as (_, link):
            plain: list[str] = []
            page.on("request", lambda asked: asked.url.endswith("/picture") and plain.append(asked.url))
            await _begin(page, link)
            video = page.locator("#video")
            await expect(video).to_be_visible(timeout=SHOW_MS)
            await video.evaluate(_FIRST_PICTURE)
            await expect(page.locator("#caption")).not_to_have_text("", timeout=SHOW_MS)
            assert await page.evaluate(_LOUD) > 0.01, "the voice is heard"
            assert plain == []
            await page.locator("#words").fill("What is a campaign?")
            await page.keyboard.press("Enter")
            await expect(page.locator("#lines li.answer")).to_be_visible(timeout=SHOW_MS)
            await page.get_by_role("button", name="End", exact=True).click()
            await expect(page.locator("#ending")).to_have_text("You ended the demo.", timeout=SHOW_MS)
            await expect(video).to_be_hidden()


@pytest.mark.sampled(0.3)
@pytest.mark.usefixtures("espeak")
async def test_the_microphone_button_lets_a_visitor_interrupt_by_voice(tmp_path_factory, tmp_path):
    if find_livekit_client() is None or importlib.util.find_spec("livekit") is None:
        lacking("LiveKit's client or the extra `livekit` is not there: `make setup` installs both")
    from periplus.service.visits.visit_rooms import LivekitRooms  # noqa: PLC0415 - an optional extra

    spoken = await EspeakVoice(tmp_path / "visitor", voice="en-us").synthesize(
        "Excuse me, one moment, please."
    )
    microphone = LaunchSettings(
        extra_args=(
            "--use-fake-device-for-media-stream",
            "--use-fake-ui-for-media-stream",
            f"--use-file-for-fake-audio-capture={spoken.wav}",
        )
    )
    async with async_playwright() as playwright:
        browser = await launch(playwright, settings=microphone)
        with livekit_running(tmp_path_factory.mktemp("livekit")) as server:
            rooms = LivekitRooms(
                RoomSettings(url=server.url, api_key=server.api_key, api_secret=server.api_secret), SIZE
            )
            async with _visits(tmp_path, rooms) as (visits, link):
                page = await browser.new_page()
                await _begin(page, link)
                button = page.get_by_role("button", name="Microphone")
                await expect(button).to_be_visible(timeout=SHOW_MS)
                await expect(page.locator("#caption")).not_to_have_text("", timeout=SHOW_MS)
                (visit,) = visits.all()
                stopped = asyncio.Event()
                assert visit._show is not None
                visit._show.bus.listen(
                    lambda each: stopped.set() if isinstance(each, SpeechStopped) else None
                )
                await button.click()
                await expect(button).to_have_text("Microphone: on")
                async with asyncio.timeout(SHOW_MS / 1000):
                    await stopped.wait()
        await browser.close()


async def test_without_the_room_after_all_the_plain_picture_is_shown(tmp_path, page):
    nowhere = RoomSettings(url="ws://127.0.0.1:9", api_key="test", api_secret="x" * 40)
    if importlib.util.find_spec("livekit") is None:
        lacking("the extra `livekit` is not installed; `make setup` installs it")
    from periplus.service.visits.visit_rooms import LivekitRooms  # noqa: PLC0415 - an optional extra

    async with _visits(tmp_path, LivekitRooms(nowhere, SIZE)) as (_, link):
        await _begin(page, link)
        await expect(page.locator("#picture")).to_be_visible()
        await expect(page.locator("#caption")).not_to_have_text("")
