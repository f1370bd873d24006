"""Tells the names of controls in rows: what a row's text adds to them, and which are that text."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from kb_schema.explorations import Offer


def strip_row_words(offer: Offer) -> str:
    """Return a row control's label without the row's text: `Delete`, not `Delete Ada`."""
    label = offer.label or offer.name
    for words in sorted(() if offer.fingerprint is None else offer.fingerprint.row, key=len, reverse=True):
        if words and words != label:
            label = label.replace(words, " ")
    return " ".join(label.split())


def list_named_by_data(offers: Sequence[Offer]) -> list[list[Offer]]:
    """Return the controls without an address that each row has with a name of its own: what opens one of many things, or
    chooses it.
    """
    alike: dict[tuple[str, ...], list[Offer]] = defaultdict(list)
    for offer in offers:
        plain = (
            offer.href is None
            and offer.action_type in ("click", "check")
            and not offer.region.startswith("navigation")
        )
        if plain and offer.in_row and offer.first_class and (offer.label or offer.name).strip():
            alike[offer.role or offer.tag, offer.kind, offer.first_class].append(offer)
    return [
        same
        for same in alike.values()
        if len(same) > 1 and len({strip_row_words(each).casefold() for each in same}) == len(same)
    ]


def class_of(offer: Offer) -> str:
    """Return the class attribute of a control; empty if it is not known."""
    return "" if offer.fingerprint is None else offer.fingerprint.attributes.get("class", "")
