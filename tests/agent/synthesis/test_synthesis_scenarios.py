"""Tasks shown a few times: what becomes of them. No browser: pages are what the people saw."""

from __future__ import annotations

import pytest

from agent.synthesis.errors import TraceAlignmentError
from agent.synthesis.graph.action_graph import ActionNode, ConditionNode, LoopNode
from agent.synthesis.pipeline_config import PipelineConfig
from agent.synthesis.synthesis_pipeline import MetaAgentPipeline
from kb_schema.conditions import ElementVisible
from kb_schema.execution_traces import ExecutionTrace
from kb_schema.page_snapshots import PageSnapshot
from kb_schema.selectors import Selector, TemplateStrategy, css
from kb_schema.templates import fill_selector
from kb_schema.workflows import AgentNode, GroupNode, TaskNode, WaitNode
from periplus.synthesis.workflow_synthesis import read_shown_values
from tests.agent.synthesis import sample_pages
from tests.agent.synthesis import synthesis_examples as g
from web_pages.stored_pages import StoredPage


def made_of(traces):
    result = g.induce(traces, name="wf", min_alignment_score=0.25)
    if result.cause is not None:
        raise result.cause
    g.published(result.lowered)
    assert result.synthesis_report.refusals == ()
    return result


def task(result, node):
    return next(task for task in result.lowered.tasks if task.task_id == node.task_id)


def told(step):
    return step.action.canonical_type, step.action.value


CREATIONS = [
    sample_pages.create_agent(0),
    sample_pages.create_agent(1, banner=True, slips=True),
    sample_pages.create_agent(2, goal_first=True),
    sample_pages.create_agent(3, banner=True),
]


def test_a_form_with_slips_other_orders_and_a_banner():
    result = made_of(CREATIONS)
    first, banner, rest = result.lowered.workflow.nodes
    assert [told(step) for step in task(result, first).ordered_steps] == [("navigate", None)]
    assert banner.can_skip
    assert isinstance(banner.skip_unless, ElementVisible)
    assert [told(step) for step in task(result, rest).ordered_steps] == [
        ("click", None), ("fill", "{agent_name}"), ("fill", "{goal}"), ("click", None),
    ]  # fmt: skip
    assert {spec.name for spec in result.lowered.workflow.io_spec.inputs} == {"agent_name", "goal"}
    assert {each.value for each in result.lowered.workflow.success_criteria} == {
        "Agent created",
        "{agent_name}",
    }


def test_an_action_that_must_not_be_repeated_has_its_address_as_condition_where_no_screen_is_known():
    result = made_of(CREATIONS)
    rest = task(result, result.lowered.workflow.nodes[-1])
    addresses = [[each.pattern for each in step.preconditions] for step in rest.ordered_steps]
    assert addresses == [["/agents/?(?:[?#]|$)"], [], [], ["/agents/new/?(?:[?#]|$)"]]
    assert all(each.hard_dependency for step in rest.steps for each in step.preconditions)
    alone = task(made_of(CREATIONS[:1]), made_of(CREATIONS[:1]).lowered.workflow.nodes[-1])
    assert not any(step.preconditions for step in alone.steps)


def test_names_come_from_labels_where_no_input_was_given():
    bare = [trace.model_copy(update={"input_data": None}) for trace in CREATIONS[:2]]
    inputs = made_of(bare).lowered.workflow.io_spec.inputs
    assert [(spec.name, spec.description) for spec in inputs] == [
        ("agent_name", "Agent name"),
        ("goal", "Goal"),
    ]


def test_all_rows_are_deleted_however_many():
    traces = [
        sample_pages.delete_all(0, ["Ann", "Bob"]),
        sample_pages.delete_all(1, ["Cid", "Dan", "Eve"]),
        sample_pages.delete_all(2, ["Flo"]),
    ]
    result = made_of(traces)
    (loop,) = [node for node in result.graph.nodes if isinstance(node, LoopNode)]
    assert (loop.kind, loop.shrinking, loop.min_iterations, loop.max_iterations) == ("collection", True, 1, 3)
    node = result.lowered.workflow.nodes[-1]
    assert node.iterator_spec.type == "collection_processing"
    page = StoredPage(
        PageSnapshot(url="", html=sample_pages.page("Agents", sample_pages.table(["Uwe", "Vic"])))
    )
    rows = page.resolve(css(node.iterator_spec.collection_selector)).found
    assert [row.children[0].children[0] for row in rows] == ["Uwe", "Vic"]
    (step,) = task(result, node).ordered_steps
    assert isinstance(step.action.target.strategies[0], TemplateStrategy)


