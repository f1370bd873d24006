"""YAML is edited where its data changes; the rest of the text stays, and it always reads back as wanted."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loaders.files.yaml_edits import edit_yaml
from loaders.files.yaml_files import from_yaml, to_yaml

TEXT = """\
# Who keeps this file: the people of the shop.
name: Shop   # as on the door
tags: [a, b]
ui_elements:
  # the way in
  - element_id: go
    selector: {strategies: [{type: css, value: '#go'}]}

  - element_id: stop   # red
    selector:
      strategies:
        - {type: id, value: stop}
notes: |
  one
  two
# the end
"""


def after(change):
    data = from_yaml(TEXT, "")
    before = from_yaml(TEXT, "")
    change(data)
    made = edit_yaml(TEXT, before, data)
    assert from_yaml(made, "") == data
    old, new = TEXT.splitlines(), made.splitlines()
    return [line for line in old if line not in new], [line for line in new if line not in old]


def setter(*path, to):
    def change(data):
        for part in path[:-1]:
            data = data[part]
        data[path[-1]] = to

    return change


@pytest.mark.parametrize(
    ("change", "gone", "come"),
    [
        (setter("name", to="Store"), ["name: Shop   # as on the door"], ["name: Store   # as on the door"]),
        (setter("tags", 1, to="c: d"), ["tags: [a, b]"], ["tags: [a, 'c: d']"]),
        (setter("tags", to=["a"]), ["tags: [a, b]"], ["tags: [a]"]),
        (
            setter("ui_elements", 0, "selector", "strategies", 0, "value", to="#on"),
            ["    selector: {strategies: [{type: css, value: '#go'}]}"],
            ["    selector: {strategies: [{type: css, value: '#on'}]}"],
        ),
        (
            setter("ui_elements", 1, "selector", "strategies", to=[{"type": "css", "value": "#x"}, {"type": "id", "value": "y"}]),
            ["        - {type: id, value: stop}"],
            ["        - {type: css, value: '#x'}", "        - {type: id, value: y}"],
        ),
        (setter("ui_elements", 1, "type", to="link"), [], ["    type: link"]),
        (lambda data: data.pop("tags"), ["tags: [a, b]"], []),
        (lambda data: data["ui_elements"].append({"element_id": "new"}), [], ["  - {element_id: new}"]),
        (lambda data: data["ui_elements"].pop(0), ["  - element_id: go", "    selector: {strategies: [{type: css, value: '#go'}]}"], []),
        (setter("notes", to="three"), ["notes: |", "  one", "  two"], ["notes: three"]),
        (setter("more", to={"deep": {"er": 1}}), [], ["more:", "  deep: {er: 1}"]),
    ],
)  # fmt: skip
def test_only_the_lines_of_what_changed_change(change, gone, come):
    assert after(change) == (gone, come)


def test_another_order_is_written_anew_with_the_comment_at_the_head():
    made = edit_yaml(TEXT, from_yaml(TEXT, ""), {"name": "x"} | {"z": {"y": 1}})
    assert made.startswith("# Who keeps this file")
    assert edit_yaml(TEXT, from_yaml(TEXT, ""), from_yaml(TEXT, "")) == TEXT


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-99, 99) | st.text(max_size=12),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from("abcdef") | st.text(max_size=5), inner, max_size=4)
    ),
    max_leaves=12,
)
DOCUMENTS = st.dictionaries(st.sampled_from(["a", "b", "ui_elements", "x: y"]), JSON, min_size=1, max_size=4)


@settings(max_examples=80, deadline=None)
@given(DOCUMENTS, DOCUMENTS, st.booleans())
def test_any_data_becomes_any_other(before, wanted, compact):
    text = to_yaml(before, compact=compact)
    assert from_yaml(edit_yaml(text, before, wanted), "") == wanted
