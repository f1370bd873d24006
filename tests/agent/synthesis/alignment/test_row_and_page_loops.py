"""Loops over rows and pages: what is found in recordings of them, stage by stage. No browser."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from agent.synthesis.alignment.pagination_loops import find_page_rounds
from agent.synthesis.graph.action_graph import LoopNode
from agent.synthesis.traces.trace_cleanup import clean_up_steps
from kb_schema.conditions import Combined
from kb_schema.page_snapshots import PageSnapshot
from kb_schema.selectors import Selector, css
from kb_schema.workflows import GroupNode
from periplus.synthesis.workflow_synthesis import read_shown_values
from tests.agent.synthesis import sample_pages
from tests.agent.synthesis import synthesis_examples as g
from web_pages.stored_pages import StoredPage


def made_of(traces):
    result = g.induce(traces, name="wf", min_alignment_score=0.25)
    if result.cause is not None:
        raise result.cause
    g.published(result.lowered)
    return result


def loops_of(result):
    return [node for node in result.graph.nodes if isinstance(node, LoopNode)]


def listed(rows):
    """Rows as (name, state, what its button says); without words there is no button."""
    body = "".join(
        f'<tr><td class="name">{name}</td><td><span class="pill">{state}</span></td>'
        f"<td>{f'<button class=btn>{says}</button>' if says else ''}</td></tr>"
        for name, state, says in rows
    )
    return f'<table id="people"><tbody>{body}</tbody></table>'


def page_of(body):
    return StoredPage(PageSnapshot(url="", html=sample_pages.page("People", body)))


def found(selector, rows):
    return [element.children[0] for element in page_of(listed(rows)).resolve(css(selector)).found]


# -- pages

BEFORE, TURN, AFTER, ROW, OTHER = 0, 1, 2, 3, 4
on_a_page = st.integers(0, 3).map(lambda times: (ROW,) * times)
books = st.lists(on_a_page, min_size=1, max_size=4)


def as_row(pages):
    body = [symbol for page in pages for symbol in (*page, TURN)][:-1]
    return (BEFORE, *body, AFTER)


@given(st.lists(books, min_size=2, max_size=4))
@g.examples
def test_for_any_pages_each_round_is_one_page(many):
    assume(any(len(pages) > 1 and pages[0] and pages[-1] for pages in many))
    assume(len({tuple(pages) for pages in many if any(pages) or len(pages) > 1}) > 1)
    rows = [as_row(pages) for pages in many]
    rounds = find_page_rounds(rows)
    assert rounds is not None
    for at, places in rounds.items():
        told = [rows[at][begin:end] for begin, end in places]
        assert [each[-1:] for each in told[:-1]] == [(TURN,)] * (len(told) - 1)
        assert [tuple(s for s in each if s != TURN) for each in told] == [tuple(page) for page in many[at]]


def test_pages_are_told_where_their_number_differs_and_the_last_one_has_no_turn():
    one, two, three = as_row([(ROW, ROW)]), as_row([(ROW,), (ROW, ROW)]), as_row([(ROW,), (), (ROW,)])
    assert find_page_rounds([one, two, three]) == {
        0: [(1, 3)],
        1: [(1, 3), (3, 5)],
        2: [(1, 3), (3, 4), (4, 5)],
    }
    assert find_page_rounds([two, two]) is None  # copies of one: nothing says that the turn turns
    # Rounds that end with a step are no pages, nor is a wizard whose steps are all others.
    assert find_page_rounds([(ROW, OTHER, ROW, OTHER), (ROW, OTHER)]) is None
    assert find_page_rounds([(3, 1, 4, 1, 5, 1), (3, 1, 4, 1)]) is None
    # What is done on pages is done elsewhere, too: it is not known where the pages begin.
    assert find_page_rounds([(ROW, BEFORE, ROW, TURN, ROW), (BEFORE, ROW)]) is None


def test_rows_of_pages_are_a_loop_in_a_loop_also_where_a_page_has_nothing_to_do():
    result = made_of([
        sample_pages.nested(0, [["Ann", "Bob"], ["Cid"]]),
        sample_pages.nested(1, [["Dan"], [], ["Hal", "Ida"]]),
        sample_pages.nested(2, [["Jan", "Kim", "Leo"]]),
    ])  # fmt: skip
    assert result.synthesis_report.refusals == ()
    _, node = result.lowered.workflow.nodes
    assert node.iterator_spec.type == "pagination"
    (inner,) = node.nodes if isinstance(node, GroupNode) else (None,)
    assert inner.iterator_spec.type == "collection_processing"
    assert node.iterator_spec.next_page.target.strategies[0].value == "next"


def shows_pages(number, pages, *, looks_at=None):
    """Presses a button in every row of every page; `looks_at`: before that row, opens and closes a menu."""
    person = sample_pages.Person(f"noisy{number}", {}, "every row of every page", number)
    person.opens("/list")
    menu = '<button id="menu">Menu</button>'
    for at, rows in enumerate(pages):
        more = "" if at == len(pages) - 1 else '<a id="next" href="#">Next</a>'
        shown = menu + sample_pages.table(rows, table_id="rows") + more
        person.sees("/list", "List", shown)
        for row in rows:
            if row == looks_at:
                person.does("click", 'id="menu"').sees("/list", "List", f"{shown}<ul><li>Settings</li></ul>")
                person.does("click", 'id="menu"').sees("/list", "List", shown)
            person.row("click", row, 'class="delete"').sees("/list", "List", shown)
        if more:
            person.does("click", 'id="next"')
    return person.trace()


@pytest.mark.parametrize("looks_at", ["Ann", "Bob", "Cid"])
def test_a_menu_that_somebody_opened_and_closed_within_a_loop_is_left_out(looks_at):
    result = made_of([
        shows_pages(0, [["Ann", "Bob"], ["Cid", "Dan"]], looks_at=looks_at),
        shows_pages(1, [["Eve"], ["Flo", "Guy"], ["Hal"]]),
        shows_pages(2, [["Ida", "Jan"]]),
    ])  # fmt: skip
    assert result.synthesis_report.refusals == ()
    assert [type(node).__name__ for node in result.lowered.workflow.nodes] == ["TaskNode", "GroupNode"]
    (inner,) = result.lowered.workflow.nodes[1].nodes
    assert inner.iterator_spec.type == "collection_processing"


def test_a_button_that_is_pressed_twice_is_pressed_twice_where_the_page_shows_nothing():
    person = sample_pages.Person("twice", {}, "export twice", 0)
    shown = '<button id="export">Export</button>'
    person.opens("/list").sees("/list", "List", shown)
    person.does("click", 'id="export"').sees("/list", "List", shown).does("click", 'id="export"')
    trace = person.sees("/list", "List", shown).trace()
    assert clean_up_steps(trace.steps) == trace.steps


def test_a_list_that_comes_back_on_its_first_page_after_each_row_is_refused():
    traces = []
    for number, pages in enumerate(
        [[["Ann", "Bob"], ["Cid"]], [["Dan", "Eve"], ["Flo", "Guy"]], [["Jan", "Kim"]]]
    ):
        person = sample_pages.Person(f"lost{number}", {}, "open every row", number)
        turn = '<a id="next" href="#">Next</a>'
        shown = [
            sample_pages.table(rows, table_id="rows") + turn * (at < len(pages) - 1)
            for at, rows in enumerate(pages)
        ]
        person.opens("/list").sees("/list", "List", shown[0])
        for at, rows in enumerate(pages):
            for row in rows:
                for turned in range(at):
                    person.does("click", 'id="next"').sees("/list", "List", shown[turned + 1])
                person.row("click", row, "<a ").sees("/agents/5", row, '<a id="back" href="/list">Back</a>')
                person.does("click", 'id="back"').sees("/list", "List", shown[0])
        traces.append(person.trace())
    result = made_of(traces)
    assert any(told.startswith("loop: ") for told in result.synthesis_report.refusals)
    assert "CollectionIterator" not in repr(result.lowered.workflow.nodes)


# -- some of the rows


def works_off(number, rows, does, *, becomes=None):
    """Presses the button of each row that `does` says, one after the other."""
    person = sample_pages.Person(f"some{number}", {}, "work off some rows", number)
    person.opens("/people").sees("/people", "People", listed(rows))
    left = list(rows)
    for at, row in enumerate(rows):
        if does(row):
            person.row("click", row[0], "<button")
            left[at] = (row[0], *(becomes or row[1:]))
            person.sees("/people", "People", listed(left))
    return person.trace()


PEOPLE = [
    [("Ann", "new", "Approve"), ("Bob", "old", "Approve"), ("Cid", "new", "Approve")],
    [("Dan", "old", "Approve"), ("Eve", "new", "Approve")],
    [
        ("Flo", "new", "Approve"),
        ("Guy", "new", "Approve"),
        ("Hal", "old", "Approve"),
        ("Ida", "new", "Approve"),
    ],
]
UNSEEN = [("Xen", "old", "Approve"), ("Yan", "new", "Approve"), ("Zoe", "new", "Approve")]


@pytest.mark.parametrize("becomes", [("old", "Approve"), None])
def test_rows_in_one_state_are_gone_through_whether_it_changes_with_what_is_done_or_not(becomes):
    traces = [
        works_off(number, rows, lambda row: row[1] == "new", becomes=becomes)
        for number, rows in enumerate(PEOPLE)
    ]
    result = made_of(traces)
    assert result.synthesis_report.refusals == ()
    (loop,) = loops_of(result)
    assert (loop.kind, loop.shrinking) == ("collection", becomes is not None)
    assert found(loop.collection, UNSEEN) == ["Yan", "Zoe"]
    assert found(loop.collection, UNSEEN[:1]) == []


def test_rows_that_have_the_button_are_gone_through_and_not_those_whose_button_says_something_else():
    def does(row):
        return row[2] == "Block"

    rows = [
        [("Ann", "x", "Block"), ("Bob", "y", "Allow"), ("Cid", "y", "Block"), ("Dan", "x", "")],
        [("Eve", "y", "Allow"), ("Flo", "x", "Block")],
    ]
    result = made_of([works_off(n, each, does, becomes=("x", "Allow")) for n, each in enumerate(rows)])
    (loop,) = loops_of(result)
    unseen = [("Uma", "y", ""), ("Vic", "x", "Allow"), ("Wes", "x", "Block"), ("Wes", "y", "Block")]
    assert (loop.kind, loop.shrinking) == ("collection", True)
    assert found(loop.collection, unseen) == ["Wes", "Wes"]
    # Two rows say the same: the first that still has the button is the one whose turn it is.
    (step,) = result.lowered.tasks[-1].ordered_steps
    template = step.action.target.strategies[0].template.replace("{{item}}", "Wes")
    filled = Selector.model_validate({"type": "xpath", "value": template})
    assert page_of(listed(unseen)).resolve(filled).element.parent.parent.children[0].children[0] == "Wes"
    over = (
        result.graph.success.conditions
        if isinstance(result.graph.success, Combined)
        else (result.graph.success,)
    )
    assert loop.until in over


def test_which_rows_are_meant_is_refused_where_two_columns_tell_alike():
    rows = [
        [(name, state, {"new": "Open", "old": "Look"}[state]) for name, state, _ in each] for each in PEOPLE
    ]
    traces = []
    for number, each in enumerate(rows):
        person = sample_pages.Person(f"two{number}", {}, "open some", number)
        shown = (
            listed(each)
            .replace('<td class="name">', "<td class=\"name\"><a href='#'>")
            .replace("</td><td><span", "</a></td><td><span")
        )
        person.opens("/people").sees("/people", "People", shown)
        for name, state, _ in each:
            if state == "new":
                person.row("click", name, "<a ").sees("/people", "People", shown)
        traces.append(person.trace())
    result = made_of(traces)
    (refusal,) = result.synthesis_report.refusals
    assert refusal.startswith("loop: between 1 and 3 times")


# -- what a person has


def searches(number, words):
    """Looks for each of some words, opens what is found, goes back."""
    person = sample_pages.Person(f"search{number}", {}, "open each", number)
    form = sample_pages.field_html("q", "Search people") + '<button id="go">Search</button>'
    person.opens("/people").sees("/people", "People", form)
    for each in words:
        person.does("input_text", 'id="q"', text=each).does("click", 'id="go"')
        person.sees("/people", "People", form + f'<ul><li><a href="/p">{each}</a></li></ul>')
        person.does("click", "<a ").sees("/p", each, '<button id="ok">OK</button><a id="back">Back</a>')
        person.does("click", 'id="ok"').does("click", 'id="back"').sees("/people", "People", form)
    return person.trace()


def test_rounds_that_take_words_of_a_person_are_a_list_that_is_given():
    words = [["Ann", "Bob"], ["Cid"], ["Dan", "Eve", "Flo"]]
    result = made_of([searches(number, each) for number, each in enumerate(words)])
    assert result.synthesis_report.refusals == ()
    (spec,) = result.lowered.workflow.io_spec.inputs
    assert (spec.name, spec.type) == ("search_people", "array")
    node = result.lowered.workflow.nodes[-1]
    assert (node.iterator_spec.type, node.iterator_spec.items) == ("list_processing", "{search_people}")
    shown = [read_shown_values(result, trace.trace_id)["search_people"] for trace in result.traces]
    assert sorted(shown) == sorted(words)


def fills_in(number, people, *, town="Rome"):
    person = sample_pages.Person(f"form{number}", {}, "add people", number)
    form = (
        sample_pages.field_html("name", "Name")
        + sample_pages.field_html("job", "Job")
        + sample_pages.field_html("town", "Town")
    )
    form += '<button id="add">Add</button>'
    person.opens("/new").sees("/new", "New", form)
    for name, job in people:
        person.does("input_text", 'id="name"', text=name).does("input_text", 'id="job"', text=job)
        person.does("input_text", 'id="town"', text=town).does("click", 'id="add"').sees("/new", "New", form)
    return person.trace()


def test_several_values_of_a_round_are_the_fields_of_an_item_and_one_for_all_rounds_stays_an_input():
    result = made_of([
        fills_in(0, [("Ann", "cook"), ("Bob", "smith")]),
        fills_in(1, [("Cid", "cook"), ("Dan", "baker"), ("Eve", "cook")], town="Oslo"),
        fills_in(2, [("Flo", "miner")], town="Bern"),
    ])  # fmt: skip
    inputs = {spec.name: spec for spec in result.lowered.workflow.io_spec.inputs}
    assert {name: spec.type for name, spec in inputs.items()} == {"items": "array", "town": "string"}
    assert "with the fields job, name" in inputs["items"].description
    node = result.lowered.workflow.nodes[-1]
    assert node.iterator_spec.item_action.inputs == {
        "item_name": "{item.name}", "item_job": "{item.job}", "town": "{town}",
    }  # fmt: skip
    assert read_shown_values(result, "form0")["items"] == [
        {"name": "Ann", "job": "cook"}, {"name": "Bob", "job": "smith"},
    ]  # fmt: skip
