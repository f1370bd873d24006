"""The three rounds: what is covered, off screen or late is brought out; every round is told."""

from __future__ import annotations

import pytest
from playwright.async_api import Page

from agent.events import HealTried, Struggling
from agent.healing import healer
from agent.healing.element_memory import template_url
from agent.healing.element_reveal import scan_scrolled_page
from agent.healing.healer import HealPolicy
from agent.page.errors import ElementChanged, GateFailed
from agent.page.live_selectors import means_first_or_last
from kb_schema.selectors import css

BUTTON = "<main><h1>Boats</h1><button class=go data-truth=go>Cast off</button></main>"
COVER = (
    "<div role=dialog aria-label=News style='position:fixed;inset:0;background:#fff'><h2>News</h2>{}</div>"
)


async def known_button(hands):
    await hands.show(BUTTON)
    return await hands.record(".go")


def rounds(hands):
    return [(each.round, each.outcome) for each in hands.events if isinstance(each, HealTried)]


@pytest.mark.parametrize("name", ["Close", "Not now", "No thanks", "\u00d7"])
async def test_a_dialog_in_the_way_is_closed_by_its_own_control(hands, name):
    known = await known_button(hands)
    closing = f"<button onclick='this.parentElement.remove()' data-truth=close>{name}</button>"
    await hands.show(BUTTON + COVER.format(closing))
    done = await hands.click(".go", known)
    assert await hands.clicks() == ["close", "go"]
    assert rounds(hands) == [(1, "healed")]
    assert not done.healed.moved  # it was only covered: no news about its selector


async def test_a_dialog_that_can_only_be_agreed_to_is_left_to_a_person(hands):
    known = await known_button(hands)
    await hands.show(BUTTON + COVER.format("<button>Accept all</button><button>Delete my account</button>"))
    with pytest.raises(GateFailed, match="covered by"):
        await hands.click(".go", known, policy=HealPolicy(max_rounds=1, gate_s=0.2, healed_gate_s=0.1))
    assert await hands.clicks() == []


ROWS = """<main><h1>Crew</h1><div id=list style='height:200px;overflow:auto'>
<ul id=rows style='position:relative;height:6000px;margin:0'></ul></div></main><script>
const draw = () => {
  const first = Math.floor(list.scrollTop / 30);
  rows.innerHTML = Array.from({length: 9}, (_, i) => first + i).filter((n) => n < 200).map((n) =>
    `<li style='position:absolute;top:${n * 30}px'><span>Sailor ${n}</span>
     <button class=${CLASS} data-truth='call ${n}'>Call</button></li>`).join('');
};
list.onscroll = draw; draw();
</script>"""


async def test_what_a_list_draws_only_when_it_is_scrolled_to_is_found_by_scrolling(hands):
    await hands.show(ROWS.replace("CLASS", "'c' + n"))
    await hands.page.evaluate("list.scrollTop = 60 * 30; draw()")
    known = await hands.record(".c62")
    await hands.show(ROWS.replace("CLASS", "'d' + n"))
    await hands.click(".c62", known)
    assert await hands.clicks() == ["call 62"]
    assert rounds(hands) == [(1, "not_found"), (2, "healed")]
    assert "scrolled through" in hands.events[-1].actions


async def test_a_long_page_that_has_drawn_all_of_it_is_searched_once_and_not_for_each_screenful(page):
    rows = "".join(f"<tr><td>{n}</td><td><a href=/{n}>Boat {n}</a></td></tr>" for n in range(400))
    await page.set_content(f"<table>{rows}</table>")
    parts = [part async for part in scan_scrolled_page(page)]
    assert len(parts) == 1
    assert await page.evaluate("scrollY") < 0.8 * 5 * await page.evaluate("innerHeight")


async def test_a_round_tells_what_was_done_how_alike_it_was_and_how_long_it_took(hands):
    known = await known_button(hands)
    await hands.show(BUTTON.replace("class=go", "class=went"))
    done = await hands.click(".go", known)
    begun, told = hands.events
    assert begun == Struggling("healing", "screen.it")
    assert (told.element, told.round, told.outcome) == ("screen.it", 1, "healed")
    assert any(action.startswith("compared ") for action in told.actions)
    assert told.score == done.healed.score > 0.9
    assert told.lead == done.healed.lead > 0
    assert told.duration_ms > 0
    assert done.healed.selector.strategies


async def test_the_tab_is_brought_to_the_front_before_anything_is_healed(hands, monkeypatch):
    known = await known_button(hands)
    await hands.show(BUTTON.replace("class=go", "class=went"))
    other = await hands.page.context.new_page()
    fronts = []
    original = Page.bring_to_front

    async def noted(page):
        fronts.append((page, len(hands.events)))
        await original(page)

    monkeypatch.setattr(Page, "bring_to_front", noted)
    await hands.click(".go", known)
    await other.close()
    assert fronts == [(hands.page, 1)]  # after it was told that healing begins, before the first round


async def test_the_gate_gets_more_time_in_each_later_round(hands, monkeypatch):
    known = await known_button(hands)
    await hands.show(BUTTON.replace("class=go", "class=went disabled"))
    given = []
    original = healer.act_on_element

    async def noted(page, request):
        given.append(request.timeout_s)
        return await original(page, request)

    monkeypatch.setattr(healer, "act_on_element", noted)
    with pytest.raises(GateFailed):
        await hands.click(".go", known, policy=HealPolicy(gate_s=0.2, healed_gate_s=0.1))
    first, *later = given
    assert first == 0.2
    assert later[:2] == pytest.approx([0.2, 0.3])


async def test_without_rounds_nothing_is_healed(hands):
    known = await known_button(hands)
    await hands.show(BUTTON.replace("class=go", "class=went"))
    with pytest.raises(GateFailed, match="not_found"):
        await hands.click(".go", known, policy=HealPolicy(max_rounds=0, gate_s=0.2))
    assert hands.events == []


async def test_what_comes_late_is_waited_for_without_a_pause_by_the_clock(hands):
    known = await known_button(hands)
    drawn = "m.innerHTML = `<h1>Boats</h1><button class=went data-truth=go>Cast off</button>`"
    late = f"<main id=m></main><script>fetch('/slow').finally(() => {{ {drawn} }})</script>"
    await hands.show(late)
    await hands.click(".go", known)
    assert await hands.clicks() == ["go"]


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("http://a/agent/7/edit", "http://a/agent/12/edit?x=1#y", True),
        ("http://a/agent/agt-1002", "http://a/agent/agt-1003", True),
        ("http://a/agent/new", "http://a/agent/list", False),
        ("http://a/", "http://a", True),
    ],
)
def test_pages_of_one_kind_have_one_template(one, other, same):
    assert (template_url(one) == template_url(other)) is same


async def test_the_first_of_a_list_is_whichever_is_first_and_still_of_the_same_sort(hands):
    def mail(*subjects, verb="Delete"):
        return "<ul>" + "".join(f"<li><b>{s}</b><button>{verb} {s}</button></li>" for s in subjects) + "</ul>"

    first = "li:first-child button"
    assert means_first_or_last(css(first))
    assert not means_first_or_last(css("li:nth-child(2) button"))
    await hands.show(mail("News", "Bill", "Party"))
    known = await hands.record(first)
    await hands.show(mail("Bill", "Party"))
    await hands.click(first, known, whichever=True)
    assert await hands.clicks() == ["Delete Bill"]
    await hands.show(mail("Bill", "Party", verb="Archive"))
    with pytest.raises(ElementChanged, match="does something else"):
        await hands.click(first, known, whichever=True)
    assert await hands.clicks() == []
