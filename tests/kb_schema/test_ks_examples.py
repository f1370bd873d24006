"""Every JSON example of KS loads: whole documents verbatim, fragments as the part they show."""

from __future__ import annotations

import json

import pytest

from kb_schema import KnowledgeError, parse_document, parse_fragment
from kb_schema.action_calls import ExecutionStep
from kb_schema.action_documents import Action
from kb_schema.conditions import DomContains, ElementHidden
from kb_schema.graph_documents import GlobalRecovery, Transition
from kb_schema.io_specs import IoSpec
from kb_schema.presentation_flows import Segment
from kb_schema.screens import Signature, UIElement
from kb_schema.selectors import TemplateStrategy
from kb_schema.tasks import Task
from tests.kb_schema.ks_examples import DOCUMENTS, document, names, parts_of, text_of

NOT_JSON = {name for name in names() if name[:2] in {"13", "14", "23", "24", "25", "26"}}


def test_all_26_blocks_are_here_and_six_have_comments():
    assert len(names()) == 26
    for name in names():
        if name in NOT_JSON:
            with pytest.raises(json.JSONDecodeError):
                json.loads(text_of(name))
        else:
            json.loads(text_of(name))


def test_every_block_is_tested():
    tested = {*DOCUMENTS, *(name for name in names() if int(name[:2]) >= 13)}
    assert tested == set(names())


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_whole_document_loads_verbatim(name):
    data = document(name)
    parsed = parse_document(data)
    kind = name[3:].split("_")[0]
    assert parsed.kind.startswith(kind)
    assert json.loads(text_of(name)) == data, "parsing changed its input"


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_documents_canonical_form_is_the_same_document(name):
    parsed = parse_document(document(name))
    canonical = parsed.to_json()
    kind = {"type": parsed.type}
    again = parse_document({**kind, **json.loads(json.dumps(canonical))})
    assert again == parsed
    assert again.to_json() == canonical


# -- what the documents say survives


def test_the_screen_keeps_its_indicators_elements_and_templates():
    screen = parse_document(document("01_screen_agent_create"))
    signature = screen.state_signature
    assert [len(signature.required_indicators), len(signature.optional_indicators)] == [2, 1]
    assert [len(signature.exclusion_indicators), len(signature.negative_indicators)] == [1, 2]
    name, language, save, row = screen.ui_elements
    assert name.affordances[0].validation.max_length == 100
    assert [option.value for option in language.affordances[0].options] == ["en-US", "hi-IN", "es-ES"]
    assert [c.hard_dependency for c in save.affordances[0].preconditions] == [True, True, False]
    assert save.affordances[0].preconditions[2].remediation_task_id == "login"
    assert row.selector.parameterized
    assert row.selector.required_context == {"target_agent_name"}
    assert [s.fallback for s in row.selector.ordered] == [False, False, True]
    assert row.label == "Agent List Item"


def test_the_action_keeps_its_recipe_and_its_undoing():
    action = parse_document(document("02_action_type_text"))
    assert [step.canonical_type for step in action.execution_steps] == ["focus", "clear", "fill", "wait_for"]
    assert action.execution_steps[1].condition == "{clear_first}"
    assert action.execution_steps[2].value == "{text}"
    assert action.execution_steps[3].observability_trigger.fallback.duration == 0.5
    assert (action.idempotent, action.reversible_by) == (True, "clear_field")
    assert [rule.condition for rule in action.error_handling] == ["element_not_found", "element_not_editable"]
    assert not parse_document(document("03_action_click_submit")).idempotent


def test_the_task_keeps_its_inputs_outputs_and_steps():
    task = parse_document(document("04_task_create_agent"))
    agent_name, language, token = task.io_spec.inputs
    assert agent_name.source == ("user_input", "template", "context")
    assert language.default == "en-US"
    assert (token.source, token.volatility, token.refresh_on_use) == (
        ("scraped", "generated_value"),
        "high",
        True,
    )
    assert task.io_spec.outputs[0].extraction.fallback.method == "url_parsing"
    assert [step.action.target for step in task.ordered_steps[1:]] == [
        "agent_name_input", "language_dropdown", "save_button",
    ]  # fmt: skip
    assert task.steps[3].validation.to_screen == "agent_list"
    assert [rule.recovery for rule in task.failure_recovery.strategies] == [
        "identify_and_fix_errors", "verify_current_state",
    ]  # fmt: skip
    assert task.iterator_spec.type == "none"


def test_the_iterator_ends_when_its_rows_are_gone():
    spec = parse_document(document("05_task_delete_all_emails")).iterator_spec
    assert spec.item_action.task_id == "delete_single_email"
    assert isinstance(spec.termination_condition, ElementHidden)
    assert spec.termination_condition.element == ".email-row"


def test_edges_keep_their_numbers():
    edge = parse_document(document("06_transition_create_to_list"))
    assert isinstance(edge, Transition)
    assert (edge.from_screen, edge.to_screen, edge.local_id) == (
        "agent_create",
        "agent_list",
        "create_to_list",
    )
    assert (edge.expected_ms, edge.reliability) == (2000, 0.95)
    assert [state.screen_id for state in edge.error_states] == ["agent_create", "error_page"]


@pytest.mark.parametrize("name", ["07_global_recovery_to_dashboard", "11_global_recovery_edge"])
def test_the_two_spellings_of_a_recovery_edge_are_one(name):
    edge = parse_document(document(name))
    assert isinstance(edge, GlobalRecovery)
    assert (edge.from_group, edge.to_screen) == ("authenticated_pages", "dashboard")
    assert [call.action_type for call in edge.triggered_by.fallback_actions] == ["navigate", "click"]


