"""A chain of locators as one XPath finds in a browser what Playwright finds, and nothing else."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

import pytest

from loaders.bridges.locator_conversion import UntranslatableLocator, to_selector
from loaders.bridges.playwright_suites.suite_source import locator

if TYPE_CHECKING:
    from playwright.async_api import BrowserContext

PAGE = """
<nav aria-label="Main"><a href="#1">Orders</a><a href="#2">Help</a></nav><nav><a href="#3">Orders main</a></nav>
<table><tr><td>First  Task</td><td><a href="#4">Edit</a> <button>Delete</button></td></tr>
<tr><td>Second task</td><td><a href="#5">Edit</a> <button>Delete</button></td></tr></table>
<ul><li><b>Lamp</b> <button aria-label="Put away">x</button><button>Put</button></li>
<li>Desk <button>Put away</button></li></ul>
<form id="ask" class="wide box"><label for="mail">E-mail</label><input id="mail">
<label>Name <input name="who" type="text"></label><input type="password" placeholder="Secret word">
<label>Kind <select><option>One</option><option>Two</option></select></label>
<label><input type="checkbox">Agree</label><input type="submit" value="Send it"></form>
<div id="list"><div class="entry"><p>Planner</p></div><div class="entry"><p>Plan</p><img alt="plan picture"></div>
<div class="entry other"><h3>O'Neil &amp; "Co"</h3><a href="#6" title="Open it"><i></i></a></div></div>
<div role="dialog" aria-labelledby="t"><h2 id="t">Really?</h2><button>Yes</button></div><button>Yes</button>
<fieldset><legend>Colour</legend><label><input type="radio" name="c">Red</label></fieldset><span>HTML</span><span>HTML 5</span>
<p>Ä straße</p><script>var x = "Planner"</script>
"""
SAME = [
    'page.get_by_role("navigation", name="main").get_by_role("link", name="orders")',
    'page.get_by_role("row", name="first task").get_by_role("link", name="Edit")',
    'page.get_by_role("row", name="Second task").get_by_role("button", name="Delete", exact=True)',
    'page.get_by_role("listitem").filter(has_text="lamp").get_by_role("button", name="Put away")',
    'page.get_by_role("listitem").filter(has_not_text="lamp").get_by_role("button")',
    'page.locator("li", has_text="Desk").get_by_role("button")',
    'page.locator("#ask").get_by_role("textbox", name="E-mail")',
    'page.locator("form.wide.box").get_by_role("textbox", name="Name")',
    'page.locator("#ask").get_by_role("textbox", name="secret")',
    'page.locator("#ask").get_by_role("button", name="Send")',
    'page.locator("#ask").get_by_role("combobox", name="Kind")',
    'page.locator("#ask").get_by_role("checkbox", name="agree")',
    'page.locator("#ask").get_by_label("E-mail")',
    'page.locator("#ask").get_by_placeholder("secret")',
    'page.locator("#list").get_by_text("Planner")',
    'page.locator("#list > .entry:nth-child(2)").get_by_text("plan")',
    'page.locator("#list").get_by_alt_text("picture")',
    'page.locator("#list").get_by_title("open it")',
    """page.locator("div.entry").filter(has_text='O\\'Neil & "Co"').get_by_role("heading")""",
    'page.locator("#list .other").get_by_role("link", name="Open it")',
    'page.get_by_role("dialog", name="Really?").get_by_role("button", name="Yes")',
    'page.get_by_role("group", name="Colour").get_by_role("radio", name="Red")',
    'page.get_by_text("HTML", exact=True)',
    'page.locator("text=\\"HTML\\"")',
    'page.locator("p").filter(has_text="ä STRAßE")',
    'page.locator("div").filter(has_text=re.compile("^Planner$"))',
    'page.locator("table").locator("xpath=//tr[2]").get_by_role("link")',
    "page.locator(\"[id='ask'] input[name^='wh']\")",
]


async def test_a_chain_finds_what_playwright_finds(context: BrowserContext):
    page = await context.new_page()
    await page.set_content(PAGE)
    wrong = []
    for source in SAME:
        theirs = eval(source, {"page": page, "re": re})
        expression = locator(ast.parse(source, mode="eval").body, {}, {})
        (strategy,) = to_selector(expression).strategies
        ours = page.locator(f"{'xpath' if strategy.type == 'xpath' else 'css'}={strategy.value}")
        found = [
            await each.evaluate_all("found => found.map(each => each.outerHTML)") for each in (theirs, ours)
        ]
        if found[0] != found[1] or len(found[0]) < 1:
            wrong.append((source, strategy.value, *found))
    assert not wrong, "\n".join(map(str, wrong))


@pytest.mark.parametrize(
    "source",
    [
        'page.get_by_role("row").nth(1).get_by_role("link")',
        'page.get_by_role("row").get_by_role("link").first',
        'page.get_by_role("row", name=re.compile("a|b")).get_by_role("link")',
        'page.locator("div:hover").get_by_role("link")',
        'page.locator("div >> nth=1").get_by_role("link")',
        'page.locator("text=Foo >> button")',
        "page.locator(\":nth-match(:text('Reply'), 2)\")",
        'page.locator("button:visible")',
        'page.get_by_role("row").filter(has=page.get_by_text("x")).get_by_role("link")',
        'page.get_by_role("log", name="x").get_by_role("link")',
        'page.get_by_role("row", name=who).get_by_role("link")',
        'page.frame_locator("div >> internal:has-text=/x/ >> iframe").get_by_role("link", name="a")',
        'page.frame_locator("#a").frame_locator("#b").get_by_role("link", name="a")',
    ],
)
def test_what_only_the_page_decides_is_refused(source):
    with pytest.raises(UntranslatableLocator):
        to_selector(locator(ast.parse(source, mode="eval").body, {}, {}))


@pytest.mark.parametrize(
    "frame", ['locator("iframe[name=x]").content_frame', 'frame_locator("iframe[name=x]")']
)
def test_an_element_in_a_frame_stays_in_it(frame):
    selector = to_selector(
        locator(ast.parse(f'page.{frame}.get_by_role("button", name="Go")', mode="eval").body, {}, {})
    )
    assert (selector.frame, selector.strategies[0].name) == ("iframe[name=x]", "Go")
