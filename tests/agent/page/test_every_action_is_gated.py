"""No kind of action reaches an element that may not be acted on; and nothing else acts on a page.

A kind that is added to the vocabulary is tested here without a further word: by every page below.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import agent
from agent.page.action_requests import ActionPace
from agent.page.errors import ElementChanged, GateFailed, GatePoint
from agent.page.page_actions import perform_action
from kb_schema.action_types import ACTION_TYPES
from kb_schema.selectors import css
from tests.support.pages import show
from tests.support.rotation import rotating

ON_ELEMENTS = [name for name, kind in ACTION_TYPES.items() if kind.on_page and kind.target != "none"]
HEARING = """<script>window.heard=[];for(const kind of ['pointermove','pointerdown','click','dblclick','mouseover','focusin',
'keydown','beforeinput','input','change','scroll'])addEventListener(kind,(e)=>{if(e.clientX!==0||e.clientY!==0)heard.push(kind)},true)
</script>"""
"""A browser without windows tells each page of a pointer in its corner; that is nobody's hand."""
UNSAFE: dict[str, tuple[str, GatePoint]] = {
    "not there": ("<p>nothing</p>", GatePoint.NOT_FOUND),
    "two of them": ("{}{}", GatePoint.NOT_UNIQUE),
    "hidden": ("<div style='display:none'>{}</div>", GatePoint.NOT_VISIBLE),
    "without size": ("<style>.go{width:0;height:0;padding:0;border:0;overflow:hidden}</style>{}", GatePoint.NOT_VISIBLE),
    "inert": ("<div inert>{}</div>", GatePoint.DISABLED),
    "disabled": ("<fieldset disabled>{}</fieldset>", GatePoint.DISABLED),
    "moving": (
        "<style>.go{animation:go 1s infinite alternate}@keyframes go{to{transform:translateX(200px)}}</style>{}",
        GatePoint.UNSTABLE,
    ),
    "covered": ("{}<div style='position:fixed;inset:0'></div>", GatePoint.NOT_SCOPED),
    "out of reach": ("<div style='position:absolute;left:-900px'>{}</div>", GatePoint.NOT_SCOPED),
    "see-through": ("<div style='pointer-events:none'>{}</div>", GatePoint.NOT_SCOPED),
    "in a frame nobody named": (
        "<iframe srcdoc=\"<input class=go style='width:60px'>\"></iframe>",
        GatePoint.NOT_FOUND,
    ),
}  # fmt: skip
FIELD = "<input class=go>"
"""A text field: what no kind of action would refuse for another reason before the gate is asked."""


@pytest.mark.parametrize("unsafe", rotating("every action, unsafe", list(UNSAFE), 4))
async def test_no_kind_of_action_reaches_an_element_that_is_not_safe(page, unsafe):
    html, point = UNSAFE[unsafe]
    await show(page, HEARING + html.replace("{}", FIELD))
    for number, action in enumerate(ON_ELEMENTS):
        patience = 0.0 if number else 2.0  # a page that has just been drawn is not at rest yet
        with pytest.raises(GateFailed) as caught:
            await perform_action(page, action, selector=css(".go"), value="x", timeout_s=patience)
        assert caught.value.point is point, action
    assert await page.evaluate("heard") == []


@pytest.mark.parametrize("action", ON_ELEMENTS)
async def test_every_kind_of_action_shows_the_element_first_and_does_nothing_where_that_says_no(page, action):
    await show(
        page, f"{HEARING}<body onscroll=0><input class=go type=checkbox><div style='height:3000px'></div>"
    )

    class Refusal:
        async def check(self, passed, selector):
            raise ElementChanged("css .go", "it is another one")

    for pace in (ActionPace(), ActionPace(key_delay_s=0.001)):
        with pytest.raises(ElementChanged):
            await perform_action(page, action, selector=css(".go"), value="x", pace=pace, identity=Refusal())
    assert await page.evaluate("heard") == []


HANDS = re.compile(
    r"\.(?:mouse|keyboard|touchscreen)\b"
    r"|(?<!overlay)(?<!stop)\.(?:click|dblclick|tap|fill|hover|press|type|check|uncheck|set_checked|select_option|set_input_files"
    r"|dispatch_event|press_sequentially|drag_to|drag_and_drop)\("
)
QUOTED = re.compile(r"`[^`]*`")
"""What a docstring shows is done by nobody."""
# An overlay only shows a pointer that presses; a stop is asked whether it was called for.
MAY_ACT = {
    "page_actions.py": "the performers",
    "guarded_input.py": "what is judged, under its guard",
    "secret_typing.py": "secrets into a judged field",
}
SCROLLS_A_SHOW = "await page.mouse.wheel("
"""The one thing done to a page that goes to no element: a demo's film is scrolled."""
WRITES_TESTS = "generation"
"""Writes what others' tests do; it never sees a page."""


def test_nothing_outside_the_page_layer_has_hands_of_its_own():
    root = Path(agent.__file__).parent
    acting = {
        f"{file.relative_to(root)}: {line.strip()}"
        for file in root.rglob("*.py")
        if not (file.parent.name == "page" and file.name in MAY_ACT) and file.parent.name != WRITES_TESTS
        for line in file.read_text(encoding="utf-8").splitlines()
        if HANDS.search(QUOTED.sub("", line).split("#")[0]) and SCROLLS_A_SHOW not in line
    }
    assert acting == set()
