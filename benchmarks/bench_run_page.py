"""How long the page of a run of 200 steps takes in the console, with pictures, stored pages and lines of the console.

`python -m benchmarks.bench_run_page [STEPS]` prints a table.
"""

from __future__ import annotations

import asyncio
import hashlib
import statistics
import sys
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from playwright.async_api import async_playwright

from agent.browser.launch import launch
from agent.run_records.run_log import compute_digest
from kb_schema.execution_traces import ExecutionTrace, TraceStep
from kb_schema.run_records import Artifact, EvidenceLevel, RunEnding, RunStatus, StoredRun, StoredStep
from kb_schema.session_writer import write_session
from kb_schema.step_pictures import STEPS_FILE, PageLine, PictureFile, StepPictures
from kb_store.store_factory import open_runs
from periplus.runs.task_runs import STEP_PICTURES
from tests.periplus.console.console_site import SITE, console, seed_knowledge

pytestmark = pytest.mark.bench

STEPS, ROUNDS = 200, 5
PAGE_BYTES = 150_000
"""Size of a stored page."""
GOAL_MS = 1_500
RUN = "long-run"


async def _write_run(data: Path, steps: int, picture: bytes) -> None:
    """Store a run of so many steps, as `periplus run` leaves it."""
    folder, now = data / "runs" / RUN, datetime.now(UTC)
    pictures = folder / "pictures"
    pictures.mkdir(parents=True)
    files = []
    for number in range(steps + 1):
        content = picture + number.to_bytes(4, "big")
        (pictures / f"{number:04d}.jpg").write_bytes(content)
        files.append(PictureFile(name=f"{number:04d}.jpg", sha256=hashlib.sha256(content).hexdigest()))
    lines = tuple(PageLine(kind="request", text=f"GET /api/agents/{n} 200", at_ms=n) for n in range(5))
    with (pictures / STEPS_FILE).open("w", encoding="utf-8") as file:
        for number in range(steps):
            step = StepPictures(
                task_id="create_agent", step_id=f"step_{number}", before=files[number], after=files[number + 1], lines=lines
            )  # fmt: skip
            file.write(step.model_dump_json() + "\n")
    html = f"<html><body>{'<p>An agent and what it says</p>' * (PAGE_BYTES // 32)}</body></html>"
    actions = tuple(
        TraceStep(
            timestamp=now + timedelta(seconds=number),
            action_type="click",
            target="#save",
            html_before=f"{html}<!-- {number} -->",
            html_after=f"{html}<!-- {number + 1} -->",
        )
        for number in range(steps)
    )
    trace = ExecutionTrace(trace_id=RUN, task_description="Create an agent", steps=actions)
    write_session(trace, folder / "session", clean=lambda text: text)
    async with open_runs(data) as runs:
        await runs.begin_run(
            StoredRun(
                run_id=RUN, url="https://shop.example.com/", started_at=now, website_id=SITE, kind="task", subject="create_agent"
            )
        )  # fmt: skip
        for number in range(steps):
            await runs.append_step(
                StoredStep(
                    run_id=RUN, step_idx=number, action="click", element="save", status="success",
                    executed_at=now + timedelta(seconds=number), task_id="create_agent", step_id=f"step_{number}",
                    screen_id="dashboard", duration_ms=300 + number,
                )
            )  # fmt: skip
        for name, kind, path in (
            ("session/", "trace", folder / "session"),
            (STEPS_FILE, STEP_PICTURES, pictures / STEPS_FILE),
        ):
            digest = compute_digest(path)
            assert digest is not None
            place, file_hash, size = digest
            await runs.put_artifact(
                Artifact(
                    run_id=RUN, name=name, artifact_type=kind, file_path=place, file_hash=file_hash, size_bytes=size, created_at=now
                )
            )  # fmt: skip
        ended = RunEnding(
            status=RunStatus.SUCCESS, evidence=EvidenceLevel.VERIFIED, finished_at=now, duration_ms=60_000
        )
        await runs.finish_run(RUN, ended)


async def measure(steps: int) -> tuple[list[float], list[float], int]:
    """Return milliseconds of the answer, and of the page until its first pictures are shown; one a round, and its bytes."""
    answers, pages, size = [], [], 0
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder)
        async with async_playwright() as playwright:
            browser = await launch(playwright)
            page = await browser.new_page(viewport={"width": 1280, "height": 800})
            await page.goto("data:text/html,<body style='background:linear-gradient(red,blue);height:720px'>")
            await _write_run(data, steps, await page.screenshot(type="jpeg", quality=60))
            async with console(data, seed_knowledge()) as there:
                for _ in range(ROUNDS):
                    began = time.perf_counter()
                    answer = await there.served.client.get(f"/runs/{RUN}")
                    answers.append((time.perf_counter() - began) * 1_000)
                    size = len(answer.content)
                    began = time.perf_counter()
                    await page.goto(there.at(f"/runs/{RUN}"), wait_until="load")
                    await page.locator(".shots img").first.evaluate("image => image.decode()")
                    pages.append((time.perf_counter() - began) * 1_000)
                assert await page.locator(".shots img").count() == 2 * steps
            await browser.close()
    return answers, pages, size


def test_a_long_run_opens() -> None:
    report(STEPS)


def report(steps: int) -> None:
    """Measure and print."""
    answers, pages, size = asyncio.run(measure(steps))
    print(f"the page of a run of {steps} steps with pictures: {size / 1e3:,.0f} kB")
    print(f"  the first answer                     {answers[0]:8.0f} ms")
    print(f"  an answer, median                    {statistics.median(answers[1:]):8.0f} ms")
    print(f"  with its pictures in a browser, median {statistics.median(pages):6.0f} ms (goal: {GOAL_MS})")


if __name__ == "__main__":
    report(int(sys.argv[1]) if len(sys.argv) > 1 else STEPS)
