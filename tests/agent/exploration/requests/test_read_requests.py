"""Requests that are sent because they read."""

from __future__ import annotations

import pytest

from agent.exploration.requests.read_requests import ReadRequests

VIEWS = "http://127.0.0.1/api/3/views"


@pytest.mark.parametrize(
    ("method", "url", "body", "reads"),
    [
        ("POST", VIEWS, "{}", True),
        ("PUT", VIEWS, "{}", True),
        ("PATCH", f"{VIEWS}?page=2", "", True),
        ("DELETE", VIEWS, "", False),
        ("PUT", f"{VIEWS}/7", "{}", False),
        ("POST", VIEWS, '{"query": "mutation { removeView }"}', False),
    ],
)
def test_a_path_that_was_named_reads_by_whatever_method_but_delete(
    method: str, url: str, body: str, reads: bool
) -> None:
    assert ReadRequests(("/api/*/views",)).are_read(method, url, body, on_load=False) is reads
