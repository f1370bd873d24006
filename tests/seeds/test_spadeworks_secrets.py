"""Signing in on the live site, with a wrong password first and a one-time code: no secret is left anywhere."""

from __future__ import annotations

import io
import json
from contextlib import nullcontext

from mcp import Client
from rich.console import Console

from agent.events import Event, StepStarted
from agent.execution import step_runner
from agent.execution.task_runner import TaskRunner
from agent.run_records.run_log import build_task_ending
from agent.run_records.session_trace import SessionTrace
from kb_schema import parse_document
from kb_schema.resilience_policy import ResiliencePolicy
from kb_store.store_factory import open_runs
from periplus.run_store_adapters import RunStoreKeeping, end_run_record, record_run
from periplus.terminal.live_view import RunLiveView
from tests.support.leaks import leaks
from tests.support.live_spadeworks import ACCOUNT, visiting

WRONG = "wrong-and-secret-7"


async def test_signing_in_leaves_says_and_sends_neither_password_nor_code(
    live, stores, browser, tmp_path, monkeypatch
):
    said: list[str] = []
    codes: set[str] = set()
    call = Client.call_tool

    async def recorded_call(self, name, arguments=None, *args, **kwargs):
        said.append(json.dumps([name, arguments], default=str, ensure_ascii=False))
        answer = await call(self, name, arguments, *args, **kwargs)
        said.append(answer.model_dump_json())
        return answer

    monkeypatch.setattr(Client, "call_tool", recorded_call)
    monkeypatch.setattr(step_runner, "CONFIRM_S", 2.0)  # what fails here, fails
    out, data, console = tmp_path / "out", tmp_path / "data", Console(file=io.StringIO(), width=4_000)
    async with visiting(live, stores, browser) as session, open_runs(data) as runs:
        live.ask("otp", required=True)
        session.resilience = ResiliencePolicy(
            enable_replanning=False, max_retries=0, max_replans_per_step=0, max_total_replans=0
        )
        login = (await session.knowledge.task("login")).to_json()
        hasty = json.dumps(login).replace('"timeout": 10.0', '"timeout": 3.0')
        session.knowledge.know(parse_document(json.loads(hasty)))
        session.bus.listen(RunLiveView(console, "secrets"))
        trace = SessionTrace(out, website_id="spadeworks", context=session.context)
        session.bus.listen(trace, pages=True)

        def note(event: Event) -> None:
            if isinstance(event, StepStarted) and event.step_id == "verify_code":
                codes.update(text for text in session.context.secrets.values if text.isdigit())

        session.bus.listen(note)
        async with record_run(nullcontext(runs), session, kind="task", subject="login") as log:
            results = []
            for password in (WRONG, ACCOUNT["password"]):
                engine = TaskRunner(session, keeping=RunStoreKeeping(runs))
                results.append(
                    await engine.run_task("login", {"email": ACCOUNT["email"], "password": password})
                )
                console.print(results[-1].model_dump_json(), markup=False)
            trace.close((await session.snapshot()).html, complete=True)
            await end_run_record(log, build_task_ending(results[-1]), {})
        assert await session.signed_in()
    assert [result.complete for result in results] == [False, True], [result.error for result in results]
    assert len(codes) == 1, "read twice, and the same half minute"
    secrets = {"wrong": WRONG, "right": ACCOUNT["password"], **{code: code for code in codes}}
    assert leaks(secrets, out, data, *said, console.file.getvalue()) == []
