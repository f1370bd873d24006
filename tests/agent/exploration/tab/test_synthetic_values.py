"""Synthetic values: they meet a field's rules, are the same for a seed, and look made up."""

from __future__ import annotations

from typing import Any

import pytest
import re2
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.exploration.tab.synthetic_values import generate_field_value
from kb_schema.explorations import Offer
from kb_schema.fingerprints import Fingerprint
from kb_schema.screens import FieldValidation, Option


def field(label: str = "", kind: str = "text", autocomplete: str = "", **given: Any) -> Offer:
    seen = Fingerprint(attributes={"autocomplete": autocomplete}) if autocomplete else None
    return Offer(
        offer_id="o",
        action_type="fill",
        role="textbox",
        tag="input",
        kind=kind,
        label=label,
        fingerprint=seen,
        **given,
    )


@pytest.mark.parametrize(
    ("offer", "pattern"),
    [
        (field("Email", "email"), r"[a-z.0-9]+@example\.com"),
        (field("E-mail address"), r"[a-z.0-9]+@example\.com"),
        (field("Correo electrónico"), r"[a-z.0-9]+@example\.com"),
        (field("", autocomplete="section-a shipping email"), r"[a-z.0-9]+@example\.com"),
        (field("Phone", "tel"), r"\+1202555\d{4}"),
        (field("Telefon"), r"\+1202555\d{4}"),
        (field("Website", "url"), r"https://www\.example\.com/.+"),
        (field("How many", "number"), r"\d+"),
        (field("Price"), r"\d+"),
        (field("When", "date"), r"2030-01-\d\d"),
        (field("Published", "datetime-local"), r"2030-01-\d\dT09:30"),
        (field("Month", "month"), r"2030-01"),
        (field("Week", "week"), r"2030-W0\d"),
        (field("At", "time"), r"\d\d:\d\d"),
        (field("Colour", "color"), r"#[0-9a-f]{6}"),
        (field("First name"), r"[A-Z][a-z]+ [A-Z][a-z]+|[A-Z][a-z]+"),
        (field("Title"), r"Sample \d+"),
        (field("Search", "search"), r"sample"),
        (field("Accept", "checkbox"), "true"),
    ],
)  # fmt: skip
def test_a_field_gets_a_value_of_its_kind(offer: Offer, pattern: str):
    made = generate_field_value(offer, 0)
    assert made is not None
    assert re2.fullmatch(pattern, made), made


@pytest.mark.parametrize(
    "offer",
    [
        field("Password", "password"),
        field("Passwort"),
        field("PIN"),
        field("", autocomplete="current-password"),
        field("Card", autocomplete="cc-number"),
        field("", autocomplete="one-time-code"),
        field("Attachment", "file"),
        field("", "hidden"),
    ],
)
def test_secrets_and_files_are_not_made_up(offer: Offer):
    assert generate_field_value(offer, 0) is None


@pytest.mark.parametrize(
    ("shown", "pattern"),
    [
        ("MM/DD/YYYY", r"01/\d\d/2030"),
        ("dd.mm.yyyy", r"\d\d\.01\.2030"),
        ("TT.MM.JJJJ", r"\d\d\.01\.2030"),
        ("JJ/MM/AAAA", r"\d\d/01/2030"),
        ("YYYY-MM-DD", r"2030-01-\d\d"),
        ("e.g. M/D/YYYY", r"1/\d+/2030"),
        ("DD-MM-YY", r"\d\d-01-30"),
        ("hh:mm", r"09:30"),
        ("ADD.MM", r"Sample \d+"),
    ],
)
def test_a_text_field_that_shows_a_form_of_dates_or_times_gets_one_in_that_form(shown: str, pattern: str):
    made = generate_field_value(
        field("Start").model_copy(update={"fingerprint": Fingerprint(attributes={"placeholder": shown})}), 0
    )
    assert made is not None
    assert re2.fullmatch(pattern, made), made


@pytest.mark.parametrize(
    "pattern",
    [
        "[A-Z]{3}-[0-9]{3}",
        "[A-Z]{2}[0-9]{4}",
        "\\d{5}",
        "\\d{4}",
        "[a-z0-9_]{3,}",
        "[0-9]{3}-[0-9]{4}",
        "[^@]+@[^@]+",
        "https://.*",
    ],
)
def test_a_value_meets_the_fields_pattern(pattern: str):
    made = generate_field_value(field("Code", validation=FieldValidation(pattern=pattern)), 3)
    assert made is not None
    assert re2.fullmatch(pattern, made)


def test_where_nothing_of_ours_meets_the_pattern_there_is_no_value():
    assert generate_field_value(field("Code", validation=FieldValidation(pattern="zebra{7}[!]")), 0) is None


def test_of_a_list_one_option_is_chosen_that_says_something():
    options = (
        Option(value="", label="---------"),
        Option(value="0", label="Please choose"),
        Option(value="b", label="Bee"),
    )
    chosen = Offer(offer_id="o", action_type="select", tag="select", label="Kind", options=options)
    assert generate_field_value(chosen, 0) == "b"
    assert generate_field_value(chosen.model_copy(update={"options": options[:2]}), 0) is None


def test_the_same_field_and_seed_give_the_same_value_and_another_seed_another():
    one = field("Email", "email")
    assert generate_field_value(one, 1) == generate_field_value(one, 1)
    assert len({generate_field_value(one, seed) for seed in range(20)}) > 10


@settings(max_examples=200, deadline=None)
@given(
    label=st.text(max_size=40),
    kind=st.sampled_from(["text", "email", "tel", "url", "number", "date", "search", "", "unknown"]),
    least=st.integers(0, 60),
    more=st.integers(0, 60),
    seed=st.integers(0, 2**32),
)
def test_whatever_the_bounds_a_value_keeps_them_or_there_is_none(
    label: str, kind: str, least: int, more: int, seed: int
):
    made = generate_field_value(
        field(label, kind, validation=FieldValidation(min_length=least, max_length=least + more)), seed
    )
    assert made is None or least <= len(made) <= least + more


@settings(max_examples=100, deadline=None)
@given(low=st.floats(-1e6, 1e6), width=st.floats(0, 1e6), seed=st.integers(0, 1000))
def test_a_number_lies_between_its_bounds(low: float, width: float, seed: int):
    made = generate_field_value(
        field("N", "number", validation=FieldValidation(min=low, max=low + width)), seed
    )
    assert made is not None
    assert low <= float(made) <= low + width
