"""References and the three rules of KS 10: what is refused, where it is said to be, what helps."""

from __future__ import annotations

from copy import deepcopy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kb_schema import KnowledgeError, Severity, SourcedDocument, assemble, parse_document
from kb_schema.conditions import BaseCondition
from kb_schema.graph_documents import Transition
from kb_schema.nested_models import ModelFinder
from kb_schema.rules.checked_models import CheckedModels
from tests.kb_store.sample_knowledge import documents_of


def _problems(documents, rule=None):
    try:
        _, warnings = assemble(
            [SourcedDocument(parse_document(d), f"{i}.yaml") for i, d in enumerate(documents)]
        )
    except KnowledgeError as exc:
        found = exc.problems
    else:
        found = warnings
    return [problem for problem in found if rule is None or problem.rule == rule]


def _with(*more, **changes):
    """The sample with documents added, and with changes to documents named by their id."""
    documents = deepcopy(documents_of())
    for document in documents:
        ids = {
            document.get(f)
            for f in ("screen_id", "task_id", "flow_id", "action_id", "transition_id", "website_id")
        }
        for name, change in changes.items():
            if name in ids and document["type"] != "state_signature":
                document.update(change)
    return [*documents, *more]


def test_the_sample_is_without_a_problem():
    assert _problems(documents_of()) == []


# -- references

TASK = {"task_id": "extra", "steps": [{"action": {"action_type": "click", "target": "go"}}]}
BROKEN = {
    "the end of an edge": (
        {"type": "belongs_to", "_from": "screen/screen_00", "_to": "groups/all"}, "$._from", "screen_0"),
    "the other end": ({"type": "belongs_to", "_from": "screen/bare", "_to": "groups/al"}, "$._to", "all"),
    "a called task": (
        {**TASK, "steps": [{"action": {"action_type": "run_task", "task_id": "ordr"}}]}, "$.steps[0].action.task_id", "order"),
    "an element": (
        {**TASK, "steps": [{"action": {"action_type": "click", "target": "goo"}}]}, "$.steps[0].action.target", "go"),
    "an action": (
        {**TASK, "steps": [{"action": {"action_type": "clik", "target": "go"}}]}, "$.steps[0].action.action_type", "click"),
    "a screen in a condition": (
        {**TASK, "success_criteria": [{"type": "on_screen", "screen_id": "screen_00"}]}, "$.success_criteria[0].screen_id", "screen_0"),
    "a condition inside a condition": (
        {**TASK, "success_criteria": [{"type": "all_of", "conditions": [{"type": "on_screen", "screen_id": "bar"}]}]},
        "$.success_criteria[0].conditions[0].screen_id", "bare"),
    "a step to retry": (
        {**TASK, "failure_recovery": {"strategies": [{"condition": "x", "recovery": "retry", "retry_step": "step_2"}]}},
        "$.failure_recovery.strategies[0].retry_step", "step_1"),
    "a recovery": (
        {**TASK, "failure_recovery": {"strategies": [{"condition": "x", "recovery": "refresh_and_rety"}]}},
        "$.failure_recovery.strategies[0].recovery", "refresh_and_retry"),
    "an item's task": (
        {**TASK, "iterator_spec": {"type": "list_processing", "items": "{xs}", "item_action": {"task_id": "ordr"}},
         "io_spec": {"inputs": [{"name": "xs"}]}}, "$.iterator_spec.item_action.task_id", "order"),
    "a step after which an output is read": (
        {**TASK, "io_spec": {"outputs": [{"name": "x", "after_step": "step_9", "extraction": {
            "method": "url_parsing", "pattern": "x"}}]}}, "$.io_spec.outputs[0].after_step", "step_1"),
    "another task's output": (
        {**TASK, "io_spec": {"inputs": [{"name": "x", "source": "task_context", "from_task": "order", "from_output": "nmber"}]}},
        "$.io_spec.inputs[0].from_output", None),
    "a segment's task": (
        {"flow_id": "f", "name": "f", "segments": [{"segment_id": "s", "type": "task_execution", "task_id": "ordre"}]},
        "$.segments[0].task_id", "order"),
    "a segment to skip": (
        {"flow_id": "f", "name": "f", "segments": [{"segment_id": "hello", "type": "conversational", "narration_template": "x"}],
         "fallback_paths": [{"condition": "time_running_out", "segments_to_skip": ["helo"]}]},
        "$.fallback_paths[0].segments_to_skip[0]", "hello"),
    "a trigger's transition": ({"type": "triggers", "_from": "buy", "_to": "t_00"}, "$._to", "t_0"),
    "a workflow's task": (
        {"workflow_id": "w", "name": "w", "unverified": True, "nodes": [{"node_id": "n", "type": "task", "task_id": "odrer"}]},
        "$.nodes[0].task_id", "order"),
    "a signature's screen": (
        {"type": "state_signature", "screen_id": "baree", "indicators": {"primary": [{"type": "title_contains", "value": "x"}]}},
        "$.screen_id", "bare"),
    "a layout": ({"screen_id": "x", "name": "x", "layouts": ["shell"]}, "$.layouts[0]", None),
    "an undoing action": ({"action_id": "a", "name": "a", "reversible_by": "bye"}, "$.reversible_by", "buy"),
}  # fmt: skip


