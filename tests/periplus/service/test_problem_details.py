"""Every way in which the service says no: one shape, the field, what to do."""

from __future__ import annotations

import json

import httpx
import pytest

from agent.errors import KnowledgeUnavailable
from kb_store.errors import StoreUnavailable
from mcp_server.security.bearer_tokens import TokenFile, mint_token
from periplus.errors import UserError
from periplus.mcp_settings import McpSettings
from periplus.service.run_queue import RunQueueLimits
from periplus.service.service_settings import ServeSettings
from periplus.web_server.service_setup import ServiceOptions, build_access_control
from tests.periplus.service.service_support import KEY, STEPS, Quick, served


@pytest.fixture(scope="module")
async def service(tmp_path_factory):
    folder = tmp_path_factory.mktemp("refusals")
    token, entry = mint_token("reader", ["read"])
    TokenFile(folder / "tokens.json").add(entry)
    async with served(
        folder,
        serve_max_body_bytes=20_000,
        cors_origins="https://dashboard.example.com",
        serve_secrets="https://shop.example.com/EMPTY,https://shop.example.com/SHOP_PASSWORD",
    ) as one:
        one.reader = token
        yield one


def _problem(answer: httpx.Response, status: int, code: str) -> dict:
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    said = answer.json()
    assert said["status"] == status
    assert said["code"] == code
    assert said["type"] == f"urn:periplus:problem:{code}"
    assert said["detail"]
    assert said["request_id"] == answer.headers["x-request-id"]
    return said


@pytest.mark.parametrize(
    ("body", "location", "words"),
    [
        ({"url": "https://a.example", "steps": STEPS}, "body.req_id", "required"),
        ({"req_id": "a b", "url": "https://a.example", "steps": STEPS}, "body.req_id", "pattern"),
        ({"req_id": "A", "url": "file:///etc/passwd", "steps": STEPS}, "body.url", "pattern"),
        ({"req_id": "A", "url": "https://a.example", "steps": []}, "body.steps", "at least 1"),
        ({"req_id": "A", "url": "https://a.example", "steps": [7]}, "body.steps[0]", "valid string"),
        ({"req_id": "A", "url": "https://a.example", "steps": ["Login | clic"]}, "body.steps[0]", "unknown action"),
        ({"req_id": "A", "url": "https://a.example", "steps": [{"element": "A", "action": "fill"}]}, "body.steps[0]", "needs a value"),
        ({"req_id": "A", "url": "https://a.example", "steps": STEPS, "step": 1}, "body.step", "not permitted"),
    ],
)  # fmt: skip
async def test_a_field_that_cannot_be_accepted_is_named(service, body, location, words):
    said = _problem(await service.client.post("/api/run", json=body), 422, "invalid_request")
    (error,) = said["errors"]
    assert error["location"].startswith(location)
    assert words in error["message"]


@pytest.mark.parametrize(
    ("step", "words"),
    [
        ("F | upload | /etc/hostname", "upload folder"),
        ("F | upload | /etc/there-is-no-such-file", "upload folder"),
        ("F | upload | no-such-file.csv", "upload folder"),
        ("F | upload | ../runs", "upload folder"),
        ("F | upload | ~/.bashrc", "upload folder"),
        ("P | fill | {secret:HOME}", "clients may not use"),
        ("P | fill | {secret:PERIPLUS_API_KEY}", "clients may not use"),
        ("P | fill | {secret:PATH}", "clients may not use"),
        ("P | fill | {secret:EMPTY}", "no value"),
    ],
)
async def test_what_the_machine_does_not_lend_is_not_used(service, step, words):
    said = _problem(await service.submit("A", steps=["Start | click", step]), 403, "not_lent")
    (error,) = said["errors"]
    assert error["location"] == "body.steps[1]"
    assert words in error["message"]
    assert str(service.folder.parent) not in json.dumps(said)


@pytest.mark.parametrize(
    ("body", "location"),
    [
        ({"url": "http://127.0.0.1:9/?x={secret:HOME}"}, "body.url"),
        ({"url": "http://127.0.0.1:9/?x={secret:SHOP_PASSWORD}"}, "body.url"),
        ({"title": "{secret:HOME}"}, "body.title"),
        ({"tags": ["{secret:HOME}"]}, "body.tags[0]"),
        ({"steps": ["Start | click", "Save | click | | shows:{secret:SHOP_USER}"]}, "body.steps[1]"),
        ({"steps": ["Start | click", "| navigate | http://127.0.0.1:9/{secret:SHOP_USER}"]}, "body.steps[1]"),
    ],
)
async def test_a_secret_stands_in_the_values_of_steps_only_and_never_in_an_address(service, body, location):
    wanted = {"req_id": "A", "url": "https://a.example", "steps": STEPS} | body
    said = _problem(await service.client.post("/api/run", json=wanted), 422, "invalid_request")
    assert [error["location"] for error in said["errors"]] == [location]


