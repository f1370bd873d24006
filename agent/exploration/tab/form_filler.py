"""Fills in the form of a control that the user allowed, with synthetic data. Nothing else is ever typed.

Radio buttons of one form with the same name are one question. If none is selected, the first one is selected, even if
it is not marked as required, since most forms require an answer.
"""

from __future__ import annotations

from collections import defaultdict

from agent.exploration.pages.page_observation import observe_page
from agent.exploration.tab.exploration_tab import ExplorationTab
from agent.exploration.tab.synthetic_values import generate_field_value
from kb_schema.explorations import ExplorationPage, Offer

_FIELDS = frozenset({"fill", "select_option", "check"})
MOST_FIELDS = 40
MOST_CHOICES = 3
"""Maximum number of answers that are tried if the page does not allow the first one."""

_ChoiceKey = tuple[str, str]
"""The action of a form, and the name that its radio buttons share."""


async def fill_form(tab: ExplorationTab, page: ExplorationPage, submit: Offer, seed: int) -> dict[str, str]:
    """Fill in the fields of the form that a control submits; return the values by offer id.

    Fills all required fields that accept a synthetic value (every text field if none is required), and selects one
    radio button of each unanswered question.
    """
    fields = [
        each for each in page.offers if each.action_type in _FIELDS and _sent_to(each) == _sent_to(submit)
    ]
    answered = (
        await _list_answered_questions(tab) if any(_question(each) for each in fields) else set[_ChoiceKey]()
    )
    filled: dict[str, str] = {}
    for choices in _list_fields_to_fill(fields, answered)[:MOST_FIELDS]:
        for field in sorted(choices, key=lambda each: bool(each.why))[
            :MOST_CHOICES
        ]:  # disabled options come last
            value = generate_field_value(field, seed)
            if value is not None and await tab.put(field, value):
                filled[field.offer_id] = value[:1_000]
                break
    return filled


def _list_fields_to_fill(fields: list[Offer], answered: set[_ChoiceKey]) -> list[list[Offer]]:
    """Return the fields to fill in, in page order; for an unanswered question, all its options."""
    questions: defaultdict[_ChoiceKey, list[Offer]] = defaultdict(list)
    plain: list[Offer] = []
    for each in fields:
        question = _question(each)
        if question is None:
            plain.append(each)
        elif question not in answered:
            questions[question].append(each)
    required = [each for each in plain if each.required]
    wanted = [[each] for each in required or [each for each in plain if each.action_type == "fill"]]
    places = {each.offer_id: number for number, each in enumerate(fields)}
    return sorted([*wanted, *questions.values()], key=lambda choices: places[choices[0].offer_id])


def _sent_to(offer: Offer) -> str | None:
    """Return the action of its form, without the method."""
    return None if offer.form is None else offer.form.partition(" ")[2]


def _question(offer: Offer) -> _ChoiceKey | None:
    """Return the question of a radio button; None for other fields and for a radio button without a name."""
    name = offer.fingerprint.attributes.get("name", "") if offer.fingerprint else ""
    return (_sent_to(offer) or "", name) if offer.kind == "radio" and name else None


async def _list_answered_questions(tab: ExplorationTab) -> set[_ChoiceKey]:
    """Return the questions that have a selected answer on the current page."""
    look = await observe_page(await tab.page())
    chosen = [each for each in look.index.interactive if each.checked and each.attributes.get("name")]
    return {
        ((said.sent_by or "").partition(" ")[2], each.attributes["name"])
        for each in chosen
        if (said := look.said.get(each.at)) is not None
    }