def test_a_recovery_edge_takes_its_groups_priority():
    group = parse_document(document("09_screen_group_authenticated_pages"))
    edge = parse_document(document("07_global_recovery_to_dashboard"))
    assert (group.group_id, group.website_id) == ("authenticated_pages", "spadeworks")
    assert edge.priority(group) == 1
    assert edge.priority(None) == 2


def test_the_flow_keeps_its_story():
    flow = parse_document(document("08_presentation_flow_spadeworks_demo"))
    creation = flow.ordered_segments[3]
    assert [t.type for t in creation.input_mapping["expiry_date"].transforms] == ["add_days", "format_date"]
    assert creation.narrative_hooks[1].step_id == "fill_agent_name"
    assert flow.ordered_segments[4].skip_conditions[0].remaining_time == 300
    assert flow.transitions[2].condition.fallback == "skip_to_campaigns"
    assert [path.condition for path in flow.fallback_paths] == ["time_running_out", "user_interrupts"]


def test_the_nested_form_of_a_signature_is_the_same_model():
    signature = parse_document(document("12_state_signature_dashboard"))
    assert [c.weight for c in signature.primary_indicators] == [0.4, 0.3, 0.3]
    assert [len(signature.optional_indicators), len(signature.exclusion_indicators)] == [2, 2]
    assert len(signature.negative_indicators) == 2
    assert signature.positive == (*signature.primary_indicators, *signature.optional_indicators)


# -- fragments


def test_a_task_may_take_another_tasks_output():
    (part,) = parts_of("13_task_context_input")
    (spec,) = parse_fragment(Task, part)["io_spec"].inputs
    assert (spec.source, spec.from_task, spec.from_output) == (
        ("task_context",),
        "create_agent",
        "created_agent_id",
    )


def test_segments_hand_values_on_by_name():
    first, second = [parse_fragment(Segment, part) for part in parts_of("14_segments_two")]
    assert first["input_mapping"]["agent_name"].persist_as == second["input_mapping"]["search_query"].key


def test_a_parameterised_selector_declares_its_parameters():
    selector = parse_fragment(UIElement, document("15_parameterized_selector"))["selector"]
    (strategy,) = selector.strategies
    assert isinstance(strategy, TemplateStrategy)
    assert (strategy.language, selector.required_context) == ("css", {"target_agent_name"})


@pytest.mark.parametrize("name", ["16_negative_indicators", "26_negative_signature"])
def test_negative_indicators_are_conditions(name):
    (part,) = parts_of(name)
    (indicator,) = parse_fragment(Signature, part)["negative_indicators"]
    assert isinstance(indicator, DomContains)
    assert (indicator.value, indicator.selector) == ("Delete", "button")


def test_edges_have_cost_and_reliability():
    fields = parse_fragment(Transition, document("17_edge_cost_and_reliability"))
    assert (fields["cost"].estimated_ms, fields["reliability_score"]) == (2000, 0.95)
    assert fields["reliability_metrics"].success_count == 950


def test_actions_say_how_they_are_undone():
    fields = parse_fragment(Action, document("18_action_idempotency"))
    assert (fields["idempotent"], fields["reversibility"].action_id) == (True, "clear_field")


def test_a_wait_is_for_an_event():
    step = ExecutionStep.model_validate({"step": 1, **document("19_execution_step_wait_for")})
    assert (step.observability_trigger.event, step.observability_trigger.timeout) == ("dom_mutation", 2.0)


def test_iteration_is_stated_beside_the_steps():
    spec = parse_fragment(Task, document("20_task_iterator_spec"))["iterator_spec"]
    assert (spec.type, spec.max_iterations, spec.error_handling.on_error) == (
        "collection_processing",
        50,
        "abort",
    )


def test_preconditions_are_hard_or_soft():
    conditions = parse_fragment(Action, document("21_action_preconditions"))["preconditions"]
    assert [(c.hard_dependency, c.auto_remediate) for c in conditions] == [
        (True, False),
        (False, True),
        (False, True),
    ]
    assert conditions[2].remediation_params == {"duration": 2.0}


def test_inputs_have_a_volatility():
    inputs = parse_fragment(IoSpec, document("22_inputs_volatility"))["inputs"]
    assert [i.volatility for i in inputs] == ["low", "high", "medium"]
    assert inputs[2].ttl_seconds == 3600


def test_three_recovery_edges_are_ranked_by_priority():
    edges = [parse_document(part) for part in parts_of("23_recovery_edges_three")]
    assert [(edge.to_screen, edge.recovery_priority) for edge in edges] == [
        ("dashboard", 1),
        ("current", 2),
        ("home", 3),
    ]
    assert [edge.stays for edge in edges] == [False, True, False]


def test_the_block_called_bad_is_refused_by_the_rule_it_breaks():
    (part,) = parts_of("24_task_with_a_loop_bad")
    with pytest.raises(KnowledgeError) as caught:
        parse_document({"task_id": "bad", **part})
    (problem,) = caught.value.problems
    assert (problem.rule, problem.path) == ("no-graph-loops", "$.steps[2].action")
    assert "iterator_spec" in problem.message


def test_the_block_called_good_is_accepted():
    (part,) = parts_of("25_task_linear_good")
    task = parse_document(part)
    assert [step.step_id for step in task.steps] == ["step_1", "step_2"]
