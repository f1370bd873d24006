"""Kinds, aliases and the place of every problem."""

from __future__ import annotations

import json
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from pydantic import ValidationError

from kb_schema import MODELS, KnowledgeError, SourcedDocument, assemble, parse_document, parse_fragment
from kb_schema.action_types import ACTION_TYPES, canonical
from kb_schema.base import Model, split_reference
from kb_schema.documents import kind_of
from kb_schema.json_schemas import all_schemas, json_schema
from kb_schema.selectors import Selector
from tests.kb_schema.ks_examples import DOCUMENTS, document, parts_of
from tests.kb_store.sample_knowledge import documents_of, knowledge_of

SAMPLES = {parse_document(d).kind: d for d in documents_of()}

WORDS = st.text("abcdefgh_", min_size=1, max_size=8).map(lambda s: "a" + s)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20)
CONDITIONS = st.deferred(
    lambda: st.one_of(
        st.builds(lambda v: {"type": "url_contains", "value": v}, TEXTS),
        st.builds(lambda v, s: {"type": "dom_contains", "value": v, "selector": s}, TEXTS, st.none() | TEXTS),
        st.builds(lambda e, w: {"type": "element_visible", "element_id": e, "weight": w}, WORDS, st.none() | st.floats(0.1, 9)),
        st.builds(lambda e, v: {"type": "field_has_value", "field_id": e, "value": v}, WORDS, TEXTS | st.booleans() | st.integers(-99, 99)),
        st.builds(lambda n, x: {"type": "element_count", "selector": "li", "min": n, "max": x}, st.integers(0, 9), st.none() | st.integers(0, 9)),
        st.builds(lambda t, c: {"type": t, "conditions": c}, st.sampled_from(["all_of", "any_of", "none_of"]), st.lists(CONDITIONS, min_size=1, max_size=2)),
    )
)  # fmt: skip
STRATEGIES = st.one_of(
    st.builds(lambda v: {"type": "css", "value": v}, TEXTS),
    st.builds(lambda n, e: {"strategy": "label", "name": n, "exact": e}, TEXTS, st.booleans()),
    st.builds(lambda n: {"type": "role_name", "role": "button", "name": n}, TEXTS),
    st.builds(lambda v: {"strategy": "__id__", "value": v}, TEXTS),
    st.builds(lambda i: {"type": "dom_index", "index": i, "fallback": True}, st.integers(0, 99)),
    st.builds(
        lambda v, s: {"selector": v, "score": s, "meta": {"strategy": "label"}}, TEXTS, st.floats(0, 1)
    ),
)


# -- kinds and aliases


@pytest.mark.parametrize("kind", MODELS)
def test_every_kind_has_a_sample_and_is_recognised(kind):
    assert kind_of(SAMPLES[kind]) == kind
    assert parse_document(SAMPLES[kind]).kind == kind


@pytest.mark.parametrize(
    ("reference", "expected"),
    [
        ("screen/x", ("screen", "x")), ("screens/x", ("screen", "x")), ("screen:x", ("screen", "x")),
        ("screen_group/x", ("screen_group", "x")), ("groups/x", ("screen_group", "x")),
        ("screen_groups/x", ("screen_group", "x")), ("task:x", ("task", "x")),
        ("presentation:x", ("presentation_flow", "x")), ("x", (None, "x")), ("colour/x", (None, "colour/x")),
    ],
)  # fmt: skip
def test_the_names_of_one_collection_are_one(reference, expected):
    assert split_reference(reference) == expected


@pytest.mark.parametrize("group", ["groups/g", "screen_group/g", "screen_groups/g", "group/g", "g"])
@pytest.mark.parametrize("screen", ["screen/s", "screens/s", "screen:s", "s"])
def test_an_edge_names_its_ends_in_any_of_the_spellings(group, screen):
    edge = parse_document({"type": "belongs_to", "_from": screen, "_to": group})
    assert (edge.screen, edge.group) == ("s", "g")


def test_an_edge_may_not_end_in_another_kind():
    with pytest.raises(KnowledgeError, match="names a task, expected a screen"):
        parse_document({"type": "belongs_to", "_from": "task/s", "_to": "groups/g"})


@pytest.mark.parametrize("name", ["fill", "type", "type_text", "input_text", "ElementInteraction.InputText"])
def test_the_names_of_one_action_are_one(name):
    assert canonical(name) == "fill"


