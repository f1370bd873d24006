"""How far a feature of a page is trusted."""

from __future__ import annotations

import pytest

from loaders.screen_learner.observed_pages import ObservedPage
from loaders.screen_learner.page_evidence import PageEvidence
from web_pages.page_profiles import PageFeature, PageProfile


def trust_of(name: str, *beside: str) -> float:
    signs = frozenset(PageFeature("test_id", "data-testid", each) for each in (name, *beside))
    evidence = PageEvidence([ObservedPage(PageProfile(signs=signs), "/mails", "one", screen="mails")])
    (trait,) = (each for each in evidence.traits(evidence.of["mails"]) if each.sign.text == name)
    return trait.trust


@pytest.mark.parametrize("name", ["mail-hover-actions", "row-focused"])
def test_what_is_shown_where_the_pointer_or_the_keyboard_is_hardly_tells_a_screen(name: str) -> None:
    assert trust_of(name) < trust_of("mail-actions") / 5


def test_attributes_that_differ_in_a_number_are_those_of_rows() -> None:
    alone = trust_of("mail-1")
    assert trust_of("mail-1", "mail-2", "mail-3") < alone / 2
