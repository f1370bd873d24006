"""Fills the form of a control that was allowed by name, with synthetic data; nothing else is ever typed.

Radio buttons of one form with the same name are one question: where nothing is chosen yet, the first is, whether the
page marks it as required or not, for a question with nothing chosen is seldom let pass.
"""

from __future__ import annotations

from collections import defaultdict

from agent.mapping.looking import look_at
from agent.mapping.synthetic import value_for
from agent.mapping.trying import Tab
from kb_schema.mapping import Offer, SeenPage

_FIELDS = frozenset({"fill", "select_option", "check"})
MOST_FIELDS = 40
MOST_CHOICES = 3
"""So many of a question's answers are tried where the page does not let the first be chosen."""

_Question = tuple[str, str]
"""The address a form is sent to, and the name its radio buttons share."""


async def fill_form(tab: Tab, page: SeenPage, submit: Offer, seed: int) -> dict[str, str]:
    """Fill the fields of the form that a control sends; what was put where, by offer.

    All fields that take a made-up value and are required (where none is, every text field: an empty form says
    nothing), and one of the radio buttons of each question that is not answered yet.
    """
    fields = [
        each for each in page.offers if each.action_type in _FIELDS and _sent_to(each) == _sent_to(submit)
    ]
    answered = await _answered(tab) if any(_question(each) for each in fields) else set[_Question]()
    filled: dict[str, str] = {}
    for choices in _wanted(fields, answered)[:MOST_FIELDS]:
        for field in sorted(choices, key=lambda each: bool(each.why))[
            :MOST_CHOICES
        ]:  # what is disabled comes last
            value = value_for(field, seed)
            if value is not None and await tab.put(field, value):
                filled[field.offer_id] = value[:1_000]
                break
    return filled


def _wanted(fields: list[Offer], answered: set[_Question]) -> list[list[Offer]]:
    """What is to be filled, in the page's order; of a question that is open, all that may be chosen."""
    questions: defaultdict[_Question, list[Offer]] = defaultdict(list)
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
    """The address of its form, whatever method the control itself names."""
    return None if offer.form is None else offer.form.partition(" ")[2]


def _question(offer: Offer) -> _Question | None:
    """What a radio button is an answer to; None for other fields, and for one that stands alone."""
    name = offer.fingerprint.attributes.get("name", "") if offer.fingerprint else ""
    return (_sent_to(offer) or "", name) if offer.kind == "radio" and name else None


async def _answered(tab: Tab) -> set[_Question]:
    """The questions in which something is chosen, as the page is now."""
    look = await look_at(await tab.page())
    chosen = [each for each in look.index.interactive if each.checked and each.attributes.get("name")]
    return {
        ((said.sent_by or "").partition(" ")[2], each.attributes["name"])
        for each in chosen
        if (said := look.said.get(each.at)) is not None
    }
