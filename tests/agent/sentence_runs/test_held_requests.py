"""Which requests of a press need a yes by what they say."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from agent.sentence_runs import held_requests

PARTS = '--x\r\nContent-Disposition: form-data; name="_method"\r\n\r\ndelete\r\n--x--'


class _Permissions:
    def judge_request(self, harm: tuple[str, str], name: str) -> Any:
        return SimpleNamespace(may=False, harm=harm[0])


def judged(method: str, path: str, body: str = "", **headers: str) -> Any:
    request = SimpleNamespace(
        method=method,
        url=f"http://127.0.0.1:8000{path}",
        post_data=body,
        headers={name.replace("_", "-"): value for name, value in headers.items()},
        resource_type="fetch",
        is_navigation_request=lambda: False,
    )
    return held_requests._judge(request, _Permissions(), "Go")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("method", "path", "body", "headers"),
    [
        ("POST", "/boats/7", "", {"x_http_method_override": "DELETE"}),
        ("POST", "/boats/7", "name=Ada&_method=delete", {}),
        ("POST", "/boats/7", '{"_method": "DELETE"}', {}),
        ("POST", "/boats/7", PARTS, {}),
        ("POST", "/api/accounts/7:delete", "", {}),
        ("POST", "/rpc", '{"jsonrpc": "2.0", "method": "account.delete"}', {}),
        ("DELETE", "/boats/7", "", {"x_http_method_override": "GET"}),
        ("DELETE", "/boats/7", "_method=get", {}),
        ("POST", "/boats/7", "_method=patch&_method=delete", {}),
        ("POST", "/graphql", '{"query": "mutation deleteBoat { x }"}', {}),
    ],
)
def test_what_deletes_by_a_word_beside_its_method_and_address_is_held(method, path, body, headers) -> None:
    assert not judged(method, path, body, **headers).may


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/boats/7", "name=Ada&_method=patch"),
        ("/boats/7", "note=the+_method=delete+of+old"),
        ("/boats/7:rename", ""),
        ("/rpc", '{"jsonrpc": "2.0", "method": "account.list"}'),
        ("/boats", '{"method": "delete"}'),
        ("/rpc", '{"jsonrpc": "2.0", "method": 5}'),
        ("/rpc", "[" * 100_000),
    ],
)
def test_what_says_nothing_of_the_kind_is_sent(path, body) -> None:
    assert judged("POST", path, body).may
