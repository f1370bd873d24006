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
        ("#yes", False, {"dialog": "Careful Delete your account?", "heading": "Delete your account?"}),
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
    assert (found and {name: text for name, text in found.items() if text and name != "drawn"}) == told


AROUND = """<section><h2>Delete your account</h2><p>All boats of it go.</p><button id=below>Continue</button></section>
<div role=group aria-label=Delete><button id=grouped>All boats</button><input id=field></div>
<fieldset><legend>Delete now</legend><button id=inset>All boats</button></fieldset>
<details open><summary id=summary>Delete</summary><button id=unfolded>All boats</button></details>
<ul role=menu aria-labelledby=opener><li role=menuitem id=item>All boats</li></ul><button id=opener>Delete</button>
<div onclick="deleteAll()"><button id=inner onclick="/* a long comment that goes on for more than a hundred characters, as minified code of a page does, too */ go()">Go on</button></div>
<div role=table><div role=row><span role=columnheader>Name</span><span role=columnheader>Delete</span></div>
<div role=row><span role=cell>Ada</span><span role=cell><button id=cell>Go</button></span></div></div>
<button id=tip aria-label=Details><svg width=9 height=9><title>Delete all boats</title></svg></button>"""


@pytest.mark.parametrize(
    ("css", "what", "told"),
    [
        ("#below", "heading", "Delete your account"),
        ("#grouped", "group", "Delete"),
        ("#field", "group", ""),
        ("#inset", "group", "Delete now"),
        ("#unfolded", "group", "Delete"),
        ("#summary", "group", ""),
        ("#item", "group", "Delete"),
        ("#cell", "column", "Delete"),
        ("#cell", "row", "row"),
        ("#below", "row", ""),
        ("#tip", "title", "Delete all boats"),
    ],
)
async def test_what_stands_above_or_around_a_control_is_told(page, css, what, told):
    await show(page, AROUND)
    assert (await _ask(page, css))[what] == told


async def test_the_whole_code_of_a_press_is_told_also_that_of_what_is_around(page):
    await show(page, AROUND)
    own, around = (await _ask(page, "#inner"))["marks"].splitlines()
    assert own.startswith("onclick\t")
    assert own.endswith("go()")
    assert around == "onclick around\tdeleteAll()"


DRAWN = """<style>#styled::before { content: 'Delete all boats' }</style><button id=styled aria-label=Details></button>
<button id=plain>Go on</button><button id=named aria-label=Details>Delete</button>"""


@pytest.mark.parametrize(
    ("css", "drawn"),
    [("#styled", "Delete all boats Details"), ("#plain", "Go on"), ("#named", "Details Delete")],
)
async def test_what_a_person_reads_in_the_control_is_told(page, css, drawn):
    await show(page, DRAWN)
    assert (await _ask(page, css))["drawn"] == drawn


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


FIXED = "position:fixed;right:0;top:0;width:250px;height:90px;background:#fff;margin:0"
QUESTION = "Delete your account?"
OUT = "<script>document.currentScript.previousElementSibling.attachShadow({mode: 'MODE'}).innerHTML = '<h4>Delete your account?</h4><slot></slot>'</script>"