def test_each_row_is_opened_and_what_is_done_there_depends_on_it():
    traces = [
        sample_pages.work_off(0, [("Ann", True), ("Bob", False)]),
        sample_pages.work_off(1, [("Cid", False), ("Dan", True), ("Eve", True)]),
        sample_pages.work_off(2, [("Flo", False), ("Guy", False), ("Hal", True), ("Ida", False)]),
    ]
    result = made_of(traces)
    (loop,) = [node for node in result.graph.nodes if isinstance(node, LoopNode)]
    assert (loop.kind, loop.shrinking) == ("collection", False)
    (fork,) = [node for node in loop.nodes if isinstance(node, ConditionNode)]
    assert {way.nodes[0].target.strategies[0].value for way in fork.branches} == {"approve", "archive"}
    assert fork.source == "target"
    (group,) = [node for node in result.lowered.workflow.nodes if isinstance(node, GroupNode)]
    assert group.iterator_spec.item_action.runs_nodes
    _, way, back = group.nodes
    assert way.when
    assert way.else_nodes[0].when
    assert isinstance(way.else_nodes[0].else_nodes[0], AgentNode)  # neither is there: nobody showed what then
    assert not back.when


def test_a_code_is_read_off_the_page_where_one_is_asked_for():
    result = made_of([sample_pages.sign_in(number, code=number % 2 == 0) for number in range(4)])
    way = result.lowered.workflow.nodes[1]
    assert isinstance(way, TaskNode)
    assert way.when
    assert way.inputs == {}
    (output,) = task(result, way).io_spec.outputs
    assert (output.extraction.selector, output.extraction.pattern) == ("p.hint", r"^Your\ code\:\ (.+)$")
    assert [told(step) for step in task(result, way).ordered_steps] == [
        ("get_screen_content", None), ("fill", "{code}"), ("click", None),
    ]  # fmt: skip
    inputs = {spec.name: spec for spec in result.lowered.workflow.io_spec.inputs}
    assert inputs.keys() == {"user", "password"}
    assert inputs["password"].secret


def test_pages_are_turned_until_there_is_no_next():
    result = made_of(
        [sample_pages.export_pages(0, 2), sample_pages.export_pages(1, 3), sample_pages.export_pages(2, 1)]
    )
    _, node = result.lowered.workflow.nodes
    assert node.iterator_spec.type == "pagination"
    assert node.iterator_spec.next_page.target.strategies[0].value == "next"
    known = node.iterator_spec.next_page.fingerprint
    assert known is not None
    assert known.role == "link"


def test_a_list_is_gone_through_item_by_item():
    result = made_of(
        [
            sample_pages.add_tags(0, ["a", "bb"]),
            sample_pages.add_tags(1, ["ccc"]),
            sample_pages.add_tags(2, ["d", "ee", "f"]),
        ]
    )
    node = result.lowered.workflow.nodes[-1]
    assert (node.iterator_spec.type, node.iterator_spec.items) == ("list_processing", "{tags}")
    assert node.iterator_spec.item_action.inputs == {"item": "{item}"}
    (tags,) = result.lowered.workflow.io_spec.inputs
    assert (tags.name, tags.type) == ("tags", "array")


def test_rows_of_pages_are_a_loop_in_a_loop():
    result = made_of([
        sample_pages.nested(0, [["Ann", "Bob"], ["Cid"]]),
        sample_pages.nested(1, [["Dan"], ["Eve", "Flo", "Guy"], ["Hal", "Ida"]]),
        sample_pages.nested(2, [["Jan", "Kim", "Leo"]]),
    ])  # fmt: skip
    outer = [
        node
        for node in result.lowered.workflow.nodes
        if getattr(node, "iterator_spec", None) and node.iterator_spec.type != "none"
    ]
    assert [node.iterator_spec.type for node in outer] == ["pagination"]


