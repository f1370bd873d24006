"""What a report warns of."""

from __future__ import annotations

from tests.agent.synthesis import sample_pages
from tests.agent.synthesis import synthesis_examples as g


def test_that_few_took_a_way_is_no_doubt_where_it_is_known_when_it_is_taken():
    known = g.induce([sample_pages.sign_in(number, code=number % 2 == 0) for number in range(4)])
    assert known.synthesis_report.branch_count == 1
    assert known.synthesis_report.warnings == ()