@pytest.mark.parametrize(
    "around",
    [
        f"<style>.g::before{{content:'{QUESTION}'}}</style><div class=g style='{FIXED}'><button id=go>Next</button></div>",
        f"<div style='{FIXED}'><img alt='{QUESTION}'><button id=go>Next</button></div>",
        f"<div style='{FIXED}'><img title='{QUESTION}'><button id=go>Next</button></div>",
        f"<div style='{FIXED}'><svg><title>{QUESTION}</title></svg><button id=go>Next</button></div>",
        f"<div style='{FIXED}'><input readonly value='{QUESTION}'><button id=go>Next</button></div>",
        f"<div style='{FIXED}'><button id=go>Next</button></div>{OUT.replace('MODE', 'open')}",
        f"<div style='{FIXED}'><button id=go>Next</button></div>{OUT.replace('MODE', 'closed')}",
        f"<div style='{FIXED}'>De<wbr>lete your acc&shy;ount?<button id=go>Next</button></div>",
        f"<div style='{FIXED}'><span>D</span><span>elete</span> your account?<button id=go>Next</button></div>",
        f"<div style='position:sticky;bottom:0;background:#fff'>{QUESTION}<button id=go>Next</button></div>",
        f"<div style='position:relative;top:-30px;background:#fff'>{QUESTION}<button id=go>Next</button></div>",
        f"<div style='transform:translate(10px,-30px);background:#fff'>{QUESTION}<button id=go>Next</button></div>",
        f"<div style='margin-top:-30px;position:relative;background:#fff'>{QUESTION}<button id=go>Next</button></div>",
    ],
    ids=["generated", "picture", "title", "drawing", "field", "slot", "closed root", "broken", "split", "sticky", "relative", "transform", "margin"],
)  # fmt: skip
async def test_a_layer_is_read_as_a_person_reads_it(page, around):
    page_text = "<p>Vessels of the harbour, a line each</p>" * 60
    await show(page, f"<!doctype html><body style='margin:0'>{page_text}{around}")
    await page.locator("#go").scroll_into_view_if_needed()
    told = await _ask(page, "#go")
    assert (told["layers"] or told["beside"]) == QUESTION


@pytest.mark.parametrize(
    ("frame", "inside"),
    [
        ("", f"<h2>{QUESTION}</h2><button id=go>Next</button>"),
        (f"title='{QUESTION}'", "<button id=go>Next</button>"),
    ],
    ids=["text", "title"],
)
async def test_a_frame_that_is_laid_over_the_page_is_read(page, frame, inside):
    await show(
        page, f"<!doctype html><p>Vessels</p><iframe {frame} style='{FIXED}' srcdoc='{inside}'></iframe>"
    )
    selector = json.dumps({"strategies": [{"type": "css", "value": "#go"}], "frame": "iframe"})
    told = await in_page_library.call(page, "pressSurroundings", selector, False)
    assert told["layers"] == QUESTION


async def test_a_question_in_the_layer_next_to_it_is_told(page):
    await show(
        page,
        f"""<!doctype html><p>Vessels</p><div style='position:fixed;left:300px;top:100px;width:250px;height:30px'>{QUESTION}</div>
        <div style='position:fixed;left:300px;top:132px;width:250px;height:60px'><button id=go>Next</button></div>
        <div style='position:fixed;left:300px;top:400px;width:250px;height:60px'>Remove it?</div>""",
    )
    told = await _ask(page, "#go")
    assert (told["layers"], told["beside"]) == ("", QUESTION)


async def test_what_is_hidden_in_a_layer_or_in_its_place_on_the_page_is_not_told(page):
    await show(
        page,
        f"""<!doctype html><header>Vessels</header><main style='position:relative;background:#fff'>{QUESTION}<button id=go>Next</button></main>
        <div style='{FIXED}'><p hidden>{QUESTION}</p><button id=other>Next</button></div>""",
    )
    assert (await _ask(page, "#go"))["layers"] == ""
    assert (await _ask(page, "#other"))["layers"] == ""


async def test_a_dialog_that_owns_a_button_elsewhere_and_a_description_are_told(page):
    await show(
        page,
        """<div role=dialog aria-owns="a b" aria-label="Delete your account?"></div><p id=b><button id=go>OK</button></p>
        <button id=more aria-describedby=dd>More</button><button id=less aria-details=dd>Less</button><p id=dd>Deletes everything</p>""",
    )
    assert (await _ask(page, "#go"))["dialog"] == "Delete your account?"
    assert (await _ask(page, "#more"))["described"] == "Deletes everything"
    assert (await _ask(page, "#less"))["described"] == "Deletes everything"


async def _ask(page, css):
    selector = json.dumps({"strategies": [{"type": "css", "value": css}]})
    return await in_page_library.call(page, "pressSurroundings", selector, False)