@pytest.mark.parametrize("name", BROKEN)
def test_what_does_not_exist_is_named_with_its_place_and_the_nearest_that_does(name):
    document, path, nearest = BROKEN[name]
    found = _problems(_with(document), "references")
    assert path in [problem.path for problem in found], found
    problem = next(problem for problem in found if problem.path == path)
    assert problem.severity is Severity.ERROR
    assert problem.source == f"{len(documents_of())}.yaml"
    assert nearest is None or problem.fix == f'did you mean "{nearest}"?'


def test_all_broken_references_are_told_at_once():
    found = _problems(_with(BROKEN["an element"][0], BROKEN["a layout"][0], BROKEN["the end of an edge"][0]))
    assert {problem.document for problem in found} >= {
        "task:extra",
        "screen:x",
        "group_membership:screen_00.in.all",
    }


def test_current_is_a_screen_and_templates_are_left_to_run_time():
    recovery = {
        "type": "global_recovery",
        "_from": "groups/all",
        "_to": "screen/current",
        "triggered_by": "refresh",
    }
    task = {**TASK, "io_spec": {"inputs": [{"name": "where"}]},
            "steps": [{"action": {"action_type": "click", "target": "{where}"}}]}  # fmt: skip
    assert _problems(_with(recovery, task)) == []


def _told(*transitions):
    """A flow of three segments with these transitions."""
    segments = [
        {"segment_id": name, "type": "conversational", "narration_template": name}
        for name in ("one", "two", "three")
    ]
    return {"flow_id": "f", "name": "f", "segments": segments, "transitions": list(transitions)}


@pytest.mark.parametrize("to_segment", ["one", "two"])
def test_a_transition_that_leads_back_is_refused(to_segment):
    flow = _told({"from_segment": "two", "to_segment": to_segment})
    (found,) = _problems(_with(flow), "references")
    assert found.path == "$.transitions[0].to_segment"
    assert f'leads back to "{to_segment}"' in found.message


@pytest.mark.parametrize(
    ("fallback", "words"),
    [
        ("skip_to_one", 'leads back to "one"'),
        ("one", 'leads back to "one"'),
        ("skip_to_thre", 'no segment "thre"'),
        ("skip_to_three", None),
    ],
)
def test_a_fallback_leads_to_a_later_segment(fallback, words):
    condition = {"type": "user_interest", "topic": "x", "fallback": fallback}
    flow = _told({"from_segment": "one", "to_segment": "two", "type": "conditional", "condition": condition})
    found = _problems(_with(flow), "references")
    assert [problem.path for problem in found] == (["$.transitions[0].condition.fallback"] if words else [])
    assert words is None or words in found[0].message


# -- context first


@pytest.mark.parametrize(
    ("task", "path"),
    [
        ({"steps": [{"action": {"action_type": "fill", "target": "go", "value": "{nobody}"}}]}, "$.steps[0].action.value"),
        ({"steps": [{"action": {"action_type": "click", "target": "go", "narration": "I press {nobody}"}}]},
         "$.steps[0].action.narration"),
        ({"steps": [{"action": {"action_type": "click", "target": "go"},
                     "postconditions": [{"type": "url_contains", "value": "/{nobody}"}]}]},
         "$.steps[0].postconditions[0].value"),
        ({"iterator_spec": {"type": "list_processing", "items": "{nobody}", "item_action": {"task_id": "order"}}},
         "$.iterator_spec.items"),
        ({"io_spec": {"inputs": [{"name": "a", "source": "template", "template": "{nobody}"}]}},
         "$.io_spec.inputs[0].template"),
        ({"io_spec": {"inputs": [{"name": "a", "source": "scraped", "extraction": {
            "method": "dom_extraction", "selector": "[x='{nobody}']"}}]}}, "$.io_spec.inputs[0].extraction.selector"),
    ],
)  # fmt: skip
def test_a_variable_that_nothing_provides_is_refused(task, path):
    found = _problems(_with({**TASK, **task}), "context-first")
    assert [problem.path for problem in found] == [path]
    assert "{nobody}" in found[0].message
    assert found[0].fix == 'add an input "nobody" to io_spec'


