"""Accessibility snapshots: read from text, and what they can and cannot answer."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter

from agent.page.condition_probes import evaluate_conditions
from kb_schema.conditions import Condition
from kb_schema.page_snapshots import PageSnapshot
from kb_schema.probes import VerdictStatus
from tests.agent.page.test_conditions_live_and_stored import CASES, SCOPE, Case
from tests.support.pages import show
from web_pages.aria_snapshots import MOST_LINES, AriaSnapshot, parse_aria_snapshot
from web_pages.page_limits import PageRefused
from web_pages.stored_pages import evaluate as evaluate_stored

HELD, NOT, UNKNOWN = VerdictStatus.HELD, VerdictStatus.NOT_HELD, VerdictStatus.UNKNOWN
CONDITION: TypeAdapter[Condition] = TypeAdapter(Condition)

DESK = """<title>Desk</title><h1>Create <b>New</b> Agent</h1><h2>Voice</h2>
<nav aria-label="Main"><a href="/agents">Agents</a> <a href="/agents/7/edit" aria-label="Change">&#9998;</a></nav>
<main><p>Cost: 3 &lt; 5,<br><em>really</em>!</p><ul><li>Ann</li><li aria-current="step">Bob</li></ul>
<form><label>Name <input id=name value="Ann Lee"></label><input placeholder="Search agents">
<label><input type=checkbox checked> Agree</label><label><input type=checkbox> Spam</label>
<label>Language <select><option>English<option selected>German</select></label>
<button disabled>Off</button><button type=submit>Save "all": now</button></form>
<table><tr><th>Phone<td>1</table><div role=status>Saved</div><div class=toast>Bread</div></main>
<iframe srcdoc="<h2>Framed</h2><p>Inside</p>"></iframe>"""


def named(role: str, name: str, **more: object) -> dict[str, object]:
    return {"type": "role_name", "role": role, "name": name, **more}


TOLD = [
    ({"type": "dom_contains", "value": "Create New Agent"}, HELD),
    ({"type": "dom_contains", "value": "Create New Agent", "selector": "h1"}, HELD),
    ({"type": "dom_contains", "value": "Create New Agent", "selector": "h2"}, NOT),
    ({"type": "dom_contains", "value": "Create New Agent", "selector": "h2, .page-title, h1"}, HELD),
    ({"type": "dom_contains", "value": "Delete"}, NOT),
    ({"type": "dom_contains", "value": "Delete", "selector": "main button"}, NOT),
    ({"type": "dom_contains", "value": "Ann Lee"}, NOT),
    ({"type": "dom_contains", "value": "English"}, NOT),
    ({"type": "dom_contains", "value": "German"}, HELD),
    ({"type": "dom_contains", "value": "Search agents"}, HELD),
    ({"type": "dom_contains", "value": "Inside"}, HELD),
    ({"type": "dom_contains", "value": "Phone", "selector": "th"}, HELD),
    ({"type": "dom_contains", "value": "Ann", "selector": "main li"}, HELD),
    ({"type": "dom_element", "selector": "nav a[href='/agents']"}, HELD),
    ({"type": "dom_element", "selector": "nav a[href$='/edit']"}, HELD),
    ({"type": "dom_element", "selector": "nav[aria-label=Main]"}, HELD),
    ({"type": "dom_element", "selector": "main h1"}, NOT),
    ({"type": "dom_element", "selector": "h3"}, NOT),
    ({"type": "dom_element", "selector": "li:has-text('BOB')"}, HELD),
    ({"type": "shows_message", "text_contains": "Saved"}, HELD),
    ({"type": "element_visible", "element": named("button", "save")}, HELD),
    ({"type": "element_visible", "element": named("button", 'Save "all": now', exact=True)}, HELD),
    ({"type": "element_visible", "element": named("button", "Remove")}, NOT),
    ({"type": "element_hidden", "element": named("button", "Remove")}, HELD),
    ({"type": "element_visible", "element": {"type": "label", "name": "Language"}}, HELD),
    ({"type": "element_visible", "element": {"type": "placeholder", "name": "Search"}}, HELD),
    ({"type": "element_visible", "element": {"type": "semantic", "text_contains": "save", "role": "button"}}, HELD),
    ({"type": "element_enabled", "element": named("button", "Save")}, HELD),
    ({"type": "element_enabled", "element": named("button", "Off")}, NOT),
    ({"type": "element_count", "element": named("checkbox", "a"), "min": 2, "max": 2}, HELD),
    ({"type": "field_filled", "element": named("textbox", "Name")}, HELD),
    ({"type": "field_filled", "element": named("textbox", "Search agents")}, NOT),
    ({"type": "field_has_value", "element": {"type": "label", "name": "Name"}, "value": "Ann Lee"}, HELD),
    ({"type": "field_has_value", "element": named("checkbox", "Agree"), "value": True}, HELD),
    ({"type": "field_has_value", "element": named("checkbox", "Spam"), "value": True}, NOT),
]  # fmt: skip
NOT_TOLD = [
    {"type": "element_visible", "element": "#name"},
    {"type": "element_visible", "element": {"type": "data-testid", "value": "name"}},
    {"type": "element_visible", "element": {"type": "xpath", "value": "//h1"}},
    {"type": "dom_element", "selector": "form button[type=submit]"},
    {"type": "dom_contains", "value": "Bob", "selector": "li[aria-current=step]"},
    {"type": "dom_contains", "value": "Bread", "selector": ".toast"},
    {"type": "shows_message", "text_contains": "Bread"},
    {"type": "dom_contains", "value": "really!"},
    {"type": "field_has_value", "element": {"type": "label", "name": "Language"}, "value": "German"},
    {"type": "form_valid"},
]


@pytest.fixture(scope="module")
async def desk(browser):
    page = await browser.new_page()
    await show(page, DESK)
    yield page, PageSnapshot(url=page.url, title="Desk", text=await page.aria_snapshot(mode="ai"))
    await page.close()


@pytest.mark.parametrize(("condition", "expected"), TOLD, ids=str)
async def test_what_a_snapshot_tells_is_what_the_page_tells(desk, condition, expected):
    page, snapshot = desk
    ([live], _) = await evaluate_conditions(page, [CONDITION.validate_python(condition)], SCOPE)
    [told] = evaluate_stored(snapshot, [CONDITION.validate_python(condition)], SCOPE)
    assert (live.status, told.status) == (expected, expected), (live.evidence, told.evidence)


@pytest.mark.parametrize("condition", NOT_TOLD, ids=str)
def test_what_a_snapshot_leaves_out_is_not_known(desk, condition):
    [told] = evaluate_stored(desk[1], [CONDITION.validate_python(condition)], SCOPE)
    assert told.status is UNKNOWN, told.evidence


@pytest.fixture(scope="module")
async def outlines(browser):
    """Snapshots of the pages of the table of conditions."""
    taken: dict[str, str] = {}
    for html in dict.fromkeys(each.html for each in CASES if "/never" not in each.html):
        page = await browser.new_page()
        await show(page, html)
        taken[html] = await page.aria_snapshot(mode="ai")
        await page.close()
    return taken


ELSEWHERE = ("title_contains", "url_matches", "url_pattern", "page_loaded")
"""Not about what is on the page."""
ON_PAGE = [
    each
    for each in CASES
    if not each.facts and "/never" not in each.html and each.condition["type"] not in ELSEWHERE
]


@pytest.mark.parametrize("each", ON_PAGE, ids=str)
def test_a_snapshot_never_contradicts_the_table_of_conditions(outlines, each: Case):
    snapshot = PageSnapshot(url=f"http://app.test{each.path}", text=outlines[each.html])
    [told] = evaluate_stored(snapshot, [CONDITION.validate_python(each.condition)], SCOPE)
    assert told.status in (each.expected, UNKNOWN), told.evidence


# -- reading -------------------------------------------------------------------------------------

BUTTON = '- button "Save" [disabled] [ref=e2]'


def roles(outline: AriaSnapshot | None) -> list[str]:
    assert outline is not None
    return [node.role for node in outline.nodes]


@pytest.mark.parametrize(
    "text",
    [
        f"### Page\n- Page URL: http://x.test/a\n- Page Title: A: b\n### Snapshot\n```yaml\n{BUTTON}\n```",
        (
            f"### Ran Playwright code\n```js\nawait page.goto('/a');\n```\n- Page URL: http://x.test/a\n"
            f"- Page Title: A: b\n- Page Snapshot:\n```yaml\n{BUTTON}\n```\n### Events\n- nothing"
        ),
        f"- Page URL: http://x.test/a\n- Page Title: A: b\n\n{BUTTON}\n",
    ],
)
def test_the_answers_of_playwright_mcp_are_read_with_their_headers(text):
    outline = parse_aria_snapshot(text)
    assert roles(outline) == ["button"]
    assert (outline.url, outline.title, outline.complete) == ("http://x.test/a", "A: b", True)
    assert (outline.nodes[0].name, outline.nodes[0].states) == ("Save", {"disabled": "", "ref": "e2"})


def test_names_texts_values_and_properties_are_unescaped():
    outline = parse_aria_snapshot(
        """\
