"""What a stranger can do before the service knows who it is: nothing that holds it, fills it or changes it."""

from __future__ import annotations

import asyncio
import logging
import re
from contextlib import asynccontextmanager, nullcontext

import httpx
import pytest
import structlog
import uvicorn

from periplus import errors
from periplus.server_sockets import open_listening_socket
from periplus.web_server import uvicorn_server
from periplus.web_server.bounded_connections import make_bounded_protocol
from tests.periplus.service.service_support import KEY, STEPS, served


@asynccontextmanager
async def _serving(protocol):
    """A server with a protocol of ours; its port."""

    async def app(scope, receive, send):
        if scope["type"] != "http":
            return
        await receive()
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
        await send({"type": "http.response.body", "body": b"ok"})

    with open_listening_socket("127.0.0.1", 0) as listener:
        server = uvicorn.Server(uvicorn.Config(app, http=protocol, lifespan="off", log_config=None))
        server.capture_signals = nullcontext
        task = asyncio.create_task(server.serve(sockets=[listener]))
        try:
            yield listener.getsockname()[1]
        finally:
            server.should_exit = True
            await task


REQUEST = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"


@pytest.mark.parametrize("sent", [b"", b"GET / HT", REQUEST[:-2], REQUEST + REQUEST[:-2]])
async def test_a_request_that_is_never_complete_is_closed(sent):
    async with _serving(make_bounded_protocol(headers_s=0.2)) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(sent)
        with pytest.raises((ConnectionResetError, asyncio.IncompleteReadError)):
            await reader.readexactly(1_000_000)
        writer.close()


async def test_a_request_with_two_lengths_ends_its_connection():
    ambiguous = (
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
    )
    async with _serving(make_bounded_protocol(headers_s=60)) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(ambiguous + REQUEST)
        async with asyncio.timeout(30):
            said = await reader.read()
        assert said.count(b"HTTP/1.1 200") == 1
        writer.close()


async def test_connections_are_limited_and_free_again_when_they_end():
    async with _serving(make_bounded_protocol(most=8, headers_s=60)) as port:
        held = [await asyncio.open_connection("127.0.0.1", port) for _ in range(5)]
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        with pytest.raises((ConnectionResetError, BrokenPipeError, asyncio.IncompleteReadError)):
            await reader.readexactly(1)
        writer.close()
        for _, each in held:
            each.close()
            await each.wait_closed()
        async with httpx.AsyncClient() as client:
            for _ in range(20):
                with_answer = await client.get(f"http://127.0.0.1:{port}/")
                assert with_answer.text == "ok"


@pytest.mark.parametrize("keyed", [True, False])
async def test_a_page_of_another_origin_changes_nothing(tmp_path, keyed):
    body = {"req_id": "A", "url": "https://a.example", "steps": STEPS}
    async with served(tmp_path, keyed=keyed, cors_origins="https://Dashboard.example.com") as service:
        for origin in ("https://evil.example", "null", "http://127.0.0.1:1", "http://localhost.evil.example"):
            for path, content in (("/api/run", body), ("/api/runs/A/cancel", None)):
                refused = await service.client.post(path, json=content, headers={"Origin": origin})
                assert refused.status_code == 403, origin
                assert refused.json()["code"] == "foreign_origin"
        for origin in (service.url, "https://dashboard.example.com"):
            taken = await service.client.post("/api/run", json=body, headers={"Origin": origin})
            assert taken.status_code == 202, taken.text
            await service.over("A")
        assert (await service.client.get("/api/runs", headers={"Origin": "null"})).status_code == 200


async def test_wrong_keys_lock_an_address_out_and_the_right_one_goes_on(tmp_path):
    async with served(tmp_path, serve_wrong_keys=3) as service:
        assert (await service.client.get("/api/runs")).status_code == 200
        codes = [
            (
                await service.client.get("/api/runs", headers={"X-API-Key": f"wrong-{number}-é".encode()})
            ).status_code
            for number in range(6)
        ]
        assert codes[:3] == [401, 401, 401]
        assert codes[3:] == [429, 429, 429]
        locked = await service.client.get(
            "/api/runs", headers={"X-API-Key": "", "Authorization": "Bearer another"}
        )
        assert locked.json()["code"] == "locked_out"
        assert int(locked.headers["retry-after"]) >= 1
        anonymous = {"X-API-Key": "", "Accept": "text/html"}
        page = (await service.client.get("/sign-in", headers=anonymous)).text
        form = {"key": "guess", "csrf_token": re.search(r'name="csrf_token" value="(\w+)"', page)[1]}
        assert (await service.client.post("/sign-in", data=form, headers=anonymous)).status_code == 429
        # MCP counts with REST, and answers in its own form.
        asked = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
        wrong = {"X-API-Key": "", "Authorization": "Bearer yet another"}
        at_mcp = await service.client.post("/mcp", json=asked, headers=wrong)
        assert (at_mcp.status_code, at_mcp.json()["error"]["data"]) == (429, {"error": "locked_out"})
        assert (await service.client.get("/api/runs", headers={"X-API-Key": KEY})).status_code == 200


