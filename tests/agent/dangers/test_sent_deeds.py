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
        ("POST", "/boats", {"name": "Skua", "method": "delete"}),
        ("POST", "/rpc", {"jsonrpc": "2.0", "method": 5}),
        ("POST", "/rpc", "[" * 100_000),
        ("PUT", "/boats/7", {"name": "Skua", "deleted": False, "deleted_at": None, "status": "moored"}),
        ("PATCH", "/boats/7", [{"op": "replace", "path": "/name", "value": "delete"}]),
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


@pytest.mark.parametrize(
    ("method", "path", "body", "headers"),
    [
        ("PATCH", "/boats/7", [{"op": "remove", "path": "/tags/0"}], {}),
        ("PATCH", "/groups/7", {"Operations": [{"op": "remove", "path": "members"}]}, {}),
        ("POST", "/batch", {"ops": [{"op": "remove", "path": "/boats/1"}]}, {}),
        ("POST", "/items", "intent=delete&id=1", {}),
        ("POST", "/items", {"intent": "delete", "id": 1}, {}),
        ("POST", "/items", ":operation=delete&:applyTo=/a", {}),
        ("POST", "/items", {"operation": "unlink"}, {}),
        ("POST", "/items", 'payload={"type":"item_delete","args":{"id":1}}', {}),
        ("POST", "/items", in_parts("message", '{"actions":[{"op":"remove","id":1}]}'), {}),
        ("POST", "/items", {"httpMethod": "DELETE", "id": 1}, {}),
        ("POST", "/items", {"type": "DELETE_ITEM", "payload": {"id": 1}}, {}),
        ("POST", "/items", {"type": "items/remove", "itemId": 1}, {}),
        ("POST", "/items", {"mode": "purge"}, {}),
        ("POST", "/sync", {"token": "*", "commands": [{"type": "item_delete", "args": {"id": 1}, "uuid": "a"}]}, {}),
        ("POST", "/live", {"components": [{"snapshot": "{}", "calls": [{"path": "", "method": "delete", "params": [1]}]}]}, {}),
        ("POST", "/rpc/call", {"jsonrpc": "2.0", "method": "call", "id": 3,
                               "params": {"model": "boat", "method": "unlink", "args": [[1]], "kwargs": {}}}, {}),
        ("POST", "/orders/7", {"actions": [{"action": "removeLineItem", "lineItemId": "a"}], "version": 3}, {}),
        ("POST", "/_bulk", '{"delete":{"_id":"1"}}\n', {}),
        ("POST", "/_bulk", '{"index":{"_id":"2"}}\n{"name":"Skua"}\n{"delete":{"_id":"1"}}\n', {}),
        ("POST", "/update", {"remove": {"query": "id:7"}}, {}),
        ("POST", "/documents/commit", {"writes": [{"delete": "projects/p/boats/7"}]}, {}),
        ("POST", "/boats", {"boats": [{"id": 7, "_delete": True}]}, {}),
        ("POST", "/boats", "delete=7", {}),
        ("POST", "/boats", "name=Skua&commit=Delete+boat", {}),
        ("POST", "/flow", "execution=e1s1&_eventId=delete", {}),
        ("POST", "/", "[1]", {"next-action": "deleteUser"}),
        ("POST", "/", {"TableName": "boats"}, {"x-amz-target": "DynamoDB_20120810.DeleteItem"}),
        ("POST", "/soap", "<s:Envelope/>", {"content-type": 'application/soap+xml; action="urn:DeleteAccount"'}),
        ("POST", "/soap", "<?xml version='1.0'?>\n<s:Envelope><s:Body a='b'>\n<m:RemoveCustomer/></s:Body></s:Envelope>", {}),
        ("POST", "/$batch", "--b\r\nContent-Type: application/http\r\n\r\nDELETE /boats/1 HTTP/1.1\r\n\r\n--b--", {}),
        ("POST", "/$batch", "--b\r\nContent-Type: application/http\r\n\r\nPOST /boats/1/delete HTTP/1.1\r\n\r\n--b--", {}),
        ("POST", "/batch", [{"httpMethod": "DELETE", "path": "/1"}], {}),
        ("POST", "/batch", {"requests": [{"method": "POST", "url": "/boats/1/delete", "body": {}}]}, {}),
        ("POST", "/graphql", {"query": "fragment F on M { x: deleteUser(id: 1) { id } } mutation { admin { ...F } }"}, {}),
        ("POST", "/mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "delete_user", "arguments": {"id": 1}}}, {}),
        ("POST", "/api", {"tool": "delete_user", "arguments": {}}, {}),
        ("POST", "/items", "aktion=loeschen&id=1", {}),
        ("POST", "/items", "aktion=kuendigen&id=1", {}),
        ("POST", "/items", {"accion": "eliminar", "id": 1}, {}),
        ("POST", "/items", {"acción": "vaciar", "id": 1}, {}),
        ("POST", "/items", "akcja=usun&id=1", {}),
        ("POST", "/items", {"действие": "удалить", "id": 1}, {}),
        ("POST", "/items", "azione=elimina", {}),
        ("POST", "/api", {"mutations": [{"name": "deleteTodo", "args": {"id": 1}}]}, {}),
        ("POST", "/push", {"pushVersion": 1, "mutations": [{"id": 3, "clientID": "a", "name": "deleteTodo", "args": {"id": 1}, "timestamp": 5}]}, {}),
        ("POST", "/push", {"mutations": [{"name": "deleteTodo", "id": 1}]}, {}),
        ("POST", "/batch", {"requests": [{"method": "POST", "path": "/x", "body": {"_method": "DELETE"}}]}, {}),
        ("POST", "/events", {"kind": "command", "command": {"type": "DeleteAccount"}}, {}),
        ("POST", "/api", {"command": {"action": "delete", "id": 1}}, {}),
        ("POST", "/items", "btnDelete=Delete&name=x", {}),
        ("POST", "/items", "name=x&deleteButton=", {}),
        ("POST", "/items", "ctl00%24Main%24lnkDelete.x=5&ctl00%24Main%24lnkDelete.y=7", {}),
        ("POST", "/items", "name=x&btn1=Delete", {}),
        ("POST", "/Default.aspx", "__EVENTTARGET=ctl00%24btnDelete&__EVENTARGUMENT=", {}),
        ("POST", "/Default.aspx", "__EVENTTARGET=GridView1&__EVENTARGUMENT=Delete%243", {}),
        ("POST", "/list.xhtml", "javax.faces.source=form%3AdeleteButton&form=form", {}),
        ("POST", "/index.php", "task=article.delete&cid=1", {}),
        ("POST", "/things/1", "action=leave&csrf_token=x&id=1", {}),
        ("POST", "/teams/1", "action=leave&comment=Bye&rating=5", {}),
        ("POST", "/me", {"action": "leave", "team": "Crew", "reason": "no time"}, {}),
    ],
)  # fmt: skip
def test_what_names_a_deed_as_its_operation_is_known(method, path, body, headers) -> None:
    assert harm(method, path, body, headers) == "deletes"


@pytest.mark.parametrize(
    ("path", "body", "danger"),
    [
        ("/graphql", {"query": "mutation { org { billing { charge(amount: 9) { ok } } } }"}, "pays"),
        ("/graphql", {"query": "mutation { refundOrder(id: 1) { ok } }"}, "pays"),
        ("/rpc", {"method": "sendMessage", "params": {"text": "x"}}, "sends"),
        ("/orders/1/submit", {}, "pays"),
        ("/carts/1/complete", {}, "pays"),
    ],
)
def test_what_pays_and_sends_as_its_operation_is_known(path, body, danger) -> None:
    assert harm("POST", path, body) == danger


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/flags", {"name": "old", "type": "delete_flag", "enabled": True}),
        ("POST", "/boats/search", {"filter": {"action": "delete"}}),
        ("POST", "/boats/search", {"type": "delete", "id": 1}),
        ("POST", "/boats", {"query": {"op": "remove", "path": "x"}}),
        ("POST", "/api/notes", {"event": "remove_from_cart_viewed"}),
        ("POST", "/api/notes", {"action": "delete_clicked"}),
        ("POST", "/track", {"event": "remove_from_cart", "data": {"id": 1}}),
        ("POST", "/telemetry", {"requests": [{"method": "DELETE", "url": "/boats/1", "status": 200}]}),
        ("POST", "/api/3/envelope/", '{"sdk":"x"}\n{"type":"session"}\n{"action":"delete","id":1}\n'),
        ("POST", "/webhooks", {"url": "https://x", "events": ["boat.deleted"], "method": "DELETE"}),
        ("PUT", "/rules/1", {"when": "mail", "then": {"action": "delete"}}),
        ("POST", "/rules", {"name": "x", "rule": {"then": [{"action": "delete"}]}}),
        ("POST", "/roles", {"name": "Clerk", "rights": {"view": True, "delete": True}}),
        ("POST", "/roles", {"name": "Clerk", "rights": [{"action": "delete", "subject": "Boat"}]}),
        ("POST", "/features", {"features": {"delete": {"enabled": True}}}),
        ("POST", "/texts", {"de": {"delete": "Löschen"}, "en": {"delete": "Delete", "boat": {"delete": {"title": "Delete"}}}}),
        ("POST", "/forms", {"title": "x", "fields": [{"id": "a", "type": "text", "label": "Delete"},
                                                     {"id": "b", "type": "delete_button", "label": "Delete"}]}),
        ("POST", "/tables", {"columns": [{"id": "x", "type": "delete"}]}),
        ("POST", "/notes", {"content": [{"type": "paragraph", "content": [{"type": "text", "text": "delete"}]}]}),
        ("POST", "/notes", {"version": 3, "clientID": 1, "steps": [
            {"stepType": "replace", "from": 1, "to": 2},
            {"stepType": "removeMark", "mark": {"type": "strong"}, "from": 1, "to": 2}]}),
        ("POST", "/notes", {"ops": [{"retain": 5}, {"delete": 3}, {"insert": "remove"}]}),
        ("POST", "/notes", {"blocks": [{"id": "a", "type": "delimiter", "data": {}}]}),
        ("POST", "/boats/7", {"action": "save", "after_delete": "archive"}),
        ("POST", "/notes/7", 'text={"action":"delete"}&name=rules.json'),
        ("POST", "/notes/7", 'text={"name":"x","type":"delete"'),
        ("POST", "/boats/7", {"data": {"type": "boats", "id": "7", "attributes": {"name": "delete"}}}),
        ("POST", "/boats/7", "name=Skua&form-0-DELETE=&delete=0"),
        ("POST", "/boats/7", "name=Skua&commit=Save&remove_photo=0"),
        ("POST", "/boats/7", {"labels": {"add": [1], "remove": [2]}}),
        ("POST", "/payments/methods", {"type": "card", "method": "transfer"}),
        ("POST", "/log", "DELETE /boats/1 HTTP/1.1"),
        ("POST", "/notes", {"text": "--b\r\nContent-Type: application/http\r\n\r\nDELETE /boats/1 HTTP/1.1"}),
        ("POST", "/soap", "<s:Envelope><s:Body><m:GetDeletedItems/></s:Body></s:Envelope>"),
        ("POST", "/mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "search_deleted", "arguments": {}}}),
        ("POST", "/rpc", {"jsonrpc": "2.0", "id": 1, "method": "boats.create", "params": {"name": "delete"}}),
        ("POST", "/api", {"events": [{"name": "remove_from_cart", "params": {"id": 1}}]}),
        ("POST", "/flags", {"name": "delete-old", "params": {"x": 1}, "enabled": True}),
        ("POST", "/workflows", {"name": "Clean", "commands": [{"type": "delete"}]}),
        ("POST", "/rules", {"name": "x", "actions": [{"type": "delete", "id": 1}]}),
        ("POST", "/rules", {"when": "mail", "actions": [{"name": "delete"}]}),
        ("POST", "/items", "aktion=speichern&notiz=loeschen"),
        ("POST", "/tasks", "task=delete&due=monday"),
        ("POST", "/items", "action=gui_open&do=tom"),
        ("POST", "/settings", "show_delete_button=1&deleteButton=0&btnSave=Save"),
        ("POST", "/settings", "button_text=Buy+now&button_delete_text=Remove&btn_label=Delete&submit_reason=Pay+later"),
        ("POST", "/settings", {"deleteButton": "Remove", "btnDelete": "Delete"}),
        ("POST", "/Default.aspx", "__EVENTTARGET=ctl00%24btnSave&__EVENTARGUMENT=&__VIEWSTATE=delete"),
        ("POST", "/list.xhtml", "javax.faces.source=form%3AdeletedItems&form=form"),
        ("POST", "/notes", {"body": {"method": "DELETE", "text": "x"}}),
        ("POST", "/ticket/1", "field_summary=Boiler&field_milestone=May&action=leave&action_resolve_resolution=fixed&comment=x&submit=Submit"),
        ("POST", "/graphql", {"query": "mutation { updateBoat { ...F } } fragment F on Boat { delete chargeList(first: 2) { id } }"}),
    ],
)  # fmt: skip
def test_what_has_the_words_of_a_deed_as_data_is_sent(method, path, body) -> None:
    assert harm(method, path, body) is None