def test_a_row_that_an_input_names_is_found_by_its_words():
    rows = [["Ann", "Bob", "Cid"], ["Dan", "Eve", "Flo"], ["Guy", "Hal", "Ida"]]
    result = made_of(
        [
            sample_pages.open_one(0, "Bob", rows[0]),
            sample_pages.open_one(1, "Dan", rows[1]),
            sample_pages.open_one(2, "Ida", rows[2]),
        ]
    )
    step = next(node for node in result.graph.actions() if node.action_type == "click")
    strategy = step.target.strategies[0]
    assert strategy.parameters == ("agent",)
    (parameter,) = result.graph.parameters
    assert (parameter.name, parameter.source) == ("agent", "input")
    filled = Selector.model_validate(
        {"type": "xpath", "value": strategy.template.replace("{{agent}}", "Zoe")}
    )
    page = StoredPage(
        PageSnapshot(url="", html=sample_pages.page("Agents", sample_pages.table(["Xen", "Zoe"])))
    )
    assert page.resolve(filled).element.tag == "button"


def test_an_extra_click_of_one_person_is_left_out_and_said():
    traces = [sample_pages.create_agent(number) for number in range(4)]
    odd = traces[1]
    place = next(at for at, step in enumerate(odd.steps) if step.source_url.endswith("/new"))
    at = odd.steps[place].html_before
    number = at.split('id="name"')[0].rsplit('<label __id__="', 1)[1].split('"')[0]
    extra = odd.steps[place].model_copy(
        update={
            "action_type": "click",
            "target": {"strategy": "__id__", "value": number},
            "args": None,
            "html_after": at,
        }
    )
    traces[1] = odd.model_copy(update={"steps": (*odd.steps[:place], extra, *odd.steps[place:])})
    result = made_of(traces)
    assert len(result.lowered.workflow.nodes) == 1
    assert "is omitted" in result.lowered.notes[0]
    assert any("1 of 4 traces performed it" in told for told in result.synthesis_report.warnings)


def _fork(ways: list[str], parts: str) -> list[ExecutionTrace]:
    traces = []
    for number, way in enumerate(ways):
        person = sample_pages.Person(f"fork{number}", {}, "choose", number)
        person.opens("/fork").sees("/fork", "Fork", parts + f"<p>no {number}</p>").does(
            "click", f'id="{way}"'
        )
        person.sees("/end", "End", '<button id="ok">OK</button>').does("click", 'id="ok"')
        traces.append(person.trace())
    return traces


def test_what_nothing_tells_apart_is_left_to_a_bounded_agent_step_with_its_places():
    parts = '<button id="left">Left</button><a href="/end" id="right">Right</a>'
    result = g.induce(_fork(["left", "left", "right", "right"], parts))
    (refusal,) = result.synthesis_report.refusals
    assert refusal.startswith(
        "branch: no condition was found that determines which branch is taken (at fork0#1"
    )
    _, agent, _ = result.lowered.workflow.nodes
    assert isinstance(agent, AgentNode)
    assert agent.max_steps == PipelineConfig().agent_max_steps
    g.published(result.lowered)


def test_a_choice_among_alike_that_nothing_tells_is_an_input():
    parts = "".join(f'<button id="{each}">{each.title()}</button>' for each in ("left", "right", "back"))
    result = g.induce(_fork(["left", "left", "right", "right"], parts))
    assert not result.synthesis_report.refusals
    (spec,) = result.lowered.workflow.io_spec.inputs
    assert spec.required
    assert "'Left', 'Right'" in spec.description


def test_an_input_can_tell_which_way_is_taken():
    traces = []
    for number, way in enumerate(["left", "left", "right", "right"]):
        person = sample_pages.Person(f"fork{number}", {"side": way, "n": str(number)}, "choose", number)
        both = '<button id="left">Left</button><button id="right">Right</button>'
        person.opens("/fork").sees("/fork", "Fork", both + f"<p>no {number}</p>").does("click", f'id="{way}"')
        person.sees("/end", "End", '<button id="ok">OK</button>').does("click", 'id="ok"')
        traces.append(person.trace())
    (fork,) = [node for node in made_of(traces).graph.nodes if isinstance(node, ConditionNode)]
    assert fork.source == "input"
    assert {(way.condition.name, way.condition.value) for way in fork.branches} == {
        ("side", "left"),
        ("side", "right"),
    }


