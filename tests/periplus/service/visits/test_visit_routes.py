"""Links and what is behind them, over HTTP: who may do what, what is told, and what is left (nothing)."""

from __future__ import annotations

import asyncio
import io
import json
from contextlib import asynccontextmanager, redirect_stderr
from dataclasses import dataclass, field
from datetime import UTC, datetime

import httpx
import pytest

from agent.media.screencast import jpeg_size
from agent.media.voice import Speech
from agent.page.errors import PageGone
from kb_store.audit.audit_log import AuditLog
from kb_store.audit.audit_recorder import use_audit_log
from periplus.log_setup import log_to_stderr
from periplus.service.visits.visit_registry import VisitRegistry
from periplus.service.visits.visit_settings import VisitSettings
from tests.periplus.service.service_support import Served, served
from tests.periplus.service.visits.visit_support import Puppets

LONGEST_S = 20.0


@dataclass
class House:
    """A service with puppets for shows."""

    served: Served
    visits: VisitRegistry
    puppets: Puppets
    strangers: httpx.AsyncClient
    told: list[tuple[int, str, dict]] = field(default_factory=list)

    async def link(self, **wanted) -> str:
        made = await self.served.client.post("/api/visit", json=wanted)
        assert made.status_code == 201, made.text
        return httpx.URL(made.json()["url"]).path

    async def started(self, **wanted) -> str:
        """A link whose show is on, followed by somebody."""
        path = await self.link(**wanted)
        assert (await self.strangers.post(f"{path}/start")).status_code == 202
        await self.until(path, lambda state: state["state"] == "playing" and state["lines"])
        return path

    async def state(self, path: str) -> dict:
        found = await self.strangers.get(f"{path}/state")
        assert found.status_code == 200, found.text
        return found.json()

    async def until(self, path: str, holds) -> dict:
        """The state as soon as it is so: looked at after every event."""
        async with asyncio.timeout(LONGEST_S), self.following(path) as events:
            while True:
                state = await self.state(path)
                if holds(state):
                    return state
                await anext(events)

    @asynccontextmanager
    async def following(self, path: str, after: int = 0, **headers):
        async with self.strangers.stream("GET", f"{path}/events?after={after}", headers=headers) as stream:
            assert stream.status_code == 200
            assert stream.headers["content-type"].startswith("text/event-stream")
            yield _events(stream)


async def _events(stream):
    event = {}
    async for line in stream.aiter_lines():
        if not line and "event" in event:
            yield int(event["id"]), event["event"], json.loads(event["data"])
        if not line:
            event = {}
        elif not line.startswith(":"):
            name, _, value = line.partition(": ")
            event[name] = value


@asynccontextmanager
async def _house(tmp_path, browser, keyed=True, **settings):
    puppets = Puppets(browser)
    visits = VisitRegistry(puppets, VisitSettings(**settings))
    async with (
        visits.opened(),
        served(tmp_path, visits=visits, keyed=keyed) as service,
        httpx.AsyncClient(base_url=service.url, timeout=LONGEST_S) as strangers,
    ):
        yield House(service, visits, puppets, strangers)
        await visits.close()
    assert puppets.open_now == 0
    assert browser.contexts == []


@pytest.fixture
async def house(tmp_path, browser):
    async with _house(tmp_path, browser) as one:
        yield one


async def test_who_makes_opens_and_revokes_a_link_is_recorded_without_the_link(house, tmp_path):
    log = AuditLog(tmp_path / "audit")
    use_audit_log(log)
    try:
        path = await house.link()
        await house.strangers.get(path)
        (visit,) = (await house.served.client.get("/api/visits")).json()["visits"]
        await house.served.client.post(f"/api/visits/{visit['visit_id']}/end")
    finally:
        use_audit_log(None)
    told = [(each.actor.text, each.action) for each in log.entries()]
    assert told == [
        ("key api-key", "visit_link_made"),
        ("address 127.0.0.1", "visit_opened"),
        ("key api-key", "visit_link_revoked"),
    ]
    assert path.rpartition("/")[2] not in (log.folder / "audit.jsonl").read_text()


