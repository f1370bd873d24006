"""The transforms of KS 9.2, one table; errors say what they got."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from kb_schema.transforms import TRANSFORMS, Transform, TransformError, apply_all

ADAPTER = TypeAdapter(tuple[Transform, ...])


def _apply(value, *transforms):
    return apply_all(value, ADAPTER.validate_python(transforms))


KS = {
    "add_days": ("2025-01-15", {"value": 7}, "2025-01-22"),
    "add_hours": ("2025-01-15T22:30:00", {"value": 2}, "2025-01-16T00:30:00"),
    "add_minutes": ("2025-01-15T22:30:00", {"value": 45}, "2025-01-15T23:15:00"),
    "format_date": ("2025-01-22", {"format": "MM/DD/YYYY"}, "01/22/2025"),
    "format_phone": ("14155550123", {}, "+1 (415) 555-0123"),
    "format_currency": (1234.5, {}, "$1,234.50"),
    "uppercase": ("Agent Smith", {}, "AGENT SMITH"),
    "lowercase": ("Agent Smith", {}, "agent smith"),
    "capitalize": ("agent smith", {}, "Agent Smith"),
    "extract_regex": ("/agent/agt-7/edit", {"pattern": "/agent/([^/]+)"}, "agt-7"),
    "replace_regex": ("hi-IN", {"pattern": "-.*", "replacement": ""}, "hi"),
    "concat": ("Smith", {"prefix": "Agent "}, "Agent Smith"),
    "calculate": (50, {"expression": "value * 2 + 1"}, 101),
}
"""Every transform that KS 9.2 names, in its order; the first and the fourth with its own example (4.5)."""
OURS = {"ungroup_number": ("1,750.50", {}, "1750.50"), "arithmetic": ("$500 - $120.50", {}, "379.5")}
"""Every other transform."""


@pytest.mark.parametrize("name", [*KS, *OURS])
def test_every_transform_does_what_its_name_says(name):
    value, settings, expected = (KS | OURS)[name]
    assert _apply(value, {"type": name, **settings}) == expected


def test_no_transform_is_missing_from_the_tables():
    names = {name for kind in TRANSFORMS for name in kind.model_fields["type"].annotation.__args__}
    assert names == {*KS, *OURS}


TABLE = [
    ("2025-01-30", [{"type": "add_days", "value": 7}], "2025-02-06"),
    (
        "2025-01-15",
        [{"type": "add_days", "value": 7}, {"type": "format_date", "format": "MM/DD/YYYY"}],
        "01/22/2025",
    ),
    ("2025-01-15T10:30:00", [{"type": "add_hours", "value": 14}], "2025-01-16T00:30:00"),
    ("2025-01-15", [{"type": "add_hours", "value": 1}], "2025-01-15T01:00:00"),
    ("2025-01-15T10:30:00+02:00", [{"type": "add_minutes", "value": -31}], "2025-01-15T09:59:00+02:00"),
    (date(2024, 2, 28), [{"type": "add_days", "value": 1}], "2024-02-29"),
    (
        datetime(2025, 7, 4, 9, 5, 3, tzinfo=UTC),
        [{"type": "format_date", "format": "D MMM YY, HH:mm:ss"}],
        "4 Jul 25, 09:05:03",
    ),
    ("2025-07-04", [{"type": "format_date", "format": "MMMM D"}], "July 4"),
    ("14155550123", [{"type": "format_phone"}], "+1 (415) 555-0123"),
    ("415-555-0123", [{"type": "format_phone", "format": "(###) ###-####"}], "(415) 555-0123"),
    ("1234.5", [{"type": "format_currency"}], "$1,234.50"),
    (-1000, [{"type": "format_currency", "currency": "€"}], "-€1,000.00"),
    ("1,000", [{"type": "format_currency", "currency": "EUR", "decimals": 0}], "€1,000"),
    (3, [{"type": "calculate", "expression": "1 / (value - 1)"}], 0.5),
    (0.125, [{"type": "format_currency", "decimals": 2}], "$0.13"),
    ("straße", [{"type": "uppercase"}], "STRASSE"),
    *(
        (text, [{"type": "ungroup_number"}], plain)
        for text, plain in (
            ("1.750,50", "1750.50"),
            ("-12 000", "-12000"),
            ("1'000'000", "1000000"),
            ("1.750", "1.750"),
            ("1,75", "1,75"),
            ("0,123", "0,123"),
            ("12,34,567", "12,34,567"),
            ("Bay 1,200", "Bay 1,200"),
            (1750, 1750),
        )
    ),
    ("ÉCOLE", [{"type": "lowercase"}], "école"),
    ("mary-jane o'neil McX", [{"type": "capitalize"}], "Mary-jane O'neil McX"),
    ("order 4711 of 9", [{"type": "extract_regex", "pattern": r"(\d+) of"}], "4711"),
    ("order 4711", [{"type": "extract_regex", "pattern": r"\d+"}], "4711"),
    ("a1b22", [{"type": "extract_regex", "pattern": r"(\w)(\d+)$", "group": 2}], "22"),
    ("a-b-c", [{"type": "replace_regex", "pattern": "-", "replacement": "+"}], "a+b+c"),
    ("ab", [{"type": "replace_regex", "pattern": "(a)(b)", "replacement": r"\2\1"}], "ba"),
    ("x", [{"type": "concat", "prefix": "<", "suffix": ">"}], "<x>"),
    ("x", [{"type": "concat", "value": "!"}], "x!"),
    ("1,000", [{"type": "calculate", "expression": "value * 1.1"}], 1100),
    (7, [{"type": "calculate", "expression": "(value - 1) / 4"}], 1.5),
    (7, [{"type": "calculate", "expression": "-value // 2 % 3"}], 0),
    ("0.1", [{"type": "calculate", "expression": "value + 0.2"}], 0.3),
    ("anything", [], "anything"),
    (date(2025, 1, 5), [], "2025-01-05"),
]


@pytest.mark.parametrize(("value", "transforms", "expected"), TABLE)
def test_a_value_is_transformed(value, transforms, expected):
    result = _apply(value, *transforms)
    assert result == expected
    assert type(result) is type(expected)


@pytest.mark.parametrize(
    ("value", "transform", "message"),
    [
        ("soon", {"type": "add_days", "value": 1}, "expected a date"),
        ("2025-13-01", {"type": "format_date", "format": "D"}, "expected a date"),
        ("none", {"type": "format_phone"}, "needs digits"),
        ("much", {"type": "format_currency"}, "expected a number"),
        ("nan", {"type": "format_currency"}, "finite"),
        ("abc", {"type": "extract_regex", "pattern": r"\d"}, "matches nothing"),
        (0, {"type": "calculate", "expression": "1 / value"}, "cannot be computed"),
        ("1e90", {"type": "calculate", "expression": "value * value"}, "out of range"),
        (1, {"type": "calculate", "expression": "value * 1e999"}, "out of range"),
        ("1e999999", {"type": "calculate", "expression": "value"}, "out of range"),
        ("1e40", {"type": "format_currency"}, "too large"),
        ("9999-12-31", {"type": "add_days", "value": 1}, "beyond the calendar"),
        ("a", {"type": "replace_regex", "pattern": "a", "replacement": r"\9"}, "cannot take the place"),
    ],
)
def test_a_value_a_transform_cannot_take_is_refused(value, transform, message):
    with pytest.raises(TransformError, match=message):
        _apply(value, transform)


@pytest.mark.parametrize(
    "transform",
    [
        {"type": "calculate", "expression": "__import__('os')"},
        {"type": "calculate", "expression": "value ** 9"},
        {"type": "calculate", "expression": "value if 1 else 2"},
        {"type": "calculate", "expression": "(" * 200},
        {"type": "calculate", "expression": "other + 1"},
        {"type": "extract_regex", "pattern": "(?=x)"},
        {"type": "replace_regex", "pattern": "("},
        {"type": "add_days", "value": float("inf")},
        {"type": "explode"},
        {"type": "extract_regex", "pattern": "(a)", "group": 2},
    ],
)
def test_a_transform_that_could_never_work_is_refused_when_it_is_written(transform):
    with pytest.raises(ValidationError):
        _apply("1", transform)


@given(
    value=st.text()
    | st.integers()
    | st.floats()
    | st.dates()
    | st.datetimes()
    | st.none()
    | st.lists(st.text()),
    name=st.sampled_from(sorted(KS)),
)
def test_whatever_a_value_is_a_transform_gives_json_or_says_why_not(value, name):
    try:
        result = _apply(value, {"type": name, **KS[name][1]})
    except TransformError:
        return
    json.dumps(result, allow_nan=False)
