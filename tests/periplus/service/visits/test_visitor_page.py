"""The visitor's page in a real browser: what is seen, what buttons do, and how it comes back."""

from __future__ import annotations

import asyncio
import re
from contextlib import asynccontextmanager

import pytest
from playwright.async_api import expect

from agent.presentation.presentation_records import CaptionShown, SegmentEnded, SegmentStarted, SegmentStatus
from periplus.service.visits.visit_registry import VisitRegistry
from periplus.service.visits.visit_settings import VisitSettings
from tests.periplus.service.service_support import served
from tests.periplus.service.visits.visit_support import Puppets

LONGEST_MS = 20_000
_PIXEL = """async () => {
  const image = document.querySelector("#picture");
  if (image.hidden || !image.naturalWidth) return null;
  const canvas = new OffscreenCanvas(image.naturalWidth, image.naturalHeight);
  const pen = canvas.getContext("2d");
  pen.drawImage(image, 0, 0);
  return [...pen.getImageData(image.naturalWidth / 2, image.naturalHeight - 20, 1, 1).data.slice(0, 3)];
}"""
_CONTRAST = """() => {
  const light = (rgb) => {
    const [r, g, b] = rgb.map((c) => (c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const rgba = (text) => {
    const pen = new OffscreenCanvas(1, 1).getContext("2d");
    pen.fillStyle = text;
    pen.fillRect(0, 0, 1, 1);
    return [...pen.getImageData(0, 0, 1, 1).data];
  };
  const ground = (node) => {
    for (let at = node; at; at = at.parentElement) {
      const [r, g, b, a] = rgba(getComputedStyle(at).backgroundColor);
      if (a > 200) return [r, g, b];
    }
    return [255, 255, 255];
  };
  const low = [];
  for (const node of document.querySelectorAll("header *, aside *, #controls *, #caption, #curtain *")) {
    const own = [...node.childNodes].some((child) => child.nodeType === 3 && child.textContent.trim());
    if (!own || !node.checkVisibility() || node.disabled || node.closest(":disabled")) continue;
    const [front, back] = [light(rgba(getComputedStyle(node).color).slice(0, 3)), light(ground(node))];
    const contrast = (Math.max(front, back) + 0.05) / (Math.min(front, back) + 0.05);
    if (contrast < 4.5) low.push(`${node.tagName} ${node.textContent.trim()} ${contrast.toFixed(1)}`);
  }
  return low;
}"""


class Visitor:
    """Somebody with the page open."""

    def __init__(self, page, link: str, puppets: Puppets, visits: VisitRegistry) -> None:
        self.page, self.link, self.puppets, self.visits = page, link, puppets, visits
        self.troubles: list[str] = []
        page.on("pageerror", lambda error: self.troubles.append(str(error)))
        page.on("console", lambda said: said.type == "error" and self.troubles.append(said.text))
        page.set_default_timeout(LONGEST_MS)

    @property
    def show(self):
        return self.puppets.shown[-1]

    async def open(self) -> None:
        await self.page.goto(self.link)
        await expect(self.page.locator("#start")).to_be_visible()

    async def start(self) -> None:
        await self.open()
        await self.page.get_by_role("button", name="Start the demo").click()
        await expect(self.page.locator("#status")).to_have_text("Live", timeout=LONGEST_MS)
        await expect(self.line("This is Hello.")).to_be_visible()

    def line(self, text: str):
        return self.page.locator("#lines li", has_text=text)

    async def until_picture(self, wanted: list[int]) -> None:
        async with asyncio.timeout(LONGEST_MS / 1000):
            while True:
                seen = await self.page.evaluate(_PIXEL)
                if seen and all(abs(a - b) < 12 for a, b in zip(seen, wanted, strict=True)):
                    return


@asynccontextmanager
async def _visitor(tmp_path, page, **wanted):
    puppets = Puppets(page.context.browser)
    visits = VisitRegistry(puppets, VisitSettings())
    async with visits.opened(), served(tmp_path, visits=visits) as service:
        made = (await service.client.post("/api/visit", json=wanted)).json()
        visitor = Visitor(page, made["url"], puppets, visits)
        yield visitor
        await page.goto("about:blank")
        await visits.close()
    assert puppets.open_now == 0
    assert visitor.troubles == []


