"""How tasks are done, in words: whole or not at all."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from agent.errors import UnknownToKnowledge
from agent.presentation.visitor.languages import load_language
from agent.presentation.visitor.task_steps import clean_label, describe_steps
from kb_schema.screens import Screen
from kb_schema.tasks import Task
from tests.support.visitors import spadeworks

ENGLISH = load_language("en")


def screen(screen_id: str, name: str, **elements: str) -> Screen:
    return Screen.model_validate(
        {
            "website_id": "wallet", "screen_id": screen_id, "name": name, "url": f"https://wallet.example/{screen_id}",
            "ui_elements": [
                {"element_id": element_id, "type": "button", "selector": {"strategies": [{"type": "css", "value": f"#{element_id}"}]}, "metadata": {"label": label}}
                for element_id, label in elements.items()
            ],
        }
    )  # fmt: skip


CARDS = screen("cards", "Cards", link_button="Link a Card", row_control="row control")
FORM = screen(
    "form", "Cards (Link a Card)", number="Card Number *", month="Month", year="Year", debit="Debit", credit="Credit", send="Link Card"
)  # fmt: skip


def session() -> Any:
    async def one(screen_id: str) -> Screen:
        return {"cards": CARDS, "form": FORM}[screen_id]

    async def task(task_id: str) -> Task:
        raise UnknownToKnowledge(task_id)

    async def no_action(_: str) -> None:
        return None

    return SimpleNamespace(knowledge=SimpleNamespace(screen=one, task=task, action=no_action))


def task(*steps: dict[str, Any]) -> Task:
    made = [{"step_id": f"s{at}", "order": at, **step} for at, step in enumerate(steps, start=1)]
    inputs = [
        {
            "name": "card_type",
            "required": False,
            "source": ["user_input"],
            "description": "card-type: one of Credit, Debit",
        }
    ]
    return Task.model_validate(
        {
            "website_id": "wallet",
            "task_id": "link",
            "name": "Link Card",
            "io_spec": {"inputs": inputs},
            "steps": made,
        }
    )


OPEN = {"action": {"action_type": "navigate", "target_screen": "cards"}}
PRESS = {
    "action": {"action_type": "click", "target": "link_button"},
    "postconditions": [{"type": "on_screen", "screen_id": "form"}],
}
SEND = {"action": {"action_type": "click", "target": "send"}}


def fill(target: str) -> dict[str, Any]:
    return {"action": {"action_type": "fill", "target": target, "value": "x"}}


def tick(target: str, value: str) -> dict[str, Any]:
    condition = {"type": "context_equals", "name": "card_type", "value": value}
    return {
        "action": {"action_type": "check", "target": target},
        "skip_when": [{"type": "none_of", "conditions": [condition]}],
    }


async def test_the_screen_that_a_press_leads_to_has_the_next_elements():
    said = await describe_steps(task(OPEN, PRESS, fill("number"), SEND), session(), ENGLISH)
    assert said == ["go to Cards", "press Link a Card", "fill in Card Number", "press Link Card"]


async def test_of_the_options_of_one_input_the_choice_is_one_step():
    said = await describe_steps(
        task(OPEN, PRESS, tick("debit", "Debit"), tick("credit", "Credit"), SEND), session(), ENGLISH
    )
    assert said[2:] == ["choose card type", "press Link Card"]


async def test_many_fields_are_one_form():
    fields = (fill("number"), fill("month"), fill("year"), tick("debit", "Debit"), tick("credit", "Credit"))
    said = await describe_steps(task(OPEN, PRESS, *fields, SEND), session(), ENGLISH)
    assert said[2:] == ["fill in the form (Card Number, Month, Year, card type)", "press Link Card"]


@pytest.mark.parametrize(
    "step",
    [
        {"action": {"action_type": "click", "target": "row_control"}},  # nothing on the page is called that
        {"action": {"action_type": "click", "target": "nowhere"}},
        {"action": {"action_type": "run_task", "task_id": "unknown"}},
    ],
)
async def test_with_a_step_that_cannot_be_said_none_is_said(step):
    assert await describe_steps(task(OPEN, step, PRESS, SEND), session(), ENGLISH) == []


async def test_another_task_is_named_as_a_step(shelf):
    async with spadeworks(shelf) as live:
        said = await describe_steps(await live.knowledge.task("edit_agent"), live, ENGLISH)
    assert said[:3] == ["go to Agents", 'do "Search for an Agent"', "press Agent in the list"]
    assert said[-1] == "press Save Changes"


def test_marks_of_forms_are_no_part_of_a_label():
    assert (clean_label("Card Number *"), clean_label("Name:"), clean_label("*")) == (
        "Card Number",
        "Name",
        "*",
    )
