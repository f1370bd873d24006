"""Every on-page action of the vocabulary, on a small real page."""

from __future__ import annotations

import pytest

from agent.page.action_requests import ActionPace
from agent.page.errors import (
    ActionFailed,
    ActionMisused,
    ElementChanged,
    GateFailed,
    GatePoint,
    NavigationFailed,
    OriginRefused,
    SelectorNotFilled,
)
from agent.page.live_selectors import fill_selector_parameters
from agent.page.page_actions import ACTION_PERFORMERS, perform_action
from kb_schema.action_calls import DropPlace
from kb_schema.action_types import ACTION_TYPES
from kb_schema.selectors import Selector, css
from tests.support.pages import SITE, show

NASTY = 'O\'Brien "Bob" </script> {x} {{y}} ünï 你好'
PAGE = """<!doctype html><title>Desk</title>
<form id=form onsubmit="event.preventDefault();note('submit')">
<label>Name <input id=name value=old></label><input id=mail type=email value=a@b.c>
<input id=day type=date><textarea id=about>old</textarea><div id=rich contenteditable>old</div>
<select id=lang><option value=en>English<option value=de>German</select>
<label><input type=checkbox id=keep style="display:none">Keep</label><input type=radio name=r id=r1><input type=radio name=r id=r2>
<div role=switch id=dark aria-checked=false tabindex=0 onclick="this.setAttribute('aria-checked', this.ariaChecked !== 'true')">Dark</div>
<label for=file>Choose a file</label><input type=file id=file hidden><button id=go type=button>Go</button><button>Send</button></form>
<button id=stuck aria-pressed=false>Stuck</button><input type=checkbox id=frozen onclick="event.preventDefault()">
<div style="height:2000px"></div><p id=far>Far away</p>
<script>window.said = []; function note(what) { said.push(what) }
for (const kind of ['input', 'change', 'click', 'dblclick', 'mouseover', 'focusin', 'keydown'])
  document.addEventListener(kind, (e) => {
  if (e.clientX !== 0 || e.clientY !== 0) note(kind + ':' + (e.target.id || e.target.tagName))
}, true)</script>"""
"""What is heard at 0,0 is nobody's hand: a browser without windows tells each page of a pointer there."""


@pytest.fixture
async def desk(page):
    await show(page, PAGE, "/desk", pages={"/next": "<title>Next</title><h1>Next</h1>"})
    return page


async def said(page):
    return await page.evaluate("window.said")


def test_every_on_page_action_has_a_performer():
    assert set(ACTION_PERFORMERS) == {name for name, kind in ACTION_TYPES.items() if kind.on_page}


async def test_click_and_double_click_reach_the_element(desk):
    done = await perform_action(desk, "ElementInteraction.Click", selector=css("#go"))
    assert (done.action, done.target, done.strategy) == ("click", "button#go", "css")
    await perform_action(desk, "double_click", selector=css("#go"))
    heard = await said(desk)
    assert heard.count("click:go") == 3
    assert heard.count("dblclick:go") == 1


async def test_hover_and_focus(desk):
    await perform_action(desk, "hover", selector=css("#go"))
    await perform_action(desk, "focus", selector=css("#name"))
    heard = await said(desk)
    assert "mouseover:go" in heard
    assert "focusin:name" in heard


@pytest.mark.parametrize("pace", [ActionPace(), ActionPace(key_delay_s=0.001)])
@pytest.mark.parametrize("field", ["#name", "#about"])
async def test_fill_replaces_the_text_and_says_so_to_the_page(desk, field, pace):
    await perform_action(desk, "fill", selector=css(field), value=NASTY, pace=pace)
    assert await desk.input_value(field) == NASTY
    heard = await said(desk)
    assert f"input:{field[1:]}" in heard
    assert heard.count(f"change:{field[1:]}") == 1
    await perform_action(desk, "focus", selector=css("#go"))
    assert (await said(desk)).count(f"change:{field[1:]}") == 1


