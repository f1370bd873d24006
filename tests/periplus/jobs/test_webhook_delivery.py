"""Webhooks: signed as Standard Webhooks says, sent again when they fail, only to allowed origins, no redirect followed."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import threading
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from kb_schema.sentence_plans import SentencePlan
from kb_schema.service_records import SentenceOrder, StoredJob, TaskOrder, Webhook, WebhookDelivery
from kb_store.sqlite.database import SqliteDatabase
from kb_store.sqlite.run_store import SqliteRunStore
from periplus.errors import UserError
from periplus.jobs.webhook_delivery import RETRIES_S, WebhookSender

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


class Receiver:
    """A server that keeps what it is sent, and answers as told."""

    def __init__(self):
        self.answers, self.got = [], []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["content-length"]))
                outer.got.append(
                    (self.path, {name.lower(): value for name, value in self.headers.items()}, body)
                )
                status = outer.answers.pop(0) if outer.answers else 200
                self.send_response(status)
                if 300 <= status < 400:
                    self.send_header("Location", f"{outer.url}/elsewhere")
                self.end_headers()

            def log_message(self, *_):
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self):
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
async def receiver():
    made = Receiver()
    yield made
    made.close()


@pytest.fixture
async def store(tmp_path):
    runs = SqliteRunStore(SqliteDatabase(tmp_path / "knowledge.sqlite3"))
    await runs.prepare()
    yield runs
    await runs.close()


class Clock:
    now = NOW

    def __call__(self):
        return self.now


@pytest.fixture
async def clock():
    return Clock()


@pytest.fixture
async def sender(store, receiver, clock):
    hook = Webhook(webhook_id="hook", url=f"{receiver.url}/told", created_at=NOW)
    await store.service_records.add(hook)
    return WebhookSender(store, b"the server's key", {receiver.url}, now=clock)


async def ended(store, **more):
    job = StoredJob(
        job_id="job-1",
        order=TaskOrder(website_id="shop", task_id="buy", values={"name": "Ada Lovelace"}),
        created_at=NOW,
        state="ended",
        outcome="success",
        **more,
    )
    await store.service_records.add(job)
    return job


async def deliveries(store):
    return await store.service_records.select(WebhookDelivery)


async def test_a_message_is_signed_so_that_its_receiver_can_check_it(store, sender, receiver):
    await sender.tell(await ended(store))
    await sender.send_due()
    ((path, headers, body),) = receiver.got
    secret = base64.b64decode(sender.secret_of("hook").removeprefix("whsec_"))
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    expected = base64.b64encode(hmac.new(secret, signed, hashlib.sha256).digest()).decode()
    assert (path, headers["webhook-signature"]) == ("/told", f"v1,{expected}")
    assert headers["webhook-timestamp"] == str(int(NOW.timestamp()))
    said = json.loads(body)
    assert (said["type"], said["data"]["job_id"], said["data"]["outcome"]) == (
        "job.ended",
        "job-1",
        "success",
    )
    assert b"Ada" not in body  # no inputs
    assert sender.secret_of("other") != sender.secret_of("hook")


async def test_a_job_in_words_is_told_without_its_sentence(store, sender, receiver):
    words = "invite ann@example.com as an owner"
    order = SentenceOrder(website_id="shop", sentence=words, plan=SentencePlan())
    job = (await ended(store)).model_copy(update={"job_id": "job-2", "order": order})
    await sender.tell(job)
    await sender.send_due()
    bodies = [json.loads(body)["data"] for _, _, body in receiver.got]
    (told,) = [each for each in bodies if each["job_id"] == "job-2"]
    assert told["description"] == "do a job in words on shop"
    assert not [body for _, _, body in receiver.got if b"ann@" in body]


async def test_a_message_that_fails_is_sent_again_with_the_same_id_until_it_arrives(
    store, sender, receiver, clock
):
    receiver.answers = [500, 503]
    await sender.tell(await ended(store))
    for wait in (0, *RETRIES_S[:2]):
        clock.now += timedelta(seconds=wait)
        await sender.send_due()
        await sender.send_due()  # not before its time
    assert len({headers["webhook-id"] for _, headers, _ in receiver.got}) == 1
    assert len(receiver.got) == 3
    (delivery,) = await deliveries(store)
    assert (delivery.state, delivery.attempts, delivery.status) == ("delivered", 3, 200)


async def test_after_the_last_attempt_a_message_is_given_up_with_the_reason(store, sender, receiver, clock):
    receiver.answers = [500] * 20
    await sender.tell(await ended(store))
    for wait in (0, *RETRIES_S, 99_999):
        clock.now += timedelta(seconds=wait)
        await sender.send_due()
    (delivery,) = await deliveries(store)
    assert (delivery.state, delivery.attempts) == ("given_up", len(RETRIES_S) + 1)
    assert delivery.error == "the receiver answered 500"


async def test_a_receiver_that_is_gone_switches_its_webhook_off(store, sender, receiver):
    receiver.answers = [410]
    await sender.tell(await ended(store))
    await sender.send_due()
    hook = await store.service_records.find(Webhook, "hook")
    assert (hook.active, hook.error) == (False, "the receiver answered 410 Gone")


async def test_a_redirect_is_not_followed(store, sender, receiver):
    receiver.answers = [302]
    await sender.tell(await ended(store))
    await sender.send_due()
    assert [path for path, _, _ in receiver.got] == ["/told"]
    assert (await deliveries(store))[0].status == 302


async def test_an_origin_that_is_no_longer_allowed_is_told_nothing(store, sender, receiver):
    sender.allowed = frozenset({"https://other.example"})
    await sender.tell(await ended(store))
    await sender.send_due()
    assert not receiver.got
    assert "not among those" in (await deliveries(store))[0].error


@pytest.mark.parametrize(
    "url",
    [
        "http://169.254.169.254/latest",
        "ftp://127.0.0.1/",
        "http://127.0.0.1:1/",
        "javascript:alert(1)",
        "",
        "{url}@evil.example/",
    ],
)
async def test_other_addresses_are_refused_when_a_webhook_is_made(sender, receiver, url):
    with pytest.raises(UserError) as refused:
        sender.check_address(url.replace("{url}", receiver.url))
    assert "PERIPLUS_SERVE_WEBHOOKS" in refused.value.fix


async def test_what_was_not_told_before_a_kill_is_told_afterwards(store, sender, receiver):
    await ended(store)
    await sender.send_due()
    await sender.send_due()
    assert len(receiver.got) == 1
    assert (await store.service_records.find(StoredJob, "job-1")).announced
