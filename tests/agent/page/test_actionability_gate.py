"""The five points: what passes, what does not, and what is said about it."""

from __future__ import annotations

import pytest

from agent.page import in_page_library
from agent.page.actionability_gate import GatePolicy, pass_gate
from agent.page.errors import GateFailed, GatePoint, PageGone
from agent.page.page_actions import perform_action
from kb_schema.selectors import Selector, css
from tests.support.pages import show

SHORT = 0.6


async def failure(page, selector, *, timeout_s=SHORT, **options) -> GateFailed:
    with pytest.raises(GateFailed) as caught:
        await pass_gate(page, selector, timeout_s=timeout_s, **options)
    return caught.value


async def test_a_quiet_visible_enabled_button_passes_and_its_handle_is_the_element(page):
    await show(page, "<button id=go class=big>Go</button>")
    gated = await pass_gate(page, css("#go"))
    assert gated.description == "button#go.big"
    assert gated.strategy.type == "css"
    assert await gated.element.inner_text() == "Go"
    assert gated.pointer is gated.element


async def test_a_page_that_has_been_quiet_is_judged_once(page):
    await show(page, "<button id=go>Go</button>")
    await pass_gate(page, css("#go"))
    await page.wait_for_function(f"performance.now() > {GatePolicy().memory_ms} + 500")
    assert (await pass_gate(page, css("#go"))).looked == 1


@pytest.mark.parametrize(
    ("html", "point", "evidence"),
    [
        ("<p>no button</p>", GatePoint.NOT_FOUND, "nothing on the page matches"),
        ("<button>A</button><button>B</button>", GatePoint.NOT_UNIQUE, "2 elements (2 visible)"),
        ("<button hidden>A</button>", GatePoint.NOT_VISIBLE, "display: none"),
        ("<div id=box style='display:none'><button>A</button></div>", GatePoint.NOT_VISIBLE, "div#box around it"),
        ("<button style='visibility:hidden'>A</button>", GatePoint.NOT_VISIBLE, "visibility is hidden"),
        ("<button style='width:0;height:0;padding:0;border:0;overflow:hidden'></button>", GatePoint.NOT_VISIBLE, "0 x 0"),
        ("<button disabled>A</button>", GatePoint.DISABLED, "it is disabled"),
        ("<fieldset disabled><button>A</button></fieldset>", GatePoint.DISABLED, "disabled group"),
        (
            "<form><label>Title <input required></label><label>Note <input></label><button disabled>A</button></form>",
            GatePoint.DISABLED,
            'it is disabled, probably because the field "Title" is empty',
        ),
        (
            "<div role=dialog><input value=7><input type=email aria-label=Mail value=me><button disabled>A</button></div>",
            GatePoint.DISABLED,
            'the field "Mail" has a value that the form does not accept',
        ),
        (
            ("<div><form><div class=has-error><label>Title <input></label><p class=error-message>Name it</p></div></form>"
            "<div><button disabled>A</button></div></div>"),
            GatePoint.DISABLED,
            'it is disabled, probably because the field "Title" is empty (Name it)',
        ),
        ("<form><input value=7><button disabled>A</button></form>", GatePoint.DISABLED, "it is disabled"),
        ("<button aria-disabled=true>A</button>", GatePoint.DISABLED, "aria-disabled"),
        ("<div inert id=all><button>A</button></div>", GatePoint.DISABLED, "div#all around it is inert"),
        (
            "<button>A</button><div class=cookie-banner style='position:fixed;inset:0'><p>Cookies?</p></div>",
            GatePoint.NOT_SCOPED,
            "covered by div.cookie-banner",
        ),
        ("<button style='pointer-events:none'>A</button>", GatePoint.NOT_SCOPED, "pointer-events: none"),
        ("<button style='position:absolute;left:-500px'>A</button>", GatePoint.NOT_SCOPED, "no part of it lies in the view"),
        (
            ("<style>@keyframes go{to{transform:translateX(90px)}}</style>"
            "<button style='animation:go 1s infinite alternate'>A</button>"),
            GatePoint.UNSTABLE,
            "animated (go)",
        ),
        (
            ("<style>@keyframes go{to{margin-left:90px}}</style>"
            "<div id=box style='animation:go 1s infinite alternate'><button>A</button></div>"),
            GatePoint.UNSTABLE,
            "div#box around it is being animated",
        ),
        (
            ("<button style='position:absolute'>A</button><script>let x=0;(function move(){"
            "document.querySelector('button').style.left=(x=(x+5)%400)+'px';requestAnimationFrame(move)})()</script>"),
            GatePoint.UNSTABLE,
            "moved",
        ),
        (
            ("<button style='position:absolute'>A</button><script>let x=0;setInterval(()=>{"
            "document.querySelector('button').style.left=(x=(x+40)%400)+'px'},100)</script>"),
            GatePoint.UNSTABLE,
            "rest",
        ),
        (
            ("<button style='position:absolute;left:0'>A</button><script>let x=0;setInterval(()=>{"
            "document.querySelector('button').animate([{left:(x=(x+40)%400)+'px'}],{duration:1,fill:'forwards'})},90)"
            "</script>"),
            GatePoint.UNSTABLE,
            "",
        ),
    ],
)  # fmt: skip
async def test_the_first_failing_point_is_named_with_evidence(page, html, point, evidence):
    await show(page, html)
    failed = await failure(page, css("button"))
    assert failed.point is point, str(failed)
    assert evidence in failed.evidence
    assert failed.selector == "css value='button'"


