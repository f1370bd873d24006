"""Every selector strategy, resolved on the live page and on its snapshot: the same elements."""

from __future__ import annotations

from typing import get_args

import pytest

from agent.page import in_page_library
from agent.page.condition_probes import answer_probes
from agent.page.live_selectors import resolve_selector
from agent.page.snapshot_capture import take_snapshot
from kb_schema.probes import ElementProbe, probe_key
from kb_schema.selectors import Selector, Strategy
from tests.support.pages import show
from web_pages.accessible_names import name_of, role_of
from web_pages.stored_pages import StoredPage

PAGE = """<!doctype html><title>All</title>
<style>.gone{display:none}</style>
<nav aria-label="Main"><a href="/a" id="home">Home</a> <a href="/b">Agents</a></nav>
<section aria-labelledby="login-title"><h2 id="login-title">Sign in</h2>
 <form><label for="user">User name</label><input id="user" data-qa="user" placeholder="you@example.org" type="email">
 <label>Password <input type="password" data-testid="pw"></label>
 <label><input type="checkbox" name="keep"> Keep me</label>
 <label for="lang">Language</label><select id="lang"><option value="en">English<option value="de">German</select>
 <textarea aria-label="Notes"></textarea>
 <button type="submit" class="primary">Sign <b>in</b></button><button type="button">Cancel</button></form></section>
<table><tr><td>Bob</td><td><button class="del">Delete</button></td></tr>
<tr><td>O'Brien "B"</td><td><button class="del">Delete</button></td></tr></table>
<button class="twin">Twin</button><button class="twin gone">Twin</button>
<div role="switch" aria-checked="true" aria-label="Dark" tabindex="0">o</div>
<button aria-label="Close"><svg width=8 height=8><title>cross</title></svg></button>
<img alt="Logo" src="data:," width=8 height=8><p>Only <i>words</i> here</p>
<my-card id="card"></my-card>
<iframe id="inner" srcdoc="<button id=deep>Deep</button>"></iframe>
<script>card.attachShadow({mode:'open'}).innerHTML='<div class="body"><button class="go">Go on</button></div>'</script>
"""
CASES = [
    ({"type": "data-qa", "value": "user"}, "input#user"),
    ({"type": "data-testid", "value": "pw"}, "input"),
    ({"type": "id", "value": "user"}, "input#user"),
    ({"type": "aria", "value": "Close"}, "button"),
    ({"type": "aria", "value": "Dark", "role": "switch"}, "div"),
    ({"type": "aria", "value": "Dark", "role": "button"}, None),
    ({"type": "css", "value": "form > button.primary"}, "button.primary"),
    ({"type": "css", "value": "tr:has-text(\"O'Brien \\\"B\\\"\") button"}, "button.del"),
    ({"type": "css", "value": "tr:not(:has-text('bob')) >  .del"}, None),
    ({"type": "css", "value": "td:has(+ td button):has-text('Bob') + td > .del"}, "button.del"),
    ({"type": "css", "value": "input:checked"}, None),
    ({"type": "css", "value": "#lang option:checked"}, "option"),
    ({"type": "css", "value": ".twin"}, "button.twin"),
    ({"type": "css", "value": ".del"}, None),
    ({"type": "css", "value": "my-card .go"}, None),
    ({"type": "relational_css", "value": "section:has(h2:has-text('Sign in')) button:has-text('Cancel')"}, "button"),
    ({"type": "shadow_pierce", "value": "my-card .go"}, "button.go"),
    ({"type": "shadow_pierce", "value": "#card >>> .body button"}, "button.go"),
    ({"type": "fallback_css", "value": "a[href$='b' i]"}, "a"),
    ({"type": "xpath", "value": "//form//button[contains(., 'Cancel')]"}, "button"),
    ({"type": "xpath-text", "value": "//tr[td[normalize-space()='Bob']]//button"}, "button.del"),
    ({"type": "xpath-class", "value": "//button[contains(@class, 'primary')]"}, "button.primary"),
    ({"type": "xpath", "value": "//*[local-name()='svg']"}, "svg"),
    ({"type": "semantic", "label_contains": "user", "field_type": "email"}, "input#user"),
    ({"type": "semantic", "label_contains": "Language", "field_type": "select"}, "select#lang"),
    ({"type": "semantic", "text_contains": "sign in", "button_type": "submit"}, "button.primary"),
    ({"type": "semantic", "text_contains": "Cancel"}, "button"),
    ({"type": "semantic", "text_contains": "words here"}, "p"),
    ({"type": "semantic", "placeholder_contains": "example.org"}, "input#user"),
    ({"type": "semantic", "role": "switch"}, "div"),
    ({"type": "label", "name": "keep me"}, "input"),
    ({"type": "label", "name": "Keep", "exact": True}, None),
    ({"type": "label", "name": "Notes", "role": "textbox"}, "textarea"),
    ({"type": "placeholder", "name": "YOU@"}, "input#user"),
    ({"type": "role_name", "role": "button", "name": "close"}, "button"),
    ({"type": "role_name", "role": "region", "name": "sign in"}, "section"),
    ({"type": "role_name", "role": "navigation", "name": "Main", "exact": True}, "nav"),
    ({"type": "role_name", "role": "link", "name": "Agents"}, "a"),
    ({"type": "dom_index", "index": 2}, "input#user"),
    ({"type": "parameterized_css", "template": "#{{x}}", "parameters": ["x"]}, None),
    ({"type": "framework_id", "value": "e12"}, None),
    ({"type": "agent", "value": "the button that saves"}, None),
]  # fmt: skip