def test_inputs_built_ins_items_and_earlier_outputs_provide_variables():
    output = {
        "name": "number",
        "after_step": "step_1",
        "extraction": {"method": "url_parsing", "pattern": "x"},
    }
    steps = [
        {"action": {"action_type": "fill", "target": "go", "value": value}}
        for value in ("{name} {today}", "{number}")
    ]
    task = {**TASK, "io_spec": {"inputs": [{"name": "name"}], "outputs": [output]}, "steps": steps}
    task["iterator_spec"] = {
        "type": "list_processing", "items": "{name}", "item_name": "row",
        "item_action": {"task_id": "order", "inputs": {"x": "{row} {item_index}"}},
    }  # fmt: skip
    assert _problems(_with(task), "context-first") == []
    task["steps"] = steps[::-1]
    assert [p.path for p in _problems(_with(task), "context-first")] == ["$.steps[0].action.value"]


def test_an_input_may_be_made_of_those_before_it():
    made = {"name": "full", "source": "template", "template": "{first} {run_id}"}
    task = {**TASK, "io_spec": {"inputs": [{"name": "first"}, made]}}
    assert _problems(_with(task), "context-first") == []
    task["io_spec"] = {"inputs": [made, {"name": "first"}]}
    assert [p.path for p in _problems(_with(task), "context-first")] == ["$.io_spec.inputs[0].template"]


def test_a_misspelt_variable_is_recognised():
    task = {**TASK, "io_spec": {"inputs": [{"name": "agent_name"}]},
            "steps": [{"action": {"action_type": "fill", "target": "go", "value": "{agent_nme}"}}]}  # fmt: skip
    assert _problems(_with(task), "context-first")[0].fix == 'did you mean "agent_name"?'


def test_a_flow_may_not_map_an_input_its_task_does_not_have():
    segment = {"segment_id": "s", "type": "task_execution", "task_id": "order",
               "input_mapping": {"nme": {"source": "hardcoded", "value": 1}}, "narration_template": "{later}"}  # fmt: skip
    flow = {"flow_id": "f", "name": "f", "segments": [segment]}
    assert [p.path for p in _problems(_with(flow), "context-first")] == [
        "$.segments[0].input_mapping.nme", "$.segments[0].narration_template",
    ]  # fmt: skip


def test_a_flow_may_show_a_workflow_whose_inputs_are_known():
    node = {"type": "task", "node_id": "n", "task_id": "order"}
    asks = {"inputs": [{"name": "what", "source": "user_input"}]}
    shown = {
        "type": "workflow",
        "workflow_id": "twice",
        "name": "Twice",
        "unverified": True,
        "nodes": [node],
        "io_spec": asks,
    }
    segment = {"segment_id": "s", "type": "task_execution", "task_id": "twice",
               "input_mapping": {"what": {"source": "hardcoded", "value": 1}}, "narration_template": "{what}"}  # fmt: skip
    flow = {"flow_id": "f", "name": "f", "segments": [segment]}
    assert _problems(_with(shown, flow)) == []
    segment["input_mapping"] = {"wat": {"source": "hardcoded", "value": 1}}
    assert [p.message for p in _problems(_with(shown, flow), "context-first")] == [
        'workflow "twice" has no input "wat"'
    ]
    assert [
        p.fix
        for p in _problems(_with(flow | {"segments": [segment | {"task_id": "twic"}]}, shown), "references")
    ] == ['did you mean "twice"?']


def test_a_mapping_may_be_made_of_what_is_there_by_then():
    mapping = {"source": "template", "template": "{agent_name}, {later}"}
    segment = {
        "segment_id": "s",
        "type": "task_execution",
        "task_id": "order",
        "input_mapping": {"item": mapping},
    }
    flow = {"flow_id": "f", "name": "f", "segments": [segment]}
    found = [p.path for p in _problems(_with(flow), "context-first") if p.path.endswith("template")]
    assert found == ["$.segments[0].input_mapping.item.template"]


# -- no graph loops


