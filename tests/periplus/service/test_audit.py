"""What the service writes into the audit log, and who may read it there."""

from __future__ import annotations

import json
import re

import pytest
from axe_playwright_python.async_playwright import Axe

from kb_store.audit.audit_entry import AuditEvent
from kb_store.audit.audit_log import AuditLog
from kb_store.audit.audit_recorder import use_audit_log
from mcp_server.security.bearer_tokens import TokenFile, mint_token
from tests.periplus.service.service_support import KEY, served

ANON = {"Accept": "text/html", "X-API-Key": ""}


@pytest.fixture
def log(tmp_path):
    found = AuditLog(tmp_path / "audit")
    use_audit_log(found)
    yield found
    use_audit_log(None)


@pytest.fixture
async def service(tmp_path, log):
    async with served(tmp_path, serve_wrong_keys=3) as opened:
        opened.data = tmp_path
        yield opened


def _told(log):
    return [(each.actor.text, each.action, each.outcome) for each in log.entries()]


async def _sign_in(service, key):
    page = await service.client.get("/sign-in", headers=ANON)
    token = re.search(r'name="csrf_token" value="([0-9a-f]+)"', page.text)[1]
    return await service.client.post("/sign-in", data={"key": key, "csrf_token": token}, headers=ANON)


async def test_a_run_and_its_artifact_are_recorded_with_the_key_and_the_request(service, log):
    submitted = await service.submit("REQ-1", ["Sign in | click"])
    request_id, run_id = submitted.headers["x-request-id"], submitted.json()["run_id"]
    await service.over("REQ-1")
    assert (await service.client.get("/api/artifacts/REQ-1/test_file")).status_code == 200
    begun, ended, opened = list(log.entries())
    assert (begun.actor.text, begun.action, begun.request_id.text) == (
        "key api-key",
        "run_submitted",
        request_id,
    )
    assert begun.about.text == f"{run_id} (verification REQ-1)"
    assert (ended.action, ended.about.text, ended.outcome) == ("run_finished", run_id, "success")
    assert (opened.action, opened.about.text) == ("artifact_opened", f"test_file of run {run_id}")
    assert "token=abc" not in (log.folder / "audit.jsonl").read_text()


async def test_a_cancelled_run_names_who_cancelled_it(service, log):
    service.quick.held = {"REQ-2"}
    await service.submit("REQ-2")
    await service.quick.until_began("REQ-2")
    assert (await service.client.post("/api/runs/REQ-2/cancel")).status_code == 202
    await service.over("REQ-2")
    assert ("key api-key", "run_cancelled", "done") in _told(log)


async def test_signing_in_and_out_and_wrong_keys_are_recorded_without_the_key(service, log):
    for _ in range(3):
        assert (await _sign_in(service, "a-wrong-key-of-somebody")).status_code == 401
    assert _told(log)[-2:] == [
        ("address 127.0.0.1", "sign_in_failed", "refused"),
        ("address 127.0.0.1", "locked_out", "refused"),
    ]
    assert _told(log).count(("address 127.0.0.1", "sign_in_failed", "refused")) == 3
    assert "a-wrong-key" not in (log.folder / "audit.jsonl").read_text()


async def test_a_session_is_named_in_what_it_does(service, log):
    assert (await _sign_in(service, KEY)).status_code == 303
    page = await service.client.get("/audit", headers=ANON)
    assert page.status_code == 200
    token = re.search(r'name="csrf_token" value="([0-9a-f]+)"', page.text)[1]
    await service.client.post("/sign-out", data={"csrf_token": token}, headers=ANON)
    assert _told(log) == [
        ("console api-key", "signed_in", "done"),
        ("console api-key", "audit_opened", "done"),
        ("console api-key", "signed_out", "done"),
    ]
    assert KEY not in (log.folder / "audit.jsonl").read_text()


async def test_the_log_is_read_checked_and_exported_over_rest(service, log):
    await service.submit("REQ-3")
    await service.over("REQ-3")
    found = (await service.client.get("/api/audit", params={"action": "run_submitted"})).json()["entries"]
    assert [each["action"] for each in found] == ["run_submitted"]
    check = (await service.client.get("/api/audit/check")).json()
    assert (check["entries"], check["problems"]) == (3, [])
    exported = await service.client.get("/api/audit/export")
    lines = [json.loads(line) for line in exported.text.splitlines()]
    assert lines[0]["hash"] == found[0]["hash"]
    path = log.folder / "audit.jsonl"
    path.write_text(path.read_text().replace("REQ-3", "REQ-4"))
    check = (await service.client.get("/api/audit/check", params={"head": check["head"]})).json()
    assert check["problems"] == ["entry 1: about was changed"]
    for wrong in ({"action": "nothing"}, {"since": "0.5"}, {"since": "2026-11-22"}):
        assert (await service.client.get("/api/audit", params=wrong)).status_code == 422, wrong
    twice = await service.client.get("/api/audit", params=[("actor", "a"), ("actor", "b")])
    assert (twice.status_code, twice.json()["detail"]) == (422, "query.actor is given more than once")
    later = {"since": "2999-01-01T00:00:00Z"}
    assert (await service.client.get("/api/audit", params=later)).json() == {"entries": []}


async def test_a_log_that_cannot_be_read_is_said_without_its_place(service, log):
    (log.folder / "audit.jsonl").mkdir(parents=True)
    answer = await service.client.get("/api/audit")
    assert (answer.status_code, answer.json()["code"]) == (503, "store_unavailable")
    assert str(log.folder) not in answer.text


@pytest.mark.parametrize("scope", ["read", "review"])
async def test_only_operators_read_it(service, scope):
    token, entry = mint_token("ada", [scope])
    TokenFile(service.data / "tokens.json").add(entry)
    for path in ("/api/audit", "/api/audit/check", "/api/audit/export", "/audit", "/audit/export"):
        answer = await service.client.get(path, headers={"X-API-Key": token})
        assert answer.status_code == 403, path
    front = await service.client.get("/", headers={"X-API-Key": token, "Accept": "text/html"})
    assert 'href="/audit"' not in front.text


async def test_the_page_shows_filters_and_warns_in_a_browser(service, log, browser):
    for name in ("REQ-5", "REQ-6"):
        await service.submit(name)
        await service.over(name)
    context = await browser.new_context(extra_http_headers={"X-API-Key": KEY})
    page = await context.new_page()
    await page.goto(f"{service.url}/")
    await page.get_by_role("link", name="Audit log").click()
    await page.get_by_role("heading", name="Audit log").wait_for()
    assert await page.get_by_role("row").filter(has_text="run_submitted").count() == 2
    await page.get_by_label("What").select_option("run_finished")
    await page.get_by_role("button", name="Show").click()
    await page.wait_for_url("**action=run_finished**")
    assert await page.get_by_role("row").filter(has_text="run_submitted").count() == 0
    assert await page.get_by_role("row").filter(has_text="run_finished").count() == 2
    assert (await Axe().run(page)).response["violations"] == []
    log.erase(lambda text: "REQ-5" in text, lambda: AuditEvent("person_erased", "local:root", "a person"))
    path = log.folder / "audit.jsonl"
    path.write_text(path.read_text().replace("REQ-6", "REQ-9"))
    await page.goto(f"{service.url}/audit")
    assert (
        await page.get_by_role("alert").inner_text() == "The log was changed:\n\nentry 3: about was changed"
    )
    assert await page.get_by_role("cell", name="erased", exact=True).count() == 1
    await context.close()
