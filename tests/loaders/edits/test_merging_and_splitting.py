"""Two screens that are one become one that both kinds of pages are known by, and the other way round."""

from __future__ import annotations

import pytest

from kb_schema import KnowledgeError, SourcedDocument, assemble, parse_document
from kb_schema.former_ids import list_former_ids
from kb_schema.page_snapshots import PageSnapshot
from loaders.edits.knowledge_edit import EditRefused
from loaders.edits.merging import merge
from loaders.edits.renaming import find_target
from loaders.edits.splitting import SplitSign, split
from mcp_server.identification.screen_identification import identify
from mcp_server.knowledge.compiled_view import compile_view
from web_pages.stored_pages import answer_probes

BASE = "https://shop.example"


def text(value, **more):
    return {"type": "dom_contains", "value": value, **more}


def screen(screen_id, name, *elements, **more):
    return {
        "type": "screen", "screen_id": screen_id, "name": name,
        "ui_elements": [{"element_id": each, "type": "button", "selector": f"#{each}"} for each in elements], **more,
    }  # fmt: skip


def click(name, start, end, element):
    return {"type": "transition", "transition_id": name, "_from": start, "_to": end,
            "triggered_by": {"action_type": "click", "element_id": element}}  # fmt: skip


def knowledge_of(*documents):
    website = {"type": "website", "website_id": "shop", "name": "Shop", "base_url": BASE}
    return assemble([SourcedDocument(parse_document(each)) for each in (website, *documents)])[0]


def page(path, *texts):
    return PageSnapshot(url=BASE + path, html="".join(f"<p>{each}</p>" for each in texts), title="")


def known_as(knowledge, path, *texts):
    return identify(compile_view(knowledge, "1"), page(path, *texts), answer_probes).screen_id


@pytest.fixture
def two_milestones():
    """Two screens that an exploration took for two because their contents differ."""
    first = {
        "required_indicators": [text("Milestone")],
        "optional_indicators": [text("open", weight=2), text("due")],
    }
    second = {
        "required_indicators": [text("Roadmap item")], "optional_indicators": [text("closed")],
        "negative_indicators": [text("Milestone")],
    }  # fmt: skip
    return knowledge_of(
        screen("home", "Home", "menu", "list", url_patterns=["^/$"]),
        screen("milestone", "Milestone", "edit", "go", url_patterns=["^/milestone/[0-9]+$"], state_signature=first),
        screen("item", "Item", "edit", "back", url_patterns=["^/item/[0-9]+$"], state_signature=second),
        {"type": "screen_group", "group_id": "pages", "name": "Pages"},
        *({"type": "belongs_to", "_from": each, "_to": "pages"} for each in ("milestone", "item")),
        click("a", "home", "milestone", "menu"), click("b", "home", "item", "list"),
        click("c", "milestone", "item", "go"), click("d", "item", "home", "back"),
        {"type": "triggers", "_from": "action/open", "_to": "transition/c"},
        {"type": "action", "action_id": "open", "name": "Open"},
        {"type": "task", "task_id": "close", "steps": [
            {"action": {"action_type": "navigate", "target_screen": "item"},
             "postconditions": [{"type": "on_screen", "screen_id": "item"}]},
            {"action": {"action_type": "click", "target": "back"}}]},
    )  # fmt: skip


def merged(knowledge, kept, other):
    return merge(knowledge, find_target(knowledge, kept), find_target(knowledge, other))


def test_a_merged_screen_is_known_by_what_identified_either(two_milestones):
    edit = merged(two_milestones, "milestone", "item")
    knowledge = edit.knowledge
    assert known_as(knowledge, "/milestone/4", "Milestone", "open", "due") == "milestone"
    assert known_as(knowledge, "/item/4", "Roadmap item", "closed") == "milestone"
    assert known_as(knowledge, "/item/4", "Something else") is None


def test_what_named_the_other_screen_names_the_kept_one(two_milestones):
    edit = merged(two_milestones, "milestone", "item")
    knowledge = edit.knowledge
    assert set(knowledge.screens) == {"home", "milestone"}
    assert set(knowledge.elements("milestone")) == {"edit", "go", "back"}
    assert {name: (each.from_screen, each.to_screen) for name, each in knowledge.transitions.items()} == {
        "a": ("home", "milestone"), "b": ("home", "milestone"), "d": ("milestone", "home"),
    }  # fmt: skip
    assert [each.screen for each in knowledge.memberships] == ["milestone"]
    assert knowledge.triggers == ()
    assert knowledge.tasks["close"].steps[0].action.target_screen == "milestone"
    assert knowledge.tasks["close"].steps[0].postconditions[0].screen_id == "milestone"
    assert list_former_ids(knowledge.screens["milestone"].metadata) == ("item",)
    assert edit.left == ("transition c led from one to the other and is removed",)
    assert edit.moved_elements["item", "back"] == ("milestone", "back")


def test_the_same_control_under_two_names_is_one_element_after_merging(two_milestones):
    documents = [each.to_json() for each in two_milestones.documents()]
    for each in documents:
        if each.get("screen_id") == "item" and each["type"] == "screen":
            each["ui_elements"].append({"element_id": "change", "type": "button", "selector": "#go"})
    documents.append(click("e", "item", "home", "change"))
    knowledge = merged(knowledge_of(*documents[1:]), "milestone", "item").knowledge
    assert set(knowledge.elements("milestone")) == {"edit", "go", "back"}
    assert knowledge.transitions["e"].triggered_by.target == "go"


