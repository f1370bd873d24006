"""Which dialogs are one."""

from __future__ import annotations

from loaders.screen_learner.observed_pages import ObservedPage
from loaders.screen_learner.page_layers import group_layers
from web_pages.page_profiles import PageProfile

PEOPLE = ("check checkbox Ada", "check checkbox Bea", "check checkbox Cleo")
OTHERS = ("check checkbox Dora", "check checkbox Emil", "check checkbox Finn")
BELOW = tuple(f"click button {name}" for name in ("Filter", "Export", "Print", "Share", "New trip"))
TRIP = (
    "dialog", "heading Add a trip", "fill textbox What", "fill textbox Costs", "click button Save", "click button More",
    "click link Everyone",
)  # fmt: skip
STEP = (
    "dialog",
    "heading Add a trip",
    "fill textbox Where",
    "fill textbox When",
    "click button Save",
    "click button Back",
)


def grouped(*layers: tuple[str, ...]) -> list[list[int]]:
    pages = [
        ObservedPage(PageProfile(), "/trips", run=str(number), layer=frozenset(signs))
        for number, signs in enumerate(layers)
    ]
    return group_layers(pages, range(len(pages)))


def test_a_dialog_that_was_seen_with_controls_of_the_page_below_is_the_same() -> None:
    assert grouped((*TRIP, *PEOPLE, *BELOW), (*TRIP, *OTHERS)) == [[0, 1]]


def test_two_steps_with_one_heading_and_other_fields_are_two() -> None:
    assert grouped(TRIP, STEP) == [[0], [1]]
