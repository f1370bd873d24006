"""Fields of a form that is laid out as a table are no rows of a list; fields of a list are called alike."""

from __future__ import annotations

import pytest

from agent.synthesis.traces.list_rows import find_list_row
from kb_schema.page_snapshots import PageSnapshot
from web_pages.stored_pages import StoredPage


def _find_rows(*names: str) -> list[str | None]:
    rows = "".join(
        f"<tr><th>{each}</th><td><select name='{each}'><option>a</select></td></tr>" for each in names
    )
    html = f"<title>x</title><form><table>{rows}</table></form>"
    page = StoredPage(PageSnapshot(url="http://forms.test/", html=html))
    found = [find_list_row(each) for each in page.roots[0].elements if each.tag == "select"]
    assert len(found) == len(names)
    return [None if each is None else each.tag for each in found]


def test_fields_with_names_of_their_own_are_no_rows():
    assert _find_rows("size", "owner", "shelf") == [None] * 3


@pytest.mark.parametrize("names", [("amount_1", "amount_2"), ("grade[ann]", "grade[bob]"), ("1", "2")])
def test_fields_that_are_called_alike_are_rows(names):
    assert _find_rows(*names) == ["tr", "tr"]


def _find_fields(*rows: str) -> list[bool]:
    html = f"<title>x</title><main>{''.join(f'<div class=line>{row}</div>' for row in rows)}</main>"
    page = StoredPage(PageSnapshot(url="http://forms.test/", html=html))
    return [find_list_row(each) is not None for each in page.roots[0].elements if each.tag == "input"]


def test_a_field_with_a_label_beside_it_is_no_row():
    labelled = [f"<label>{each}</label><input id=owner-{each}>" for each in ("name", "phone", "kin")]
    assert _find_fields(*labelled) == [False] * 3
    assert _find_fields(*(each.replace("label", "span") for each in labelled)) == [True] * 3
    two = [f"{each}<input id=more-{number}>" for number, each in enumerate(labelled)]
    assert _find_fields(*two) == [True] * 6