def test_a_sign_of_the_page_tells_which_way_is_taken_if_it_is_right_about_pages_held_back():
    def trace(number, state):
        person = sample_pages.Person(f"sign{number}", {}, "treat", number)
        both = f'<h2>{state}</h2><button id="approve">Approve</button><button id="reject">Reject</button>'
        person.opens("/case").sees("/case", "Case", both + f"<p>case {number}</p>")
        person.does("click", 'id="approve"' if state == "Complete" else 'id="reject"')
        person.sees("/end", "End", '<button id="ok">OK</button>').does("click", 'id="ok"')
        return person.trace()

    kinds = ["Complete", "Empty", "Complete", "Empty"]
    (fork,) = [
        n
        for n in made_of([trace(*each) for each in enumerate(kinds)]).graph.nodes
        if isinstance(n, ConditionNode)
    ]
    assert fork.source == "page"
    assert {way.condition.value for way in fork.branches if hasattr(way.condition, "value")} <= {
        "Complete",
        "Empty",
    }
    # With one of each nothing can be held back: that is no evidence.
    alone = g.induce([trace(0, "Complete"), trace(1, "Complete"), trace(2, "Empty")])
    assert not [n for n in alone.graph.nodes if isinstance(n, ConditionNode) and n.source == "page"]


def test_traces_of_two_tasks_are_refused_by_name():
    traces = [
        sample_pages.create_agent(0),
        sample_pages.create_agent(1),
        sample_pages.create_agent(2),
        sample_pages.add_tags(0, ["a"]),
    ]
    result = g.induce(traces, min_alignment_score=0.25)
    assert result.failed_stage == "alignment"
    assert isinstance(result.cause, TraceAlignmentError)
    assert result.cause.trace_ids == ["tags0"]


def test_a_person_is_waited_for_where_one_was_asked():
    traces = []
    for number in range(2):
        person = sample_pages.Person(f"ask{number}", {}, "ask", number)
        person.opens("/a").sees("/a", "A", '<button id="ok">OK</button>').does("click", 'id="ok"')
        made = person.trace()
        asks = sample_pages.TraceStep(action_type="UserInputsRequired", args={"prompt": "Solve the puzzle"})
        traces.append(made.model_copy(update={"steps": (*made.steps, asks)}))
    result = made_of(traces)
    assert result.synthesis_report.user_input_boundary_count == 1
    wait = result.lowered.workflow.nodes[-1]
    assert isinstance(wait, WaitNode)
    assert wait.prompt == "Solve the puzzle"


def test_a_step_waits_for_what_was_not_there_right_after_the_one_before():
    traces = []
    for number in range(2):
        person = sample_pages.Person(f"late{number}", {}, "late", number)
        person.opens("/a").sees("/a", "A", '<button id="load">Load</button>').does("click", 'id="load"')
        person.sees("/a", "A", '<button id="load">Load</button><p>loading</p>')
        person.sees("/a", "A", '<button id="load">Load</button><button id="late">Late</button>')
        person.does("click", 'id="late"')
        traces.append(person.trace())
    result = made_of(traces)
    late = [node for node in result.graph.nodes if isinstance(node, ActionNode)][-1]
    assert late.awaits is not None
    steps = task(result, result.lowered.workflow.nodes[-1]).ordered_steps
    assert [step.action.canonical_type for step in steps][-2:] == ["wait_for", "click"]


async def test_a_second_recording_turns_values_into_inputs():
    pipeline = MetaAgentPipeline(config=PipelineConfig(name="wf"))
    before = await pipeline.from_traces(CREATIONS[:1])
    assert before.graph.parameters == ()
    after = await pipeline.from_traces(CREATIONS)
    assert {parameter.name for parameter in after.graph.parameters} == {"agent_name", "goal"}


ALL = {
    "create": CREATIONS,
    "delete": [sample_pages.delete_all(0, ["Ann", "Bob"]), sample_pages.delete_all(1, ["Cid", "Dan", "Eve"])],
    "work": [
        sample_pages.work_off(0, [("Ann", True), ("Bob", False)]),
        sample_pages.work_off(1, [("Cid", False), ("Dan", True), ("Eve", True)]),
    ],
    "sign": [sample_pages.sign_in(number, code=number % 2 == 0) for number in range(4)],
    "pages": [sample_pages.export_pages(0, 2), sample_pages.export_pages(1, 3)],
}


