"""Which element is meant: by what its author called it, by words given before, by its place in a list."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.synthesis.alignment.step_equivalence import (
    are_equivalent,
    assign_step_symbols,
    have_same_args,
    is_done_alike,
)
from agent.synthesis.patterns.quoted_texts import find_quoted_template
from agent.synthesis.traces.trace_pages import TracePages
from kb_schema.execution_traces import ExecutionTrace, TraceStep
from kb_schema.selectors import Selector
from periplus.synthesis.workflow_synthesis import induce_workflow
from tests.agent.synthesis import sample_pages
from tests.agent.synthesis import synthesis_examples as g

ROWS = [["Ann", "Bob", "Cid"], ["Dan"], ["Guy", "Hal", "Ida", "Joe"]]


def _click(*ways: tuple[str, str], url: str = "https://fleet.example/a") -> TraceStep:
    target = Selector.model_validate({"strategies": [{"type": kind, "value": value} for kind, value in ways]})
    return TraceStep(action_type="click", target=target, source_url=url)


@pytest.mark.parametrize("url", ["https://fleet.example/a", "https://fleet.example/b"])
def test_buttons_that_their_author_named_are_not_the_same_for_their_class(url):
    shared = [
        ("css", "button.btn"),
        ("xpath-class", "//button[contains(concat(' ', normalize-space(@class), ' '), ' btn ')]"),
    ]
    sign_in = _click(("id", "sign-in"), *shared)
    assert not are_equivalent(sign_in, _click(("id", "verify"), *shared, url=url))
    assert are_equivalent(sign_in, _click(("id", "sign-in"), *shared, url=url))
    assert are_equivalent(_click(*shared), _click(*shared, url=url))  # nothing else tells
    assert are_equivalent(sign_in, _click(("id", "other"), ("css", 'button[name="go"]'), ("id", "sign-in")))


def _press(name: str, *ways: tuple[str, str], role: str = "button", url: str = "https://fleet.example/a"):
    told = {"fingerprint": {"role": role, "name": name, "tag": "button"}}
    return _click(*ways, url=url).model_copy(update={"metadata": told})


SUBMIT = ("id", "submit_button")
KIND = ("css", "button.text-primary-foreground")


@pytest.mark.parametrize("way", [SUBMIT, KIND])
def test_buttons_without_a_word_in_common_are_two_buttons(way):
    create, change = _press("Create", way), _press("Submit Changes", way)
    assert not are_equivalent(create, change)
    assert are_equivalent(create, _press("Create issue", way))
    assert are_equivalent(create, _press("Add", way))
    assert not are_equivalent(_press("Save account", way), _press("Delete account", way))
    assert are_equivalent(create, _click(way))  # imported: nothing says its words
    assert are_equivalent(_press("Letters", way, role="link"), _press("Poems", way, role="link"))
    symbols = assign_step_symbols([[create, change], [_press("Create (2)", way), change]], TracePages())
    assert symbols[0][0] != symbols[0][1]
    assert symbols[0] == symbols[1]


def test_two_presses_of_one_id_with_other_words_are_no_loop():
    """ "Create" was shown, then "Submit Changes" on the next page: pressing either until it is gone creates twice."""
    traces = []
    for name in ("moss", "fern", "reed"):
        person = sample_pages.Person(name, {}, "", len(name) + ord(name[0]))
        form = sample_pages.field_html("title", "Title") + '<button id="submit_button">Create</button>'
        person.opens("/new").sees("/new", "New", form).does("input_text", 'id="title"', text=name)
        person.does("click", 'id="submit_button"')
        person.sees("/item", "Item", '<button id="submit_button">Submit Changes</button>')
        person.does("click", 'id="submit_button"').sees("/item", "Item", f"<p>{name} edited ok</p>")
        trace = person.trace()
        said = iter(("Create", "Submit Changes"))
        steps = tuple(
            each.model_copy(
                update={
                    "metadata": {
                        **each.metadata,
                        "fingerprint": {"role": "button", "name": next(said), "tag": "button"},
                    }
                }
            )
            if each.action_type == "click"
            else each
            for each in trace.steps
        )
        traces.append(trace.model_copy(update={"steps": steps}))
    result = g.induce(traces)
    assert result.synthesis_report.loop_count == 0
    (task,) = result.lowered.tasks
    pressed = [
        each.action.fingerprint.name for each in task.ordered_steps if each.action.action_type == "click"
    ]
    assert pressed == ["Create", "Submit Changes"]


def _snoozes(number: int, word: str, *, at_once: bool) -> sample_pages.Person:
    """Types a word, opens a menu, chooses an entry that opens another menu, and one of that. `at_once`: one menu has all."""
    person = sample_pages.Person(f"snooze{number}", {}, "snooze one", number)
    menus = [["Mark read", "Snooze", "Mute"], ["Tomorrow", "Next week", "Pick a date"]]
    form = sample_pages.field_html("q", "Search") + '<button id="more">More</button>'
    shown = [[*menus[0], *menus[1]]] * 2 if at_once else menus
    first, second = (
        f'<div class="menu">{"".join(f"<div class=entry><span>{each}</span></div>" for each in menu)}</div>'
        for menu in shown
    )
    person.opens("/mail").sees("/mail", "Mail", form).does("input_text", 'id="q"', text=word)
    person.does("click", 'id="more"').sees("/mail", "Mail", form + first)
    person.does("click", ">Snooze<")
    person.sees("/mail", "Mail", form + second).does("click", ">Pick a date<")
    return person.sees("/mail", "Mail", f"<p>{word} is snoozed</p>")


@pytest.mark.parametrize("at_once", [False, True])
def test_an_entry_of_a_menu_that_the_one_before_opened_is_no_row_of_the_same_list(at_once):
    people = [_snoozes(n, word, at_once=at_once) for n, word in enumerate(("moss", "fern", "reed"))]
    result = g.induce([person.trace() for person in people])
    assert result.synthesis_report.loop_count == (1 if at_once else 0)
    if not at_once:
        assert result.synthesis_report.refusals == ()
        (task,) = result.lowered.tasks
        assert [each.action.action_type for each in task.ordered_steps].count("click") == 3


def _choose(name: str, *ways: tuple[str, str], role: str = "link", said: str = ""):
    told = {"fingerprint": {"role": role, "name": said or name}}
    return _click(*ways).model_copy(update={"metadata": told})


def _symbols(*rows):
    return assign_step_symbols(rows, TracePages())


def test_a_choice_that_is_scoped_in_one_run_and_plain_in_the_others_is_one_step():
    scoped = _choose("Argo", ("xpath", "//div[@class='list']//a[.='Argo']"), ("xpath", "//main/div[4]/a"))
    plain = _choose("Bounty", ("xpath", "//a[.='Bounty']"), ("xpath", "//main/div[2]/a"))
    edits = [
        _choose(each, ("css", f'[data-title="{each}"] button'), role="button", said="Edit")
        for each in ("Argo", "Bounty")
    ]
    one, other = _symbols([scoped, edits[0]], [plain, edits[1]])
    assert one == other


def test_another_act_on_what_was_chosen_is_another_step():
    rows = [
        [
            _choose(name, ("xpath", f"//main/div[{at}]/a"), ("xpath", f"//a[.='{name}']")),
            _choose(name, ("css", f'[data-title="{name}"] button'), role="button", said=verb),
        ]
        for at, (name, verb) in enumerate((("Argo", "Edit"), ("Bounty", "Delete")), 1)
    ]
    one, other = _symbols(*rows)
    assert one[0] == other[0]
    assert one[1] != other[1]


@pytest.mark.parametrize(
    ("mine", "theirs"),
    [
        # the buttons of one bar are two
        ([("Save", "button", "//p/b[.='Save']")], [("Archive", "button", "//p/b[.='Archive']")]),
        # one run chose twice: a loop tells that, or nothing
        ([("Argo", "link", "//p/a[.='Argo']"), ("Bounty", "link", "//p/a[.='Bounty']")], [("Cutty", "link", "//p/a[.='Cutty']")]),
        # the text is not the element's name
        ([("Next", "link", "//p[@id='one']/a")], [("Back", "link", "//p[@id='two']/a")]),
    ],
)  # fmt: skip
def test_what_differs_by_more_than_a_choice_is_more_than_one_step(mine, theirs):
    rows = [[_choose(name, ("xpath", way), role=role) for name, role, way in row] for row in (mine, theirs)]
    one, other = _symbols(*rows)
    assert not set(one) & set(other)


def _finds(number: int, word: str, rows: list[str], at: int) -> sample_pages.Person:
    """Types a word, is shown rows, opens one of them."""
    person = sample_pages.Person(f"find{number}", {}, "find one", number)
    form = sample_pages.field_html("q", "Search") + '<button id="go">Search</button>'
    person.opens("/find").sees("/find", "Find", form).does("input_text", 'id="q"', text=word)
    person.does("click", 'id="go"')
    listed = "".join(
        f'<div role="listitem" class="row"><a class="open" href="/{number}{n}"><i>{row[:1]}</i><b>{row}</b></a></div>'
        for n, row in enumerate(rows)
    )
    person.sees("/find", "Found", form + f'<div id="found" role="list">{listed}</div>')
    person.does("click", f'href="/{number}{at}"')
    return person.sees("/one", "One", f"<p>{rows[at]}</p>")


def _opening(people: list[sample_pages.Person]):
    result = g.induce([person.trace() for person in people])
    assert result.synthesis_report.agent_node_count == 0
    g.published(result.lowered)
    return result, [node for node in result.graph.actions() if node.action_type == "click"][-1].target


def test_the_row_of_what_was_typed_before_is_found_by_these_words():
    """Also where there was only one row, and its class would do."""
    for rows in (ROWS, [["Ann"], ["Dan"], ["Guy"]]):
        people = [_finds(n, each[-1], each, len(each) - 1) for n, each in enumerate(rows)]
        result, target = _opening(people)
        assert target.strategies[0].parameters == ("search",)
        assert [each.name for each in result.lowered.workflow.io_spec.inputs] == ["search"]


@pytest.mark.parametrize(("at", "said"), [(0, "first-of-type"), (-1, "last-of-type")])
def test_the_first_and_the_last_of_a_list_are_places_of_it(at, said):
    people = [_finds(n, "x" * (n + 1), rows, range(len(rows))[at]) for n, rows in enumerate(ROWS)]
    _, target = _opening(people)
    assert [each.value for each in target.strategies] == [f'[id="found"] > div:{said} > a:nth-of-type(1)']


def test_rows_at_other_places_that_nothing_names_are_an_input():
    people = [
        _finds(n, "x" * (n + 1), rows, at) for n, (rows, at) in enumerate(zip(ROWS, (1, 0, 2), strict=True))
    ]
    _, target = _opening(people)
    (parameter,) = target.strategies[0].parameters
    assert parameter != "search"


def test_words_of_single_runs_are_no_way_to_find_what_all_of_them_found():
    """What was called so may be there, too, and is another one."""
    people = []
    for n, name in enumerate(("Ann", "Dan", "Guy")):
        person = sample_pages.Person(f"open{n}", {}, "open the newest", n).opens("/new")
        person.sees("/new", "New", f'<p>hello</p><button id="newest">Open {name}</button>')
        people.append(person.does("click", 'id="newest"').sees("/one", "One", f"<p>{name}</p>"))
    result, target = _opening(people)
    assert result.lowered.workflow.io_spec.inputs == ()
    told = [each.value for each in target.strategies]
    assert told[0] == "newest"
    assert not any(name in each for each in told for name in ("Ann", "Dan", "Guy"))


@given(st.lists(st.text("ab'\" {}]", min_size=1, max_size=4), min_size=2, max_size=4))
def test_what_targets_quote_put_back_gives_the_targets(words):
    """Whatever they quote; a text that holds both kinds of quotes is in no plain literal, and left alone."""

    def path(word: str) -> str:
        mark = '"' if "'" in word else "'"
        return f"//li[normalize-space()='Open']//a[.//span[normalize-space()={mark}{word}{mark}]]"

    plain = [word for word in words if not ("'" in word and '"' in word)]
    targets = {
        (f"t{n}", ()): Selector.model_validate({"type": "xpath-text", "value": path(word)})
        for n, word in enumerate(plain)
    }
    found = find_quoted_template(targets, "row")
    if len(set(plain)) < 2:
        assert found is None
        return
    assert found is not None
    template, said = found
    assert [said[f"t{n}", ()] for n in range(len(plain))] == plain
    assert template == path("{{row}}")


def _drag(where: str, *, at: tuple[float, float] = (0.5, 0.5)) -> TraceStep:
    drop = {"target": {"strategies": [{"type": "id", "value": where}]}, "at": list(at)}
    return _click(("id", "card")).model_copy(update={"action_type": "drag", "args": {"drop": drop}})


def test_people_drop_at_about_the_same_place_of_the_same_element():
    assert have_same_args(_drag("done"), _drag("done", at=(0.6, 0.4)))
    assert not is_done_alike(_drag("done"), _drag("todo"))
    assert not is_done_alike(_drag("done"), _drag("done", at=(0.9, 0.5)))
    held = _click(("id", "a")).model_copy(update={"args": {"modifiers": ["Shift"]}})
    assert is_done_alike(held, held)
    assert not is_done_alike(held, _click(("id", "a")))


def test_presses_on_a_drawing_are_the_same_only_at_about_the_same_place():
    one, near, far = (
        _click(("id", "map")).model_copy(update={"args": {"place": [across, 0.5]}}) for across in (0.5, 0.53, 0.6)
    )  # fmt: skip
    assert have_same_args(one, near)
    assert not is_done_alike(one, far)
    assert not is_done_alike(one, _click(("id", "map")))


@pytest.mark.parametrize(("other", "whole"), [("done", True), ("later", False)])
async def test_drags_to_different_places_are_refused_and_equal_ones_are_a_step(other, whole):
    first = TraceStep(action_type="navigate", args={"url": "https://fleet.example/a"})
    traces = [
        ExecutionTrace(trace_id=f"t{n}", steps=(first, _drag(where)))
        for n, where in enumerate(["done", other])
    ]
    result = await induce_workflow(traces, "move", "")
    assert result.graph is not None
    assert result.synthesis_report is not None
    told = " ".join(result.synthesis_report.refusals)
    assert ("dragged to different places" in told) is not whole
    drags = [each for each in result.graph.nodes if getattr(each, "action_type", "") == "drag"]
    assert bool(drags) is whole
