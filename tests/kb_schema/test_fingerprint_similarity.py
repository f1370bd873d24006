"""Similarity of fingerprints whose fields may all be missing: what holds for any two."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kb_schema.fingerprint_similarity import FEATURES, similarity
from kb_schema.fingerprints import Fingerprint
from kb_schema.text_similarity import (
    address_likeness,
    identifier_likeness,
    meaning_likeness,
    meanings,
    words_likeness,
)

WORDS = (None, "Save", "Save agent", "agent-name", "/a/1", "/a/2?b=c", "x y z", "42", "\u00e9", "http://[")
ATTRIBUTES = ("id", "name", "type", "href", "class", "data-testid", "data-x", "aria-label", "title")
PLAIN = ("role", "name", "tag", "text", "label", "heading", "before", "after", "column", "xpath")
LISTS = ("row", "neighbours", "region", "key")


def drawn(data: bytes) -> Fingerprint:
    """One byte a field: cheap to draw, and zero is missing."""
    at = iter(data)

    def word() -> str | None:
        return WORDS[next(at) % len(WORDS)]

    return Fingerprint(
        **{field: word() for field in PLAIN},
        **{field: tuple(filter(None, (word(), word()))) for field in LISTS},
        attributes={name: said for name in ATTRIBUTES if (said := word())},
        place=next(at) % 10 or None,
        twins=next(at) % 4 or None,
        box=(float(next(at)), float(next(at)), 9.0, 5.0) if next(at) % 2 else None,
    )


fingerprints = st.binary(min_size=40, max_size=40).map(drawn)
FIELDS = [name for name in Fingerprint.model_fields if name not in ("key", "twins")]
EMPTY = Fingerprint()


@given(fingerprints, fingerprints)
def test_similarity_is_symmetric_and_bounded(ours, theirs):
    one, other = similarity(ours, theirs), similarity(theirs, ours)
    assert one.score == pytest.approx(other.score)
    assert one.certainty == pytest.approx(other.certainty)
    assert 0 <= one.score <= 1
    assert 0 <= one.certainty < 1


@given(fingerprints)
def test_what_says_anything_is_fully_alike_to_itself(known):
    alike = similarity(known, known)
    assert alike.score == (pytest.approx(1.0) if alike.fields else 0.0)
    assert not alike.differing


@given(fingerprints, fingerprints, st.sampled_from(FIELDS))
def test_what_is_missing_on_one_side_counts_neither_way_and_lowers_the_certainty(ours, theirs, field):
    empty = EMPTY.model_dump()[field]
    without = theirs.model_copy(update={field: empty})
    both = ours.model_copy(update={field: empty})
    assert similarity(ours, without).certainty <= similarity(ours, theirs).certainty + 1e-9
    assert similarity(ours, without).score == pytest.approx(similarity(both, without).score)


@given(fingerprints, fingerprints, st.sampled_from(FIELDS))
def test_a_field_that_comes_to_agree_never_makes_two_less_alike(ours, theirs, field):
    if not getattr(ours, field) or not getattr(theirs, field):
        return
    if field == "attributes" and ours.attributes.keys() != theirs.attributes.keys():
        return
    agreeing = theirs.model_copy(update={field: getattr(ours, field)})
    assert similarity(ours, agreeing).score >= similarity(ours, theirs).score - 1e-9


@given(st.text(max_size=30), st.text(max_size=30))
def test_likeness_of_texts_is_symmetric_bounded_and_full_for_equal_ones(ours, theirs):
    for likeness in (words_likeness, identifier_likeness, address_likeness, meaning_likeness):
        assert likeness(ours, theirs) == pytest.approx(likeness(theirs, ours))
        assert 0 <= likeness(ours, theirs) <= 1
        assert likeness(ours, ours) == pytest.approx(1.0)


@given(fingerprints)
def test_a_fingerprint_survives_as_json(known):
    assert Fingerprint.model_validate(known.to_json()) == known


def test_two_elements_of_a_data_set_without_anything_in_common_are_compared_all_the_same():
    alike = similarity(Fingerprint(tag="a"), Fingerprint(name="Save"))
    assert (alike.score, alike.fields) == (0.0, ())
    assert alike.certainty == 0.0


def test_stable_attributes_weigh_more_than_class_path_and_position():
    weights = {feature.name: feature.weight for feature in FEATURES}
    stable = ("name attribute", "type", "id", "href", "role", "aria-label", "text")
    assert min(weights[name] for name in stable) > max(
        weights[name] for name in ("class", "xpath", "position", "size", "place")
    )


@pytest.mark.parametrize(
    ("ours", "theirs", "least", "most"),
    [
        ("agent-name", "agentNameField", 0.6, 0.9),
        ("row-1", "row-2", 0.0, 0.0),
        ("save", "cancel", 0.0, 0.0),
    ],
)
def test_identifiers_share_words_and_another_number_is_another_thing(ours, theirs, least, most):
    assert least <= identifier_likeness(ours, theirs) <= most


def test_another_number_in_an_address_is_another_thing():
    assert address_likeness("/agent/3/edit", "/agent/4/edit") == 0.0
    assert address_likeness("http://one/agent/3", "http://two/agent/3") == 1.0


def test_words_for_one_thing_mean_the_same_and_opposites_do_not():
    assert meaning_likeness("Delete agent", "Remove agent") == 1.0
    assert not meanings("Delete") & meanings("Edit")
    assert meanings("Sign in") & meanings("Log in")