@pytest.mark.parametrize("name", ALL)
def test_order_and_copies_of_recordings_change_nothing(name):
    traces = ALL[name]
    first = g.induce(traces, name="wf")
    turned = g.induce(traces[::-1], name="wf")
    assert (turned.graph, turned.lowered, turned.synthesis_report) == (
        first.graph,
        first.lowered,
        first.synthesis_report,
    )
    copied = g.induce([*traces, traces[0].model_copy(update={"trace_id": "copy"})], name="wf")
    assert copied.lowered.tasks == first.lowered.tasks
    assert copied.lowered.workflow.nodes == first.lowered.workflow.nodes


@pytest.mark.parametrize("told", [True, False], ids=["named by the input data", "not named"])
def test_the_beginning_of_a_name_in_a_search_field_stands_for_the_name(told):
    traces = [
        sample_pages.search_and_open(0, "Ann", "Ann Moor", told=told),
        sample_pages.search_and_open(1, "Bo", "Bob Quay", told=told),
        sample_pages.search_and_open(2, "Cid Pier", "Cid Pier", told=told),
    ]
    result = made_of(traces)
    (spec,) = result.lowered.workflow.io_spec.inputs
    filled = next(node for node in result.graph.actions() if node.action_type == "fill")
    assert filled.args["value"] == f"{{{spec.name}}}"
    assert [read_shown_values(result, trace.trace_id)[spec.name] for trace in result.traces] == [
        "Ann Moor",
        "Bob Quay",
        "Cid Pier",
    ]


def test_the_beginning_of_a_name_in_another_field_is_an_input_of_its_own():
    traces = [
        sample_pages.search_and_open(0, "Ann", "Ann Moor", told=True, label="Short name"),
        sample_pages.search_and_open(1, "Bo", "Bob Quay", told=True, label="Short name"),
    ]
    inputs = {spec.name for spec in made_of(traces).lowered.workflow.io_spec.inputs}
    assert inputs == {"agent", "short_name"}


def _clicked(result, **values):
    """The elements that the workflow's click leads to on a page with other rows."""
    step = [node for node in result.graph.actions() if node.action_type == "click"][-1]
    assert all(set(each.required_context) == set(values) for each in step.target.strategies)
    told = [fill_selector(each.template, values, "xpath") for each in step.target.strategies]
    return Selector.model_validate({"strategies": [{"type": "xpath", "value": each} for each in told]})


@pytest.mark.parametrize("searches", [False, True], ids=["in the whole list", "in what a search leaves"])
def test_a_row_without_any_row_tag_is_named_by_all_words_that_the_inputs_have(searches):
    shown = [("Apple", "New phone"), ("Ryan", "Platform issues"), ("Nate", "Lunch")]
    result = made_of(
        [sample_pages.star_mail(number, *mail, searches=searches) for number, mail in enumerate(shown)]
    )
    mails = [("Zoe", "Lunch", " unread"), ("Ryan", "Lunch", ""), ("Ryan", "Plans", "")]
    page = StoredPage(PageSnapshot(url="", html=sample_pages.page("Mails", sample_pages.mail_rows(mails))))
    found = page.resolve(_clicked(result, sender="Ryan", subject="Lunch")).found
    assert [each.get("data-mail") for each in found] == ["Ryan Lunch"]
    assert page.resolve(_clicked(result, sender="Zoe", subject="Plans")).found == ()


def test_a_label_with_more_than_its_name_is_found_by_the_name():
    result = made_of(
        [
            sample_pages.unassign(0, "Alex", ["Alex", "Bo", "Cid"]),
            sample_pages.unassign(1, "Bo", ["Alex", "Bo", "Cid"]),
            sample_pages.unassign(2, "Cid", ["Alex", "Cid"]),
        ]
    )
    html = '<label class="choice"><input type="checkbox" value="7"><span>DA</span>Dana</label>'
    page = StoredPage(PageSnapshot(url="", html=html))
    assert page.resolve(_clicked(result, person="Dana")).element.get("value") == "7"


def test_a_row_is_asked_for_though_a_hint_beside_it_says_its_name():
    rows = ["Ann", "Bob", "Cid", "Dan"]
    result = made_of(
        [sample_pages.delete_by_menu(number, rows[place], rows) for number, place in enumerate((1, 3, 0))]
    )
    (spec,) = result.lowered.workflow.io_spec.inputs
    more = next(node for node in result.graph.actions() if node.action_type == "click")
    assert more.target.strategies[0].parameters == (spec.name,)
    assert "get_screen_content" not in {node.action_type for node in result.graph.actions()}