async def test_a_link_is_made_with_a_key_and_opened_without_one(house):
    assert (await house.strangers.post("/api/visit", json={})).status_code == 401
    path = await house.link(label="Acme")
    page = await house.strangers.get(path)
    assert page.status_code == 200
    assert "A Tour of the Works" in page.text
    assert page.headers["referrer-policy"] == "no-referrer"
    assert "default-src 'none'" in page.headers["content-security-policy"]
    listed = (await house.served.client.get("/api/visits")).json()["visits"]
    assert [(each["label"], each["state"]) for each in listed] == [("Acme", "waiting")]
    token = path.rpartition("/")[2]
    assert len(token) >= 43
    assert token not in json.dumps(listed)


async def test_guessing_leads_nowhere_and_a_page_says_so(house):
    path = await house.link()
    for wrong in (path[:-1], path + "x", "/visit/", "/visit/static"):
        assert (await house.strangers.get(f"{wrong}/state")).status_code in (404, 405), wrong
    page = await house.strangers.get("/visit/" + "x" * 43)
    assert page.status_code == 404
    assert "no longer valid" in page.text
    for action in ("start", "say", "attention", "end"):
        assert (await house.strangers.post(f"/visit/{'x' * 43}/{action}", json={})).status_code in (404, 422)
    assert (await house.strangers.get("/visit/static/../routes.py")).status_code == 404
    assert (await house.strangers.get("/visit/static/..%2froutes.py")).status_code == 404


async def test_what_cannot_be_shown_is_refused_when_the_link_is_made(house):
    refused = await house.served.client.post("/api/visit", json={"flow": "no_such"})
    assert refused.status_code == 422
    assert refused.json()["fix"]
    assert (await house.served.client.post("/api/visit", json={"speed": 99})).status_code == 422
    assert (await house.served.client.post("/api/visit", json={"website": "../etc"})).status_code == 422
    named = await house.served.client.post("/api/visit", json={"label": "for {secret:SITE_PW}"})
    assert (named.status_code, named.json()["detail"]) == (422, "{secret:SITE_PW} is not allowed in $.label")


async def test_a_show_begins_when_the_visitor_starts_it_and_is_told_to_its_end(house):
    path = await house.link()
    assert house.puppets.shown == []
    assert (await house.strangers.get(f"{path}/picture")).status_code == 409
    assert (await house.strangers.post(f"{path}/say", json={"text": "hello"})).status_code == 409
    async with house.following(path) as events:
        assert (await house.strangers.post(f"{path}/start")).status_code == 202
        assert (await house.strangers.post(f"{path}/start")).status_code == 409
        seen = []
        async with asyncio.timeout(LONGEST_S):
            async for number, kind, data in events:
                seen.append((kind, data))
                assert number > 0
                if kind == "line":
                    house.puppets.shown[0].go_on.set()
                if kind == "status" and data["state"] == "ended":
                    break
    assert [data["state"] for kind, data in seen if kind == "status"] == ["starting", "playing", "ended"]
    assert seen[-1][1]["ended"] == "finished"
    state = await house.state(path)
    assert [(each["id"], each["status"], each["why"]) for each in state["chapters"]] == [
        ("hello", "shown", None),
        ("extra", "skipped", "time"),
        ("end", "failed", "failed"),
    ]
    assert state["caption"] == ""
    (listed,) = (await house.served.client.get("/api/visits")).json()["visits"]
    assert (listed["state"], listed["ended"], listed["shows"], listed["run_id"]) == (
        "ended",
        "finished",
        1,
        "run-1",
    )


