"""A diff names what was added, removed and changed, by names rather than by places."""

from __future__ import annotations

from copy import deepcopy

from kb_schema import SourcedDocument, assemble, parse_document
from loaders import AddedDocument, ChangedDocument, RemovedDocument
from loaders.diffs.knowledge_diff import ValueChange, diff_knowledge
from tests.kb_store.sample_knowledge import documents_of, knowledge_of


def _assembled(documents):
    return assemble([SourcedDocument(parse_document(document)) for document in documents])[0]


def test_the_same_knowledge_does_not_differ():
    assert not diff_knowledge(knowledge_of(), knowledge_of())


def test_everything_is_new_where_there_was_nothing():
    found = diff_knowledge(None, knowledge_of())
    assert {type(entry) for entry in found.entries} == {AddedDocument}
    assert len(found.entries) == len(list(knowledge_of().documents()))


def test_what_was_added_and_removed_is_named():
    found = diff_knowledge(knowledge_of(screens=3), knowledge_of(screens=4))
    back = diff_knowledge(knowledge_of(screens=4), knowledge_of(screens=3))
    assert AddedDocument("screen", "screen_3") in found.entries
    assert RemovedDocument("screen", "screen_3") in back.entries
    assert list(found.by_kind()) == ["screen", "transition", "group_membership"]


def test_a_changed_value_is_told_with_its_path_before_and_after():
    documents = documents_of()
    changed = deepcopy(documents)
    for document in changed:
        if document.get("screen_id") == "screen_1":
            document["name"] = "other"
            document["ui_elements"][0]["type"] = "link"
            document["ui_elements"].insert(0, {"element_id": "first", "type": "link", "selector": "#first"})
    (entry,) = diff_knowledge(_assembled(documents), _assembled(changed)).entries
    assert isinstance(entry, ChangedDocument)
    assert (entry.kind, entry.local_id) == ("screen", "screen_1")
    first = {"element_id": "first", "type": "link",
             "selector": {"strategies": [{"type": "css", "value": "#first"}]}}  # fmt: skip
    assert set(map(str, entry.changes)) == {
        str(ValueChange("$.name", "old", "other")),
        str(ValueChange("$.ui_elements[go].type", "button", "link")),
        str(ValueChange("$.ui_elements[first]", None, first)),
    }


def test_another_order_of_named_items_is_a_change():
    documents = documents_of()
    elements = [{"element_id": name, "type": "link", "selector": f"#{name}"} for name in ("go", "b")]
    documents[-3]["ui_elements"] = elements
    swapped = deepcopy(documents)
    swapped[-3]["ui_elements"] = elements[::-1]
    (entry,) = diff_knowledge(_assembled(documents), _assembled(swapped)).entries
    assert entry.changes == (ValueChange("$.ui_elements (order)", ["go", "b"], ["b", "go"]),)


def test_what_comes_first_in_a_list_without_names_is_told_alone():
    signs = [{"type": "dom_contains", "value": value} for value in ("One", "Two", "Three")]
    before, after, changed = (deepcopy(documents_of()) for _ in range(3))
    for documents, own in ((before, signs[1:]), (after, signs), (changed, [signs[0], signs[2]])):
        screen = next(each for each in documents if each.get("screen_id") == "screen_1")
        screen["state_signature"] = {"primary_indicators": own}
    (entry,) = diff_knowledge(_assembled(before), _assembled(after)).entries
    place = "$.state_signature.primary_indicators"
    assert [(each.path, each.before) for each in entry.changes] == [(f"{place}[0]", None)]
    assert entry.changes[0].after["value"] == "One"
    (entry,) = diff_knowledge(_assembled(before), _assembled(changed)).entries
    assert [(each.path, each.before, each.after) for each in entry.changes] == [
        (f"{place}[0].value", "Two", "One")
    ]
