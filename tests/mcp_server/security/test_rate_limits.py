from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_server.security import rate_limits
from mcp_server.security.rate_limits import RateLimit, RateLimiter


def test_after_a_burst_a_client_is_told_when_to_come_back_and_may_then():
    now = 0.0
    limiter = RateLimiter(RateLimit(per_second=2, burst=3), clock=lambda: now)
    assert [limiter.wait("a") for _ in range(4)] == [0, 0, 0, 0.5]
    assert limiter.wait("b") == 0  # others are not held up
    now = 0.5
    assert limiter.wait("a") == 0
    assert limiter.wait("a") > 0


@given(
    st.lists(st.floats(0, 10), min_size=1, max_size=200),
    st.floats(0.1, 50),
    st.integers(1, 20),
)
def test_no_client_gets_more_than_its_burst_and_rate_whenever_it_asks(pauses, per_second, burst):
    now = 0.0
    limiter = RateLimiter(RateLimit(per_second, burst), clock=lambda: now)
    admitted = 0
    for pause in pauses:
        now += pause
        waiting = limiter.wait("a")
        admitted += waiting == 0
        assert waiting <= 1 / per_second
    assert admitted <= burst + now * per_second + 1e-6


def test_memory_is_bounded_however_many_clients_come(monkeypatch):
    monkeypatch.setattr(rate_limits, "MOST_CLIENTS", 3)
    limiter = RateLimiter(RateLimit(per_second=1, burst=1), clock=lambda: 0.0)
    for client in "abcdef":
        limiter.wait(client)
    assert len(limiter._buckets) == 3
    assert limiter.wait("f") == pytest.approx(1)
