"""Makes faults many times and notes how each run ended.

    python -m tests.faults list
    python -m tests.faults measure [KIND ...] [--runs 30] [--again]
    python -m tests.faults report

`measure` adds each run to out/faults/KIND.jsonl, dated, with its seed, and stops at `--runs` of a kind: an interrupted
measurement goes on where it was. Exit code 1 if a run failed.
"""

# ruff: noqa: T201 - a program whose output is read

from __future__ import annotations

import argparse
import asyncio
import json
import random
import sys
import tempfile
import traceback
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.faults import browser_faults, store_faults  # noqa: F401 - they register their kinds
from tests.faults.fault_kinds import FAULTS, CannotBeMade, FaultKind

OUT = Path("out/faults")


def main() -> int:
    """Read the arguments, and do it."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("list", help="the kinds")
    measure = commands.add_parser("measure", help="make faults")
    measure.add_argument("kinds", nargs="*", metavar="KIND", choices=[*FAULTS, []])
    measure.add_argument("--runs", type=int, default=30, help="runs of a kind")
    measure.add_argument("--again", action="store_true", help="forget earlier runs of these kinds")
    commands.add_parser("report", help="what was measured")
    given = parser.parse_args()
    if given.command == "list":
        for kind in FAULTS.values():
            print(f"{kind.name:16} {kind.summary}")
        return 0
    if given.command == "measure":
        for name in given.kinds or FAULTS:
            if given.again:
                _file(name).unlink(missing_ok=True)
            asyncio.run(_measure(FAULTS[name], given.runs))
    return _report()


async def _measure(kind: FaultKind, runs: int) -> None:
    OUT.mkdir(parents=True, exist_ok=True)
    while (done := len(_read(kind.name))) < runs:
        seed = random.SystemRandom().randrange(10**9)
        try:
            told = await make_fault(kind, seed)
        except CannotBeMade as exc:
            print(f"{kind.name}: {exc}")
            return
        with _file(kind.name).open("a", encoding="utf-8") as file:
            line = {"at": datetime.now(UTC).isoformat(timespec="seconds"), "seed": seed, "told": told}
            file.write(json.dumps(line) + "\n")
        print(
            f"{kind.name} {done + 1}/{runs}: {(told or 'as it should be').splitlines()[-1][:200]}", flush=True
        )


async def make_fault(kind: FaultKind, seed: int) -> str:
    """Make one run; return what was wrong, empty for nothing. Raises `CannotBeMade`."""
    with tempfile.TemporaryDirectory(prefix="periplus-fault-", ignore_cleanup_errors=True) as folder:
        try:
            await kind.run(Path(folder), random.Random(seed))
        except CannotBeMade:
            raise
        except Exception:  # noqa: BLE001 - whatever it is, the run failed
            return traceback.format_exc()
    return ""


def _report() -> int:
    failed = 0
    for name in FAULTS:
        found = _read(name)
        wrong = [each for each in found if each["told"]]
        failed += len(wrong)
        days = sorted({str(each["at"])[:10] for each in found})
        print(
            f"{name:16} {len(found):4} runs, {len(wrong)} failed  {' to '.join(dict.fromkeys([*days[:1], *days[-1:]]))}"
        )
        for each in wrong[:3]:
            print(f"  seed {each['seed']}: {str(each['told']).strip().splitlines()[-1][:300]}")
    return 1 if failed else 0


def _read(name: str) -> list[dict[str, Any]]:
    if not _file(name).exists():
        return []
    return [json.loads(line) for line in _file(name).read_text(encoding="utf-8").splitlines()]


def _file(name: str) -> Path:
    return OUT / f"{name}.jsonl"


if __name__ == "__main__":
    sys.exit(main())