@pytest.mark.parametrize(
    "body",
    [
        '{"changes":[{"type":"remove","id":1}]}',
        '{"command":{"deleteAccount":{}}}',
        '{"operationType":"DELETE","id":1}',
        '{"$type":"DeleteAccountCommand","id":1}',
        '{"@type":"type.googleapis.com/acme.DeleteUserRequest","id":1}',
        '{"type":1,"target":"DeleteUser","arguments":[1]}',
        '{"mutation":"deleteUser","args":{"id":1}}',
        '{"requests":[{"body":{"type":"DeleteAccount","id":1}}]}',
        '{"$type":"Acme.Commands.DeleteAccountCommand, Acme.Commands","AccountId":7,"Reason":"x"}',
        '["deleteUser",{"id":1}]',
        '42["deleteUser",{"id":1}]',
        '["{\\"msg\\":\\"method\\",\\"method\\":\\"removeBoat\\",\\"params\\":[1]}"]',
        '{"a":"deleteUser","p":[1]}',
        '{"rpc":"users.remove","params":[1]}',
        "mutation=deleteUser&id=1",
        '{"messages":[{"kind":"RemoveMember","memberId":3,"reason":"left"}]}',
        '{"jobs":[{"job":"purge_cache","id":1}]}',
        '{"updates":[{"op":"delete","id":"a"}]}',
        '{"edits":[{"action":"remove","key":"x"}]}',
        '{"batch":[{"operation":"delete","id":4}]}',
        '{"tx":[{"kind":"delete","ids":[1,2]}]}',
        '{"messageType":"CancelSubscription","subscriptionId":1}',
        '{"request":"{\\"type\\":\\"DeleteUser\\",\\"id\\":1}"}',
        '{"command":{"removeMember":{"memberId":1}}}',
        '{"task":"delete_account","id":1}',
        '{"class":"com.acme.DeleteOrder","orderId":5}',
        '{"__typename":"DeleteUserInput","id":1}',
        '{"do":"user.delete","id":3}',
        '{"service":"UserService","method":"deleteUser","args":[1]}',
        '{"requests":[{"deleteFile":{"fileId":1}}]}',
        '{"type":"user/deleteAccount","meta":{}}',
        '{"0":{"json":{"type":"DeleteUser","id":1}}}',
        '{"actionType":"ACCOUNT_DELETE","accountId":1}',
        '{"op":"deleteById","id":1}',
        '{"operations":[{"command":"listRemove","path":["content"]}]}',
        '{"op":"delete_all_read","box":1}',
        '{"kind":"bulkDeleteUsers","users":[1]}',
    ],
)
def test_a_verb_and_its_thing_name_an_operation_wherever_they_stand(body) -> None:
    assert harm("POST", "/v/1", body) == "deletes"


