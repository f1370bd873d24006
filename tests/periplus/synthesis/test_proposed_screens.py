"""New screens beside known ones: what may be a known screen after all is not made a second one of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kb_schema import SourcedDocument, assemble
from kb_schema.documents import parse_document
from kb_store import load_knowledge, open_stores
from periplus.synthesis.proposed_screens import RefusedScreen, ScreensFound, find_screens
from periplus.synthesis.workflow_synthesis import induce_workflow
from tests.agent.synthesis import sample_pages
from tests.agent.synthesis.sample_pages import FORM, Person

HELP = "https://help.example"


def _screen(screen_id: str, pattern: str | None, *heading: str, **more: Any) -> dict[str, Any]:
    signs = [{"type": "dom_contains", "value": each, "selector": "h1"} for each in heading]
    return {
        "type": "screen", "website_id": "fleet", "screen_id": screen_id, "name": screen_id.title(),
        "url_patterns": [pattern] if pattern else [], "state_signature": {"primary_indicators": signs, **more},
    }  # fmt: skip


async def _found(folder: Path, known: Sequence[dict[str, Any]], people: Sequence[Person]) -> ScreensFound:
    website = {"type": "website", "website_id": "fleet", "name": "Fleet", "base_url": "http://127.0.0.1:9"}
    knowledge, _ = assemble([SourcedDocument(parse_document(each)) for each in (website, *known)])
    result = await induce_workflow([person.trace() for person in people], "add", "")
    async with open_stores(folder) as stores:
        await load_knowledge(stores.documents, stores.graph, knowledge)
        return await find_screens(stores, "fleet", None, result)


def _adds(number: int) -> Person:
    """Opens the form and fills it in; recorded where the site was not authored."""
    form = FORM if number < 2 else f"{FORM}<i data-odd>odd</i>"
    person = Person(f"add{number}", seed=number).opens("/agents/new").sees("/agents/new", "New agent", form)
    person.does("fill", 'id="name"', value=f"Agent {number}").does("click", 'id="save"')
    return person.sees(
        f"/agents/{number}7", f"Agent {number}", '<h2>Calls</h2><button id="edit">Edit</button>'
    )


async def test_a_screen_that_an_address_led_to_can_be_opened_by_it_and_one_of_many_cannot(tmp_path):
    people = [_adds(number).does("click", 'id="edit"') for number in range(3)]
    found = await _found(tmp_path, [], people)
    form, agent = found.new
    assert (form.screen_id, form.url) == ("new_agent", "/agents/new")
    assert (agent.screen_id, agent.url, agent.url_patterns) == (
        "calls", None, ("^/agents/[^/?#]*[0-9][^/?#]*/?(?:[?#].*)?$",),
    )  # fmt: skip
    assert found.by_step == {1: "new_agent", 2: "new_agent", 3: "calls"}


@pytest.mark.parametrize(
    ("known", "reason"),
    [
        (_screen("form", "^/agents/new$", "New robot"), "the known screen form, but its signature does not"),
        (
            _screen(
                "form", "^/agents/new$", "New agent",
                negative_indicators=[{"type": "dom_element", "selector": "[data-odd]"}],
            ),
            "nothing distinguishes it from form at the same address",
        ),
    ],
    ids=["never told as it", "told as it in some traces"],
)  # fmt: skip
async def test_what_has_the_address_of_a_known_screen_is_no_new_one_unless_something_tells(
    tmp_path, known, reason
):
    found = await _found(
        tmp_path, [known, _screen("form_again", None, "Elsewhere")], [_adds(n) for n in range(4)]
    )
    assert found.new == ()
    (refused,) = found.refused
    assert reason in refused.reason
    assert refused.numbers == "2, 3"


async def test_pages_of_another_website_are_no_screens_of_this_one(tmp_path):
    def asks(number: int) -> Person:
        person = _adds(number).does("click", 'id="edit"')
        person.sees("/", "Help", '<button id="ok">OK</button>')
        person.url = f"{HELP}/"
        return person.does("click", 'id="ok"')

    found = await _found(tmp_path, [], [asks(number) for number in range(3)])
    assert {screen.screen_id for screen in found.new} == {"new_agent", "calls"}
    assert [(each.name, each.reason) for each in found.refused] == [(HELP, "a page of another website")]
    assert found.told[4] == "unknown"
    assert sample_pages.BASE not in "".join(
        pattern for screen in found.new for pattern in screen.url_patterns
    )


async def test_a_step_that_was_on_two_screens_or_on_one_and_elsewhere_is_on_none(tmp_path):
    found = await _found(tmp_path, [], [_adds(number).does("click", 'id="edit"') for number in range(3)])
    form, agent = found.proposed
    both = (replace(form, steps=(1, 2)), replace(agent, steps=(2, 3)))
    assert replace(found, proposed=both).by_step == {1: "new_agent", 3: "calls"}
    refused = (RefusedScreen("Calls", "seen in 1 run only", (3,)),)
    assert replace(found, proposed=both, refused=refused).by_step == {1: "new_agent"}
    assert replace(found, proposed=both, mixed=frozenset({1})).by_step == {3: "calls"}
