"""What the gate lets through, page by page, beside the sampling of PACTS 6.3; and that no other element is hit."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agent.page.actionability_gate import GatePolicy, judge_element, pass_gate
from agent.page.errors import GateFailed, GatePoint
from agent.page.guarded_input import ElementVanished, press_element
from agent.page.page_actions import perform_action
from kb_schema.selectors import css
from tests.support.gate_pages import NEGATIVE, POSITIVE, TOLD, gated, jumping, open_page, sampled
from tests.support.pages import show
from tests.support.rotation import rotating

EACH = 20
LISTENING = """<script>window.got=[];for(const kind of ['pointerdown','mousedown','pointerup','mouseup','click','dblclick'])
addEventListener(kind,(e)=>got.push(e.target.id||e.target.tagName),true);
for(const kind of ['beforeinput','input'])addEventListener(kind,(e)=>got.push(e.target.id),true)</script>"""


@pytest.mark.parametrize("name", rotating("gate, negative", list(NEGATIVE), 6))
async def test_nothing_is_let_through_on_a_page_that_is_not_safe(page, name):
    await open_page(page, NEGATIVE[name])
    ruling = await gated(page, timeout_s=0.6)
    assert ruling.held, name


MOVING = [name for name in NEGATIVE if name.startswith(("jumping", "moving", "scroll"))]


@pytest.mark.parametrize("name", rotating("gate, unknown", MOVING, 2))
async def test_nothing_is_let_through_where_the_library_came_after_the_page(context, name):
    page = await context.new_page()
    await open_page(page, NEGATIVE[name])
    ruling = await gated(page, timeout_s=0.6)
    assert ruling.held, name


@pytest.mark.parametrize("age_ms", rotating("gate, age", [100, 250, 400, 650, 900, 1500], 1))
@pytest.mark.parametrize(
    "name", ["jumping every 250 ms", "jumping every 250 ms by the clock of a frame loop"]
)
async def test_a_slow_jumper_is_held_back_however_old_its_document_is(page, name, age_ms):
    await open_page(page, NEGATIVE[name])
    await page.wait_for_function(f"performance.now() >= {age_ms}")
    ruling = await gated(page, timeout_s=0.6)
    assert ruling.held, name


@pytest.mark.nightly
@pytest.mark.parametrize("name", NEGATIVE)
async def test_each_page_is_held_back_twenty_times_of_twenty_and_as_often_as_by_sampling(page, name):
    ours = theirs = 0
    for _ in range(EACH):
        await open_page(page, NEGATIVE[name])
        ours += (await gated(page)).held
        await open_page(page, NEGATIVE[name])
        theirs += (await sampled(page)).held
    assert ours >= max(EACH, theirs), f"{name}: {ours} of {EACH}, by sampling {theirs}"


BETWEEN_FRAMES = """async () => {
    const boxOf = () => { const b = document.getElementById('go'); return b && JSON.stringify(b.getBoundingClientRect()) };
    const untold = [], end = performance.now() + 1000;
    for (let box = boxOf(), before = performance.now(); before < end;) {
        await new Promise(requestAnimationFrame);
        const now = performance.now();
        if (boxOf() !== box && !moves.some((at) => at >= before - 1)) untold.push([before, now]);
        [box, before] = [boxOf(), now];
    }
    return [untold, moves.length];
}"""


@pytest.mark.nightly
@pytest.mark.parametrize("name", sorted(TOLD))
async def test_a_page_with_a_clock_tells_every_move(page, name):
    await open_page(page, NEGATIVE[name])
    untold, moves = await page.evaluate(BETWEEN_FRAMES)
    assert untold == []
    assert moves > 3


@pytest.mark.parametrize("at_ms", rotating("gate, turning", [1500, 1700, 1800, 1900], 1))
async def test_what_an_animation_pushes_is_not_at_rest_where_that_turns_back(page, at_ms):
    await open_page(page, NEGATIVE["pushed by an animated neighbour"])
    await page.wait_for_function(f"document.getAnimations()[0].currentTime >= {at_ms}")
    assert (await gated(page, timeout_s=0.6)).held


async def test_a_socket_opened_anew_where_it_was_silent_is_not_waited_for_again(page):
    opening = "void new WebSocket('ws://127.0.0.1:9/{}')"
    await show(
        page, f"<button id=a>A</button><button id=b>B</button><script>{opening.format('news')}</script>"
    )
    await pass_gate(page, css("#a"))
    await page.wait_for_function(f"performance.now() > {GatePolicy().young_ms + GatePolicy().memory_ms}")
    await page.evaluate(opening.format("other"))
    with pytest.raises(GateFailed, match="a WebSocket of the page has not said anything yet"):
        await pass_gate(page, css("#b"), timeout_s=0)
    await pass_gate(page, css("#b"))
    await page.evaluate("document.body.insertAdjacentHTML('beforeend', '<button id=c>C</button>')")
    await page.evaluate("new Promise((done) => requestAnimationFrame(() => setTimeout(done, 400)))")
    await page.evaluate(opening.format("news"))
    await pass_gate(page, css("#c"), timeout_s=0)


@pytest.mark.nightly
async def test_what_was_a_long_poll_before_is_not_waited_for_again(page):
    answers = []

    async def answer(route):
        if "/news" in route.request.url and answers:
            return  # there is no more news
        if "/news" in route.request.url:
            answers.append(route)
            await asyncio.sleep(2.1)  # the page's clock tells a long poll by that
        await route.fulfill(status=200, content_type="text/html", body="<button id=go>Go</button>")

    await page.route("http://app.test/**", answer)
    await page.goto("http://app.test/")
    assert (await gated(page, timeout_s=2)).passed
    await page.evaluate("fetch('/news?since=1').then((r) => r.text()).then(() => { window.polled = 1 })")
    await page.wait_for_function("window.polled && performance.getEntriesByType('resource').length > 0")
    await page.evaluate("void fetch('/news?since=2')")
    ruling = await gated(page, timeout_s=0.1)
    assert ruling.passed, ruling.why


@pytest.mark.parametrize("name", rotating("gate, positive", list(POSITIVE), 4))
async def test_a_page_on_which_a_click_is_safe_passes(page, name):
    await open_page(page, POSITIVE[name])
    ruling = await gated(page, timeout_s=5)
    assert ruling.passed, ruling.why


async def test_what_covers_is_named_with_the_control_that_puts_it_away(page):
    await show(
        page,
        "<button id=go>Go</button><div class=cookie-banner style='position:fixed;inset:0'><p>Cookies?</p>"
        "<a href=/more>More</a><button>Accept</button></div>",
    )
    with pytest.raises(GateFailed) as caught:
        await pass_gate(page, css("#go"), timeout_s=0.3)
    failed = caught.value
    assert failed.evidence.startswith('covered by div.cookie-banner "Cookies?')
    assert failed.evidence.endswith('dismissible by button "Accept"')
    assert failed.cover is not None
    assert (failed.cover.described, failed.cover.dismissible_by) == ("div.cookie-banner", "Accept")


@pytest.mark.parametrize(
    ("html", "evidence"),
    [
        (
            "<fieldset id=pay disabled><legend>Payment</legend><input id=go></fieldset>",
            'disabled group: fieldset#pay "Payment"',
        ),
        (
            "<div id=box style='visibility:hidden'><p><button id=go>A</button></p></div>",
            "set by div#box around it",
        ),
        ("<details id=more><p><button id=go>A</button></p></details>", "details#more around it is closed"),
        (
            "<form id=one><button class=x id=go>Save</button></form><form id=two><button id=go>Save</button></form>",
            'button#go.x "Save" (in form#one), button#go "Save" (in form#two)',
        ),
        ("<button id=go>Go</button><button id=go>Go</button>", 'button#go "Go" at 8, 8, button#go "Go" at '),
        (
            "<div id=box style='width:0;height:0;overflow:hidden'><button id=go>Go</button></div>",
            "its middle is cut off by div#box around it (0 x 0 pixels)",
        ),
    ],
)
async def test_a_refusal_names_what_a_person_can_check(page, html, evidence):
    await show(page, html)
    with pytest.raises(GateFailed) as caught:
        await pass_gate(page, css("#go"), timeout_s=0.1)
    assert evidence in caught.value.evidence


# -- lists that hold only what is in view ----------------------------------------------------------

VIRTUAL = """<div id=list style="height:200px;overflow:auto"><div id=all style="height:20000px;position:relative"></div></div>
<script>const list=document.getElementById('list'),all=document.getElementById('all');
function draw(){const from=Math.floor(list.scrollTop/40);all.innerHTML='';for(let n=from;n<from+6;n++){
const row=document.createElement('button');row.id='row'+n;row.textContent='Row '+n;
row.style.cssText='position:absolute;left:0;height:36px;top:'+n*40+'px';row.onclick=()=>{document.title=row.id};
all.append(row)}}list.addEventListener('scroll',draw);draw()</script>"""


async def test_a_row_that_a_virtual_list_does_not_hold_yet_is_scrolled_to(page):
    await show(page, VIRTUAL)
    await perform_action(page, "click", selector=css("#row90"), timeout_s=20)
    assert await page.title() == "row90"


async def test_a_list_without_the_row_is_left_where_it_was(page):
    await show(page, VIRTUAL)
    await page.evaluate("document.getElementById('list').scrollTop = 480")
    with pytest.raises(GateFailed) as caught:
        await pass_gate(page, css("#row9000"), timeout_s=2)
    assert caught.value.point is GatePoint.NOT_FOUND
    assert await page.evaluate("document.getElementById('list').scrollTop") == 480


# -- between the gate and the action -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("go.remove()", "left the page"),
        ("go.style.transform = 'translateY(300px)'", "went from where it was"),
        (
            "document.body.insertAdjacentHTML('beforeend', '<div id=veil style=\"position:fixed;inset:0\">')",
            "div#veil",
        ),
        ("go.replaceWith(go.cloneNode(true))", "left the page"),
    ],
)
async def test_what_changes_between_gate_and_press_keeps_the_press_from_the_page(page, change, said):
    await show(page, f"{LISTENING}<button id=go>Go</button><button id=delete>Delete</button>")
    judged = await judge_element(page, css("#go"), intent="press")
    await page.evaluate(change)
    with pytest.raises(ElementVanished, match=said):
        await press_element(page, "click", judged)
    assert await page.evaluate("got") == []


async def test_an_element_replaced_just_before_the_press_is_judged_and_pressed_anew(page, monkeypatch):
    await show(page, f"{LISTENING}<button id=go>Go</button>")
    click, clicks = page.mouse.click, []

    async def replaced_first(x: float, y: float, **more: Any) -> None:
        if not clicks:
            await page.evaluate("go.outerHTML = '<button id=go class=new>Go</button>'")
        clicks.append((x, y))
        await click(x, y, **more)

    monkeypatch.setattr(page.mouse, "click", replaced_first)
    done = await perform_action(page, "click", selector=css("#go"))
    assert done.target == "button#go.new"
    assert (await page.evaluate("got")).count("go") == 5
    assert len(clicks) == 2


async def test_text_goes_into_the_judged_field_or_nowhere(page, monkeypatch):
    await show(page, f"{LISTENING}<input id=go><input id=other>")
    insert = page.keyboard.insert_text

    async def stolen(text: str) -> None:
        await page.evaluate("document.getElementById('other').focus()")
        await insert(text)

    monkeypatch.setattr(page.keyboard, "insert_text", stolen)
    with pytest.raises(GateFailed, match="after it was judged"):
        await perform_action(page, "fill", selector=css("#go"), value="secret")
    assert await page.evaluate("[document.getElementById('other').value, got.length]") == ["", 0]


async def test_a_click_never_falls_to_what_lies_beneath_what_went_away_while_it_was_pressed(page):
    await show(
        page,
        f"{LISTENING}<button id=under style='position:absolute;left:0;top:0'>Under</button>"
        "<button id=go style='position:absolute;left:0;top:0' onmousedown='this.remove()'>Under</button>",
    )
    await perform_action(page, "click", selector=css("#go"))
    assert "under" not in [each for each in await page.evaluate("got") if each == "click"]
    assert await page.evaluate("document.activeElement.id") != "under"


async def test_a_page_that_jumps_after_every_look_is_given_up_without_a_press(page):
    await show(page, LISTENING + jumping(90))
    with pytest.raises(GateFailed):
        await perform_action(page, "click", selector=css("#go"), timeout_s=0.5)
    assert await page.evaluate("got") == []


async def test_timers_of_the_page_keep_working_under_the_observer(page):
    await show(
        page,
        "<script>window.seen=[];setTimeout((a,b)=>seen.push(a+b),1,'x','y');setTimeout('seen.push(1)',2);"
        "const t=setInterval(()=>{seen.push('i');clearInterval(t)},3);clearTimeout(setTimeout(()=>seen.push('no'),4));"
        "clearTimeout(setTimeout('seen.push(`no`)',4));"
        "cancelAnimationFrame(requestAnimationFrame(()=>seen.push('no')));requestAnimationFrame((t)=>seen.push(typeof t));"
        "new Promise((done)=>setTimeout(done,9)).then(()=>seen.push('end'))</script>",
    )
    await page.wait_for_function("seen.includes('end') && seen.length === 5")
    assert sorted(map(str, await page.evaluate("seen"))) == ["1", "end", "i", "number", "xy"]
    assert await page.evaluate(
        "[setTimeout.name, `${setTimeout}`.includes('[native code]'), new XMLHttpRequest() instanceof XMLHttpRequest]"
    ) == ["setTimeout", True, True]


# -- any page ----------------------------------------------------------------------------------------

_px = st.integers(0, 300)
BOXES = st.lists(
    st.tuples(
        _px, _px, st.integers(20, 220), st.integers(20, 160),
        st.sampled_from(["", "pointer-events:none;", "opacity:0;", "transform:rotate(20deg);", "position:fixed;", "z-index:-1;"]),
    ),
    min_size=1, max_size=7,
)  # fmt: skip
TRUTH = """() => { const b = go.getBoundingClientRect(), p = [b.x + b.width / 2, b.y + b.height / 2];
    const top = document.elementsFromPoint(...p)[0]; return top === go }"""


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(boxes=BOXES, target=st.integers(0, 6))
async def test_scoped_agrees_with_the_browser_and_only_the_judged_element_is_clicked(page, boxes, target):
    target %= len(boxes)
    html = "".join(
        f"<div id={'go' if n == target else f'b{n}'} style='position:absolute;left:{x}px;top:{y}px;width:{w}px;"
        f"height:{h}px;{style}'></div>"
        for n, (x, y, w, h, style) in enumerate(boxes)
    )
    await open_page(page, LISTENING + html)
    truth = await page.evaluate(TRUTH)
    refused = None
    try:
        await perform_action(page, "click", selector=css("#go"), timeout_s=0.25)
    except GateFailed as failed:
        refused = failed.point
    assert refused is (None if truth else GatePoint.NOT_SCOPED)
    assert set(await page.evaluate("got")) == ({"go"} if truth else set())
