"""What a graph must not carry over from where it was recorded."""

from __future__ import annotations

from agent.redaction import REDACTED
from agent.synthesis.graph.action_graph import ActionGraph, ActionNode, Branch, ConditionNode, LoopNode
from agent.synthesis.graph.graph_portability import make_portable
from kb_schema.fingerprints import Fingerprint
from kb_schema.selectors import Selector


def _fill(field: str, value: str) -> ActionNode:
    return ActionNode(
        action_type="fill",
        target=Selector.model_validate({"type": "id", "value": field}),
        args={"value": value},
    )


def _go(url: str) -> ActionNode:
    return ActionNode(action_type="navigate", args={"url": url})


def test_a_secret_becomes_one_input_per_field_wherever_it_stands():
    way = Branch(label="a", nodes=(_fill("code", REDACTED),))
    loop = LoopNode(
        kind="fixed", nodes=(_fill("pass word", REDACTED),), min_iterations=1, max_iterations=2, times=2
    )
    graph = ActionGraph(
        nodes=(
            _fill("pass word", REDACTED),
            _fill("name", "Ada"),
            ConditionNode(branches=(way,), description="d"),
            loop,
        )
    )
    portable = make_portable(graph)
    assert [(each.name, each.secret, each.source) for each in portable.parameters] == [
        ("pass_word", True, "user_input"), ("code", True, "user_input"),
    ]  # fmt: skip
    assert [node.args["value"] for node in portable.actions()] == [
        "{pass_word}",
        "Ada",
        "{code}",
        "{pass_word}",
    ]


def test_a_secret_is_called_by_the_label_of_its_field():
    known = Fingerprint(role="textbox", tag="input", label="Password *", attributes={"id": "field_kjqxLW5"})
    node = _fill("field_kjqxLW5", REDACTED).model_copy(update={"fingerprint": known})
    assert [each.name for each in make_portable(ActionGraph(nodes=(node,))).parameters] == ["password"]


def test_a_secret_without_a_label_is_described_by_the_name_of_its_field_and_not_by_a_selector():
    known = Fingerprint(role="textbox", tag="input", attributes={"name": "__login_password"})
    target = Selector.model_validate(
        {"strategies": [{"type": "xpath", "value": "//input[@name='__login_password']"}]}
    )
    node = ActionNode(action_type="fill", target=target, args={"value": REDACTED}, fingerprint=known)
    (parameter,) = make_portable(ActionGraph(nodes=(node,))).parameters
    assert (parameter.name, parameter.description) == ("login_password", "__login_password")


def test_addresses_of_the_site_itself_lose_their_host_and_others_keep_it():
    graph = ActionGraph(nodes=(_go("http://a.test:80/x?q=1#y"), _go("http://a.test"), _go("http://b.test/z")))
    assert [node.args["url"] for node in make_portable(graph).actions()] == [
        "/x?q=1#y",
        "/",
        "http://b.test/z",
    ]


def test_a_graph_without_either_stays_as_it_is():
    graph = ActionGraph(nodes=(_fill("name", "Ada"),))
    assert make_portable(graph) == graph


def test_who_is_asked_for_a_secret_is_told_the_fields_label():
    ways = [
        {"type": "id", "value": "code"},
        {"type": "xpath-text", "value": "//input[@id=//label[normalize-space()='6-digit code']/@for]"},
    ]
    target = Selector.model_validate({"strategies": ways})
    graph = ActionGraph(nodes=(ActionNode(action_type="fill", target=target, args={"value": REDACTED}),))
    (parameter,) = make_portable(graph).parameters
    assert (parameter.name, parameter.description) == ("code", "6-digit code")