async def test_what_the_visitor_says_reaches_the_floor_and_the_answer_the_page(house):
    path = await house.started()
    assert (await house.strangers.post(f"{path}/say", json={"text": " What is it? "})).status_code == 202
    state = await house.until(path, lambda state: any(line["kind"] == "answer" for line in state["lines"]))
    assert [(line["who"], line["text"], line["understood"]) for line in state["lines"][-2:]] == [
        ("visitor", "What is it?", "Question: What is it?"),
        ("guide", "About What is it?: it is so.", ""),
    ]
    assert state["lines"][-1]["sources"] == ["Agents"]
    assert [(heard.text, heard.by) for heard in house.puppets.shown[0].heard] == [("What is it?", "text")]
    await house.strangers.post(f"{path}/say", json={"text": "skip", "by": "button"})
    await house.until(path, lambda state: state["lines"][-1]["text"].startswith("About skip"))
    assert house.puppets.shown[0].heard[-1].by == "button"
    for wrong in ({"text": ""}, {"text": "x" * 1_001}, {"text": "x", "by": "voice"}, {}):
        assert (await house.strangers.post(f"{path}/say", json=wrong)).status_code == 422, wrong


async def test_whoever_begins_to_write_has_the_floor(house):
    path = await house.started()
    turns = house.puppets.shown[0].turns
    assert (await house.strangers.post(f"{path}/attention", json={"writing": True})).status_code == 202
    assert turns._speaking
    assert (await house.strangers.post(f"{path}/attention", json={"writing": False})).status_code == 202
    assert not turns._speaking


async def test_who_lost_the_connection_gets_what_was_missed_and_nothing_twice(house):
    path = await house.started()
    async with house.following(path) as events:
        first = [await anext(events) for _ in range(3)]
    await house.strangers.post(f"{path}/say", json={"text": "Meanwhile?"})
    await house.until(path, lambda state: state["lines"][-1]["kind"] == "answer")
    async with house.following(path, **{"Last-Event-ID": str(first[-1][0])}) as events:
        again = [await anext(events) for _ in range(3)]
    assert [number for number, _, _ in again] == sorted({number for number, _, _ in again})
    assert again[0][0] == first[-1][0] + 1
    async with house.following(path, after=9_999) as events:
        assert (await anext(events))[1] == "resync"


async def test_the_picture_is_a_stream_of_jpegs_that_changes_with_the_page(house):
    path = await house.started()
    (puppet,) = house.puppets.shown
    async with house.strangers.stream("GET", f"{path}/picture") as stream:
        boundary = stream.headers["content-type"].partition("boundary=")[2].encode()
        parts = _parts(stream, boundary)
        async with asyncio.timeout(LONGEST_S):
            first = await anext(parts)
            await puppet.page.evaluate("document.body.style.background = 'rgb(0,150,0)'")
            second = await anext(parts)
        assert jpeg_size(first) == (1280, 720)
        assert first != second
        await house.strangers.post(f"{path}/end")
        async with asyncio.timeout(LONGEST_S):
            assert [part async for part in parts if not part] == [], "the stream ends with the show"


async def _parts(stream, boundary):
    rest = b""
    async for chunk in stream.aiter_raw():
        rest += chunk
        while rest.count(b"--" + boundary) >= 2:
            _, part, after = rest.split(b"--" + boundary, 2)
            rest = b"--" + boundary + after
            head, _, body = part.partition(b"\r\n\r\n")
            assert b"image/jpeg" in head
            yield body[:-2]


async def test_the_voice_is_told_and_fetched_and_old_words_are_not_kept(house, tmp_path):
    path = await house.started()
    (visit,) = house.visits.all()
    async with house.following(path, after=visit.feed.number) as events:
        while not visit.feed.followers:  # noqa: ASYNC110 - nothing tells that somebody follows
            await asyncio.sleep(0)
        for number in range(10):
            wav = tmp_path / f"{number}.wav"
            wav.write_bytes(b"RIFF%d" % number)
            await visit.speaker.play(Speech("words", 1.5, (), wav))
        await visit.speaker.play(Speech("silent", 1.5, (), None))
        await visit.speaker.stop()
        seen = [await anext(events) for _ in range(11)]
    assert [kind for _, kind, _ in seen] == ["speech"] * 10 + ["hush"]
    newest = seen[9][2]["id"]
    found = await house.strangers.get(f"{path}/speech/{newest}")
    assert (found.content, found.headers["content-type"]) == (b"RIFF9", "audio/wav")
    assert (await house.strangers.get(f"{path}/speech/1")).status_code == 404


