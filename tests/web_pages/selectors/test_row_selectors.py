"""Selectors with a parameter: the same thing in any row."""

from __future__ import annotations

import pytest

from kb_schema.page_snapshots import PageSnapshot
from kb_schema.selectors import Selector, ValueStrategy
from kb_schema.templates import fill_selector
from web_pages.selectors.row_selectors import build_row_selector
from web_pages.selectors.selector_generator import PageSelectors
from web_pages.stored_pages import StoredPage

NAMES = ("Bob", "O'Brien", 'The "B"', "Ann")
TABLE = (
    "<table>"
    + "".join(f"<tr><td>{name}</td><td>mail</td><td><button id='b-{n}'>Edit</button><button>Delete</button></td></tr>" for n, name in enumerate(NAMES))
    + "</table>"
)  # fmt: skip
CARDS = "".join(
    f"<div role=listitem><a href='/a{n}'><i aria-hidden=true>X{n}</i><span>{name}</span></a><b>role</b></div>" for n, name in enumerate(NAMES)
)  # fmt: skip


def stored(html: str) -> StoredPage:
    return StoredPage(PageSnapshot(url="http://x.test/", html=html))


@pytest.mark.parametrize(
    ("html", "tag", "template"),
    [
        (TABLE, "button", "//tr[.//td[normalize-space()='{{row}}']]//button[normalize-space()='Edit']"),
        (f"<div>{CARDS}</div>", "b", "//div[@role='listitem'][.//span[normalize-space()='{{row}}']]//b[normalize-space()='role']"),
    ],
)  # fmt: skip
def test_a_template_filled_with_the_words_of_each_row_leads_into_that_row(html, tag, template):
    page = stored(html)
    wanted = [each for each in page.roots[0].elements if each.tag == tag]
    chosen = build_row_selector(PageSelectors(page), wanted[0])
    assert chosen is not None
    assert chosen.selector.parameterized
    assert chosen.selector.required_context == {"row"}
    assert chosen.selector.strategies[0].template == template
    assert (chosen.row, *chosen.tried) == NAMES
    for at, name in enumerate(NAMES):
        filled = ValueStrategy(type="xpath", value=fill_selector(template, {"row": name}, "xpath"))
        found = page.resolve(Selector(strategies=(filled,))).element
        assert found is wanted[at * len(wanted) // len(NAMES)]


@pytest.mark.parametrize(
    "html",
    [
        "<button>Alone</button>",
        "<table><tr><td>Bob</td><td><button>Delete</button></td></tr></table>",
        "<table><tr><td></td><td><button>Delete</button></td></tr><tr><td></td><td><button>Delete</button></td></tr></table>",
        "<table><tr><td>Bob</td><td><button>Delete</button></td></tr><tr><td>Bob</td><td><button>Delete</button></td></tr></table>",
        "<ul><li><p>3 days ago</p><button>x</button></li><li><p>4 days ago</p><button>x</button></li></ul>",
    ],
)
def test_where_rows_cannot_be_told_apart_by_words_there_is_none(html):
    page = stored(html)
    button = next(each for each in page.roots[0].elements if each.tag == "button")
    assert build_row_selector(PageSelectors(page), button) is None


def test_words_that_look_like_a_parameter_or_hold_quotes_are_no_trap():
    rows = "".join(f"<tr><td>{name}</td><td><button>{{{{x}}}} 'q' \"r\"</button></td></tr>" for name in NAMES)
    page = stored(f"<table>{rows}</table>")
    button = next(each for each in page.roots[0].elements if each.tag == "button")
    chosen = build_row_selector(PageSelectors(page), button)
    assert chosen is not None
    assert chosen.selector.strategies[0].template == "//tr[.//td[normalize-space()='{{row}}']]//button"
    assert (chosen.row, *chosen.tried) == NAMES


SESSIONS = "".join(
    f"<div class='session-row is-{n}'><div class='name'>{name}</div><div class='end'><button>Revoke</button></div></div>"
    for n, name in enumerate(NAMES)
)  # fmt: skip


def test_rows_that_only_their_class_tells_are_rows():
    page = stored(f"<main><h2>Sessions</h2>{SESSIONS}<div class='session-row'>none</div></main>")
    buttons = [each for each in page.roots[0].elements if each.tag == "button"]
    selectors = PageSelectors(page)
    assert build_row_selector(selectors, buttons[0]) is None
    chosen = build_row_selector(selectors, buttons[0], by_class=True)
    assert chosen is not None
    (template,) = chosen.selector.strategies
    for name, button in zip(NAMES, buttons, strict=True):
        assert page.resolve_template(template.template, {"row": name}) == (button,)
    assert page.resolve_template(template.template, {"row": "Sessions"}) == ()


def test_a_part_of_a_class_that_no_other_part_has_is_no_row():
    page = stored("<main><div class='box'><b>One</b><button>Revoke</button></div><p>Text</p></main>")
    (button,) = (each for each in page.roots[0].elements if each.tag == "button")
    assert build_row_selector(PageSelectors(page), button, by_class=True) is None


def test_a_field_of_some_rows_is_told_by_the_heading_of_its_row_and_not_by_the_choices_of_another_field():
    choices = (
        "<select><option>any</option><option>open</option><option>old</option><option>done</option></select>"
    )
    rows = "".join(
        f"<tr><td>{choices}</td><th>{name}</th><td><input type=radio name=group value={at}></td></tr>"
        for at, name in enumerate(("Keeper", "Place", "Status"))
    )
    plain = "".join(f"<tr><td>{choices}</td><th>{name}</th><td></td></tr>" for name in "ABCDEFGH")
    page = stored(f"<table>{rows}{plain}</table>")
    field = next(each for each in page.roots[0].elements if each.get("name") == "group")
    chosen = build_row_selector(PageSelectors(page), field)
    assert chosen is not None
    assert (chosen.row, *chosen.tried) == ("Keeper", "Place", "Status")