async def test_paced_typing_comes_key_by_key(desk):
    await perform_action(
        desk, "type_text", selector=css("#name"), value="Ann", pace=ActionPace(key_delay_s=0.001)
    )
    assert (await said(desk)).count("input:name") == 4  # emptied, then one for each key


async def test_a_line_break_in_a_single_line_does_not_submit(desk):
    await perform_action(
        desk, "fill", selector=css("#name"), value="a\nb", pace=ActionPace(key_delay_s=0.001)
    )
    assert "submit" not in await said(desk)


async def test_fill_takes_dates_and_rich_text(desk):
    await perform_action(
        desk, "fill", selector=css("#day"), value="2026-11-21", pace=ActionPace(key_delay_s=0.001)
    )
    await perform_action(desk, "fill", selector=css("#rich"), value=NASTY)
    assert await desk.input_value("#day") == "2026-11-21"
    assert await desk.inner_text("#rich") == NASTY


@pytest.mark.parametrize(
    ("field", "expected"), [("#name", "old+x"), ("#about", "old+x"), ("#mail", "a@b.c+x")]
)
async def test_append_adds_at_the_end(desk, field, expected):
    await perform_action(desk, "append_text", selector=css(field), value="+x")
    assert await desk.input_value(field) == expected


async def test_input_and_submit_clear_and_press(desk):
    await perform_action(desk, "input_and_submit", selector=css("#name"), value="Ann")
    assert "submit" in await said(desk)
    await perform_action(desk, "clear", selector=css("#name"))
    assert await desk.input_value("#name") == ""
    await perform_action(desk, "press", selector=css("#name"), value="b")
    await perform_action(desk, "press", value="Backspace")
    assert await desk.input_value("#name") == ""


@pytest.mark.parametrize("option", ["de", "German"])
async def test_an_option_is_chosen_by_value_or_label(desk, option):
    await perform_action(desk, "select_dropdown", selector=css("#lang"), value=option)
    assert await desk.input_value("#lang") == "de"
    assert "change:lang" in await said(desk)


async def test_an_option_that_is_not_there_fails(desk):
    with pytest.raises(ActionFailed, match="select_option on select#lang"):
        await perform_action(desk, "select_option", selector=css("#lang"), value="Klingon")


@pytest.mark.parametrize("box", ["#keep", "#dark"])
async def test_check_and_uncheck_are_idempotent(desk, box):
    for action, expected in (("check", True), ("check", True), ("uncheck", False), ("uncheck", False)):
        await perform_action(desk, action, selector=css(box))
        handle = await desk.query_selector(box)
        assert await handle.is_checked() is expected


async def test_a_box_that_does_not_change_is_a_failure(desk):
    with pytest.raises(ActionFailed, match="did not change"):
        await perform_action(desk, "check", selector=css("#frozen"))


async def test_a_file_is_given_to_a_hidden_field(desk, tmp_path):
    file = tmp_path / "contacts.csv"
    file.write_text("name\nAnn\n", encoding="utf-8")
    await perform_action(desk, "upload_file", selector=css("#file"), value=str(file))
    assert await desk.evaluate("document.querySelector('#file').files[0].name") == "contacts.csv"


async def test_scrolling(desk):
    await perform_action(desk, "scroll", value="bottom")
    assert await desk.evaluate("scrollY") > 1000
    await perform_action(desk, "scroll", value="-100000")
    assert await desk.evaluate("scrollY") == 0
    await perform_action(desk, "scroll_to_element", selector=css("#far"))
    assert await desk.evaluate("scrollY") > 1000
    with pytest.raises(ActionMisused):
        await perform_action(desk, "scroll", value="sideways")


async def test_reading_the_page_and_an_element(desk):
    whole = await perform_action(desk, "get_screen_content")
    assert "Far away" in (whole.content or "")
    assert (await perform_action(desk, "extract", selector=css("#far"))).content == "Far away"


