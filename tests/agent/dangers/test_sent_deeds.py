"""Which requests need a yes by what they say."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agent.dangers.sent_deeds import SentRequest, find_harm_in_sent


def in_parts(name: str, value: str) -> str:
    return f'--x\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n--x--'


def harm(method: str, path: str, body: Any = "", headers: dict[str, str] | None = None) -> str | None:
    text = body if isinstance(body, str) else json.dumps(body)
    found = find_harm_in_sent(SentRequest(method, f"http://127.0.0.1:8000{path}", text, headers or {}))
    return None if found is None else found[0]


DELETE = "mutation M { ok: deleteAccount(id: 1) { id } }"


@pytest.mark.parametrize(
    ("method", "path", "body", "headers"),
    [
        ("POST", "/boats/7", "", {"x-http-method-override": "DELETE"}),
        ("POST", "/boats/7", "name=Ada&_method=delete", {}),
        ("POST", "/boats/7", {"_method": "DELETE"}, {}),
        ("POST", "/boats/7", in_parts("_method", "delete"), {}),
        ("POST", "/boats/7", in_parts("_method", "delete").replace("\r\n\r\n", "\r\nX: \ufffd\r\n\r\n", 1), {}),
        ("POST", "/api/accounts/7:delete", "", {}),
        ("POST", "/account/close", "", {}),
        ("POST", "/customer-remove", "", {}),
        ("POST", "/boats/search", {"action": "delete"}, {}),
        ("POST", "/rpc", {"jsonrpc": "2.0", "method": "account.delete"}, {}),
        ("POST", "/web/dataset/call_kw/boat/unlink", {}, {}),
        ("DELETE", "/boats/7", "", {"x-http-method-override": "GET"}),
        ("DELETE", "/boats/7", "_method=get", {}),
        ("POST", "/boats/7", "_method=patch&_method=delete", {}),
        ("PATCH", "/boats/7", {"status": "deleted"}, {}),
        ("PUT", "/boats/7", {"boat": {"state": "DELETED"}}, {}),
        ("PATCH", "/boats/7", {"isDeleted": True}, {}),
        ("PATCH", "/boats/7", {"deleted_at": "2026-11-30"}, {}),
        ("POST", "/boats/7", "boat[name]=Skua&boat[_destroy]=1", {}),
        ("POST", "/admin/boats", "action=delete_selected&id=7", {}),
        ("PURGE", "/boats/7", "", {}),
        ("POST", "/soap", "<x/>", {"soapaction": '"urn:boats#DeleteAccount"'}),
        ("POST", "/xmlrpc", "<methodCall><methodName>account.delete</methodName></methodCall>", {}),
        ("POST", "/$batch", {"requests": [{"id": "1", "method": "DELETE", "url": "/boats/7"}]}, {}),
        ("POST", "/batch", [{"method": "DELETE", "relative_url": "7"}], {}),
        ("POST", "/graphql", {"query": "mutation { admin { users { deleteUser(id: 1) { id } } } }"}, {}),
        ("POST", "/graphql", {"query": DELETE}, {}),
        ("POST", "/graphql", {"query": "mutation{removeMembers}"}, {}),
        ("POST", "/graphql", {"query": "mutation { rename { id } customerDelete(id: 1) { id } }"}, {}),
        ("POST", "/graphql", {"query": "mutation deleteBoat { x }"}, {}),
        ("POST", "/graphql", [{"query": "{ me }"}, {"query": DELETE}], {}),
        ("POST", "/graphql", {"query": f"fragment F on Account {{ id }} {DELETE}"}, {}),
        ("POST", "/graphql", {"operationName": "DeleteAccount", "extensions": {"persistedQuery": {}}}, {}),
        ("POST", "/graphql", DELETE, {"content-type": "application/graphql"}),
        ("POST", "/graphql", in_parts("operations", json.dumps({"query": DELETE})), {}),
        ("POST", "/graphql", f"query={DELETE}", {}),
        ("GET", f"/graphql?query={DELETE}", "", {}),
    ],
)  # fmt: skip
def test_what_deletes_by_what_it_says_is_known(method, path, body, headers) -> None:
    assert harm(method, path, body, headers) == "deletes"


@pytest.mark.parametrize(
    ("path", "danger"),
    [
        ("/orders/place", "pays"),
        ("/order/7/place", "pays"),
        ("/v1/payment_intents/pi_1/confirm", "pays"),
        ("/api/chat.postMessage", "sends"),
    ],
)
def test_a_verb_at_the_end_of_an_address_says_what_is_done_with_the_thing_before_it(path, danger):
    assert harm("POST", path) == danger


@pytest.mark.parametrize(
    ("path", "danger"),
    [
        ("/checkout", "pays"),
        ("/transfer", "pays"),
        ("/accounts/transferFunds", "pays"),
        ("/invoices/7/pay", "pays"),
        ("/messages/send", "sends"),
        ("/sendMessage", "sends"),
        ("/nachricht/senden", "sends"),
        ("/team/invite", "sends"),
        ("/session/logout", "signs_out"),
    ],
)
def test_what_pays_and_sends_by_its_address_is_known(path, danger) -> None:
    assert harm("POST", path) == danger
    assert danger == "signs_out" or path.endswith("/pay") or harm("GET", path) is None


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/boats/7", "name=Ada&_method=patch"),
        ("POST", "/boats/7", "note=the+_method=delete+of+old"),
        ("POST", "/boats/7:rename", ""),
        ("POST", "/rpc", {"jsonrpc": "2.0", "method": "account.list"}),
        ("POST", "/boats", {"method": "delete"}),
        ("POST", "/rpc", {"jsonrpc": "2.0", "method": 5}),
        ("POST", "/rpc", "[" * 100_000),
        ("PUT", "/boats/7", {"name": "Skua", "deleted": False, "deleted_at": None, "status": "moored"}),
        ("PATCH", "/boats/7", [{"op": "remove", "path": "/tags/0"}]),
        ("POST", "/wp/v2/posts/7", {"status": "publish"}),
        ("POST", "/search", {"query": "delete everything"}),
        ("POST", "/search", {"query": "mutation delete of genes"}),
        ("POST", "/orders/search", ""),
        ("POST", "/checkout/address", ""),
        *(("POST", path, {"name": "x"}) for path in (
            "/order", "/book", "/posts", "/posts/7", "/messages", "/payments", "/api/v1/transfers", "/invites", "/cart/add",
            "/password/reset", "/auth/reset", "/filters/clear", "/deleted-items/search", "/notifications/read", "/login",
            "/settings/notify", "/reply", "/subscriptions/7")),
        ("POST", "/graphql", {"query": "mutation { orderUpdate(id: 1) { id } bookCreate { id } updatePost { id } }"}),
        ("POST", "/graphql", {"query": "query DeleteBoatPage { boat { id } }", "operationName": "DeleteBoatPage"}),
        ("POST", "/graphql", {"operationName": "CheckoutQuery", "extensions": {}}),
        ("POST", "/graphql", {"operationName": "DeletedItems"}),
        ("POST", "/boats/search", {"filter": {"status": "deleted"}}),
        ("POST", "/boats/search", {"status": "deleted", "deleted": True}),
        ("POST", "/api/query/7", {"status": "deleted"}),
        ("POST", "/boats", "filter[status]=deleted"),
        ("POST", "/places/place", ""),
        ("POST", "/email/confirm", ""),
        ("POST", "/blog.posts", ""),
        ("POST", "/graphql", {"query": "mutation { updatePost(id: 1) { post { comments(first: 2) { deletedAt } } } }"}),
        ("POST", "/$batch", {"requests": [{"method": "GET", "url": "/boats"}]}),
    ],
)  # fmt: skip
def test_what_keeps_and_finds_things_is_sent(method, path, body) -> None:
    assert harm(method, path, body) is None