def test_an_action_name_is_taken_once():
    names = [n for action in ACTION_TYPES.values() for n in (action.name, *action.aliases)]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize(
    ("written", "canonical_form"),
    [
        ("#save", {"type": "css", "value": "#save"}),
        ({"strategy": "id", "value": "save"}, {"type": "id", "value": "save"}),
        ({"type": "testid", "value": "save"}, {"type": "data-testid", "value": "save"}),
        ({"strategies": [{"strategy": "__id__", "value": "7"}]}, {"type": "framework_id", "value": "7"}),
        (
            {"strategies": [{"selector": "#a", "score": 0.9, "meta": {"strategy": "label"}}]},
            {"type": "css", "value": "#a", "confidence": 0.9, "meta": {"found_by": "label"}},
        ),
    ],
)
def test_the_forms_of_a_selector_are_one_list_of_strategies(written, canonical_form):
    assert Selector.model_validate(written).to_json() == {"strategies": [canonical_form]}


def test_the_words_for_target_and_value_are_one_each():
    for word in ("target", "field_selector", "element_selector", "element_id", "field_id", "selector"):
        for value in ("value", "text", "option_value", "keys", "file_path"):
            step = {"action": {"action_type": "fill", word: "name", value: "x"}}
            task = parse_document({"task_id": "t", "steps": [step]})
            assert (task.steps[0].action.target, task.steps[0].action.value) == ("name", "x")


# -- canonical form


@pytest.mark.parametrize("kind", MODELS)
def test_the_canonical_form_of_every_kind_parses_to_the_same(kind):
    parsed = parse_document(SAMPLES[kind])
    again = parse_document({"type": parsed.type, **json.loads(json.dumps(parsed.to_json()))})
    assert again == parsed


@settings(deadline=None)
@given(
    required=st.lists(CONDITIONS, max_size=3),
    strategies=st.lists(STRATEGIES, min_size=1, max_size=3),
    label=TEXTS,
)
def test_any_screen_survives_its_canonical_form(required, strategies, label):
    screen = parse_document({
        "screen_id": "s", "name": label, "state_signature": {"indicators": {"required": required}},
        "ui_elements": [{"element_id": "e", "type": "x", "selector": {"strategies": strategies}, "metadata": {"label": label}}],
    })  # fmt: skip
    body = screen.to_json()
    again = parse_document(json.loads(json.dumps(body)))
    assert again == screen
    assert again.to_json() == body


# -- places


def _told(data):
    try:
        parse_document(data)
    except KnowledgeError as exc:
        return exc.problems
    return ()


def _problems(data):
    with pytest.raises(KnowledgeError) as caught:
        parse_document(data, source="f.yaml")
    return {problem.path: problem for problem in caught.value.problems}


def test_every_problem_of_a_document_is_told_with_its_path():
    problems = _problems({
        "type": "task", "task_id": "t", "descripton": "x", "io_spec": {"inputs": [{"name": "1x"}]},
        "steps": [
            {"action": {"action_type": "fill"}, "preconditions": [{"type": "elemnt_visible", "element": "x"}]},
            {"action": {"action_type": "fill", "colour": 1}, "order": 0},
        ],
    })  # fmt: skip
    assert set(problems) == {
        "$.descripton", "$.io_spec.inputs[0].name", "$.steps[0].preconditions[0]", "$.steps[1].action.colour",
        "$.steps[1].order",
    }  # fmt: skip
    assert problems["$.descripton"].fix == 'did you mean "description"?'
    assert problems["$.steps[0].preconditions[0]"].fix == 'did you mean "element_visible"?'
    assert {problem.source for problem in problems.values()} == {"f.yaml"}
    assert {problem.document for problem in problems.values()} == {"task:t"}


def test_a_path_into_a_union_has_no_names_of_classes_in_it():
    problems = _problems({
        "screen_id": "s", "name": "s",
        "ui_elements": [{"element_id": "e", "type": "x", "selector": {"strategies": [
            {"type": "css"}, {"type": "semantic"}, {"type": "label", "name": ""}]}}],
    })  # fmt: skip
    strategies = "$.ui_elements[0].selector.strategies"
    assert set(problems) == {f"{strategies}[0].value", f"{strategies}[1]", f"{strategies}[2].name"}


def test_an_id_that_contradicts_itself_is_refused():
    assert "$._id" in _problems({"_id": "screen:a", "screen_id": "b", "name": "x"})


@pytest.mark.parametrize("data", [{}, {"type": "nonsense"}, {"_from": "a", "_to": "b"}, {"colour": 1}])
def test_what_cannot_be_told_apart_is_said_to_be_so(data):
    (problem,) = _problems(data).values()
    assert "add a `type`" in problem.fix or "one of" in problem.fix