async def test_going_places(desk):
    await perform_action(desk, "visit_url", url=f"{SITE}/next", allowed_origins=frozenset({SITE}))
    assert await desk.title() == "Next"
    await perform_action(desk, "navigate_back")
    assert await desk.title() == "Desk"
    await desk.evaluate("document.title = 'changed'")
    await perform_action(desk, "refresh")
    assert await desk.title() == "Desk"


@pytest.mark.parametrize(
    "url", ["http://evil.test/", "file:///etc/passwd", "javascript:alert(1)", "http://app.test.evil/"]
)
async def test_other_origins_are_refused(desk, url):
    with pytest.raises(OriginRefused):
        await perform_action(desk, "navigate", url=url, allowed_origins=frozenset({f"{SITE}/"}))
    assert desk.url == f"{SITE}/desk"


async def test_a_site_that_is_down_is_named(page):
    with pytest.raises(NavigationFailed, match=r"127\.0\.0\.1:9"):
        await perform_action(page, "navigate", url="http://127.0.0.1:9/")


async def test_nothing_is_clicked_when_the_gate_fails(desk):
    await desk.evaluate(
        "document.body.insertAdjacentHTML('beforeend', '<div id=veil style=\"position:fixed;inset:0\">')"
    )
    for action, value in (
        ("click", None),
        ("fill", "x"),
        ("check", None),
        ("select_option", "de"),
        ("hover", None),
    ):
        with pytest.raises(GateFailed) as caught:
            await perform_action(
                desk, action, selector=css("#lang" if value == "de" else "#name"), value=value, timeout_s=0.2
            )
        assert caught.value.point is GatePoint.NOT_SCOPED
    assert await said(desk) == []


@pytest.mark.parametrize(
    ("action", "given"),
    [("click", {}), ("fill", {"selector": css("#name")}), ("navigate", {}), ("wait", {}), ("fly", {})],
)
async def test_an_action_without_what_it_takes_is_refused(desk, action, given):
    with pytest.raises(ActionMisused):
        await perform_action(desk, action, **given)


# -- quoting -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "strategy",
    [
        {"type": "parameterized", "template": "li:has-text('{{who}}') button", "parameters": ["who"]},
        {"type": "parameterized_css", "template": 'li[data-who="{{who}}"] > button', "parameters": ["who"]},
        {"type": "parameterized_xpath", "template": "//li[span[.='{{who}}']]/button", "parameters": ["who"]},
        {"type": "parameterized", "template": "//li[@data-who='{{who}}']/button", "parameters": ["who"]},
    ],
)
async def test_any_value_can_stand_in_a_parameterised_selector(page, strategy):
    await show(page, "<ul></ul>")
    await page.evaluate(
        """(names) => { for (const name of names) { const li = document.createElement('li');
        li.dataset.who = name; li.innerHTML = '<span></span><button>x</button>'; li.firstChild.textContent = name;
        li.lastChild.onclick = () => { document.title = name }; document.querySelector('ul').append(li) } }""",
        ["Ann", NASTY, 'a\\"b', "]) > *"],
    )
    for name in ("Ann", NASTY, 'a\\"b', "]) > *"):
        selector = fill_selector_parameters(Selector.model_validate(strategy), {"who": name})
        await perform_action(page, "click", selector=selector)
        assert await page.title() == name


async def test_where_a_template_finds_nothing_the_element_is_taken_by_its_index(page):
    await show(
        page,
        "<button onclick=\"document.title='first'\">a</button><button onclick=\"document.title='second'\">b</button>",
    )
    told = {
        "strategies": [
            {"type": "dom_index", "index": "{n}", "fallback": True},
            {"type": "parameterized_css", "template": "[data-who='{{who}}']", "parameters": ["who"]},
        ]
    }
    selector = fill_selector_parameters(Selector.model_validate(told), {"who": "Ann", "n": 1})
    await perform_action(page, "click", selector=selector)
    assert await page.title() == "second"


