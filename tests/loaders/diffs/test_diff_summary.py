"""A diff is told in words, and as Markdown in which nothing of a website is more than text."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from kb_schema import SourcedDocument, assemble, parse_document
from loaders.diffs.diff_markdown import to_markdown
from loaders.diffs.diff_summary import DiffEntry, DiffSummary, WebsiteName, summarise_diff, to_plain_text
from loaders.diffs.knowledge_diff import diff_knowledge
from loaders.markup_escapes import html_code, markdown_block, markdown_code, one_line
from tests.kb_store.sample_knowledge import documents_of, knowledge_of

HOSTILE = st.text(max_size=60) | st.text(alphabet="`<>&\"'|\\\n\r[]()*_@#! \u202e\u2028ab", max_size=40)


def assembled(documents):
    return assemble([SourcedDocument(parse_document(document)) for document in documents])[0]


def told(old, new):
    return summarise_diff(diff_knowledge(old, new), old, new)


def named():
    documents = documents_of()
    for document in documents:
        if document["type"] == "screen":
            document["name"] = document["screen_id"].replace("_", " ").title()
    return documents


def test_the_headline_counts_and_names_a_single_new_way():
    before, after = named(), named()
    after[-3]["ui_elements"][0]["metadata"] = {"label": "Reports"}
    way = {"type": "transition", "_from": "screen/screen_3", "_to": "screen/screen_1",
           "triggered_by": {"action_type": "click", "element_id": "go"}}  # fmt: skip
    words = told(assembled(before), assembled([*after, way]))
    assert to_plain_text(words.headline) == (
        "1 screen changed, 1 transition added (Screen 3 -> Screen 1 by clicking Reports)"
    )


def test_a_changed_screen_is_told_by_its_parts_in_the_order_of_the_document():
    before, after = named(), named()
    screen = after[-3]
    screen["name"] = "Front"
    screen["ui_elements"][0]["selector"] = "#gone"
    screen["ui_elements"].append({"element_id": "print", "type": "button", "selector": "#print"})
    screen["state_signature"] = {"primary_indicators": [{"type": "title_contains", "value": "Front"}]}
    (words,) = told(assembled(before), assembled(after)).entries
    assert to_plain_text(words.words) == (
        "Front (screen_3): name Screen 3 -> Front, element go (selector), element print added, signature added"
    )


def test_of_a_long_text_it_is_told_that_it_changed():
    before, after = named(), named()
    before[0]["description"] = "long " * 40
    after[0]["description"] = "long " * 40 + "and longer"
    (words,) = told(assembled(before), assembled(after)).entries
    assert to_plain_text(words.words) == "old (shop): description changed"


def test_the_same_two_always_give_the_same_words_and_none_where_nothing_differs():
    before, after = assembled(named()), assembled(documents_of(version="new", screens=3))
    assert to_markdown(told(before, after), "shop") == to_markdown(told(before, after), "shop")
    assert to_plain_text(told(before, before).headline) == "no difference"
    assert "1 website added" in to_plain_text(told(None, knowledge_of()).headline)


def test_markdown_unfolds_values_and_ends_within_its_bound():
    before, after = named(), named()
    after[-3]["name"] = "</summary><script>alert(1)</script> @everyone"
    text = to_markdown(told(assembled(before), assembled(after)), "shop")
    outside = re.sub(r"```diff\n.*?\n```", "", text, flags=re.DOTALL)
    assert "<script>" not in outside
    assert "<code>&lt;/summary&gt;&lt;script&gt;" in outside
    assert '- "Screen 3"\n+ "</summary><script>' in text
    many = told(None, knowledge_of(screens=300))
    short = to_markdown(many, "shop", longest=5_000)
    assert len(short) <= 5_000
    listed = short.count("\n- **")
    assert f"… and {len(many.entries) - listed} more" in short


def test_a_name_within_a_place_begins_no_line_of_its_own():
    before, after = named(), named()
    after[-3]["metadata"] = {**after[-3]["metadata"], "a\n+ forged": "x"}
    text = to_markdown(told(assembled(before), assembled(after)), "shop")
    assert "@@ $.metadata.a + forged @@" in text
    assert "\n+ forged" not in text


@given(HOSTILE)
def test_any_name_is_one_piece_of_code_in_markdown(text):
    line = markdown_code(text)
    assert "\n" not in line
    fence = re.match(r"`+", line)[0]
    assert line.endswith(fence)
    inner = line[len(fence) : -len(fence)]
    assert fence not in re.findall(r"`+", inner)
    assert not inner.startswith("`")
    assert not inner.endswith("`")


@given(HOSTILE)
def test_any_name_is_one_element_in_html_and_no_block_is_left(text):
    written = html_code(text)
    assert re.fullmatch(r"<code>[^<>\n]*</code>", written)
    block = markdown_block(text, "diff").split("\n")
    fence = block[-1]
    assert block[0] == f"{fence}diff"
    assert all(not re.match(rf"\s*{fence}", line) for line in block[1:-1])


@given(HOSTILE, HOSTILE)
def test_words_of_any_names_are_one_entry(first, second):
    words = (WebsiteName(first), " -> ", WebsiteName(second))
    entry = DiffEntry("added", "transition", "t", words)
    text = to_markdown(DiffSummary(("1 transition added",), (entry,)), "shop")
    assert text.count("\n- ") == 1
    assert len(one_line(to_plain_text(words))) <= 120