async def test_a_refused_file_is_answered_alike_whether_it_exists_or_not(service):
    answers = []
    for name in ("/etc/hostname", "/etc/there-is-no-such-file", "../tokens.json", "../no-tokens.json"):
        said = (await service.submit("A", steps=["Start | click", f"F | upload | {name}"])).json()
        answers.append({key: value for key, value in said.items() if key != "request_id"})
    assert all(each == answers[0] for each in answers)


async def test_all_fields_are_named_at_once_and_a_slip_is_recognised(service):
    said = _problem(
        await service.client.post("/api/run", json={"reqid": "A", "steps": ["A | clik"]}),
        422,
        "invalid_request",
    )
    fixes = {error["location"]: error["fix"] for error in said["errors"]}
    assert fixes["body.reqid"] == "did you mean `req_id`?"
    assert {"body.req_id", "body.url"} < fixes.keys()


async def test_what_is_not_json_is_said_where(service):
    answer = await service.client.post(
        "/api/run", content=b'{"req_id": ', headers={"Content-Type": "application/json"}
    )
    said = _problem(answer, 422, "invalid_request")
    assert said["errors"][0]["location"].startswith("body, character ")


async def test_what_is_no_text_is_no_json(service):
    answer = await service.client.post(
        "/api/run", content=b"\x19}\xff", headers={"Content-Type": "application/json"}
    )
    said = _problem(answer, 422, "invalid_request")
    assert said["errors"][0]["message"] == "the body is not JSON in UTF-8"


@pytest.mark.parametrize(
    "headers", [{"X-API-Key": ""}, {"X-API-Key": "wrong"}, {"X-API-Key": "", "Authorization": "Bearer wrong"}]
)
@pytest.mark.parametrize(
    "path", ["/api/runs", "/api/runs/A", "/api/runs/A/events", "/api/artifacts/A/test_file", "/api/nothing"]
)
async def test_without_a_key_nothing_is_told(service, path, headers):
    answer = await service.client.get(path, headers=headers)
    _problem(answer, 401, "unauthorized")
    assert answer.headers["www-authenticate"].startswith("Bearer")


async def test_a_key_may_come_as_a_bearer_token(service):
    answer = await service.client.get(
        "/api/runs", headers={"X-API-Key": "", "Authorization": f"Bearer {KEY}"}
    )
    assert answer.status_code == 200


@pytest.mark.parametrize(
    ("name", "value"),
    [
        (b"cookie", "periplus_session=schlüssel.ü".encode()),
        (b"cookie", b"periplus_session=\xff\xfe.\xff"),
        (b"authorization", "Basic ü:ü".encode()),
        (b"authorization", b"Bearer \xff\xfe"),
        (b"x-api-key", b"\xff"),
    ],
)
async def test_bytes_that_are_not_ascii_in_a_credential_are_no_credential(service, name, value):
    shown = {b"x-api-key": b""} if name != b"x-api-key" else {}
    answer = await service.client.get("/api/runs", headers={**shown, name: value})
    _problem(answer, 401, "unauthorized")


async def test_a_token_that_may_only_read_submits_nothing(service):
    headers = {"X-API-Key": service.reader}
    assert (await service.client.get("/api/runs", headers=headers)).status_code == 200
    answer = await service.client.post("/api/run", json={"req_id": "A"}, headers=headers)
    _problem(answer, 403, "forbidden")


@pytest.mark.parametrize(
    "path",
    [
        "/api/runs/NONE",
        "/api/runs/NONE/steps",
        "/api/runs/NONE/events",
        "/api/artifacts/NONE",
        "/api/artifacts/NONE/x",
        "/api/nothing",
    ],
)
async def test_what_is_not_there_is_said_with_where_to_look(service, path):
    assert _problem(await service.client.get(path), 404, "not_found")["fix"]


async def test_another_method_is_refused_with_those_there_are(service):
    answer = await service.client.delete("/api/run")
    _problem(answer, 405, "method_not_allowed")
    assert answer.headers["allow"] == "POST"
    several = await service.client.put("/api/schedules/none")
    assert (several.headers["allow"], several.json()["fix"]) == ("DELETE, GET", "use DELETE or GET")


@pytest.mark.parametrize("declared", [True, False])
async def test_a_body_that_is_too_large_is_not_read(service, declared):
    async def parts():
        for _ in range(50):
            yield b" " * 1_000

    content = b" " * 50_000 if declared else parts()
    answer = await service.client.post(
        "/api/run", content=content, headers={"Content-Type": "application/json"}
    )
    assert "fewer steps" in _problem(answer, 413, "too_large")["fix"]


async def test_a_full_queue_says_when_to_come_back(tmp_path):
    quick = Quick(held={"A"})
    async with served(tmp_path, quick=quick, limits=RunQueueLimits(workers=1, most_waiting=1)) as service:
        await service.submit("A")
        await quick.until_began("A")
        assert (await service.submit("B")).status_code == 202
        answer = await service.submit("C")
        _problem(answer, 503, "queue_full")
        assert int(answer.headers["retry-after"]) > 0
        health = (await service.client.get("/api/health")).json()
        assert (health["status"], health["queue"]["queued"]) == ("degraded", 1)