def _call(task_id, *called):
    return {
        "task_id": task_id,
        "steps": [{"action": {"action_type": "run_task", "task_id": name}} for name in called],
    }


def test_tasks_that_call_each_other_in_a_circle_are_refused():
    (found,) = _problems(_with(_call("a", "b"), _call("b", "order", "c"), _call("c", "a")), "no-graph-loops")
    assert "a -> b -> c -> a" in found.message
    assert "iterator_spec" in found.fix


def test_a_task_that_calls_itself_is_refused():
    assert _problems(_with(_call("a", "a")), "no-graph-loops")


def test_the_same_task_may_be_called_twice():
    assert _problems(_with(_call("a", "order", "order"), _call("b", "a", "order")), "no-graph-loops") == []


@pytest.mark.parametrize("condition", [None, {"type": "element_visible", "element": ".row"}])
def test_a_circle_of_task_edges_needs_a_condition(condition):
    edges = [
        {"type": "depends_on", "_from": "task/order", "_to": "task/order_all", "condition": condition},
        {"type": "depends_on", "_from": "task/order_all", "_to": "task/order"},
    ]
    documents = [d for d in _with(*edges) if d["type"] != "composes"]
    documents = [
        d if d.get("task_id") != "order_all" else {**TASK, "task_id": "order_all", "type": "task"}
        for d in documents
    ]
    assert bool(_problems(documents, "no-graph-loops")) == (condition is None)


def test_an_iterator_may_repeat_a_task():
    task = {**TASK, "iterator_spec": {"type": "collection_processing", "collection_selector": ".row",
                                      "item_action": {"task_id": "order"}}}  # fmt: skip
    assert _problems(_with(task), "no-graph-loops") == []


@pytest.mark.parametrize(
    "step", [{"action": "goto_step", "target": 1}, {"action": {"action_type": "jump_to_step"}}]
)
def test_a_step_that_jumps_is_refused_where_it_stands(step):
    with pytest.raises(KnowledgeError) as caught:
        parse_document({"task_id": "t", "steps": [{"action": {"action_type": "wait"}}, step]})
    assert [(p.rule, p.path) for p in caught.value.problems] == [("no-graph-loops", "$.steps[1].action")]


# -- negative signature


def _screens(narrow=(), narrow_negative=(), broad_negative=(), broad_exclusion=(), *, broad=("Form",)):
    def said(texts):
        return [{"type": "dom_contains", "value": text} for text in texts]

    return _with(
        {"screen_id": "create", "name": "Create", "state_signature": {
            "required_indicators": said(broad), "negative_indicators": said(broad_negative),
            "exclusion_indicators": said(broad_exclusion)}},
        {"screen_id": "edit", "name": "Edit", "state_signature": {
            "required_indicators": said(("Form", *narrow)), "negative_indicators": said(narrow_negative)}},
    )  # fmt: skip


SEPARATED = {
    "the broad one rejects what the narrow one shows": _screens(("Delete",), broad_negative=("Delete",)),
    "an exclusion does it too": _screens(("Delete",), broad_exclusion=("Delete",)),
    "the broad one rejects something else": _screens(("Delete",), broad_negative=("Remove",)),
    "each has something of its own": _screens(("Delete",), broad=("Form", "Save")),
    "equal ones, one of which rejects something": _screens(broad_negative=("Delete",)),
    "equal ones, the other of which rejects something": _screens(narrow_negative=("Delete",)),
}
ALIKE = {
    "one is a part of the other": _screens(("Delete",)),
    "they are the same": _screens(),
    "only the narrow one rejects something": _screens(("Delete",), narrow_negative=("Save",)),
    "both reject the same": _screens(("Delete",), narrow_negative=("Sign in",), broad_negative=("Sign in",)),
}


@pytest.mark.parametrize("name", SEPARATED)
def test_screens_that_can_be_told_apart_are_accepted(name):
    assert _problems(SEPARATED[name], "negative-signature") == []


@pytest.mark.parametrize("name", ALIKE)
def test_screens_that_cannot_be_told_apart_are_refused(name):
    (found,) = _problems(ALIKE[name], "negative-signature")
    assert {found.document} <= {"screen:create", "screen:edit"}
    assert "negative indicator" in found.fix
    assert found.severity is Severity.ERROR


def test_reasons_and_weights_do_not_tell_screens_apart():
    documents = _screens()
    documents[-1]["state_signature"]["required_indicators"][0] |= {"reason": "because", "weight": 3}
    assert len(_problems(documents, "negative-signature")) == 1