def test_strategies_without_their_variables_are_dropped():
    selector = Selector.model_validate({
        "strategies": [
            {"type": "parameterized_css", "template": "#{{a}}", "parameters": ["a"]},
            {"type": "dom_index", "index": "{n}"},
        ]
    })  # fmt: skip
    assert [s.type for s in fill_selector_parameters(selector, {"n": 3}).strategies] == ["dom_index"]
    assert fill_selector_parameters(selector, {"a": "x1"}).strategies[0].model_dump()["value"] == "#x1"
    with pytest.raises(SelectorNotFilled) as caught:
        fill_selector_parameters(selector, {"a": "x y"})
    assert caught.value.missing == {"n"}


FIELDS = """<input id=text value=old><input id=password type=password><input id=number type=number>
<input id=mail type=email value=a@b.c><textarea id=area>old</textarea><div id=rich contenteditable>old</div>
<iframe id=frame srcdoc="<input id=inside>"></iframe><div id=host></div><script>
host.attachShadow({mode: 'open'}).innerHTML = '<input id=shadow>'; window.said = [];
document.addEventListener('change', (e) => said.push(e.target.id), true)</script>"""


@pytest.mark.parametrize("pace", [0.0, 0.001])
@pytest.mark.parametrize(
    ("selector", "read"),
    [
        (css("#text"), "text.value"),
        (css("#password"), "password.value"),
        (css("#number"), "number.value"),
        (css("#area"), "area.value"),
        (css("#rich"), "rich.textContent"),
        (css("#shadow"), "host.shadowRoot.querySelector('input').value"),
        (css("#inside").model_copy(update={"frame": "#frame"}), "frame.contentDocument.all.inside.value"),
    ],
)
async def test_a_secret_is_typed_into_every_kind_of_field(page, selector, read, pace):
    await show(page, FIELDS, "/fields")
    asked = {"secret": True, "allowed_origins": frozenset({SITE}), "pace": ActionPace(pace)}
    await perform_action(page, "fill", selector=selector, value="4711", **asked)
    assert await page.evaluate(read) == "4711"
    await perform_action(page, "append_text", selector=selector, value="12", **asked)
    assert await page.evaluate(read) == "471112"


async def test_a_secret_needs_a_field_and_origins(desk):
    allowed = frozenset({SITE})
    with pytest.raises(ActionMisused, match="allowed origins"):
        await perform_action(desk, "fill", selector=css("#name"), value="s3cret", secret=True)
    with pytest.raises(ActionMisused, match="into fields"):
        await perform_action(
            desk, "select_option", selector=css("#lang"), value="s3cret", secret=True, allowed_origins=allowed
        )
    for action, given in (("navigate", {"url": f"{SITE}/next?s3cret"}), ("press", {"value": "s3cret"})):
        with pytest.raises(ActionMisused, match="into fields"):
            await perform_action(desk, action, secret=True, allowed_origins=allowed, **given)
    assert await desk.evaluate("document.getElementById('name').value") == "old"


async def test_a_page_that_takes_over_while_the_gate_waits_learns_nothing_of_the_secret(page):
    """The gate's request is repeated in the document that replaced the page, and a script there can read it."""
    elsewhere = "http://look-alike.example"
    spying = """<input id=name autofocus><script>window.seen = []; const parse = JSON.parse;
    JSON.parse = (text) => { seen.push(text); return parse(text) }</script>"""
    away = f"<script>setTimeout(() => location.href = '{elsewhere}/', 200)</script>"
    await page.route(f"{elsewhere}/**", lambda route: route.fulfill(body=spying, content_type="text/html"))
    await show(page, away, "/start")
    with pytest.raises(OriginRefused):
        await perform_action(
            page,
            "fill",
            selector=css("#name"),
            value="s3cret",
            secret=True,
            allowed_origins=frozenset({SITE}),
        )
    assert page.url == f"{elsewhere}/"
    seen = await page.evaluate("seen")
    assert any("timeout_ms" in each for each in seen)
    assert not any("s3cret" in each for each in seen)
    assert await page.evaluate("document.getElementById('name').value") == ""