@pytest.fixture
async def visitor(tmp_path, page):
    async with _visitor(tmp_path, page) as one:
        yield one


async def test_the_page_shows_picture_caption_chapters_and_conversation_as_they_come(visitor):
    page = visitor.page
    await visitor.open()
    await expect(page.locator("#hint")).to_have_text(re.compile("About 2 min"))
    await expect(page.get_by_role("link", name="Book a call")).to_be_hidden()
    await expect(page.locator("#words")).to_be_disabled()
    await visitor.start()
    await visitor.until_picture([0, 0, 200])
    await visitor.show.page.evaluate("document.body.style.background = 'rgb(0,150,0)'")
    await visitor.until_picture([0, 150, 0])
    await expect(page.locator("#caption")).to_have_text("This is Hello.")
    current = page.locator("#chapters [aria-current=step]")
    await expect(current).to_have_text(re.compile("Hello"))
    visitor.show.bus.tell(SegmentEnded("hello", SegmentStatus.SHOWN))
    visitor.show.bus.tell(SegmentEnded("extra", SegmentStatus.SKIPPED, "time_running_out: 3 s remain"))
    visitor.show.bus.tell(SegmentStarted("end", "Goodbye", 3, 3, None))
    visitor.show.bus.tell(CaptionShown("Goodbye then."))
    await expect(page.locator("#chapters li.skipped")).to_have_text(
        re.compile("skipped: to stay within the time")
    )
    await expect(current).to_have_text(re.compile("Goodbye"))
    await expect(page.locator("#caption")).to_have_text("Goodbye then.")
    visitor.show.go_on.set()
    await expect(page.locator("#ending")).to_have_text("That was the demo. Thank you for watching.")
    await expect(page.get_by_role("link", name="Book a call")).to_have_attribute("rel", "noopener noreferrer")
    await expect(page.get_by_role("link", name="Book a call")).to_be_visible()
    await expect(page.get_by_role("button", name="Start again")).to_be_visible()


async def test_words_are_sent_understood_and_answered_with_their_source(visitor):
    page = visitor.page
    await visitor.start()
    await page.get_by_label("Ask, or say what you would like to see").fill("Who is <b>Robin</b>?")
    await page.keyboard.press("Enter")
    mine = page.locator("#lines li.visitor")
    await expect(mine).to_have_text(re.compile(r"You: Who is <b>Robin</b>\?Understood: Question: Who is"))
    await expect(page.locator("#lines li.answer")).to_have_text(re.compile(r"Robin: About .*From: Agents"))
    await expect(page.locator("#words")).to_have_value("")
    assert await page.locator("#lines b").count() == 0


@pytest.mark.parametrize(
    ("button", "words"),
    [
        ("Back", "go back"),
        ("Skip", "skip this"),
        ("Pause", "pause"),
        ("Slower", "slower"),
        ("Faster", "faster"),
        ("Goodbye", "show me Goodbye"),
    ],
)
async def test_buttons_say_what_a_visitor_would(visitor, button, words):
    await visitor.start()
    await visitor.page.get_by_role("button", name=button).click()
    await expect(visitor.line(f"You: {words}")).to_be_visible()
    assert [(heard.text, heard.by) for heard in visitor.show.heard] == [(words, "button")]


async def test_ask_takes_the_floor_and_leads_to_the_words_and_leaving_them_gives_it_back(visitor):
    await visitor.start()
    turns = visitor.show.turns
    ask = visitor.page.get_by_role("button", name="Ask")
    async with visitor.page.expect_response(re.compile("/attention$")):
        await ask.click()
    assert turns._speaking
    await expect(visitor.page.locator("#words")).to_be_focused()
    async with visitor.page.expect_response(re.compile("/attention$")):
        await visitor.page.locator("#words").blur()
    assert not turns._speaking