async def test_who_asks_too_often_is_told_when_to_come_back(tmp_path):
    async with served(tmp_path, serve_rate_per_minute=5) as service:
        answers = [await service.client.get("/api/runs") for _ in range(6)]
        assert [answer.status_code for answer in answers] == [200] * 5 + [429]
        _problem(answers[-1], 429, "rate_limited")
        assert 1 <= int(answers[-1].headers["retry-after"]) <= 60
        assert (await service.client.get("/api/health")).status_code == 200, "probes are not counted"


async def test_pages_of_origins_that_may_ask_can_read_answers_and_errors(service):
    allowed = {"Origin": "https://dashboard.example.com"}
    answer = await service.client.get("/api/runs/NONE", headers=allowed)
    assert answer.headers["access-control-allow-origin"] == allowed["Origin"]
    asked = {
        **allowed,
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "x-api-key",
    }
    assert (await service.client.options("/api/run", headers=asked)).status_code == 200
    other = await service.client.get("/api/runs", headers={"Origin": "https://evil.example.com"})
    assert "access-control-allow-origin" not in other.headers


async def test_a_request_id_of_the_client_is_kept_where_it_is_fit(service):
    for given, kept in (("my-id-1", True), ("bad id", False), ("x" * 200, False)):
        answer = await service.client.get("/api/runs/NONE", headers={"X-Request-ID": given})
        assert (answer.headers["x-request-id"] == given) is kept


async def test_without_keys_only_names_of_this_machine_are_answered_to(tmp_path):
    async with served(tmp_path, keyed=False) as service:
        assert (await service.submit("A")).status_code == 202
        answer = await service.client.get("/api/runs", headers={"Host": "rebound.example.com"})
        _problem(answer, 421, "unknown_host")
        document = (await service.client.get("/api/openapi.json")).json()
        assert "securitySchemes" not in document.get("components", {})


def test_without_keys_no_other_address_than_this_machines_is_listened_on(tmp_path):
    wanted = ServiceOptions(
        "0.0.0.0", ServeSettings(), McpSettings(tokens=tmp_path / "none.json"), tmp_path, tmp_path
    )
    with pytest.raises(UserError, match="PERIPLUS_API_KEY"):
        build_access_control(wanted)


def test_a_short_key_is_refused_without_being_shown():
    with pytest.raises(
        UserError, match="PERIPLUS_API_KEYS: expected at least 16 characters for the key 'ci', found 5"
    ) as raised:
        ServeSettings(api_keys=f"laptop:{KEY},ci:short").key_entries()
    assert "short" not in str(raised.value)


async def test_keys_may_have_names(tmp_path):
    entries = ServeSettings(api_key=KEY, api_keys=f"ci:{KEY}-1,{KEY}-2").key_entries()
    assert [entry.name for entry in entries] == ["api-key", "ci", "api-key-2"]


async def test_a_store_that_does_not_answer_is_said_and_nothing_is_accepted(tmp_path, monkeypatch):
    async with served(tmp_path) as service:

        async def begin_run(run):
            raise StoreUnavailable("mongodb://db.internal/periplus", "nobody answers", fix="start it")

        runs = service.queue._runs
        monkeypatch.setattr(runs, "begin_run", begin_run)
        answer = await service.submit("A")
        said = _problem(answer, 503, "store_unavailable")
        assert "db.internal" not in json.dumps(said)
        assert int(answer.headers["retry-after"]) > 0
        monkeypatch.undo()
        assert (await service.submit("A")).status_code == 202, "the requirement is free again"
        assert (await service.over("A"))["verdict"] == "pass"


async def test_health_tells_the_real_states(tmp_path):
    async def none_there():
        return "no Chromium to drive"

    async with served(tmp_path, browser=none_there) as service:
        health = (await service.client.get("/api/health", headers={"X-API-Key": ""})).json()
        assert health["status"] == "degraded"
        assert health["services"] == {
            "documents": "connected", "graph": "connected", "runs": "connected", "playwright": "unavailable",
        }  # fmt: skip
        assert health["reasons"] == ["no browser: no Chromium to drive"]
        assert health["version"]


async def test_knowledge_that_does_not_answer_is_a_busy_store(tmp_path, monkeypatch):
    async def unanswered(*_args, **_more):
        raise KnowledgeUnavailable("the knowledge server did not answer")

    monkeypatch.setattr("periplus.jobs.service_jobs.ServiceJobs.save_schedule", unanswered)
    body = {"name": "n", "cron": "0 0 1 1 *", "order": {"kind": "task", "website_id": "w", "task_id": "t"}}
    async with served(tmp_path) as one:
        answer = await one.client.post("/api/schedules", json=body)
    assert _problem(answer, 503, "store_unavailable")["fix"]
    assert answer.headers["retry-after"]