RENAMED = """<!doctype html><button id=save>Save</button><p id=out></p><script>window.pressed = [];
const swap = () => { save.textContent = %s };
for (const kind of ['pointerdown', 'mousedown', 'click']) save.addEventListener(kind, () => pressed.push(kind));
</script><script>%s</script>"""
ON_HOVER = "save.addEventListener('%s', swap)"


@pytest.mark.parametrize("kind", ["pointerover", "pointerenter", "mouseover", "mousemove"])
@pytest.mark.parametrize("action", ["click", "double_click"])
async def test_a_label_that_is_swapped_under_the_pointer_is_not_pressed(page, kind, action):
    await show(page, RENAMED % ("'Delete account'", ON_HOVER % kind), "/swap")
    with pytest.raises(
        ElementChanged, match='was "Save" and is "Delete account" under the pointer'
    ) as refused:
        await perform_action(page, action, selector=css("#save"))
    assert refused.value.by_words
    assert await page.evaluate("pressed") == []


async def test_a_checkbox_whose_label_is_swapped_is_not_ticked(page):
    await show(
        page,
        """<label id=save for=box>Keep my data</label><input type=checkbox id=box>
        <script>box.onpointerover = () => { save.textContent = 'Erase my data' }</script>""",
        "/box",
    )
    with pytest.raises(ElementChanged, match="Erase my data"):
        await perform_action(page, "check", selector=css("#box"))
    assert await page.evaluate("box.checked") is False


@pytest.mark.parametrize("text", ["'Save (2)'", "'Save now'", "'SAVE'", "'Save' + ' '"])
async def test_a_label_that_only_grows_or_counts_is_pressed(page, text):
    await show(page, RENAMED % (text, ON_HOVER % "pointerover"), "/grow")
    await perform_action(page, "click", selector=css("#save"))
    assert await page.evaluate("pressed") == ["pointerdown", "mousedown", "click"]


async def test_a_button_without_words_and_one_that_answers_the_press_are_pressed(page):
    await show(page, RENAMED.replace("Save<", "<") % ("''", ON_HOVER % "pointerover"), "/bare")
    await perform_action(page, "click", selector=css("#save"))
    assert len(await page.evaluate("pressed")) == 3
    await show(page, RENAMED % ("'Saving'", ON_HOVER % "mousedown"), "/saving")
    await perform_action(page, "double_click", selector=css("#save"))
    assert (await page.evaluate("pressed")).count("click") == 2


@pytest.mark.parametrize("kind", ["pointerdown", "mousedown", "focus", "mouseup"])
async def test_a_label_that_the_press_itself_swaps_is_not_clicked(page, kind):
    await show(page, RENAMED % ("'Delete account'", ON_HOVER % kind), "/pressed")
    with pytest.raises(ElementChanged, match='was "Save" and is "Delete account"'):
        await perform_action(page, "click", selector=css("#save"))
    assert "click" not in await page.evaluate("pressed")


@pytest.mark.parametrize("text", ["'Saving'", "'Saved'", "'Save again'"])
async def test_a_label_that_says_the_new_state_is_clicked(page, text):
    await show(page, RENAMED % (text, ON_HOVER % "mousedown"), "/state")
    await perform_action(page, "click", selector=css("#save"))
    assert "click" in await page.evaluate("pressed")


