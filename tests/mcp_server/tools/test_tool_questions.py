"""The questions of KS 7.7, each by one call: what can I do, what is next, who can reach this, how to show it."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kb_schema import KnowledgeBase, SourcedDocument, assemble, parse_document
from kb_schema.tool_answers import TaskAnswer
from mcp_server import cursors
from mcp_server.descriptions import answer_text, available_actions, demo_search, document_summaries
from mcp_server.errors import BadRequest, UnknownName
from mcp_server.identification.screen_identification import identify
from mcp_server.knowledge.compiled_view import compile_view
from mcp_server.tasks import next_steps, screen_tasks
from tests.mcp_server import pantry
from web_pages.stored_pages import answer_probes

OTHER_TASKS = (
    {
        "type": "task",
        "task_id": "stock_up",
        "description": "Sign in and add many jars",
        "io_spec": {"inputs": [{"name": "email"}, {"name": "labels", "type": "array"}]},
        "iterator_spec": {
            "type": "list_processing",
            "items": "{labels}",
            "item_action": {"task_id": "add_jar", "inputs": {"label": "{item}"}},
            "termination_condition": {"type": "max_iterations_reached"},
            "max_iterations": 9,
        },
        "steps": [
            {"step_id": "get_in", "action": {"action_type": "run_task", "task_id": "sign_in", "inputs": {"email": "{email}"}}},
            {"step_id": "each", "action": {"action_type": "execute_iterator"}},
            {"step_id": "leave", "action": {"action_type": "click", "target": "sign_out"}},
        ],
        "success_criteria": [{"type": "on_screen", "screen_id": "sign_in_page"}],
    },
    {
        "type": "task",
        "task_id": "refresh_often",
        "iterator_spec": {
            "type": "until",
            "item_action": {"action": "refresh"},
            "termination_condition": {"type": "dom_contains", "value": "Your jars"},
        },
        "steps": [{"step_id": "look", "action": {"action_type": "execute_iterator"}}],
    },
)  # fmt: skip


@pytest.fixture(scope="module")
def view():
    return compile_view(pantry.knowledge(also=OTHER_TASKS), "1")


# -- what can I do here? -------------------------------------------------------------------------


def identified(view, page, **more):
    return identify(view, page, answer_probes, **more)


def test_a_page_is_answered_with_what_can_be_done_on_it(view):
    answer = available_actions.describe_identified_screen(view, identified(view, pantry.NEW), "working")
    assert (answer.screen_id, answer.confidence) == ("jar_new", 1.0)
    assert [a.element_id for a in answer.actions] == ["sign_out", "label", "save"]


def test_an_action_comes_with_what_must_hold_before_it():
    filled = {"type": "field_filled", "field_id": "kind"}
    press = {"action_type": "click", "preconditions": [filled, {"type": "authenticated"}]}
    screen = {"type": "screen", "screen_id": "labels", "name": "Labels", "url_patterns": ["^/labels$"], "ui_elements": [
        {"element_id": "kind", "type": "input", "selector": "#kind", "affordances": [{"action_type": "fill"}]},
        {"element_id": "print", "type": "button", "selector": "#print", "affordances": [press]}]}  # fmt: skip
    view = compile_view(pantry.knowledge(also=(screen,)), "1")
    needed = {
        a.element_id: a.preconditions for a in available_actions.available_actions(view, "labels").actions
    }
    assert needed["kind"] == ()
    assert [text.split()[0] for text in needed["print"]] == ["field_filled", "authenticated"]
    assert "kind" in needed["print"][0]


def test_a_page_that_is_no_known_screen_is_answered_with_the_ways_out(view):
    lost = identified(view, pantry.LOST, last_known="jar_new")
    answer = available_actions.describe_identified_screen(view, lost, "working")
    assert answer.screen_id is None
    assert [option.recovery_id for option in answer.recovery] == ["look_again", "home_again"]
    assert len(available_actions.describe_identified_screen(view, lost, "summary").recovery) == 1
    assert "unknown screen" in answer_text.render_actions(answer)


def test_a_summary_begins_with_what_must_be_done_and_what_leads_on(view):
    answer = available_actions.available_actions(view, "jar_new", "summary")
    assert answer.can == ("fill label*", "click save -> shelf, sign_out")
    assert (answer.actions, answer.more, answer.tasks) == ((), 0, ("add_jar",))


def crowded(elements: int, name: str = "field", tasks: int = 0) -> KnowledgeBase:
    ids = [f"{name}_{number}" for number in range(elements)]
    documents = [
        {"type": "website", "website_id": "big", "name": "Big", "base_url": "https://big.example"},
        {"type": "screen", "screen_id": "form", "name": "Form", "url_patterns": ["^/$"], "ui_elements": [
            {"element_id": each, "type": "input", "selector": f"#{each}",
             "affordances": [{"action_type": "fill", "required": number % 3 == 0}]}
            for number, each in enumerate(ids)]},
        *({"type": "task", "task_id": f"task_{name}_{number}", "steps": [
            {"action": {"action_type": "fill", "target": ids[0], "value": "x"}}]} for number in range(tasks)),
    ]  # fmt: skip
    return assemble([SourcedDocument(parse_document(each)) for each in documents])[0]


@pytest.mark.parametrize("elements", [1, 40, 500])
@pytest.mark.parametrize("name", ["f", "a_rather_long_name_for_a_field_that_somebody_chose_once_upon_a_time"])
def test_a_summary_has_the_same_size_whatever_is_on_the_page(elements, name):
    view = compile_view(crowded(elements, name, tasks=elements), "1")
    answer = available_actions.available_actions(view, "form", "summary")
    assert len(json.dumps(answer.to_json())) + len(answer_text.render_actions(answer)) < 1_000
    shown = sum(line.count(",") + 1 for line in answer.can)
    assert shown + len(answer.tasks) + answer.more == 2 * elements


# -- what is next? -------------------------------------------------------------------------------


def walk(view, task_id, *, items=2):
    """Every path told from the first step to the last, iterating so many times."""
    task, told, after, left = view.knowledge.tasks[task_id], [], None, items
    while True:
        answer = next_steps.next_step(view, task, after)
        if any(level.again for level in answer.within):
            left -= 1
            if left == 0:
                if answer.otherwise == "done":
                    return told
                after = answer.otherwise
                told.append(after)
                continue
        if answer.path is None:
            return told
        told.append(answer.path)
        after = answer.path


def test_sub_tasks_and_iterations_are_gone_into_and_come_out_of(view):
    assert walk(view, "stock_up") == [
        "get_in/step_1", "get_in/step_2", "get_in/step_3",
        "each/name_it", "each/keep_it", "each/name_it", "each/keep_it",
        "leave",
    ]  # fmt: skip
    assert walk(view, "refresh_often", items=3) == ["look/item"] * 3


def test_a_step_inside_an_iteration_says_when_that_is_over_and_what_follows(view):
    answer = next_steps.next_step(view, view.knowledge.tasks["stock_up"], "each/keep_it")
    assert (answer.path, answer.otherwise, answer.screen_id) == ("each/name_it", "leave", "jar_new")
    outer, inner = answer.within
    assert (outer.task_id, inner.task_id, inner.kind, inner.again) == (
        "stock_up",
        "add_jar",
        "iteration",
        True,
    )
    assert (inner.max_iterations, inner.inputs) == (9, {"label": "{item}"})
    assert "max_iterations_reached" in inner.until


def test_a_sub_task_may_be_passed_over_as_a_whole(view):
    assert next_steps.next_step(view, view.knowledge.tasks["stock_up"], "get_in").path == "each/name_it"


def test_a_task_that_is_done_says_how_to_tell(view):
    answer = next_steps.next_step(view, view.knowledge.tasks["stock_up"], "leave")
    assert answer.step is None
    assert answer.success_criteria == ("on_screen 'sign_in_page'",)


@pytest.mark.parametrize(
    "path",
    ["nowhere", "get_in/nowhere", "leave/x", "each/item", "get_in/step_1/x", "/", "get_in//", "a/" * 900],
)
def test_a_step_there_is_not_is_refused_with_those_there_are(view, path):
    with pytest.raises(UnknownName):
        next_steps.next_step(view, view.knowledge.tasks["stock_up"], path)


def test_tasks_that_run_in_circles_by_iterators_end_somewhere():
    def turning(task_id, other):
        return {
            "type": "task", "task_id": task_id,
            "iterator_spec": {"type": "until", "item_action": {"task_id": other},
                              "termination_condition": {"type": "dom_contains", "value": "x"}},
            "steps": [{"step_id": "turn", "action": {"action_type": "execute_iterator"}}],
        }  # fmt: skip

    view = compile_view(pantry.knowledge(also=(turning("a", "b"), turning("b", "a"))), "1")
    first = next_steps.next_step(view, view.knowledge.tasks["a"])
    assert first.path.startswith("turn/turn/")
    next_steps.next_step(view, view.knowledge.tasks["a"], first.path)
    assert screen_tasks.find_screen_tasks(view, "shelf", reach=True).tasks


# -- which tasks? --------------------------------------------------------------------------------


def test_tasks_are_told_by_their_closest_relation_to_a_screen(view):
    found = {
        t.task_id: (t.relation, t.by) for t in screen_tasks.find_screen_tasks(view, "sign_in_page").tasks
    }
    assert found == {"sign_in": ("begins", None), "stock_up": ("begins", None)}
    found = {t.task_id: (t.relation, t.by) for t in screen_tasks.find_screen_tasks(view, "jar_new").tasks}
    assert found == {"add_jar": ("begins", None), "stock_up": ("by_subtask", "add_jar")}


def test_a_task_that_leads_to_a_screen_is_found_there():
    go = {"step_id": "go", "action": {"action_type": "navigate", "target_screen": "jar_new"}}
    leave = {
        "type": "task", "task_id": "leave", "steps": [go],
        "success_criteria": [{"type": "on_screen", "screen_id": "shelf"}],
    }  # fmt: skip
    view = compile_view(pantry.knowledge(also=(leave,)), "1")
    found = {t.task_id: t.relation for t in screen_tasks.find_screen_tasks(view, "shelf").tasks}
    assert found["leave"] == "ends"


def test_a_task_that_is_composed_of_another_by_an_edge_runs_it():
    whole = {
        "type": "task",
        "task_id": "whole",
        "steps": [{"step_id": "look", "action": {"action_type": "no_op"}}],
    }
    edge = {"type": "composes", "_from": "task/whole", "_to": "task/add_jar"}
    view = compile_view(pantry.knowledge(also=(whole, edge)), "1")
    found = {t.task_id: (t.relation, t.by) for t in screen_tasks.find_screen_tasks(view, "jar_new").tasks}
    assert found == {"add_jar": ("begins", None), "whole": ("by_subtask", "add_jar")}


def test_a_task_names_the_tasks_that_run_before_it():
    condition = {"type": "context_equals", "name": "empty", "value": True}
    edges = (
        {
            "type": "depends_on",
            "_from": "task/add_jar",
            "_to": "task/stock_up",
            "order": 2,
            "condition": condition,
        },
        {"type": "depends_on", "_from": "task/add_jar", "_to": "task/sign_in", "order": 1},
        {"type": "composes", "_from": "task/stock_up", "_to": "task/add_jar"},
    )
    view = compile_view(pantry.knowledge(also=(*OTHER_TASKS, *edges)), "1")
    answer = TaskAnswer(
        **dict(document_summaries.describe_document(view, view.knowledge.tasks["add_jar"], "working")),
        depends_on=document_summaries.describe_dependencies(view, "add_jar"),
    )
    assert [parse_document(each).to_task for each in answer.depends_on] == ["sign_in", "stock_up"]
    text = answer_text.render_task(answer)
    assert "depends on sign_in, which runs first\n" in text
    assert "depends on stock_up, which runs first if context_equals 'empty' True" in text


def test_tasks_in_reach_come_with_the_way_that_facts_leave_open(view):
    (add_jar,) = [
        t
        for t in screen_tasks.find_screen_tasks(view, "sign_in_page", reach=True).tasks
        if t.relation == "in_reach"
    ]
    assert (add_jar.task_id, add_jar.entry_screen) == ("add_jar", "jar_new")
    assert add_jar.way.transitions == ("sign_in_submit", "open_new_by_url")
    (signed_out,) = [
        t for t in screen_tasks.find_screen_tasks(view, "shelf", reach=True, facts={"authenticated": False}).tasks
        if t.task_id == "add_jar"
    ]  # fmt: skip
    assert signed_out.way.transitions == ("sign_out", "sign_in_submit", "open_new_by_url")


def test_tasks_come_a_page_at_a_time_each_once(view):
    pages, cursor = [], None
    while True:
        page = screen_tasks.find_screen_tasks(view, "sign_in_page", reach=True, cursor=cursor, size=1)
        pages += [t.task_id for t in page.tasks]
        cursor = page.next_cursor
        if cursor is None:
            break
    assert pages == [
        t.task_id for t in screen_tasks.find_screen_tasks(view, "sign_in_page", reach=True).tasks
    ]
    first = screen_tasks.find_screen_tasks(view, "sign_in_page", reach=True, size=1)
    with pytest.raises(BadRequest, match="cursor"):
        screen_tasks.find_screen_tasks(view, "shelf", reach=True, cursor=first.next_cursor)


@given(
    st.one_of(st.text(max_size=60), st.binary(max_size=40).map(repr), st.just("W10"), st.just("[" * 50_000))
)
def test_any_text_that_is_no_cursor_is_refused(text):
    with pytest.raises(BadRequest):
        cursors.read(text, "question")


@given(st.integers(0, 10**9), st.text(max_size=30))
def test_a_cursor_says_again_where_it_stood(position, question):
    assert cursors.read(cursors.make(position, question), question) == position


# -- how is it shown, where is it said? ------------------------------------------------------------


def test_a_demo_is_found_by_what_its_segments_show(view):
    flow = {
        "type": "presentation_flow", "flow_id": "deep", "name": "Deep dive",
        "segments": [
            {"segment_id": "welcome", "type": "conversational", "narration_template": "Hello"},
            {"segment_id": "adding", "type": "task_execution", "task_id": "add_jar"},
        ],
    }  # fmt: skip
    view = compile_view(pantry.knowledge(also=(flow,)), "1")
    shown = demo_search.find_demo(view, "put a new jar on the shelf")
    assert (shown.flow.flow_id, shown.segments) == ("deep", ("adding",))
    assert demo_search.find_demo(view, "marmalade").flow.flow_id == "tour"
    with pytest.raises(BadRequest, match="no demo shows"):
        demo_search.find_demo(view, "zeppelin")


def test_a_demo_is_chosen_by_whom_it_is_for():
    def flow(name, audience):
        adding = {"segment_id": "adding", "type": "task_execution", "task_id": "add_jar"}
        return {
            "type": "presentation_flow",
            "flow_id": name,
            "name": name,
            "audience": audience,
            "segments": [adding],
        }

    flows = (flow("for_cooks", "Cooks and gardeners"), flow("for_buyers", "Buyers"))
    view = compile_view(pantry.knowledge(also=flows), "1")
    for audience, chosen in (("buyers", "for_buyers"), ("a gardeners' meeting", "for_cooks")):
        assert demo_search.find_demo(view, "add a jar", audience).flow.flow_id == chosen
    with pytest.raises(BadRequest, match="no demo is for 'pilots'") as refused:
        demo_search.find_demo(view, "add a jar", "pilots")
    assert refused.value.hint == "audiences of the demos: Buyers, Cooks and gardeners"


def test_an_action_names_the_transitions_that_it_causes():
    action = {"type": "action", "action_id": "stow", "name": "Stow"}
    edge = {"type": "triggers", "_from": "action/stow", "_to": "transition/save_new"}
    view = compile_view(pantry.knowledge(also=(action, edge)), "1")
    assert document_summaries.describe_triggers(view, "stow") == ("save_new: jar_new -> shelf",)


def test_the_actions_that_a_screen_lists_are_offered_with_what_they_cause():
    action = {"type": "action", "action_id": "stow", "name": "Stow"}
    edge = {"type": "triggers", "_from": "action/stow", "_to": "transition/save_new"}
    documents = [
        each | {"available_actions": ["stow", "refresh", "type_text"]}
        if each.get("screen_id") == "jar_new" and each["type"] == "screen"
        else each
        for each in pantry.DOCUMENTS
    ]
    knowledge, _ = assemble(SourcedDocument(parse_document(each)) for each in [*documents, action, edge])
    answer = available_actions.available_actions(compile_view(knowledge, "1"), "jar_new")
    listed = {each.action_type: each.leads_to for each in answer.actions if not each.element_id}
    assert listed["stow"] == ("shelf",)
    assert listed["refresh"] == ()
    assert "fill" not in listed, "its elements afford that"
    assert "- stow (stow) -> shelf" in answer_text.render_actions(answer)


def test_search_takes_kinds_and_goes_on_where_it_stopped(view):
    every = view.search.hits("jar", 100).hits
    assert {hit.kind for hit in every} >= {"screen", "task", "action"}
    tasks = view.search.hits("jar", 100, kinds=("task",))
    assert {hit.kind for hit in tasks.hits} == {"task"}
    paged = [hit for skip in range(0, len(every), 2) for hit in view.search.hits("jar", 2, skip=skip).hits]
    assert paged == list(every)
    assert view.search.hits("jar", 2).more
    assert not view.search.hits("jar", 100).more


def test_a_way_out_is_found_by_what_it_is_for():
    edge = {"type": "global_recovery", "transition_id": "out_of_the_cellar", "_from": "groups/forms",
            "_to": "screen/shelf", "triggered_by": "refresh", "use_cases": ["navigation_drift"]}  # fmt: skip
    view = compile_view(pantry.knowledge(also=(edge,)), "1")
    (hit, *_) = view.search.hits("drift", 3).hits
    assert (hit.kind, hit.id) == ("global_recovery", "out_of_the_cellar")


@pytest.mark.parametrize(
    ("query", "best"),
    [("How jars work", "help"), ("timeout", "slow_pantry"), ("marmelade", "tour"), ("Add a jra", "add_jar")],
)
def test_search_finds_what_pages_say_names_of_errors_and_slips_of_the_pen(view, query, best):
    assert best in [hit.id for hit in view.search.hits(query, 3).hits]
