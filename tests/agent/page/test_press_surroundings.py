"""What decides what a press does beside the control's own words, as the page tells it."""

from __future__ import annotations

import json

import pytest

from agent.page import in_page_library
from tests.support.pages import SITE, show

PAGE = """<form method=post action="/vessels/delete"><input type=hidden name=_method value=delete>
<button id=submits title="Deletes it">Save</button><button id=other type=button>More</button>
<button id=own formaction="/paid">Next</button></form>
<form method=post action="/users/3"><input type=hidden name="@action" value=retire><button id=deed>Go</button></form>
<form method=post action="/users" aria-label="Users"><h2>All users</h2><label>Deed <select id=list><option value="">---</option>
<option value=gone selected>Delete users</option></select></label><label><input type=checkbox checked>Really</label>
<label><input type=radio>Later</label><input id=field autocomplete="billing cc-number"><button id=go title="At once">Go</button></form>
<form method=post><button id=here>Yes</button></form><form><input id=lone><button id=query>Find</button></form>
<a href="/users/3?delete=all"><b id=link>Proceed</b></a>
<div role=dialog aria-label="Careful"><h2>Delete your account?</h2><button id=yes>OK</button><button>Remove nothing</button></div>"""
USERS = {"action": "/users", "method": "post", "chosen": "Delete users\nReally", "heading": "Users All users", "card": "card"}  # fmt: skip


@pytest.mark.parametrize(
    ("css", "by_enter", "told"),
    [
        ("#submits", False, {"title": "Deletes it", "action": "/vessels/delete", "method": "delete"}),
        ("#other", False, {}),
        ("#own", False, {"action": "/paid", "method": "delete"}),
        ("#yes", False, {"dialog": "Careful Delete your account?"}),
        ("#deed", False, {"action": "/users/3", "method": "post", "deed": "retire"}),
        ("#go", False, {**USERS, "title": "At once"}),
        ("#go", True, {**USERS, "title": "At once"}),
        ("#field", False, {}),
        ("#field", True, {**USERS, "sender": "Go\nAt once"}),
        ("#list", True, {"options": "\t---\ngone\tDelete users"}),
        ("#here", False, {"action": f"{SITE}/", "method": "post"}),
        ("#query", False, {}),
        ("#link", False, {"link": "/users/3?delete=all"}),
        ("#lone", True, {"sender": "Find"}),
        ("#none", False, None),
    ],
)
async def test_what_is_around_a_press_is_told(page, css, by_enter, told):
    await show(page, PAGE)
    selector = json.dumps({"strategies": [{"type": "css", "value": css}]})
    found = await in_page_library.call(page, "pressSurroundings", selector, by_enter)
    assert (found and {name: text for name, text in found.items() if text}) == told


LAYERS = """<style>.modal { position: fixed; right: 0; top: 0; background: #fff } #below { height: 300px }
#menu, #over { position: absolute; left: 0; top: 50px; width: 300px; background: #fff } #menu b { cursor: pointer }
#root { position: absolute; inset: 0 } #back { position: fixed; inset: 0 }</style>
{around}"""
ASKS = "<h2>Delete your account?</h2><button id=go>Next</button>"
BELOW = "<p id=below>Vessels</p>"


@pytest.mark.parametrize(
    ("around", "layers"),
    [
        (f"{BELOW}<div class=modal>{ASKS}</div>", "Delete your account?"),
        (f"{BELOW}<div id=over>{ASKS}</div>", "Delete your account?"),
        (f"{BELOW}<div id=back><div><div>{ASKS}</div></div></div>", "Delete your account?"),
        (f"{BELOW}<div id=back><p>Vessels</p><div id=over>{ASKS}</div></div>", "Delete your account?\nVessels Delete your account?"),
        (f"<div id=root>{BELOW}{ASKS}</div>", ""),
        (f"{BELOW}{ASKS}", ""),
        (f"{BELOW}<div id=menu><b id=go>Rename</b><b>Delete</b><p role=menuitem>Remove</p></div>", ""),
        (f"<p id=m>{BELOW}<script>m.attachShadow({{mode: 'open'}}).innerHTML = `<div style='position: fixed'>{ASKS}</div>`</script>", "Delete your account?"),
    ],
    ids=["fixed", "over", "backdrop", "nested", "whole page", "none", "menu", "shadow"],
)  # fmt: skip
async def test_what_is_laid_over_the_page_is_told_also_if_nothing_says_that_it_is_a_dialog(
    page, around, layers
):
    await show(page, LAYERS.replace("{around}", around))
    assert (await _ask(page, "#go"))["layers"] == layers


async def test_a_dialog_that_owns_a_button_elsewhere_and_a_description_are_told(page):
    await show(
        page,
        """<div role=dialog aria-owns="a b" aria-label="Delete your account?"></div><p id=b><button id=go>OK</button></p>
        <button id=more aria-describedby=dd>More</button><p id=dd>Deletes everything</p>""",
    )
    assert (await _ask(page, "#go"))["dialog"] == "Delete your account?"
    assert (await _ask(page, "#more"))["described"] == "Deletes everything"


async def _ask(page, css):
    selector = json.dumps({"strategies": [{"type": "css", "value": css}]})
    return await in_page_library.call(page, "pressSurroundings", selector, False)