async def test_the_visitor_may_end_it_and_start_again_and_sees_a_clean_page(house):
    path = await house.started()
    await house.strangers.post(f"{path}/say", json={"text": "Mine"})
    await house.strangers.post(f"{path}/end")
    state = await house.until(path, lambda state: state["state"] == "ended")
    assert state["ended"] == "left"
    assert house.puppets.shown[0].presentation.interrupted
    assert house.puppets.open_now == 0
    await house.strangers.post(f"{path}/start")
    state = await house.until(path, lambda state: state["state"] == "playing" and state["lines"])
    assert state["ended"] is None
    assert [line["text"] for line in state["lines"]] == ["This is Hello."]


async def test_nobody_watching_ends_it_and_somebody_coming_back_in_time_does_not(tmp_path, browser):
    async with _house(tmp_path, browser, absent_s=0.4) as house:
        path = await house.started()
        async with house.following(path) as events:
            await anext(events)
            (visit,) = house.visits.all()
            assert "absent" not in visit._timers
        assert visit._work is not None
        async with asyncio.timeout(LONGEST_S):
            await asyncio.wait([visit._work])
        assert visit.ended == "absent"


async def test_a_show_that_is_too_long_ends(tmp_path, browser):
    async with _house(tmp_path, browser, minutes=0.02) as house:
        path = await house.link()
        await house.strangers.post(f"{path}/start")
        assert (await house.until(path, lambda state: state["state"] == "ended"))["ended"] == "too_long"


async def test_so_many_at_once_and_the_next_is_asked_to_wait(tmp_path, browser):
    async with _house(tmp_path, browser, at_once=1, shows=2) as house:
        first, second = await house.started(), await house.link()
        refused = await house.strangers.post(f"{second}/start")
        assert refused.status_code == 503
        assert int(refused.headers["retry-after"]) > 0
        assert (await house.state(second))["state"] == "waiting"
        house.puppets.shown[0].go_on.set()
        await house.until(first, lambda state: state["state"] == "ended")
        assert (await house.strangers.post(f"{second}/start")).status_code == 202
        await house.until(second, lambda state: state["state"] == "playing")
        await house.strangers.post(f"{second}/end")
        await house.until(second, lambda state: state["state"] == "ended")
        house.puppets.go_on = True
        assert (await house.strangers.post(f"{second}/start")).status_code == 202
        await house.until(second, lambda state: state["ended"] == "finished")
        assert (await house.strangers.post(f"{second}/start")).status_code == 409, (
            "twice is as often as it may"
        )


async def test_words_and_links_have_their_limits(tmp_path, browser):
    async with _house(tmp_path, browser, says_per_minute=3, links=1) as house:
        path = await house.started()
        said = [(await house.strangers.post(f"{path}/say", json={"text": "x"})) for _ in range(4)]
        assert [each.status_code for each in said] == [202, 202, 202, 429]
        assert 0 < int(said[-1].headers["retry-after"]) <= 60
        assert (await house.served.client.post("/api/visit", json={})).status_code == 503


@pytest.mark.parametrize(
    "error",
    [PageGone("https://works.example.com", "it crashed"), RuntimeError("a defect with #secret-internals")],
)
async def test_a_show_that_cannot_go_on_says_so_and_nothing_more(house, error):
    house.puppets.fails = error
    house.puppets.go_on = True
    path = await house.link()
    await house.strangers.post(f"{path}/start")
    state = await house.until(path, lambda state: state["state"] == "ended")
    assert state["ended"] == "failed"
    assert "secret-internals" not in json.dumps(state)
    house.puppets.fails = None
    await house.started()  # and the service goes on


async def test_a_show_that_does_not_even_open_says_so(house):
    house.puppets.refuse = RuntimeError("no browser")
    path = await house.link()
    await house.strangers.post(f"{path}/start")
    assert (await house.until(path, lambda state: state["state"] == "ended"))["ended"] == "failed"


