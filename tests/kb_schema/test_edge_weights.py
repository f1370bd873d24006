"""What an edge costs: the formulas of DESIGN section 5, and what every engine relies on."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kb_schema.edge_weights import LEAST_RELIABILITY, NO_RECOVERY_MS, edge_weights

MS = st.floats(0, 1e7)
RELIABILITY = st.floats(0, 1)


@pytest.mark.parametrize(
    ("ms", "reliability", "back", "balanced"),
    [
        (200, 1.0, 5_000, 200),  # it never fails: nothing to add
        (200, 0.5, 900, 200 + (200 + 900)),  # one failure expected, each costing the try and the way back
        (100, 0.8, 300, 100 + Fraction(1, 4) * 400),
        (100, 0.0, 0, 100 + 99 * 100),  # clipped to one success in a hundred
    ],
)
def test_balanced_is_the_expected_time_of_trying_until_it_works(ms, reliability, back, balanced):
    assert edge_weights(ms, reliability, back)["balanced"] == pytest.approx(float(balanced))


def test_where_no_way_back_is_known_it_takes_five_seconds():
    assert edge_weights(200, 0.5) == edge_weights(200, 0.5, 5_000)
    assert NO_RECOVERY_MS == 5_000


@given(ms=MS, reliability=RELIABILITY, back=MS)
def test_no_weight_is_negative_or_without_end(ms, reliability, back):
    for weight in edge_weights(ms, reliability, back).values():
        assert math.isfinite(weight)
        assert not str(weight).startswith("-")  # -0.0 too: ArangoDB sorts and shows it


@given(first=RELIABILITY, second=RELIABILITY)
def test_reliable_adds_up_to_the_product_of_the_reliabilities(first, second):
    total = edge_weights(1, first)["reliable"] + edge_weights(1, second)["reliable"]
    clipped = max(first, LEAST_RELIABILITY) * max(second, LEAST_RELIABILITY)
    assert math.exp(-total) == pytest.approx(clipped)