TEXTS = st.frozensets(st.sampled_from("abc"), max_size=3)


@given(st.lists(st.tuples(TEXTS.filter(bool), TEXTS), min_size=2, max_size=6))
def test_the_screens_refused_are_those_that_comparing_all_pairs_finds(signatures):
    def holds_on(one, other):
        """Neither what the other shows nor anything that only the one rejects speaks against it."""
        (shown, rejected), (shown_there, rejected_there) = one, other
        return shown <= shown_there and rejected <= rejected_there and not rejected & shown_there

    expected = {
        f"screen:s{n}"
        for n, one in enumerate(signatures)
        for m, other in enumerate(signatures)
        if n != m and holds_on(one, other) and (one[0] != other[0] or (holds_on(other, one) and n < m))
    }
    screens = [
        {"type": "screen", "screen_id": f"s{n}", "name": "s", "state_signature": {
            "primary_indicators": [{"type": "title_contains", "value": text} for text in sorted(shown)],
            "negative_indicators": [{"type": "title_contains", "value": text} for text in sorted(rejected)]}}
        for n, (shown, rejected) in enumerate(signatures)
    ]  # fmt: skip
    website = {"type": "website", "website_id": "w", "name": "W", "base_url": "https://w.example"}
    found = _problems([website, *screens], "negative-signature")
    assert {problem.document for problem in found} == expected
    assert len(found) == len(expected)


def test_url_patterns_tell_screens_apart():
    documents = _screens()
    documents[-1]["url_patterns"], documents[-2]["url_patterns"] = ["^/edit$"], ["^/create$"]
    assert _problems(documents, "negative-signature") == []


def test_a_signature_without_a_positive_indicator_is_refused():
    screen = {
        "screen_id": "x",
        "name": "x",
        "state_signature": {"negative_indicators": [{"type": "title_contains", "value": "x"}]},
    }
    (found,) = _problems(_with(screen), "references")
    assert "no positive indicator" in found.message
    assert _problems(_with({**screen, "url_patterns": ["^/x$"]})) == []


def test_a_screen_has_one_active_signature():
    signature = {"required_indicators": [{"type": "title_contains", "value": "Other"}]}
    assert "more than one active" in _problems(_with(bare={"state_signature": signature}))[0].message
    assert _problems(_with(bare={"state_signature": {**signature, "active": False}})) == []


def test_a_name_that_is_missing_in_many_places_is_told_in_each_with_the_same_suggestion():
    edges = [
        {"type": "belongs_to", "_from": f"screen/screen_{n}", "_to": "groups/al", "metadata": {"n": n}}
        for n in range(4)
    ]
    found = [p for p in _problems(_with(*edges), "references") if p.path == "$._to"]
    assert len({p.source for p in found}) == len(edges)
    assert {p.fix for p in found} == {'did you mean "all"?'}


# -- what rules look at


def test_models_are_found_once_for_all_rules_and_their_holders_in_order():
    documents = [parse_document(each) for each in documents_of()]
    knowledge = assemble([SourcedDocument(each) for each in documents])[0]
    models = CheckedModels(knowledge)
    assert [document for document, _ in models] == [*knowledge.documents()]
    expected = [each for each in knowledge.documents() if ModelFinder(BaseCondition).find(each)]
    found = models.holders(BaseCondition)
    assert expected
    assert sorted(map(id, found)) == sorted(map(id, expected))
    assert {type(each) for each in models.holders(Transition)} == {Transition}


def test_a_variable_is_found_in_a_step_that_utf_8_cannot_hold():
    step = {"action": {"action_type": "fill", "target": "go", "value": "\ud800 {nobody}"}}
    found = _problems(_with({"type": "task", "task_id": "extra", "name": "E", "steps": [step]}))
    assert [each.path for each in found if each.rule == "context-first"] == ["$.steps[0].action.value"]


@pytest.mark.parametrize("different", [{"exact": True}, {"value": "Yes"}, {"selector": "#a"}])
def test_any_field_that_a_condition_means_tells_screens_apart(different):
    def screen(name, **more):
        signature = {
            "primary_indicators": [{"type": "dom_contains", "value": "yes", "selector": "#b", **more}]
        }
        return {"type": "screen", "screen_id": name, "name": name, "state_signature": signature}

    assert _problems(_with(screen("alpha"), screen("beta", **different))) == []
    assert _problems(_with(screen("alpha"), screen("beta", weight=0.5, timeout=3)), "negative-signature")
