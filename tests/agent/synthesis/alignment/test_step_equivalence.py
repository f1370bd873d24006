"""Which element is meant: by what its author called it, by words given before, by its place in a list."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.synthesis.alignment.step_equivalence import are_equivalent
from agent.synthesis.patterns.quoted_texts import find_quoted_template
from kb_schema.execution_traces import TraceStep
from kb_schema.selectors import Selector
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
