"""What decides what a press does beside the control's own words, as the page tells it."""

from __future__ import annotations

import json

import pytest

from agent.page import in_page_library
from tests.support.pages import show

PAGE = """<form method=post action="/vessels/delete"><input type=hidden name=_method value=delete>
<button id=submits title="Deletes it">Save</button><button id=other type=button>More</button>
<button id=own formaction="/paid">Next</button></form>
<form method=post action="/users/3"><input type=hidden name="@action" value=retire><button id=deed>Go</button></form>
<div role=dialog aria-label="Careful"><h2>Delete your account?</h2><button id=yes>OK</button><button>Remove nothing</button></div>"""


@pytest.mark.parametrize(
    ("css", "told"),
    [
        (
            "#submits",
            {
                "title": "Deletes it",
                "action": "/vessels/delete",
                "method": "delete",
                "deed": "",
                "dialog": "",
            },
        ),
        ("#other", {"title": None, "action": "", "method": "", "deed": "", "dialog": ""}),
        ("#own", {"title": None, "action": "/paid", "method": "delete", "deed": "", "dialog": ""}),
        (
            "#yes",
            {"title": None, "action": "", "method": "", "deed": "", "dialog": "Careful Delete your account?"},
        ),
        ("#deed", {"title": None, "action": "/users/3", "method": "post", "deed": "retire", "dialog": ""}),
        ("#none", None),
    ],
)
async def test_form_title_and_dialog_are_told(page, css, told):
    await show(page, PAGE)
    selector = json.dumps({"strategies": [{"type": "css", "value": css}]})
    found = await in_page_library.call(page, "pressSurroundings", selector)
    assert (found and {name: text or told[name] for name, text in found.items()}) == told