TITLED = """<!doctype html><button id=save title="Save all"><i style="display:block;width:20px;height:20px"></i></button>
<script>window.pressed = []; save.addEventListener('click', () => pressed.push('click'));
save.addEventListener('mouseover', () => { %s })</script>"""
SHOWN_TOOLTIP = "document.body.insertAdjacentHTML('beforeend', '<div role=tooltip id=tip>Save all</div>'); save.setAttribute('aria-describedby', 'tip')"


@pytest.mark.parametrize(
    "moved", ["save.removeAttribute('title')", "save.dataset.originalTitle = save.title; save.title = ''"]
)
async def test_a_button_whose_title_a_tooltip_takes_is_pressed(page, moved):
    await show(page, TITLED % f"{moved}; {SHOWN_TOOLTIP}", "/tooltip")
    await perform_action(page, "click", selector=css("#save"))
    assert await page.evaluate("pressed") == ["click"]


@pytest.mark.parametrize(
    "swapped", ["save.title = 'Delete all'", "save.removeAttribute('title'); save.textContent = 'Delete all'"]
)
async def test_a_title_that_is_swapped_under_the_pointer_is_not_pressed(page, swapped):
    await show(page, TITLED % swapped, "/titled")
    with pytest.raises(ElementChanged, match="Delete all"):
        await perform_action(page, "click", selector=css("#save"))
    assert await page.evaluate("pressed") == []


DRAGS = """<!doctype html><title>Drags</title><div id=card draggable=true>Caulk</div><div id=done style="height:80px">Done</div>
<div id=knob role=slider tabindex=0 aria-valuenow=3 aria-label=Level>Level</div><div id=far style="display:none">Far</div>
<div role=code style="position:relative;width:300px;height:60px"><textarea id=code style="position:absolute;width:3px"></textarea>
<div id=lines style="position:absolute;inset:0">let a = 1</div></div>
<script>window.said = []; const note = (what) => said.push(what);
done.ondragover = (e) => e.preventDefault(); done.ondrop = (e) => { e.preventDefault(); note('dropped'); };
for (const kind of ['click', 'contextmenu', 'auxclick']) card.addEventListener(kind, (e) => note(`${kind}:${e.button}:${e.shiftKey}`));
knob.onkeydown = (e) => { const by = { ArrowUp: 1, ArrowDown: -1 }[e.key] || 0;
  knob.setAttribute('aria-valuenow', Math.min(5, +knob.ariaValueNow + by)); };</script>"""


@pytest.fixture
async def drags(page):
    await show(page, DRAGS, "/drags")
    return page


async def test_right_click_and_keys_held_down_reach_the_element(drags):
    await perform_action(drags, "right_click", selector=css("#card"))
    await perform_action(drags, "click", selector=css("#card"), modifiers=("Shift",))
    await perform_action(drags, "click", selector=css("#card"))
    heard = await said(drags)
    assert "contextmenu:2:false" in heard
    assert [each for each in heard if each.startswith("click")] == ["click:0:true", "click:0:false"]


async def test_drag_ends_where_drop_says(drags):
    await perform_action(drags, "drag", selector=css("#card"), drop=DropPlace(target=css("#done")))
    assert await said(drags) == ["dropped"]


@pytest.mark.parametrize(
    ("drop", "reason"),
    [
        (None, "needs `drop`"),
        (DropPlace(target=css("#nowhere")), "no elements are the place where it ends"),
        (DropPlace(target=css("#far")), "hidden"),
        (DropPlace(target=css("#done"), at=(0.5, 90.0)), "do not fit into the view"),
    ],
)
async def test_a_drag_without_a_place_to_end_is_refused_before_the_press(drags, drop, reason):
    with pytest.raises((ActionMisused, ActionFailed), match=reason):
        await perform_action(drags, "drag", selector=css("#card"), drop=drop)
    assert await said(drags) == []
    await perform_action(drags, "click", selector=css("#card"))  # no guard is left
    assert await said(drags) == ["click:0:false"]