@pytest.mark.parametrize(
    ("path", "body", "danger"),
    [
        ("/v/1", '{"type":"PAY_INVOICE","id":1}', "pays"),
        ("/v/1", '{"type":"SEND_MESSAGE","payload":{"text":"x"}}', "sends"),
        ("/v/1", '{"type":"transfer_funds","amount":5,"to":"x"}', "pays"),
        ("/v/1", '{"type":"invocation","method":"PayInvoice","args":[]}', "pays"),
        ("/rpc?mutation=deleteUser&id=1", "", "deletes"),
        (
            "/v/1",
            "<?xml version='1.0'?>\n<a:DeleteAccountRequest xmlns:a='x'><id>1</id></a:DeleteAccountRequest>",
            "deletes",
        ),
    ],
)
def test_names_of_other_deeds_and_those_of_queries_and_xml_are_operations_too(path, body, danger) -> None:
    assert harm("POST", path, body) == danger


@pytest.mark.parametrize(
    "body",
    [
        '{"type":"bank_transfer","amount":5,"id":1}',
        '{"data":{"type":"order_items","id":"7","attributes":{"quantity":2}}}',
        '{"data":{"type":"purchase_orders","attributes":{}}}',
        '{"type":"removeMark","from":1,"to":2}',
        '{"type":"remove_text","path":[0,0],"offset":3,"text":"a"}',
        '{"retention":"delete_after_30_days"}',
        '{"onDelete":"CASCADE"}',
        '{"page":"delete_account","data":{"x":1}}',
        '{"event_type":"remove_from_cart","id":1}',
        '{"events":[{"event_type":"remove_from_cart","payload":{"id":1}}]}',
        '{"trigger":"x","action":{"type":"send_email","to":"a@b.c"}}',
        '{"permissions":["delete_user","send_mail"]}',
        '{"key":"send_reminders","value":true}',
        '{"payment_method":"pay_on_delivery","address_id":5}',
        '{"source":"delete_dialog","data":{"id":1}}',
        '{"type":"list_deleted","id":1}',
        '{"type":"undelete","id":1}',
        '{"type":"undo_delete","id":1}',
        '{"type":"restore_deleted_user","id":1}',
        '{"action":"confirm_dialog_open"}',
        '{"kind":"delete_button","id":"x"}',
        '{"columns":[{"id":"x","type":"remove"}]}',
        '{"features":{"delete_account":{"enabled":true}}}',
        '{"settings":{"sendReminders":{"email":true}}}',
        '{"notification_type":"send_invoice","id":1}',
        '["deleted",5]',
        '[{"id":1,"type":"text"}]',
        '{"type":"note","text":"delete_user"}',
        '{"name":"Clean","steps":[{"type":"delete_files","id":1}]}',
        '{"type":"message","id":1}',
        '{"type":"order","id":1}',
        '{"type":"post","id":1}',
        '{"mode":"edit","type":"removable","id":3}',
        '{"type":"paragraph","content":[{"type":"text","text":"deleteUser"}]}',
        '{"type":"update_item","payload":{"id":1,"status":"removed_from_sale"}}',
        '{"msgtype":"m.text","body":"deleteUser"}',
        '{"contentType":"delete_notice","id":1}',
        '{"type":"track","event":"Delete Clicked","properties":{}}',
        '{"operation":"update","entity":"delete_requests","id":1}',
        '{"type":"payment_method","id":3}',
        '{"type":"order_by","id":1}',
        '{"type":"send_date","id":1}',
        '{"variables":{"input":{"id":1,"name":"deleteUser"}}}',
        '{"type":"draft","target":"post-message","id":1}',
        '{"type":"remote_payment","id":1}',
        '{"method":"card","type":"transfer"}',
        '{"task":"Delete old files","project_id":4}',
        '{"task":"pay-rent","project_id":4}',
        '{"type":"clear_sky","id":1}',
        '{"type":"delivery","id":1}',
        "<order><id>1</id></order>",
        '{"type":"on_delete","x":1}',
        '{"type":"can_delete","x":1}',
        '{"type":"auto_delete","x":1}',
        '{"type":"get_delete_reason","x":1}',
        '{"command":"showRemoveHints","x":1}',
    ],
)
def test_a_name_like_that_of_a_deed_is_data_where_data_stands(body) -> None:
    assert harm("POST", "/v/1", body) is None


def test_a_name_of_a_header_is_no_operation() -> None:
    assert harm("POST", "/boats", "name=x", {"hx-target": "delete-dialog", "hx-trigger": "delete"}) is None


@pytest.mark.parametrize(
    "body",
    ['{"a":' * 5_000 + "1" + "}" * 5_000, "[" + '{"type":"x"},' * 20_000 + "1]", '{"a":1}\n' * 50_000],
)
def test_large_and_deep_bodies_are_read_to_their_limit(body: str) -> None:
    assert harm("POST", "/boats", body) is None