@pytest.mark.parametrize("data", [None, [], "x", 7, True])
def test_what_is_no_object_is_refused(data):
    with pytest.raises(KnowledgeError, match="expected an object"):
        parse_document(data)


@settings(deadline=None)
@given(data=st.dictionaries(WORDS | st.sampled_from(["type", "steps", "_from", "_to", "_id", "screen_id", "task_id"]),
                            st.recursive(st.none() | st.integers() | TEXTS | st.sampled_from(list(MODELS)), lambda x: st.lists(x, max_size=2) | st.dictionaries(WORDS, x, max_size=2), max_leaves=5)))  # fmt: skip
def test_any_json_is_accepted_or_refused_in_our_words(data):
    assert all(problem.path.startswith("$") and problem.message for problem in _told(data))


def test_a_fragment_refuses_unknown_fields_with_their_path():
    with pytest.raises(KnowledgeError) as caught:
        parse_fragment("task", {"io_spec": {"inputs": [{"name": "x", "source": "thin_air"}]}, "stps": []})
    assert [p.path for p in caught.value.problems] == ["$.io_spec.inputs[0].source[0]", "$.stps"]


# -- JSON Schema


@cache
def _validator(kind):
    return Draft202012Validator(json_schema(kind))


@cache
def _check_schema(written):
    """Kinds share most of their definitions: each is checked once."""
    Draft202012Validator.check_schema(json.loads(written))


@pytest.mark.parametrize("kind", MODELS)
def test_the_json_schema_of_every_kind_is_valid_2020_12(kind):
    schema = json_schema(kind)
    for part in ({**schema, "$defs": {}}, *schema.get("$defs", {}).values()):
        _check_schema(json.dumps(part))


def test_all_schemas_are_those_of_each_kind():
    assert all_schemas() == {kind: json_schema(kind) for kind in MODELS}
    assert {schema["$id"] for schema in all_schemas().values()} == {f"periplus:{kind}" for kind in MODELS}


@pytest.mark.parametrize("kind", MODELS)
def test_the_json_schema_accepts_the_canonical_form_of_every_kind(kind):
    parsed = parse_document(SAMPLES[kind])
    _validator(kind).validate({"type": parsed.type, **parsed.to_json()})


@pytest.mark.parametrize("name", [*DOCUMENTS, "23_recovery_edges_three", "25_task_linear_good"])
def test_the_json_schema_accepts_the_canonical_form_of_the_documents_of_ks(name):
    for part in parts_of(name):
        parsed = parse_document(part)
        _validator(parsed.kind).validate({"type": parsed.type, **parsed.to_json()})


@pytest.mark.parametrize(
    "data",
    [
        {"type": "screen", "screen_id": "s"},
        {"type": "screen", "screen_id": "s", "name": "s", "colour": 1},
        {"type": "screen", "screen_id": "a b", "name": "s"},
        {"type": "screen", "screen_id": "s", "name": "s", "ui_elements": [{"element_id": "x"}]},
    ],
)
def test_the_json_schema_refuses_what_the_models_refuse(data):
    assert list(_validator("screen").iter_errors(data))
    with pytest.raises(KnowledgeError):
        parse_document(data)


# -- whole knowledge bases


def test_documents_take_the_website_of_their_folder():
    knowledge = knowledge_of("shop")
    assert {document.website_id for document in knowledge.documents()} == {"shop"}


def test_a_knowledge_base_has_exactly_one_website_and_no_twins():
    documents = documents_of()
    for wrong, message in (
        (documents[1:], "no website document"),
        ([*documents, {**documents[0], "website_id": "other"}], "2 website documents"),
        ([*documents, documents[-1]], "duplicate transition id"),
        ([*documents, {"screen_id": "x", "name": "x", "website_id": "other"}], "belongs to website 'other'"),
    ):
        with pytest.raises(KnowledgeError, match=message):
            assemble([SourcedDocument(parse_document(d)) for d in wrong])


def test_an_element_of_the_screen_hides_the_layouts():
    documents = documents_of()
    menu = [{"element_id": name, "type": "link", "selector": f"#{name}"} for name in ("home", "go")]
    documents[0]["layouts"] = {"shell": menu}
    documents[-3]["layouts"] = ["shell"]
    knowledge = assemble([SourcedDocument(parse_document(d)) for d in documents])[0]
    elements = knowledge.elements("screen_3")
    assert list(elements) == ["home", "go"]
    assert elements["go"].type == "button"
    assert document("01_screen_agent_create")["screen_id"] not in knowledge.screens


