"""Values in templates: filled once, escaped for their language, whatever they are."""

from __future__ import annotations

from urllib.parse import parse_qs, quote, quote_plus, unquote, urlsplit

import pytest
import re2
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree
from selectolax.lexbor import LexborHTMLParser

from kb_schema.templates import (
    MissingVariable,
    css_string,
    fill,
    fill_css,
    fill_pattern,
    fill_selector,
    fill_tree,
    fill_url,
    fill_value,
    selector_parameters,
    strings,
    url_spellings,
    variables,
    xpath_literal,
)

# What XML can hold; a page cannot hold the others.
TEXTS = st.text(st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\ufffe\uffff"), min_size=1)
QUOTES = st.text(alphabet="'\"\\{}[]() )#.:,a\u00e9", min_size=1)


@settings(deadline=None)
@given(texts=st.lists(TEXTS | QUOTES, min_size=2, max_size=4, unique=True))
def test_xpath_finds_exactly_the_element_with_any_text(texts):
    root = etree.Element("ul")
    for text in texts:
        etree.SubElement(root, "li").text = text
    for mark in "'\"":
        xpath = fill_selector(f"//li[text()={mark}{{{{name}}}}{mark}]", {"name": texts[0]}, "xpath")
        assert [li.text for li in root.xpath(xpath)] == [texts[0]]


@settings(deadline=None)
@given(texts=st.lists(TEXTS | QUOTES, min_size=2, max_size=4, unique=True))
def test_css_finds_exactly_the_element_with_any_text(texts):
    parser = LexborHTMLParser("<ul></ul>")
    for number, text in enumerate(texts):
        item = parser.create_node("li")
        item.attrs["data-name"] = text
        item.attrs["id"] = str(number)
        parser.css_first("ul").insert_child(item)
    for mark in "'\"":
        css = fill_selector(f"li[data-name={mark}{{{{name}}}}{mark}]", {"name": texts[0]}, "css")
        assert [li.attrs["id"] for li in parser.css(css)] == ["0"]


@settings(deadline=None)
@given(text=st.text(st.characters(exclude_categories=["Cs"])))
def test_a_css_string_holds_any_character_on_one_line(text):
    quoted = css_string(text)
    assert quoted[0] == quoted[-1] == '"'
    assert not any(ord(char) < 0x20 for char in quoted)


@settings(deadline=None)
@given(text=TEXTS | QUOTES)
def test_an_xpath_literal_is_the_text(text):
    assert etree.Element("x").xpath(f"string({xpath_literal(text)})") == text


@pytest.mark.parametrize("value", ["a b", "1) or (1", "'", "x]", "", "a,b"])
def test_what_could_change_the_meaning_may_not_stand_unquoted(value):
    with pytest.raises(ValueError, match="unquoted"):
        fill_selector("li:nth-child({{n}})", {"n": value}, "css")


@pytest.mark.parametrize(("value", "expected"), [(3, "li:nth-child(3)"), ("odd", "li:nth-child(odd)")])
def test_a_number_or_a_word_may_stand_unquoted(value, expected):
    assert fill_selector("li:nth-child({{n}})", {"n": value}, "css") == expected


def test_text_around_a_parameter_is_quoted_with_it():
    assert fill_selector("a[href='/agent/{{id}}/edit'][x='y']", {"id": 'a"b'}, "css") == (
        'a[href="/agent/a\\"b/edit"][x=\'y\']'
    )
    xpath = fill_selector("//a[text()='Edit {{name}}']", {"name": "O'Brien"}, "xpath")
    assert xpath == '//a[text()="Edit O\'Brien"]'


@settings(deadline=None)
@given(value=st.text(), other=st.text())
def test_a_value_is_never_expanded_again(value, other):
    filled = fill("<{a}>", {"a": value + "{b}" + other, "b": "WRONG"})
    assert filled == f"<{value}{{b}}{other}>"


def test_a_missing_variable_is_named():
    for call in (
        lambda: fill("{a} {b}", {"a": 1}),
        lambda: fill_value("{b}", {}),
        lambda: fill_selector("[x='{{b}}']", {}, "css"),
    ):
        with pytest.raises(MissingVariable, match=r"no value for \{b\}"):
            call()


def test_a_template_that_is_nothing_but_a_variable_keeps_its_type():
    values = {"n": 3, "flag": True, "rows": [1, 2], "a.b": "deep"}
    tree = {
        "n": "{n}",
        "flag": "{flag}",
        "text": "n={n} {flag}",
        "rows": ["{rows}"],
        "deep": "{a.b}",
        "plain": 7,
    }
    assert fill_tree(tree, values) == {
        "n": 3, "flag": True, "text": "n=3 true", "rows": [[1, 2]], "deep": "deep", "plain": 7,
    }  # fmt: skip


def test_the_two_kinds_of_braces_do_not_mix():
    assert variables("{a} {{b}} { c } {d.e} {1}") == {"a", "d.e"}
    assert selector_parameters("{a} {{b}} {{ c }}") == {"b", "c"}
    assert fill("{a} {{a}}", {"a": 1}) == "1 {{a}}"


def test_strings_come_with_their_paths():
    assert list(strings({"a": ["x", {"b": "y"}], "c": 1})) == [("$.a[0]", "x"), ("$.a[1].b", "y")]


@settings(deadline=None, max_examples=50)
@given(value=TEXTS | QUOTES)
def test_any_value_in_an_address_is_one_step_and_one_parameter_of_it(value):
    if value in (".", ".."):
        with pytest.raises(ValueError, match="step of the path"):
            fill_url("https://site.test/a/{x}/b", {"x": value})
        return
    parts = urlsplit(fill_url("https://site.test/a/{x}/b?q={x}&r=1#{x}", {"x": value}))
    assert (parts.scheme, parts.netloc) == ("https", "site.test")
    assert [unquote(step) for step in parts.path.split("/")] == ["", "a", value, "b"]
    assert parse_qs(parts.query, keep_blank_values=True) == {"q": [value], "r": ["1"]}
    assert unquote(parts.fragment) == value


def test_an_address_that_begins_with_a_variable_takes_a_whole_one_for_it():
    values = {"base": "https://site.test/app", "id": "a/b", "evil": "javascript:alert(1)"}
    assert fill_url("{base}/x/{id}", values) == "https://site.test/app/x/a%2Fb"
    assert fill_url("{base}", values) == "https://site.test/app"
    assert fill_url("{evil}/x", values) == "javascript%3Aalert%281%29/x"
    with pytest.raises(MissingVariable):
        fill_url("/{nobody}", values)


@settings(deadline=None, max_examples=50)
@given(value=TEXTS | QUOTES, other=TEXTS)
def test_a_pattern_means_the_value_and_its_spellings_and_nothing_else(value, other):
    pattern = re2.compile(fill_pattern("^<{x}>$", {"x": value}))
    for spelling in (value, quote(value, safe=""), quote_plus(value), quote(value)):
        assert (pattern.search(f"<{spelling}>") is not None) is (spelling in url_spellings(value))
    assert pattern.search(f"<{value}>")
    assert pattern.search(f"<{quote(value, safe='')}>")
    assert (pattern.search(f"<{other}>") is not None) is (other in url_spellings(value))


@settings(deadline=None, max_examples=50)
@given(value=QUOTES | TEXTS)
def test_css_of_a_step_holds_any_value(value):
    parser = LexborHTMLParser("<ul><li id=x></li><li id=y></li></ul>")
    parser.css_first("#x").attrs["data-name"] = value
    assert [li.attrs["id"] for li in parser.css(fill_css("li[data-name='{x}']", {"x": value}))] == ["x"]


ITEMS = etree.fromstring(
    "<ul><li><b>Chase</b><i>****6742 (checking)</i></li><li><b>O'Brien Bank</b><i>****6742 (Savings)</i></li></ul>"
)


@pytest.mark.parametrize(
    ("said", "found"),
    [
        ("the Chase checking account", []),
        ("Chase's checking, 6742", ["Chase"]),
        ("6742", ["Chase", "O'Brien Bank"]),
        ("674", []),
        ('SAVINGS "6742" of O\u2019Brien', ["O'Brien Bank"]),
        ("') or ('1'='1", []),
    ],
)
def test_words_find_the_elements_that_have_all_of_them_in_any_order_and_case(said, found):
    xpath = fill_selector("//li[{{ row|words }}]", {"row": said}, "xpath")
    assert [item[0].text for item in ITEMS.xpath(xpath)] == found


@pytest.mark.parametrize("said", ["", "the of", "...", " ".join(f"word{number}" for number in range(13))])
def test_no_words_and_too_many_find_nothing(said):
    with pytest.raises(ValueError, match=r"words? by which"):
        fill_selector("//li[{{row|words}}]", {"row": said}, "xpath")
    assert selector_parameters("//li[{{row|words}}]") == {"row"}
