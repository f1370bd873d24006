"""The same value in another notation, and never another value."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.execution.values.value_notations import list_notations
from agent.page.page_problems import FieldOption, RefusedField


def field(**said):
    plain = {
        "label": "Field", "message": "", "marked": True, "value": "", "kind": "text", "required": False,
        "placeholder": "", "min_length": None, "max_length": None, "pattern": None, "options": (),
        "element": None,
    }  # fmt: skip
    return RefusedField(**{**plain, **said})


@pytest.mark.parametrize(
    ("value", "said", "first"),
    [
        ("2027-03-04", {"message": "Enter a date as MM/DD/YYYY, such as 12/31/2030"}, "03/04/2027"),
        ("2027-03-04", {"placeholder": "dd.mm.yyyy"}, "04.03.2027"),
        ("31.12.2030", {"message": "use YYYY-MM-DD"}, "2030-12-31"),
        ("12/31/2030", {"kind": "date"}, "2030-12-31"),
        ("March 4, 2027", {"kind": "date"}, "2027-03-04"),
        ("1,250", {"message": "Enter a number from 1 to 5000"}, "1250"),
        ("50.0", {"kind": "number"}, "50"),
        ("  Ada   Lovelace ", {}, "Ada Lovelace"),
        ("english (us)", {"kind": "select", "options": (FieldOption(value="en-US", label="English (US)"),)}, "en-US"),
    ],
)  # fmt: skip
def test_a_value_is_written_as_the_field_wants_it(value, said, first):
    assert next(list_notations(value, field(**said))) == first


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("03/04/2027", {"kind": "date"}),  # the third of April, or the fourth of March?
        ("1.250", {"kind": "number"}),  # one and a quarter, or a thousand?
        ("Ada", {"message": "An agent with this name already exists"}),
        ("x" * 200, {"max_length": 100}),
        ("en", {"options": (FieldOption(value="en-US", label="EN"), FieldOption(value="en-GB", label="En"))}),
    ],
)
def test_what_could_mean_something_else_is_left_alone(value, said):
    assert list(list_notations(value, field(**said))) == []


@given(st.dates(min_value=date(1000, 1, 1)), st.sampled_from(["MM/DD/YYYY", "DD.MM.YYYY", "YYYY-MM-DD"]))
def test_a_date_stays_the_day_it_is(day, wanted):
    written = {"YYYY": f"{day.year:04}", "MM": f"{day.month:02}", "DD": f"{day.day:02}"}
    expected = wanted
    for token, text in written.items():
        expected = expected.replace(token, text)
    got = list(list_notations(day.isoformat(), field(message=f"as {wanted}")))
    assert got == ([] if expected == day.isoformat() else [expected])


@given(st.text(max_size=40), st.text(max_size=60), st.sampled_from(["text", "number", "date", "select"]))
def test_no_text_gets_longer_or_other_letters_unless_it_is_a_date_or_a_choice(value, message, kind):
    for written in list_notations(value, field(message=message, kind=kind)):
        assert written != value
        letters = [c for c in written if not c.isspace() and c not in ",' .-"]
        if any(c.isalpha() for c in written):
            assert [c for c in value if not c.isspace() and c not in ",' .-"] == letters