async def test_whoever_begins_to_type_has_the_floor(visitor):
    await visitor.start()
    async with visitor.page.expect_response(re.compile("/attention$")):
        await visitor.page.locator("#words").press_sequentially("Wha")
    assert visitor.show.turns._speaking


async def test_a_page_that_lost_the_connection_goes_on_where_it_was(visitor):
    page = visitor.page
    await visitor.start()
    (visit,) = visitor.visits.all()
    async with page.expect_request(re.compile("/events"), timeout=LONGEST_MS) as again:
        for queue in list(visit.feed._followers):
            queue.put_nowait(None)  # as if the line was cut
        visit.scene(CaptionShown("Meanwhile."))
        visit.hear("Are you there?")
    assert "last-event-id" in await (await again.value).all_headers()
    await expect(page.locator("#caption")).to_have_text("Meanwhile.")
    await expect(page.locator("#lines li.visitor")).to_have_count(1)
    await expect(page.locator("#status")).to_have_text("Live")


async def test_a_page_that_is_opened_again_has_everything_and_the_picture(visitor):
    await visitor.start()
    (visit,) = visitor.visits.all()
    visit.hear("Before?")
    await expect(visitor.line("You: Before?")).to_be_visible()
    await visitor.page.reload()
    await expect(visitor.page.locator("#status")).to_have_text("Live")
    await expect(visitor.line("You: Before?")).to_be_visible()
    await visitor.until_picture([0, 0, 200])
    assert len(visitor.puppets.shown) == 1


async def test_the_visitor_ends_it_and_starts_again(visitor):
    page = visitor.page
    await visitor.start()
    await page.get_by_role("button", name="End", exact=True).click()
    await expect(page.locator("#ending")).to_have_text("You ended the demo.")
    await expect(page.get_by_role("button", name="Ask")).to_be_disabled()
    await page.get_by_role("button", name="Start again").click()
    await expect(page.locator("#status")).to_have_text("Live")
    await visitor.until_picture([0, 0, 200])
    assert len(visitor.puppets.shown) == 2


async def test_when_all_seats_are_taken_the_page_says_so(visitor):
    visitor.visits.settings = visitor.visits.settings.model_copy(update={"at_once": 1})
    other, _ = await visitor.visits.make(None, None)
    visitor.visits.start(other)
    await visitor.open()
    await visitor.page.get_by_role("button", name="Start the demo").click()
    await expect(visitor.page.locator("#trouble")).to_have_text(re.compile("All seats are taken"))
    visitor.troubles = [each for each in visitor.troubles if "503" not in each]


async def test_a_page_in_german_speaks_german_to_the_floor(tmp_path, page):
    async with _visitor(tmp_path, page, language="de") as visitor:
        await page.goto(visitor.link)
        await page.get_by_role("button", name="Demo starten").click()
        await expect(page.locator("#status")).to_have_text("Live")
        await page.get_by_role("button", name="Zurück").click()
        await expect(visitor.line("Sie: geh zurück")).to_be_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
async def test_everything_can_be_read_reached_and_fits(visitor, scheme, width):
    page = visitor.page
    await page.emulate_media(color_scheme=scheme)
    await page.set_viewport_size({"width": width, "height": 800})
    await visitor.open()
    assert await page.evaluate(_CONTRAST) == []
    await visitor.start()
    visitor.show.turns.hear("A question?")
    await expect(page.locator("#lines li.answer")).to_be_visible()
    assert await page.evaluate(_CONTRAST) == []
    assert await page.evaluate("document.documentElement.scrollWidth") <= width
    small = """nodes => nodes.filter(n => n.checkVisibility() && n.getBoundingClientRect().height < 40)
      .map(n => n.textContent)"""
    assert await page.locator("button, input").evaluate_all(small) == []
    nameless = [
        button
        for button in await page.get_by_role("button").all()
        if not (await button.text_content() or "").strip()
    ]
    assert nameless == []
    reached = set()
    for _ in range(20):
        await page.keyboard.press("Tab")
        reached.add(await page.evaluate("document.activeElement.id || document.activeElement.textContent"))
    assert {"ask", "pause", "words", "end"} <= reached
