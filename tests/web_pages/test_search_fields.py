"""Which text fields search."""

from __future__ import annotations

import pytest

from kb_schema.page_snapshots import PageSnapshot
from web_pages.form_fields import is_search_field
from web_pages.stored_pages import StoredPage


@pytest.mark.parametrize(
    ("field", "searches"),
    [
        ("<input type=search>", True),
        ("<input role=searchbox>", True),
        ("<form role=search><input></form>", True),
        ("<input id=issueSearchInput>", True),
        ("<input placeholder='Filter by name'>", True),
        ("<input aria-label='Suche'>", True),
        ("<input name=research>", False),
        ("<input placeholder='Your findings'>", False),
        ("<input name=title>", False),
    ],
)
def test_a_search_field_is_told_by_type_role_or_words(field, searches):
    page = StoredPage(PageSnapshot(url="", html=field))
    (element,) = [each for each in page.roots[0].elements if each.tag == "input"]
    assert is_search_field(element) is searches
