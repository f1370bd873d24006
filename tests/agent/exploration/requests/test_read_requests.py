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
    assert _are_read(method, url, body) is reads


@pytest.mark.parametrize(
    ("url", "body", "headers"),
    [
        ("http://other.test/api/3/views", "{}", {}),
        (VIEWS, "{}", {"x-http-method-override": "DELETE"}),
        (VIEWS, "_method=delete", {}),
        (f"{VIEWS}?_method=DELETE", "", {}),
        (VIEWS, '{"action": "deleteAll"}', {}),
        ("http://127.0.0.1/api/delete/views", "{}", {}),
    ],
)
def test_what_goes_to_another_website_or_names_a_deed_does_not_read(
    url: str, body: str, headers: dict[str, str]
) -> None:
    assert not _are_read("POST", url, body, headers)


@pytest.mark.parametrize(
    ("url", "reads"),
    [
        ("http://127.0.0.1/graphql", True),
        ("http://127.0.0.1/account/delete", False),
        ("http://127.0.0.1/graphql?op=DeleteBoat", False),
    ],
)
def test_a_graphql_query_reads_unless_its_address_names_a_deed(url: str, reads: bool) -> None:
    assert _are_read("POST", url, '{"query": "{me}"}') is reads


def test_another_host_of_the_website_is_one_of_it() -> None:
    reads = ReadRequests(("/api/*/views",), ("https://www.harbour.example",))
    assert reads.are_read("POST", "https://api.harbour.example/api/3/views", "{}", on_load=False)


def _are_read(method: str, url: str, body: str, headers: dict[str, str] | None = None) -> bool:
    reads = ReadRequests(("/api/*/views",), ("http://127.0.0.1:8080",))
    return reads.are_read(method, url, body, on_load=False, headers=headers)
