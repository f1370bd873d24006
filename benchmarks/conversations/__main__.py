"""Measures whole conversations.

    python -m benchmarks.conversations measure [--again] [--arm ARM ...] [JOB ...]     goes on where it was interrupted
    python -m benchmarks.conversations report [--write docs/benchmarks.md]

out/conversations has the knowledge that was made, a line for each conversation, and their texts.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from mcp import Client

from benchmarks.conversations import figures
from benchmarks.conversations.applications import Served, copy_of_knowledge, make_knowledge, serve, website_of
from benchmarks.conversations.arms import ARMS, NotShown
from benchmarks.conversations.conversation import CallRefused, Conversation
from benchmarks.conversations.conversation_jobs import JOBS, ConversationJob
from benchmarks.conversations.servers import Knowledge, beside, in_front, periplus, playwright_mcp

OUT = Path("out/conversations")
RESULTS = OUT / "results.jsonl"
LONGEST_S = 240.0
"""A conversation that takes longer is ended."""


@asynccontextmanager
async def open_arm(
    arm: str, job: ConversationJob, site: Served, kept: Path
) -> AsyncIterator[tuple[Client, ...]]:
    """Start the servers of an arm with what they know of the job's application."""
    if arm == "alone":
        async with playwright_mcp() as client:
            yield (client,)
        return
    async with copy_of_knowledge(job.application, kept) as folder:
        if arm == "unknown pages":
            knowledge = Knowledge(folder.with_name("nothing"), secrets=job.secrets)
        else:
            knowledge = Knowledge(folder, {website_of(job.application): site.base_url}, job.secrets)
        if arm == "beside":
            async with beside(knowledge) as both:
                yield both
        elif arm == "in front":
            async with in_front(knowledge) as client:
                yield (client,)
        else:
            async with periplus(knowledge) as client:
                yield (client,)


async def converse(arm: str, job: ConversationJob, kept: Path = OUT) -> tuple[Conversation, str]:
    """Have one conversation on a fresh application; return it and why the job was not done, empty if it was.

    `kept`: the folder with the knowledge of `make_knowledge`.
    """
    async with serve(job.application) as site, open_arm(arm, job, site, kept) as clients:
        talk = Conversation(clients)
        await talk.begin()
        wrong = ""
        try:
            async with asyncio.timeout(LONGEST_S):
                await ARMS[arm](talk, job, site.base_url)
        except (CallRefused, NotShown) as exc:
            wrong = str(exc)
        except TimeoutError:
            wrong = f"not ended after {LONGEST_S:g} s"
        if not wrong and not job.done(await site.state()):
            wrong = "the application's state does not show it"
    return talk, wrong


async def measure(names: Sequence[str], arms: Sequence[str], *, again: bool) -> int:
    """Have all conversations of some arms that are not on record yet; return how many did not do their job."""
    jobs = [job for job in JOBS if not names or job.name in names or job.application in names]
    for application in dict.fromkeys(job.application for job in jobs):
        await make_knowledge(application, {job.name for job in JOBS if job.application == application}, OUT)
    known = set() if again else {(each["arm"], each["application"], each["job"]) for each in figures.read(RESULTS) if not each["wrong"]}  # fmt: skip
    failed = 0
    for job in jobs:
        for arm in arms:
            if (arm, job.application, job.name) in known:
                continue
            talk, wrong = await converse(arm, job)
            cost = talk.cost()
            failed += bool(wrong)
            kept: dict[str, Any] = {
                "arm": arm,
                "application": job.application,
                "job": job.name,
                "wrong": wrong,
            }
            kept |= asdict(cost) | {"cached": cost.cached, "measured": f"{datetime.now(UTC):%Y-%m-%d}"}
            with RESULTS.open("a", encoding="utf-8") as lines:
                lines.write(json.dumps(kept, ensure_ascii=False) + "\n")
            _keep_text(arm, job, talk, wrong)
            sys.stdout.write(f"{arm:14} {job.application} {job.name}: {cost.calls} calls, {cost.sent:,} sent, {cost.seconds:.1f} s {wrong[:200]}\n")  # fmt: skip
            sys.stdout.flush()
    return failed


def _keep_text(arm: str, job: ConversationJob, talk: Conversation, wrong: str) -> None:
    file = OUT / "texts" / f"{job.application}.{job.name}.{arm.replace(' ', '_')}.txt"
    file.parent.mkdir(exist_ok=True)
    said = [f">>> {call}\n{answer}\n" for call, answer in zip(talk.calls, talk.answers, strict=True)]
    file.write_text("\n".join([*said, f"not done: {wrong}" if wrong else "done"]), encoding="utf-8")


def main() -> int:
    """Run a command; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.conversations")
    commands = parser.add_subparsers(dest="command", required=True)
    measuring = commands.add_parser("measure", help="have the conversations that are not on record yet")
    measuring.add_argument("names", nargs="*", help="jobs or applications; default: all")
    measuring.add_argument("--again", action="store_true", help="also those that are on record")
    measuring.add_argument("--arm", action="append", choices=[*ARMS], help="only this arm; default: all")
    reporting = commands.add_parser("report", help="print the table")
    reporting.add_argument("--write", type=Path, help="write it into this page")
    asked = parser.parse_args()
    if asked.command == "measure":
        OUT.mkdir(parents=True, exist_ok=True)
        failed = asyncio.run(measure(asked.names, asked.arm or [*ARMS], again=asked.again))
        sys.stdout.write(figures.table(figures.read(RESULTS)))
        return 1 if failed else 0
    table = figures.table(figures.read(RESULTS))
    if asked.write is None:
        sys.stdout.write(table)
    else:
        figures.write(asked.write, table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
