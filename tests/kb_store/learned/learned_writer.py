"""A process that counts outcomes in an embedded store: `python learned_writer.py FILE FIRST COUNT`."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from kb_schema.observed_outcomes import Outcome
from kb_store.learned.learned_numbers import utc_now
from kb_store.sqlite import SqliteDatabase
from kb_store.sqlite.learned_store import SqliteLearnedStore


def outcome(number: int) -> Outcome:
    """One of ten outcomes fails."""
    return Outcome(
        outcome_id=f"o{number}", website_id="shop", transition_id="t", succeeded=number % 10 != 0,
        duration_ms=100 + number % 7, at=utc_now(),
    )  # fmt: skip


async def main(file: str, first: int, count: int) -> None:
    database = SqliteDatabase(Path(file))
    store = SqliteLearnedStore(database)
    for number in range(first, first + count):
        await store.record([outcome(number)])
    await database.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
