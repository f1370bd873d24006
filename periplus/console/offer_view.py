"""View model of an element that a verification offered for a step (`healing_declined`). A pure function."""

from __future__ import annotations

from dataclasses import dataclass

from kb_schema.locator_expressions import to_source
from kb_schema.verification import OfferedElement


@dataclass(frozen=True, slots=True)
class OfferView:
    """The candidate, what speaks for and against it, and whether it can be accepted here."""

    number: int
    """Of the step, from 1."""
    element: str
    candidate: str
    likeness: float
    support: tuple[str, ...]
    against: tuple[str, ...]
    locator: str
    picture: bool
    open: bool
    """Whether it still waits for an answer."""
    may_accept: bool
    """Whether it is open, and this person may accept it."""


def build_offer_view(offered: OfferedElement, *, is_open: bool, may_accept: bool) -> OfferView:
    """The offered element on a run's page."""
    return OfferView(
        number=offered.step_idx + 1,
        element=offered.element,
        candidate=offered.description,
        likeness=offered.likeness,
        support=offered.support,
        against=offered.against,
        locator=to_source(offered.expression) if offered.expression else "",
        picture=offered.screenshot is not None,
        open=is_open,
        may_accept=is_open and may_accept,
    )
