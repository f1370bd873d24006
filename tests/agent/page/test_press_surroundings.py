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