async def test_an_empty_field_outside_its_form_is_no_reason_why_a_button_is_disabled(page):
    await show(page, "<div><input aria-label=Search></div><div><button disabled>A</button></div>")
    with pytest.raises(GateFailed) as raised:
        await pass_gate(page, css("button"), timeout_s=0.3)
    assert (raised.value.evidence, raised.value.complained) == ("it is disabled", False)


async def test_a_jumper_is_rejected_every_time_it_is_tried(page):
    jumper = """<button style='position:absolute'>A</button><script>let x=0;window.moves=[performance.now()];
        setInterval(()=>{moves.push(performance.now());
        document.querySelector('button').style.left=(x=(x+40)%400)+'px'},100)</script>"""
    for _ in range(5):
        await show(page, jumper)
        point = None
        try:
            await pass_gate(page, css("button"), timeout_s=0.4)
        except GateFailed as failed:
            point = failed.point
        if point is not GatePoint.UNSTABLE:
            assert point is None
            # On a starved machine the page's own timer comes late; then it did rest as long as is asked for.
            rests = await page.evaluate(
                "[...moves, performance.now()].map((at, i, all) => i ? at - all[i - 1] : 0)"
            )
            assert max(rests) >= GatePolicy().young_look_ms, f"passed between two jumps: {rests}"


async def test_a_page_that_never_settles_elsewhere_does_not_stop_a_resting_element(page):
    await show(
        page,
        "<button>A</button><p id=clock style='position:absolute;top:200px'></p>"
        "<script>setInterval(()=>clock.textContent=Date.now(),50)</script>",
    )
    gated = await pass_gate(page, css("button"), timeout_s=3)
    assert gated.duration_ms < 2_000


async def test_a_fade_does_not_count_as_moving(page):
    await show(
        page,
        "<style>@keyframes fade{from{opacity:.5}}</style><button style='animation:fade 1s infinite'>A</button>",
    )
    await pass_gate(page, css("button"), timeout_s=3)


async def test_an_element_that_comes_later_is_waited_for(page):
    await show(
        page,
        "<script>setTimeout(()=>document.body.innerHTML='<button disabled>A</button>',150);"
        "setTimeout(()=>document.querySelector('button').disabled=false,400)</script>",
    )
    gated = await pass_gate(page, css("button"), timeout_s=5)
    assert await gated.element.is_enabled()


async def test_an_element_replaced_in_between_is_judged_anew(page):
    await show(
        page,
        "<button>old</button><script>let n=0;const t=setInterval(()=>{"
        "const b=document.createElement('button');b.textContent=++n<4?'middle':'new';"
        "document.querySelector('button').replaceWith(b);if(n===4)clearInterval(t)},40)</script>",
    )
    await page.wait_for_function("document.querySelector('button').textContent === 'new'")
    gated = await pass_gate(page, css("button"), timeout_s=5)
    assert await gated.element.inner_text() == "new"
    assert await gated.element.evaluate("el => el.isConnected")


async def test_an_element_out_of_sight_is_scrolled_to(page):
    await show(
        page,
        "<div style='height:3000px'></div><div style='height:100px;overflow:auto'>"
        "<div style='height:900px'></div><button>A</button></div>",
    )
    gated = await pass_gate(page, css("button"), timeout_s=3)
    await gated.pointer.click(force=True)
    assert await page.evaluate("document.activeElement.tagName") == "BUTTON"


async def test_frames_are_entered_only_when_named(page):
    await show(page, "<p>x</p><iframe id=f srcdoc='<button>In</button>'></iframe>")
    inside = Selector.model_validate({"strategies": [{"type": "css", "value": "button"}], "frame": "#f"})
    assert (await pass_gate(page, inside)).description == "button"
    assert "iframe#f does: name the frame" in (await failure(page, css("button"))).evidence


async def test_what_covers_a_frame_covers_what_is_in_it(page):
    await show(
        page,
        "<iframe id=f srcdoc='<button>In</button>'></iframe><div id=veil style='position:fixed;inset:0'></div>",
    )
    inside = Selector.model_validate({"strategies": [{"type": "css", "value": "button"}], "frame": "#f"})
    failed = await failure(page, inside)
    assert (failed.point, failed.evidence) == (GatePoint.NOT_SCOPED, "covered by div#veil")


async def test_elements_in_open_shadow_roots_pass(page):
    await show(
        page,
        "<x-save><b>Save</b></x-save><script>document.querySelector('x-save').attachShadow({mode:'open'})"
        ".innerHTML='<button><slot></slot></button>'</script>",
    )
    assert (await pass_gate(page, css("button"))).description == "button"