- 'link "It''s: \\"here\\"" [ref=e1]':
  - /url: "#main"
- heading "Two" [level=2] [ref=e2]
- textbox "Mail" [ref=e3]:
  - /placeholder: you@x.test
  - text: "a: \\x0ab"
- checkbox [checked=mixed] [ref=e4]
- paragraph [ref=e5]: "- dash"
"""
    )
    link, heading, field, box, words = outline.nodes
    assert (link.name, link.properties) == ('It\'s: "here"', {"url": "#main"})
    assert heading.states["level"] == "2"
    assert (field.value, field.properties["placeholder"]) == ("a: \nb", "you@x.test")
    assert box.value is None
    assert outline.text_of(words) == "- dash"


@pytest.mark.parametrize(
    "text",
    [
        f"- generic [ref=e1]:\n  - <changed> {BUTTON[2:]}",
        f"{BUTTON}\n- ref=e7 [unchanged]",
        f"{BUTTON}\n- generic:\n  - text: a\n  - link: b\n  - list: c\n  - li",
        "### Page\n- Page URL: http://x.test/\n### Snapshot\n- [Snapshot](.playwright-mcp/page.yml)",
    ],
)
def test_what_is_not_in_a_part_of_a_page_may_still_be_on_it(text):
    snapshot = PageSnapshot(url="http://x.test/", text=text)
    assert parse_aria_snapshot(text).complete is False
    [told] = evaluate_stored(
        snapshot, [CONDITION.validate_python({"type": "dom_contains", "value": "No"})], SCOPE
    )
    assert told.status is UNKNOWN


@pytest.mark.parametrize(
    "text", ["Welcome back", "- Buy milk\n- Save\n- nothing", "", "heading Billing", "#", "a: b\n- c: d"]
)
def test_plain_text_is_no_snapshot(text):
    assert parse_aria_snapshot(text) is None


@settings(deadline=None)
@given(st.text(alphabet="- \n\"'[]:/\\`abx=e1", max_size=200))
def test_any_text_is_read_without_an_error(text):
    parse_aria_snapshot(text)
    parse_aria_snapshot(f"{BUTTON}\n{text}")


@settings(deadline=None)
@given(st.text(alphabet=st.characters(exclude_categories=["C", "Z"]), min_size=1))
def test_any_name_is_read_back(name):
    key = f"button {json.dumps(name, ensure_ascii=False)} [ref=e1]".replace("'", "''")
    assert parse_aria_snapshot(f"- '{key}'").nodes[0].name == name


def test_a_snapshot_of_too_many_lines_is_refused():
    with pytest.raises(PageRefused, match="lines"):
        parse_aria_snapshot("- text: a\n" * (MOST_LINES + 1))


def test_deep_snapshots_are_read():
    deep = "\n".join(f"{'  ' * depth}- generic:" for depth in range(1_500))
    outline = parse_aria_snapshot(f'{deep}\n{"  " * 1_500}- button "Down"')
    assert outline.text == "Down"
