"""The run log: what it writes of a session's events, on a real store, and what it leaves out."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
from datetime import UTC, datetime

import pytest

from agent.events import (
    ActionDone,
    EventBus,
    InputResolved,
    ScreenSeen,
    StepEnded,
    StepStarted,
    TaskEnded,
    TaskStarted,
)
from agent.presentation.presentation_records import (
    Presentation,
    SegmentRecord,
    SegmentStatus,
    build_presentation_ending,
)
from agent.redaction import REDACTED
from agent.run_context import RunContext
from agent.run_records.run_log import (
    LONGEST,
    RunLog,
    build_error_ending,
    build_run_record,
    strip_url,
)
from kb_schema.run_records import EvidenceLevel, RunEnding, RunResult, RunStatus
from kb_store import StoreUnavailable
from kb_store.store_factory import open_runs

SECRET = "O'Brien & <pass/wörd>"
WRITTEN = (
    SECRET,
    "O%27Brien%20%26%20%3Cpass/w%C3%B6rd%3E",
    "O%27Brien%20%26%20%3Cpass%2Fw%C3%B6rd%3E",
    "O%27Brien+%26+%3Cpass%2Fw%C3%B6rd%3E",
    "O&#x27;Brien &amp; &lt;pass/wörd&gt;",
    "O'Brien & <pass/w\\u00f6rd>",
    base64.b64encode(SECRET.encode()).decode(),
)
"""The secret as it looks in URLs, forms, HTML, JSON and headers."""


class Flaky:
    """A store that does not answer while `away`."""

    def __init__(self, store):
        self._store, self.away = store, False
        self.refused, self.stepped = asyncio.Event(), asyncio.Event()

    def __getattr__(self, name):
        method = getattr(self._store, name)

        async def call(*args, **kwargs):
            if self.away:
                self.refused.set()
                raise StoreUnavailable("there", "it is away", fix="wait")
            answer = await method(*args, **kwargs)
            if name == "append_step":
                self.stepped.set()
            return answer

        return call


@pytest.fixture
async def store(tmp_path):
    async with open_runs(tmp_path) as opened:
        yield opened


@pytest.fixture
def context():
    return RunContext()


@pytest.fixture
def bus():
    return EventBus()


@pytest.fixture
async def log(store, context, bus):
    opened = await _begun(store, context, bus)
    yield opened
    await opened.close()


async def _begun(port, context, bus):
    run = build_run_record(
        context, website_id="harbour", url="http://u:p@h/app?key=1#x", kind="task", subject="moor"
    )
    log = RunLog(port, run, context)
    await log.begin()
    bus.listen(log)
    return log


def _ending(**fields):
    known = {"status": "success", "evidence": "verified", "finished_at": datetime.now(UTC), "duration_ms": 1}
    return RunEnding.model_validate({**known, **fields})


def _action(kind="click", target=None, element=None, **fields):
    known = {"args": {}, "url_before": "http://h", "url_after": "http://h", "duration_ms": 1}
    pages = {"html_before": "<html>page</html>", "html_after": None}
    return ActionDone(kind, target, **known, **pages, metadata={"element_id": element}, **fields)


def _step(bus, step_id="s", task_id="t", status="done", *actions, error=None, kind="click"):
    bus.tell(StepStarted(task_id, step_id, 1, 1, kind, None, 0))
    for action in actions:
        bus.tell(action)
    bus.tell(StepEnded(task_id, step_id, status, 12.5, error))


async def test_a_run_is_there_from_its_beginning_and_its_steps_while_it_works(store, context, bus, log):
    begun = await store.run(context.run_id)
    assert begun.status is None
    assert begun.url == "http://h/app"
    bus.tell(ScreenSeen("quay", "Quay", 1.0, "http://h"))
    target = {"strategies": [{"type": "css", "value": "#moor", "confidence": 0.9}]}
    _step(bus, "moor", "t", "done", _action(target=target, element="moor"))
    await log._flush()
    (step,) = await store.steps(context.run_id)
    assert (step.step_idx, step.step_id, step.action, step.status) == (0, "moor", "click", "success")
    assert (step.element, step.selector, step.strategy, step.confidence) == ("moor", "#moor", "css", 0.9)
    assert (step.screen_id, step.duration_ms) == ("quay", 12.5)
    await log.finish(_ending(outputs={"moored": "Skua"}))
    assert (await store.run(context.run_id)).verdict == "pass"


async def test_steps_are_written_by_themselves_without_anybody_asking(store, context, bus):
    watched = Flaky(store)
    log = await _begun(watched, context, bus)
    _step(bus)
    await watched.stepped.wait()
    assert len(await store.steps(context.run_id)) == 1
    await log.close()


async def test_of_several_strategies_nobody_is_said_to_have_found_the_element(store, context, bus, log):
    target = {"strategies": [{"type": "id", "value": "a"}, {"type": "css", "value": "#a"}]}
    _step(bus, "s", "t", "done", _action(target=target))
    await log.finish(_ending())
    (step,) = await store.steps(context.run_id)
    assert step.strategy is None
    assert json.loads(step.selector) == target["strategies"]


async def test_steps_of_tasks_within_tasks_are_each_their_own(store, context, bus, log):
    bus.tell(StepStarted("outer", "call", 1, 1, "run_task", None, 0))
    bus.tell(TaskStarted("inner", "Inner", 1))
    _step(bus, "deep", "inner", "done", _action("fill", "#x", "field"), kind="fill")
    bus.tell(TaskEnded("inner", "success", 1))
    bus.tell(StepEnded("outer", "call", "failed", 20, "no"))
    await log.finish(_ending())
    inner, outer = await store.steps(context.run_id)
    assert (inner.task_id, inner.action, inner.element) == ("inner", "fill", "field")
    assert (outer.task_id, outer.action, outer.element) == ("outer", "run_task", None)
    assert (outer.status, outer.error_message) == ("failed", "no")


async def test_the_action_that_stands_for_a_step_is_the_last_of_its_own_type(store, context, bus, log):
    _step(bus, "s", "t", "done", _action("click", "#overlay", "close"), _action("fill", "#name", "name"),
          _action("press", "#x", "x"), kind="fill")  # fmt: skip
    await log.finish(_ending())
    (step,) = await store.steps(context.run_id)
    assert step.element == "name"


async def test_no_form_of_a_secret_gets_into_the_store_and_no_page_does(tmp_path, store, context, bus, log):
    _step(bus, "early", "t", "done", error=f"typed {SECRET}")
    context.keep_secret(SECRET)
    for form in WRITTEN:
        bus.tell(ScreenSeen(None, None, 0.0, f"http://h/?q={form}"))
        _step(bus, "s", "t", "failed", _action(target=f"#{form}", element=form), error=f"with {form} in it")
    bus.tell(InputResolved("t", "password", "given"))
    await log.finish(_ending(outputs={"echo": [f"<{SECRET}>"]}, error=SECRET, hint=SECRET))
    await store.close()
    kept = b"".join(path.read_bytes() for path in tmp_path.glob("knowledge.sqlite3*"))
    for form in WRITTEN:
        assert form.encode() not in kept, form
        assert json.dumps(form)[1:-1].encode() not in kept, form
    assert b"<html>" not in kept
    assert (await store.run(context.run_id)).outputs == {"echo": [f"<{REDACTED}>"]}
    events = await store.events(context.run_id)
    assert {"input_resolved", "action_done", "step_ended", "screen_seen"} <= {event.type for event in events}
    assert [event.seq for event in events] == list(range(len(events)))


async def test_endless_texts_are_cut_and_broken_characters_mended(store, context, bus, log):
    _step(bus, "s", "t", "failed", error="x" * 1_000_000 + "\ud800")
    _step(bus, "half", "t", "failed", error="a \ud800 b")
    await log.finish(_ending(outputs={"long": "y" * 10_000}))
    long, half = await store.steps(context.run_id)
    assert len(long.error_message) == LONGEST
    assert half.error_message == "a ? b"
    assert (await store.run(context.run_id)).outputs == {"long": "y" * 10_000}


async def test_a_store_that_is_away_for_a_while_is_caught_up_with_and_nothing_is_twice(store, context, bus):
    flaky = Flaky(store)
    log = await _begun(flaky, context, bus)
    _step(bus, "first")
    await log._flush()
    flaky.away = True
    for number in range(300):
        _step(bus, f"s{number}")
    await flaky.refused.wait()
    flaky.away = False
    await log.finish(_ending())
    steps = await store.steps(context.run_id)
    assert [step.step_idx for step in steps] == list(range(301))
    assert len(await store.events(context.run_id)) == 602
    assert (await store.run(context.run_id)).status == "success"


async def test_a_store_that_stays_away_is_told_at_the_end_and_not_before(store, context, bus):
    flaky = Flaky(store)
    log = await _begun(flaky, context, bus)
    flaky.away = True
    _step(bus)
    await flaky.refused.wait()
    with pytest.raises(StoreUnavailable):
        await log.finish(_ending())
    assert not log.finished
    assert (await store.run(context.run_id)).status is None


async def test_a_file_and_a_folder_are_recorded_with_hash_and_size(tmp_path, store, context, log):
    (tmp_path / "out" / "sub").mkdir(parents=True)
    (tmp_path / "out" / "film.mp4").write_bytes(b"film")
    (tmp_path / "out" / "sub" / "a.txt").write_bytes(b"abc")
    assert await log.add_file("film", "film", tmp_path / "out" / "film.mp4")
    assert await log.add_file("all", "trace", tmp_path / "out")
    assert not await log.add_file("none", "film", tmp_path / "nothing")
    folder, film = await store.artifacts(context.run_id)
    assert film.file_hash == hashlib.sha256(b"film").hexdigest()
    assert (film.size_bytes, folder.size_bytes) == (4, 7)
    (tmp_path / "out" / "sub" / "a.txt").rename(tmp_path / "out" / "sub" / "b.txt")
    await log.add_file("all", "trace", tmp_path / "out")
    renamed, _ = await store.artifacts(context.run_id)
    assert renamed.file_hash != folder.file_hash


async def test_a_measurement_is_kept(store, context, log):
    await log.measure("replans", 2)
    (metric,) = await store.metrics(context.run_id)
    assert (metric.metric_name, metric.metric_value) == ("replans", 2)


@pytest.mark.parametrize(
    ("url", "plain"),
    [
        ("http://ada:pw@h:1/a?b=c#d", "http://h:1/a"),
        ("https://h", "https://h"),
        ("http://[::1]:80/x", "http://[::1]:80/x"),
    ],
)
def test_a_runs_url_has_neither_password_nor_query(url, plain):
    assert strip_url(url) == plain


def _segment(status, *, required=True, run=None, segment_id="hello"):
    return SegmentRecord(segment_id, "Hello", "x", required, 0.0, 1.0, status, "late", run=run)


def _result(evidence):
    return RunResult(
        run_id="r", website_id="w", task_id="t", status=RunStatus.SUCCESS, evidence=evidence,
        started_at=datetime.now(UTC), duration_ms=1, outputs={"a": 1},
    )  # fmt: skip


SHOWN, SKIPPED = SegmentStatus.SHOWN, SegmentStatus.SKIPPED
VERIFIED, UNVERIFIED = _result(EvidenceLevel.VERIFIED), _result(EvidenceLevel.UNVERIFIED)


@pytest.mark.parametrize(
    ("segments", "interrupted", "status", "evidence", "error"),
    [
        ([_segment(SHOWN, run=VERIFIED)], False, "success", "verified", None),
        ([_segment(SHOWN, run=VERIFIED), _segment(SKIPPED, required=False)], False, "success", "verified", None),
        ([_segment(SHOWN, run=VERIFIED), _segment(SHOWN, run=UNVERIFIED)], False, "success", "unverified", None),
        ([_segment(SHOWN)], False, "success", "unverified", None),
        ([_segment(SHOWN, segment_id="first"), _segment(SKIPPED)], False, "partial", "unverified", "hello skipped: late"),
        ([_segment(SKIPPED)], False, "failure", "unverified", "hello skipped: late"),
        ([_segment(SHOWN)], True, "partial", "unverified", "interrupted"),
        ([_segment(SHOWN, run=_result(EvidenceLevel.CONTRADICTED))], False, "success", "contradicted", None),
    ],
)  # fmt: skip
def test_a_demo_is_as_good_as_its_required_segments(segments, interrupted, status, evidence, error):
    ending = build_presentation_ending(
        Presentation("f", "F", len(segments), segments, duration_s=2.0, interrupted=interrupted)
    )
    assert (ending.status, ending.evidence, ending.error) == (status, evidence, error)
    assert ending.duration_ms == 2_000


def test_a_run_that_was_cut_off_failed_and_says_by_what():
    assert build_error_ending(asyncio.CancelledError(), 0).error == "interrupted"
    assert build_error_ending(ValueError("no"), 0).error == "no"
    assert build_error_ending(ValueError(), 0).error == "ValueError"
