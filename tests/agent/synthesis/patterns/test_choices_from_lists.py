"""What people choose from lists, and what they give twice, becomes inputs of the workflow."""

from __future__ import annotations

import pytest

from kb_schema.selectors import TemplateStrategy
from tests.agent.synthesis import sample_pages
from tests.agent.synthesis.sample_pages import Person, field_html
from tests.agent.synthesis.test_synthesis_scenarios import made_of, task

RIGHTS = ("May add books", "May change books", "May delete books", "May lend books", "May buy books")
PEOPLE = {"ada": (0, 3), "bo": (2, 1), "cy": (4, 0)}


def _widget(chosen: list[str]) -> str:
    def options(said: list[str]) -> str:
        return "".join(f"<option>{each}</option>" for each in said)

    left = [each for each in RIGHTS if each not in chosen]
    return (
        f'<label for="left">Rights</label><select id="left" multiple>{options(left)}</select>'
        f'<select id="right" multiple>{options(chosen)}</select><button id="save">Save</button>'
    )


def _gives_rights(name: str, rights: tuple[int, ...]) -> Person:
    """Names somebody, moves rights from one list to the other with double clicks, looks the name up."""
    person = Person(name, seed=sum(map(ord, name)))
    person.opens("/people/new").sees(
        "/people/new", "New person", field_html("who", "Name") + '<button id="go">Go</button>'
    )
    person.does("fill", 'id="who"', value=name).does("click", 'id="go"')
    chosen: list[str] = []
    person.sees(f"/people/{len(name) + 10}", "Rights", _widget(chosen))
    for right in rights:
        person.does("double_click", f">{RIGHTS[right]}<")
        chosen.append(RIGHTS[right])
        person.sees(person.url.removeprefix(sample_pages.BASE), "Rights", _widget(chosen))
    person.does("click", 'id="save"')
    person.sees(
        "/people",
        "People",
        f"<p>{name} was saved</p>" + field_html("find", "Search") + '<button id="ok">OK</button>',
    )
    person.does("fill", 'id="find"', value=name).does("click", 'id="ok"').sees(
        "/people", "People", "<p>1 found</p>"
    )
    return person


@pytest.fixture(scope="module")
def made():
    return made_of([_gives_rights(name, rights).trace() for name, rights in PEOPLE.items()])


def test_each_choice_from_a_list_is_an_input_named_after_the_list(made):
    assert made.synthesis_report.refusals == ()
    (node,) = made.lowered.workflow.nodes
    chosen = [step for step in task(made, node).ordered_steps if step.action.action_type == "double_click"]
    assert [step.action.target.strategies[0] for step in chosen] == [
        TemplateStrategy(
            type="parameterized_xpath",
            template=f"//option[normalize-space()='{{{{{name}}}}}']",
            parameters=(name,),
            required_context=(name,),
        )
        for name in ("rights", "rights_2")
    ]


def test_what_is_given_twice_is_one_input_told_by_where_it_is_given_first(made):
    inputs = {spec.name: spec.description for spec in made.lowered.workflow.io_spec.inputs}
    assert inputs == {"name": "Name", "rights": "Rights", "rights_2": "Rights"}
    (node,) = made.lowered.workflow.nodes
    assert [step.action.value for step in task(made, node).ordered_steps if step.action.value] == [
        "{name}",
        "{name}",
    ]


KINDS = {
    "D Docker": "Runs in containers",
    "P Process": "Runs on this machine",
    "K Kubernetes": "Runs in a cluster",
    "A Azure": "Runs far away",
}


def _chooses_card(name: str, kind: str) -> Person:
    """Chooses one of several cards, each a control without words beside its title."""
    cards = "".join(
        f'<div><button role="radio" value="v{number}{name}"></button><label><i>{said[0]}</i><p class="card-title">'
        f'{said[2:]}</p><p class="card-text">{more}</p></label></div>'
        for number, (said, more) in enumerate(KINDS.items())
    )
    person = Person(name, seed=sum(map(ord, name)))
    person.opens("/pools/new").sees(
        "/pools/new", "New pool", f'<div role="radiogroup">{cards}</div><button id="next">Next</button>'
    )
    person.does("click", f'value="v{list(KINDS).index(kind)}{name}"').does("click", 'id="next"')
    return person.sees("/pools", "Pools", "<p>Saved</p>")


def test_a_choice_among_cards_is_an_input_that_has_the_title():
    """Not the letter before it, which is that of the title: `D`, `P`, `K`."""
    chosen = {"ada": "D Docker", "bo": "P Process", "cy": "K Kubernetes"}
    made = made_of([_chooses_card(name, kind).trace() for name, kind in chosen.items()])
    assert made.synthesis_report.refusals == ()
    (node,) = made.lowered.workflow.nodes
    first = next(step for step in task(made, node).ordered_steps if step.action.action_type == "click")
    (strategy,) = first.action.target.strategies
    assert isinstance(strategy, TemplateStrategy)
    assert "card-title" in strategy.template
    assert strategy.template.count("{{") == 1
