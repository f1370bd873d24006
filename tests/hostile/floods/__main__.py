"""Gives pages that flood to a service with two workers, and notes how each ended.

    python -m tests.hostile.floods list
    python -m tests.hostile.floods measure [PAGE ...] [--again]
    python -m tests.hostile.floods report

Each page is verified twice at the same time, so that it holds both workers: once it floods when it is loaded, once when its button is
pressed. `measure` adds what was seen to out/floods.jsonl, keeps the server's log in out/floods, and leaves out pages that it has: an interrupted measurement goes on where it was.
Exit code 1 if a page was not over in time, took too much memory, or kept the service from verifying a plain page afterwards.
"""

# ruff: noqa: T201 - a program whose output is read

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shutil
import sys
import tempfile
import time
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.hostile.floods.flooding_site import PAGES, flooding_site
from tests.periplus.service.test_serve_process import periplus_serve
from tests.support.processes import descendants

OUT = Path("out/floods.jsonl")
LOGS = Path("out/floods")
LONGEST_S = 240.0
"""Seconds after which a page should be over, on a machine that is busy with other work."""
MOST_MB = 6_000
"""Of the server and the browser together: two pages of 2,000 MB each, and what was there before."""
LOOK_S = 0.5


def main() -> int:
    """Read the arguments, and do it."""
    parser = argparse.ArgumentParser(prog="python -m tests.hostile.floods")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("list", help="the pages")
    measure = commands.add_parser("measure", help="give pages to a service")
    measure.add_argument("pages", nargs="*", metavar="PAGE", choices=[*PAGES, []])
    measure.add_argument("--again", action="store_true", help="also pages that were measured")
    commands.add_parser("report", help="what was measured")
    given = parser.parse_args()
    if given.command == "list":
        print("\n".join(PAGES))
        return 0
    if given.command == "measure":
        done = set() if given.again else {each["page"] for each in _read()}
        asyncio.run(_measure([each for each in given.pages or PAGES if each not in done]))
    return _report()


async def _measure(pages: list[str]) -> None:
    LOGS.mkdir(parents=True, exist_ok=True)
    with flooding_site() as site, tempfile.TemporaryDirectory(prefix="periplus-floods-") as folder:
        for page in pages:
            place = Path(folder, page)
            await asyncio.to_thread(place.mkdir)
            seen = await give_page(site, page, place)
            shutil.copy(place / "log", LOGS / f"{page}.log")
            with OUT.open("a", encoding="utf-8") as file:  # noqa: ASYNC230 - nothing else happens meanwhile
                file.write(json.dumps(seen) + "\n")
            print(describe(seen), flush=True)


async def give_page(site: str, page: str, folder: Path) -> dict[str, Any]:
    """Start a service with two workers in a folder, give it a page, and return what was seen."""
    async with periplus_serve(folder, "--workers", "2") as (process, _log, service):
        return await _give(service.client, process.pid, site, page)


async def _give(client: Any, pid: int, site: str, page: str) -> dict[str, Any]:
    """Verify a page twice at once and a plain one afterwards; return what was seen."""
    peak = [0]
    watching = asyncio.ensure_future(_watch(pid, peak))
    both = await asyncio.gather(*(_verify(client, site, mode, page) for mode in ("load", "click")))
    after = await _verify(client, site, "load", "plain")
    watching.cancel()
    ended = [
        {"mode": mode, "seconds": seconds, "verdict": said.get("verdict"), "said": _reason(said)}
        for mode, (seconds, said) in zip(("load", "click"), both, strict=True)
    ]
    return {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "load": round(os.getloadavg()[0]),
        "page": page,
        "runs": ended,
        "peak_mb": peak[0],
        "plain_after": {"seconds": after[0], "verdict": after[1].get("verdict")},
    }


async def _verify(client: Any, site: str, mode: str, page: str) -> tuple[float, dict[str, Any]]:
    """Return after how many seconds a requirement was over, and its run; an empty run if it was not."""
    began = time.monotonic()
    req_id = f"{page}-{mode}-{time.time_ns()}"
    steps = ["Go | click", "Next | click"] if mode == "click" else ["Next | click", "Next | click"]
    accepted = await client.post(
        "/api/run", json={"req_id": req_id, "url": f"{site}/{mode}/{page}", "steps": steps}
    )
    assert accepted.status_code == 202, accepted.text
    while time.monotonic() - began < LONGEST_S:
        run = (await client.get(f"/api/runs/{req_id}")).json()
        if run.get("status") not in {"queued", "running"}:
            return round(time.monotonic() - began, 1), run
        await asyncio.sleep(LOOK_S)
    await client.post(f"/api/runs/{req_id}/cancel")
    return LONGEST_S, {}


def _reason(run: dict[str, Any]) -> str:
    said = run.get("error") or (run.get("rca") or {}).get("message") or ""
    return str(said)[:300]


async def _watch(pid: int, peak: list[int]) -> None:
    """Keep the most memory, in MB, that the server and all below it had."""
    while True:
        peak[0] = max(peak[0], await asyncio.to_thread(_read_mb, pid))
        await asyncio.sleep(LOOK_S)


def _read_mb(pid: int) -> int:
    total = 0
    for each in (pid, *descendants(pid)):
        with suppress(OSError, IndexError):
            total += int(Path(f"/proc/{each}/statm").read_text(encoding="ascii").split()[1])
    return total * os.sysconf("SC_PAGE_SIZE") // 2**20


def is_wrong(seen: dict[str, Any]) -> bool:
    """Whether a run was not over, memory was not bounded, or the service did not go on."""
    late = any(each["seconds"] >= LONGEST_S for each in seen["runs"])
    return late or seen["peak_mb"] > MOST_MB or seen["plain_after"]["verdict"] != "pass"


def describe(seen: dict[str, Any]) -> str:
    """Return a line about what was seen."""
    runs = "; ".join(
        f"{each['mode']} {each['seconds']:.0f} s {each['verdict']} {each['said']}".strip()
        for each in seen["runs"]
    )
    after = seen["plain_after"]
    return (
        f"{'WRONG ' if is_wrong(seen) else ''}{seen['page']:26} {seen['peak_mb']:5} MB, load {seen['load']}, plain after"
        f" {after['seconds']:.0f} s {after['verdict']} | {runs}"
    )


def _report() -> int:
    latest = {each["page"]: each for each in _read()}
    for seen in latest.values():
        print(describe(seen))
    wrong = [page for page, seen in latest.items() if is_wrong(seen)]
    print(f"{len(latest)} of {len(PAGES)} pages, wrong: {', '.join(wrong) or 'none'}")
    return 1 if wrong else 0


def _read() -> list[dict[str, Any]]:
    if not OUT.exists():
        return []
    return [json.loads(line) for line in OUT.read_text(encoding="utf-8").splitlines()]


if __name__ == "__main__":
    sys.exit(main())
