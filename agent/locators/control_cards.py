"""Reads the cards around controls: the repeated parts of a page, whose texts tell controls that are called alike apart."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from playwright.async_api import Page

from agent.locators.page_index import PageIndex
from agent.page import in_page_library


@dataclass(frozen=True, slots=True)
class ControlCard:
    """What is around and in a control."""

    number: int | None
    """The same for the controls of one card; None: the control lies in no part that repeats."""
    texts: tuple[str, ...]
    """The separate texts of the card in their order, without the control's own; empty if there is none."""
    own: tuple[str, ...]
    """The separate texts of the control itself."""


NO_CARD = ControlCard(None, (), ())


async def read_cards(page: Page, index: PageIndex, positions: Sequence[int]) -> Mapping[int, ControlCard]:
    """Return the cards of the elements at these positions of an index. One round trip. Raises `PageError`."""
    if not positions:
        return {}
    answers = await in_page_library.call(page, "cards", index.token, json.dumps(list(positions)))
    return {
        at: ControlCard(
            None if each["number"] < 0 else each["number"], tuple(each["texts"]), tuple(each["own"])
        )
        for at, each in zip(positions, answers, strict=True)
    }
