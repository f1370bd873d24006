"""The words beside a field."""

from __future__ import annotations

import pytest

from kb_schema.page_snapshots import PageSnapshot
from web_pages.field_words import find_field_words
from web_pages.stored_pages import StoredPage


def _words(html: str, name: str, **more: bool) -> str | None:
    page = StoredPage(PageSnapshot(url="http://t/", title="", html=f"<html><body>{html}</body></html>"))
    element = next(each for root in page.roots for each in root.elements if each.get("name") == name)
    return find_field_words(element, **more)


TWO_A_ROW = "<table><tr><th>Priority</th><td><input name=a></td><th>Status</th><td><p><input name=b></p></td></tr></table>"
CHOICES = "<p>Send: <input type=checkbox name=a> Letters <input type=checkbox name=b> Parcels</p>"
HELP = "<table><tr><th>Nosy</th><td><input name=a> <a href=/list>(list)</a></td><th>Due</th><td><input name=b></td></tr></table>"
MATRIX = (
    "<table><tr><th></th><th>Filter</th><th>Show</th></tr><tr><th>Title</th><td><input name=a></td><td><input name=c></td></tr>"
    "<tr><th>Kind</th><td><input name=b></td><td><input name=c></td></tr></table>"
)


@pytest.mark.parametrize(
    ("html", "name", "words"),
    [
        (TWO_A_ROW, "a", "Priority"),
        (TWO_A_ROW, "b", "Status"),
        (CHOICES, "a", "Letters"),
        (CHOICES, "b", "Parcels"),
        (HELP, "a", "Nosy"),
        ("<div><a href=/p>Priority</a> <input name=a></div>", "a", "Priority"),
        ("<p>Between <input name=a><input name=b></p>", "a", None),
    ],
)
def test_the_words_beside_a_field_are_its_own(html: str, name: str, words: str | None):
    assert _words(html, name) == words


@pytest.mark.parametrize(("name", "words"), [("a", "Title"), ("b", "Kind"), ("c", "Show")])
def test_in_a_table_of_fields_the_headings_tell(name: str, words: str):
    assert _words(MATRIX, name) is None
    assert _words(MATRIX, name, headings=True) == words


COLUMN = "<table><tr><th></th><th>Filter</th><th>Sort on</th></tr>{}</table>"
CHOICE = "<tr><th>{0}</th><td><input name={0}></td><td><input type=radio name=s value={0}></td></tr>"


def test_a_choice_in_a_column_with_a_heading_is_called_by_it_and_others_by_their_row():
    rows = "".join(map(CHOICE.format, ("title", "kind")))
    assert _words(COLUMN.format(rows), "s", headings=True) == "Sort on"
    assert _words(f"<table>{rows}</table>", "s", headings=True) == "title"