@pytest.mark.parametrize(
    ("html", "pointer"),
    [
        ("<input type=file id=f hidden><label for=f>Choose</label>", "LABEL"),
        (
            (
                "<input type=file id=f style='position:absolute;width:1px;height:1px;clip-path:inset(50%)'>"
                "<p>Drop it here, or</p><label for=f>Choose</label>"
            ),
            "LABEL",
        ),
        ("<div><input type=file id=f hidden><button>Upload</button></div>", "BUTTON"),
        ("<label><input type=checkbox id=f style='display:none'>I agree</label>", "LABEL"),
        (
            (
                "<label style='position:relative'><input type=checkbox id=f style='position:absolute;opacity:0;"
                "clip-path:inset(50%)'>I agree</label>"
            ),
            "INPUT",
        ),
    ],
)
async def test_a_hidden_field_is_judged_by_what_stands_for_it(page, html, pointer):
    await show(page, html)
    gated = await pass_gate(page, css("#f"))
    assert await gated.element.evaluate("el => el.tagName") == "INPUT"
    assert await gated.pointer.evaluate("el => el.tagName") == pointer
    if "checkbox" in html:
        await gated.pointer.click(force=True)
        assert await gated.element.is_checked()


async def test_a_hidden_file_field_whose_label_is_covered_does_not_pass(page):
    await show(
        page,
        "<input type=file id=f hidden><label for=f>Choose</label><div id=veil style='position:fixed;inset:0'></div>",
    )
    assert (await failure(page, css("#f"))).point is GatePoint.NOT_SCOPED


async def test_fading_colours_are_no_movement_however_often_they_fade(page):
    fields = "".join(f"<input id=f{n}>" for n in range(5))
    await show(
        page, f"<style>input{{transition:border-color .1s}}input:focus{{border-color:red}}</style>{fields}"
    )
    for n in range(4):
        await page.evaluate(
            "id => new Promise(done => { const field = document.getElementById(id);"
            " field.addEventListener('transitionend', done, {once: true}); field.focus(); })",
            f"f{n}",
        )
    assert (await pass_gate(page, css("#f4"), timeout_s=0.05)).looked == 1


async def test_a_read_only_field_is_not_editable(page):
    await show(page, "<input readonly>")
    assert (await failure(page, css("input"), editable=True)).evidence == "the field is read-only"
    await pass_gate(page, css("input"))


async def test_the_gate_survives_a_navigation_under_it(page):
    await show(
        page,
        "<p>first</p><script>setTimeout(()=>location.href='/second',150)</script>",
        pages={"/second": "<button>Second</button>"},
    )
    assert await (await pass_gate(page, css("button"), timeout_s=8)).element.inner_text() == "Second"


async def test_a_closed_page_is_gone(page):
    await show(page, "<button>A</button>")
    await page.close()
    with pytest.raises(PageGone):
        await pass_gate(page, css("button"))


async def test_the_library_leaves_no_trace_a_page_could_stumble_over(page):
    await show(page, "<form id=q><input name=id><input name=children><input name=getAttribute></form>")
    before = await page.evaluate(
        "JSON.stringify([Object.keys(window).length, document.documentElement.outerHTML])"
    )
    await pass_gate(page, css("form"), timeout_s=3)
    after = await page.evaluate(
        "JSON.stringify([Object.keys(window).length, document.documentElement.outerHTML])"
    )
    assert before == after
    assert await page.evaluate("""() => {
        const key = Symbol.for("periplus.page.1"), it = window[key];
        try { window[key] = null } catch {}
        return window[key] === it && Object.isFrozen(it);
    }""")


@pytest.mark.parametrize("name", ["parentNode", "assignedSlot", "getAnimations", "nodeType"])
async def test_fields_named_like_what_the_gate_asks_a_form_for_do_not_mislead_it(page, name):
    await show(page, f"<form style='display:none'><input name={name}><button>A</button></form>")
    assert "form around it has display: none" in (await failure(page, css("button"), timeout_s=0)).evidence
    await page.evaluate("document.forms[0].style.display = 'block'")
    await pass_gate(page, css("button"), timeout_s=3)


async def test_the_library_reaches_documents_that_were_there_before_it(browser):
    bare = await browser.new_page()
    await bare.set_content("<button>A</button>")
    assert (await pass_gate(bare, css("button"), timeout_s=3)).description == "button"
    assert in_page_library.library_source().startswith("(() => {")
    await bare.context.close()


@pytest.mark.parametrize("root", ["html", "body"])
async def test_a_click_on_the_page_itself_does_not_press_what_lies_in_its_middle(page, root):
    middle = "position:fixed;left:25%;top:25%;width:50%;height:50%"
    await show(page, f"<button style='{middle}' onclick='this.textContent = `pressed`'>A</button>")
    await perform_action(page, "click", selector=css(root), timeout_s=2)
    assert await page.inner_text("button") == "A"