async def test_a_link_that_is_taken_back_ends_what_is_shown_and_is_good_no_more(house):
    path = await house.started()
    (listed,) = (await house.served.client.get("/api/visits")).json()["visits"]
    one = f"/api/visits/{listed['visit_id']}"
    assert (await house.served.client.get(one)).json()["state"] == "playing"
    assert (await house.strangers.post(f"{one}/end")).status_code == 401
    async with house.following(path) as events:
        assert (await house.served.client.post(f"{one}/end")).json()["ended"] == "closed"
        async with asyncio.timeout(LONGEST_S):
            told = [data["ended"] async for _, kind, data in events if kind == "status"]
    assert told[-1] == "closed"
    assert house.puppets.open_now == 0
    assert (await house.strangers.get(f"{path}/state")).status_code == 404
    assert (await house.served.client.get(one)).status_code == 404


async def test_a_link_whose_time_is_over_is_good_no_more_but_what_is_shown_goes_on(house):
    path, waiting = await house.started(), await house.link()
    for visit in house.visits.all():
        visit.expires_at = datetime.now(UTC)
    assert (await house.strangers.get(f"{waiting}/state")).status_code == 404
    assert (await house.state(path))["state"] == "playing"
    house.puppets.shown[0].go_on.set()
    async with asyncio.timeout(LONGEST_S):
        while (await house.strangers.get(f"{path}/state")).status_code == 200:  # noqa: ASYNC110
            await asyncio.sleep(0.01)  # nothing tells that a link is forgotten


async def test_two_pages_of_one_link_see_the_same_show(house):
    path = await house.started()
    async with house.following(path) as one, house.following(path) as other:
        await house.strangers.post(f"{path}/say", json={"text": "Both?"})
        for events in (one, other):
            async with asyncio.timeout(LONGEST_S):
                async for _, kind, data in events:
                    if kind == "line" and data["kind"] == "answer":
                        break
    assert len(house.puppets.shown) == 1


async def test_a_page_speaks_the_language_of_its_demo(house):
    path = await house.link(language="de-AT")
    page = await house.strangers.get(path)
    assert '<html lang="de">' in page.text
    assert "Demo starten" in page.text
    state = await house.state(path)
    assert (state["title"], state["chapters"][0]["title"]) == ("Ein Rundgang", "Hello (de)")
    refused = await house.served.client.post("/api/visit", json={"language": "fr"})
    assert refused.status_code == 422
    assert "de" in refused.json()["fix"]


async def test_the_link_is_in_no_log(tmp_path, browser):
    said = io.StringIO()
    with redirect_stderr(said):
        log_to_stderr()
        async with _house(tmp_path, browser) as house:
            path = await house.started()
            await house.strangers.post(f"{path}/say", json={"text": "my own words"})
            await house.strangers.get("/visit/static/visit.css")
    log_to_stderr()
    logged = said.getvalue()
    assert '"/visit/***/say"' in logged
    assert "/visit/static/visit.css" in logged
    assert path.rpartition("/")[2] not in logged
    assert "my own words" not in logged


async def test_without_keys_only_this_machine_gets_at_links(tmp_path, browser):
    async with _house(tmp_path, browser, keyed=False) as house:
        path = await house.link()
        elsewhere = await house.strangers.get(path, headers={"Host": "evil.example.com"})
        assert elsewhere.status_code == 421


async def test_when_the_service_ends_so_do_shows(tmp_path, browser):
    async with _house(tmp_path, browser) as house:
        path = await house.started()
        async with house.following(path) as events:
            await house.visits.close()
            async with asyncio.timeout(LONGEST_S):
                told = [data["ended"] async for _, kind, data in events if kind == "status"]
        assert told[-1] == "closed"
        assert house.puppets.open_now == 0


@pytest.mark.parametrize(
    ("days", "said"), [("0", "Your words are not stored."), ("30", "stored for 30 days")]
)
async def test_the_page_says_whether_a_visitors_words_are_stored_and_for_how_long(
    house, monkeypatch, days, said
):
    monkeypatch.setenv("PERIPLUS_VISITOR_RETENTION_DAYS", days)
    assert said in (await house.strangers.get(await house.link())).text