def test_a_signature_of_its_own_document_is_merged_too():
    knowledge = knowledge_of(
        screen("one", "One"), screen("two", "Two"),
        {"type": "state_signature", "screen_id": "one", "indicators": {"required": [text("First")]}},
        {"type": "state_signature", "screen_id": "two", "indicators": {"required": [text("Second")]}},
    )  # fmt: skip
    made = merged(knowledge, "one", "two").knowledge
    assert (known_as(made, "/", "First"), known_as(made, "/", "Second")) == ("one", "one")
    assert list(made.by_kind["state_signature"]) == ["one"]
    assert known_as(made, "/", "Third") is None


def test_two_elements_of_a_screen_become_one_that_is_found_either_way(two_milestones):
    edit = merged(two_milestones, "milestone/edit", "milestone/go")
    strategies = edit.knowledge.elements("milestone")["edit"].selector.strategies
    assert [each.value for each in strategies] == ["#edit", "#go"]
    assert edit.knowledge.transitions["c"].triggered_by.target == "edit"
    assert set(edit.knowledge.elements("item")) == {"edit", "back"}


@pytest.mark.parametrize(
    ("kept", "other", "message"),
    [
        ("item", "item", "'item' is given twice"),
        ("item", "close", "'item' is a screen, 'close' a task"),
        ("milestone/edit", "item/back", "are not on the same screens"),
    ],
)
def test_what_cannot_be_merged_is_refused(two_milestones, kept, other, message):
    with pytest.raises(EditRefused, match=message):
        merged(two_milestones, kept, other)


# -- splitting ---------------------------------------------------------------------------------------


@pytest.fixture
def orders():
    """A list of orders and the form for a new one, learned as one screen."""
    sign = {"required_indicators": [text("Orders")]}
    return knowledge_of(
        screen("home", "Home", "menu", url_patterns=["^/home$"]),
        screen("orders", "Orders", "save", "menu", url_patterns=["^/orders(/new)?$"], url="/orders", state_signature=sign),
        {"type": "screen_group", "group_id": "pages", "name": "Pages"},
        {"type": "belongs_to", "_from": "orders", "_to": "pages"},
        {**click("in", "home", "orders", "menu"), "reliability_score": 0.9},
        click("out", "orders", "home", "menu"), click("saved", "orders", "home", "save"),
        {"type": "task", "task_id": "order", "steps": [
            {"action": {"action_type": "navigate", "target_screen": "orders"}}]},
    )  # fmt: skip


@pytest.mark.parametrize(
    "sign", [SplitSign(pattern="^/orders/new$"), SplitSign(text="New order"), SplitSign(element="save")]
)
def test_the_pages_with_the_sign_are_the_new_screen(orders, sign):
    edit = split(orders, find_target(orders, "orders"), "New order", sign)
    knowledge = edit.knowledge
    assert knowledge.screens["new_order"].name == "New order"
    save = '</p><button id="save">Save</button><p>'
    assert known_as(knowledge, "/orders/new", "Orders", "New order", save) == "new_order"
    assert known_as(knowledge, "/orders", "Orders") == "orders"
    assert {each.screen for each in knowledge.memberships} == {"orders", "new_order"}
    ways = {(each.from_screen, each.to_screen, each.reliability) for each in knowledge.transitions.values()}
    assert {("home", "orders", 0.45), ("home", "new_order", 0.45)} <= ways
    assert edit.left == ("task order $.steps[0].action.target_screen still names orders",)


def test_the_element_that_tells_them_apart_moves_with_its_transitions(orders):
    edit = split(orders, find_target(orders, "orders"), "form", SplitSign(element="save"))
    assert set(edit.knowledge.elements("orders")) == {"menu"}
    assert edit.knowledge.transitions["saved"].from_screen == "form"
    assert edit.moved_elements == {("orders", "save"): ("form", "save")}


@pytest.mark.parametrize(
    ("new", "sign", "message"),
    [
        ("form", SplitSign(), "not stated, or stated twice"),
        ("form", SplitSign(pattern="^/x$", text="y"), "not stated, or stated twice"),
        ("form", SplitSign(pattern="("), "--pattern '\\('"),
        ("form", SplitSign(element="nothing"), "has no element 'nothing' of its own"),
        ("form", SplitSign(pattern="^/orders(/new)?$"), "is the only pattern of 'orders'"),
        ("home", SplitSign(text="x"), "there is a screen 'home' already"),
    ],
)
def test_what_cannot_be_split_is_refused(orders, new, sign, message):
    with pytest.raises(EditRefused, match=message):
        split(orders, find_target(orders, "orders"), new, sign)


def test_an_edit_that_breaks_a_rule_is_refused_with_the_problem():
    knowledge = knowledge_of(screen("bare", "Bare"))
    with pytest.raises(KnowledgeError):
        split(knowledge, find_target(knowledge, "bare"), "form", SplitSign(text="New"))