@pytest.fixture(scope="module")
async def shown(browser):
    context = await browser.new_context()
    await in_page_library.install(context)
    page = await context.new_page()
    await show(page, PAGE)
    yield page, StoredPage(await take_snapshot(page))
    await context.close()


@pytest.mark.parametrize(("strategy", "expected"), CASES, ids=lambda each: str(each)[:70])
async def test_live_and_stored_resolve_alike(shown, strategy, expected):
    page, stored = shown
    selector = Selector.model_validate(strategy)
    found, offline = await resolve_selector(page, selector), stored.resolve(selector)

    assert (found.description if found.resolved else None) == expected, found
    if expected is not None:
        assert offline.element is not None
        assert offline.element.tag == expected.split("#")[0].split(".")[0]
        assert (role_of(offline.element), name_of(offline.element)) == (found.role, found.name)
    else:
        # Probes look into frames too; where the page says no, so must the snapshot.
        assert offline.element is None
    probe = ElementProbe(selector=selector)
    live = (await answer_probes(page, [probe]))[probe_key(probe)]
    kept = stored.answer(probe)
    assert live.model_dump(exclude={"error"}) == kept.model_dump(exclude={"error"})
    assert bool(live.error) == bool(kept.error)


def test_every_strategy_has_a_case():
    members = get_args(get_args(Strategy)[0])
    known = {name for member in members for name in get_args(member.model_fields["type"].annotation)}
    assert known - {each["type"] for each, _ in CASES} <= {"parameterized", "parameterized_xpath"}


@pytest.mark.parametrize(
    ("strategies", "used"),
    [
        ([{"type": "id", "value": "nope"}, {"type": "css", "value": "#home"}], "css"),
        ([{"type": "css", "value": ".del"}, {"type": "id", "value": "home"}], "id"),
        ([{"type": "css", "value": "a["}, {"type": "id", "value": "home"}], "id"),
        ([{"type": "css", "value": "#home", "fallback": True}, {"type": "id", "value": "home"}], "id"),
        ([{"type": "agent", "value": "x"}, {"type": "id", "value": "home"}], "id"),
        ([{"type": "css", "value": ".twin.gone"}, {"type": "id", "value": "home"}], "id"),
        ([{"type": "css", "value": ".twin.gone"}, {"type": "css", "value": ".del"}], "css"),
    ],
)
async def test_the_first_strategy_that_finds_one_visible_element_wins(shown, strategies, used):
    page, stored = shown
    selector = Selector.model_validate({"strategies": strategies})
    found, offline = await resolve_selector(page, selector), stored.resolve(selector)
    assert found.strategy is not None
    assert offline.strategy is not None
    assert found.strategy.type == offline.strategy.type == used
    assert found.resolved


async def test_a_frame_is_searched_when_named(shown):
    page, stored = shown
    selector = Selector.model_validate({"strategies": [{"type": "id", "value": "deep"}], "frame": "#inner"})
    assert (await resolve_selector(page, selector)).description == "button#deep"
    element = stored.resolve(selector).element
    assert element is not None
    assert element.get("id") == "deep"
    missing = Selector.model_validate({"strategies": [{"type": "id", "value": "deep"}], "frame": "#nope"})
    assert not (await resolve_selector(page, missing)).resolved
    assert stored.resolve(missing).element is None
