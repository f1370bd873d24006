"""Fills the form of a control that was allowed by name, with synthetic data; nothing else is ever typed."""

from __future__ import annotations

from agent.mapping.synthetic import value_for
from agent.mapping.trying import Tab
from kb_schema.mapping import Offer, SeenPage

_FIELDS = frozenset({"fill", "select_option", "check"})
MOST_FIELDS = 40


async def fill_form(tab: Tab, page: SeenPage, submit: Offer, seed: int) -> dict[str, str]:
    """Fill the fields of the form that a control sends; what was put where, by offer.

    All fields that take a made-up value and are required; where none is, every text field: an empty form says
    nothing.
    """
    form = (submit.form or "").partition(" ")[2]
    fields = [
        each
        for each in page.offers
        if each.action_type in _FIELDS and each.form is not None and each.form.partition(" ")[2] == form
    ]
    required = [each for each in fields if each.required]
    wanted = required or [each for each in fields if each.action_type == "fill"]
    filled: dict[str, str] = {}
    for field in wanted[:MOST_FIELDS]:
        value = value_for(field, seed)
        if value is not None and await tab.put(field, value):
            filled[field.offer_id] = value[:1_000]
    return filled