@pytest.mark.parametrize(("trusted", "codes"), [((), [401] * 3 + [429] * 9), (("127.0.0.0/8",), [401] * 12)])
async def test_only_a_named_proxy_is_believed_about_its_clients_address(tmp_path, trusted, codes):
    async with served(tmp_path, serve_wrong_keys=3, trusted_proxies=trusted) as service:
        seen = [
            (
                await service.client.get(
                    "/api/runs", headers={"X-API-Key": f"wrong-{n}", "X-Forwarded-For": f"203.0.113.{n}"}
                )
            ).status_code
            for n in range(12)
        ]
    assert seen == codes


async def test_a_named_proxy_that_passes_on_what_clients_say_does_not_open_the_lockout(tmp_path):
    async with served(tmp_path, serve_wrong_keys=1, trusted_proxies=("127.0.0.1",)) as service:
        seen = []
        for number in range(30):
            offered = {"X-API-Key": f"wrong-{number}", "X-Forwarded-For": f"203.0.113.{number}"}
            seen.append((await service.client.get("/api/runs", headers=offered)).status_code)
        assert seen[:10] == [401] * 10
        assert seen.count(401) < 14
        used = await service.client.get("/api/runs", headers={"X-Forwarded-For": "203.0.113.99"})
        assert used.status_code == 429  # this key was never right in this process
    async with served(tmp_path, serve_wrong_keys=1, trusted_proxies=("127.0.0.1",)) as service:
        assert (await service.client.get("/api/runs")).status_code == 200
        for number in range(30):
            offered = {"X-API-Key": f"wrong-{number}", "X-Forwarded-For": f"203.0.113.{number}"}
            await service.client.get("/api/runs", headers=offered)
        used = await service.client.get("/api/runs", headers={"X-Forwarded-For": "203.0.113.99"})
        assert used.status_code == 200


@pytest.mark.parametrize("header", ["X-Forwarded-For", "Forwarded", "Via", "X-Real-IP", "X-Forwarded-Host"])
async def test_without_keys_no_proxy_is_answered(tmp_path, header):
    async with served(tmp_path, keyed=False) as service:
        assert (await service.client.get("/api/runs")).status_code == 200
        refused = await service.client.get("/api/runs", headers={header: "203.0.113.7"})
        assert (refused.status_code, refused.json()["code"]) == (421, "unknown_host")
        assert "PERIPLUS_API_KEY" in refused.json()["fix"]
        asked = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
        assert (await service.client.post("/mcp", json=asked, headers={header: "a"})).status_code == 421


def _fail() -> Exception:
    try:
        int("a defect")
    except ValueError as exc:
        error = exc
    return error


def test_the_same_error_writes_few_tracebacks_and_old_ones_go(tmp_path, monkeypatch):
    monkeypatch.setenv("PERIPLUS_DATA_DIR", str(tmp_path))
    monkeypatch.setattr(errors, "_TRACEBACKS", {})
    paths = [errors.write_traceback(_fail()) for _ in range(50)]
    assert len(list((tmp_path / "logs").iterdir())) == errors.TRACEBACKS_AN_HOUR
    assert len(set(paths)) == errors.TRACEBACKS_AN_HOUR
    assert paths[-1] == paths[errors.TRACEBACKS_AN_HOUR - 1]
    monkeypatch.setattr(errors, "MOST_TRACEBACKS", 4)
    monkeypatch.setattr(errors, "_TRACEBACKS", {})
    last = errors.write_traceback(_fail())
    kept = sorted((tmp_path / "logs").iterdir())
    assert len(kept) == 4
    assert kept[-1] == last


def test_a_message_that_a_library_repeats_is_logged_a_few_times():
    handler = uvicorn_server._StructlogHandler(logging.WARNING)
    with structlog.testing.capture_logs() as said:
        for number in range(1_000):
            record = logging.LogRecord("asyncio", logging.ERROR, "", 0, "out of %s", (number,), None)
            record.created = 60.0
            handler.emit(record)
        later = logging.LogRecord("asyncio", logging.ERROR, "", 0, "something else", (), None)
        later.created = 120.0
        handler.emit(later)
    assert len(said) == uvicorn_server.SAME_IN_A_MINUTE + 2
    assert said[-2] == {
        "event": "log_lines_dropped",
        "log_level": "warning",
        "count": 1_000 - uvicorn_server.SAME_IN_A_MINUTE,
    }