@pytest.mark.parametrize(
    ("document", "said"),
    [
        (
            {"type": "screen", "screen_id": "s", "name": "S", "state_signature": {
                "recognition_strategy": "vision", "required_indicators": [{"type": "dom_element", "selector": "h1"}]}},
            "the only strategy is `multi_indicator`",
        ),
        (
            {"type": "task", "task_id": "t", "steps": [{"step_id": "s", "action": "no_op"}], "iterator_spec": {
                "type": "list_processing", "items": "{x}", "item_action": {"task_id": "u", "reuse_task": False}}},
            "every item runs the same task",
        ),
    ],
)  # fmt: skip
def test_what_has_one_meaning_only_is_refused_with_another(document, said):
    with pytest.raises(KnowledgeError, match=said):
        parse_document(document)


@pytest.mark.parametrize(
    ("field", "fix"),
    [
        ("postcondition", 'did you mean "postconditions"?'),
        ("max_attempts", "remove it"),
        ("screen_id", "it is a field of another place: move it there, or remove it"),
    ],
)
def test_an_unknown_field_is_compared_with_the_fields_of_its_place(field, fix):
    step = {"step_id": "a", "order": 1, "action": {"action_type": "click", "target": "#a"}, field: 3}
    with pytest.raises(KnowledgeError) as told:
        parse_document({"type": "task", "task_id": "t", "name": "T", "steps": [step]})
    assert [(each.path, each.fix) for each in told.value.problems] == [(f"$.steps[0].{field}", fix)]


@pytest.mark.parametrize(
    ("document", "fix"),
    [
        ({"type": "screen", "screen_id": "s", "name": "S", "elements": []}, 'did you mean "ui_elements"?'),
        ({"type": "task", "task_id": "t", "name": "T", "inputs": []},
         "it is a field of `io_spec` and of `read_back` and of `reversibility`: move it there, or remove it"),
        ({"type": "transition", "_from": "screen/a", "_to": "screen/b", "estimated_ms": 3},
         "it is a field of `cost`: move it there, or remove it"),
        ({"type": "workflow", "workflow_id": "w", "name": "W", "colour": "red"}, "remove it"),
    ],
)  # fmt: skip
def test_an_unknown_field_names_the_nearest_field_by_its_words_or_the_part_that_has_it(document, fix):
    with pytest.raises(KnowledgeError) as told:
        parse_document(document)
    assert fix in [each.fix for each in told.value.problems]


@pytest.mark.parametrize(
    ("parameter", "said"),
    [
        ({"type": "number", "default": "fast"}, "default: expected number, found 'fast'"),
        ({"type": "boolean", "default": 2}, "default: expected boolean, found 2"),
        ({"type": "number", "default": "fast", "secret": True}, "default: expected number"),
        ({"type": "number", "default": "35"}, None),
        ({"type": "array", "default": "a, b"}, None),
        ({"type": "number", "default": "{speed}"}, None),
        ({"type": "string", "default": "fast"}, None),
    ],
)
def test_the_default_of_an_actions_parameter_has_its_type(parameter, said):
    step = {"step": 1, "action": "click", "target": "{field_selector}"}
    action = {
        "type": "action",
        "action_id": "a",
        "name": "A",
        "execution_steps": [step],
        "parameters": {"p": parameter},
    }
    if said is None:
        parse_document(action)
        return
    with pytest.raises(KnowledgeError) as told:
        parse_document(action)
    (problem,) = told.value.problems
    assert problem.path == "$.parameters.p"
    assert problem.message.startswith(said)
    assert "fast" not in problem.message or not parameter.get("secret")


class _Named(Model):
    name: str = ""
    parts: tuple[str, ...] = ()


class _Called(Model):
    name: str = ""
    parts: tuple[str, ...] = ()


def test_models_are_equal_by_their_fields_and_their_type():
    assert _Named(name="a") == _Named.model_construct(name="a", parts=())
    assert _Named() == _Named(parts=())
    assert _Named(name="a") != _Named(name="b")
    assert _Named() != _Called()
    assert _Named(name="a") != {"name": "a", "parts": ()}
    noted = _Named(name="a")
    noted.__dict__["remembered"] = 1  # as a cached property does
    assert noted == _Named(name="a") == noted
    assert noted != _Named(name="b")


@pytest.mark.parametrize("kind", [["css"], {"css": 1}, 7, None])
def test_a_strategy_whose_type_is_no_text_is_refused(kind):
    with pytest.raises(ValidationError):
        Selector.model_validate({"strategies": [{"type": kind, "value": "#a"}]})