async def test_a_slider_is_set_with_the_arrow_keys_and_says_where_it_stopped(drags):
    await perform_action(drags, "fill", selector=css("#knob"), value="5")
    assert await drags.get_attribute("#knob", "aria-valuenow") == "5"
    await perform_action(drags, "fill", selector=css("#knob"), value="1")
    assert await drags.get_attribute("#knob", "aria-valuenow") == "1"
    with pytest.raises(ActionFailed, match="the slider is at 5 after it was moved towards 9"):
        await perform_action(drags, "fill", selector=css("#knob"), value="9")
    with pytest.raises(ActionMisused, match="a slider takes a number"):
        await perform_action(drags, "fill", selector=css("#knob"), value="much")


async def test_the_field_of_a_code_editor_takes_text_under_the_lines_that_are_drawn_over_it(drags):
    await perform_action(drags, "fill", selector=css("#code"), value="let b = 2")
    assert await drags.input_value("#code") == "let b = 2"


@pytest.mark.parametrize("action", ["fill", "append_text"])
async def test_no_key_of_a_secret_reaches_a_frame_of_another_origin_that_takes_the_focus(page, action):
    elsewhere = "http://advert.example"
    thief = """<input id=thief><script>const heard = [];
    addEventListener('keydown', (e) => { heard.push(e.key); top.postMessage(heard.join(''), '*') });
    setInterval(() => { window.focus(); thief.focus() }, 1)</script>"""
    await page.route(f"{elsewhere}/**", lambda route: route.fulfill(body=thief, content_type="text/html"))
    await show(
        page,
        f"""<input id=pass type=password><iframe src="{elsewhere}/"></iframe>
        <script>window.stolen = ''; addEventListener('message', (e) => {{ stolen = e.data }})</script>""",
        "/advert",
    )
    await perform_action(
        page, action, selector=css("#pass"), value="Zq7secretPW91x", secret=True,
        allowed_origins=frozenset({SITE}), pace=ActionPace(0.02),
    )  # fmt: skip
    assert await page.evaluate("[document.getElementById('pass').value, stolen]") == ["Zq7secretPW91x", ""]


async def test_keys_of_a_secret_reach_masks_and_the_boxes_of_a_code(page):
    boxes = "".join(
        "<input type=tel class=box maxlength=1 oninput='this.nextElementSibling?.focus()'>" for _ in range(4)
    )
    await show(
        page,
        f"""<form>{boxes}</form><input id=masked><input id=refused onkeydown="event.key === '7' && event.preventDefault()">
        <script>let kept = '';
        masked.addEventListener('keydown', (e) => {{ if (e.key.length === 1) kept += e.key }});
        masked.addEventListener('input', () => {{ masked.value = kept }})</script>""",
        "/masks",
    )
    asked = {"secret": True, "allowed_origins": frozenset({SITE}), "pace": ActionPace(0.001), "value": "4711"}
    for selector in (css(".box:first-child"), css("#masked"), css("#refused")):
        await perform_action(page, "append_text", selector=selector, **asked)
    values = (
        "[[...document.querySelectorAll('.box')].map((e) => e.value).join(''), masked.value, refused.value]"
    )
    assert await page.evaluate(values) == ["4711", "4711", "411"]


@pytest.mark.parametrize(("action", "pace"), [("fill", 0.0), ("fill", 0.01), ("append_text", 0.0)])
async def test_a_line_break_in_a_field_of_one_line_sends_no_form(page, action, pace):
    form = (
        "<form onsubmit='window.sent = 1; return false'><input id=word><button>Delete project</button></form>"
    )
    await show(page, f"{form}<textarea id=long></textarea>", "/project")
    for field, shown in (("word", "DELETE"), ("long", "DELETE\n")):
        await perform_action(page, action, selector=css(f"#{field}"), value="DELETE\n", pace=ActionPace(pace))
        assert await page.input_value(f"#{field}") == shown
    assert await page.evaluate("window.sent") is None
