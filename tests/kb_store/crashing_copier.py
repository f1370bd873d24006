"""A copy in a process of its own that kills itself at its nth write to the target.

python tests/kb_store/crashing_copier.py SOURCE TARGET N
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kb_store import open_stores
from kb_store.sqlite.database import SqliteDatabase
from kb_store.store_copy import copy_runs, copy_website
from kb_store.store_factory import open_runs

if TYPE_CHECKING:
    from collections.abc import Callable


async def main(source: Path, target: Path, moment: int) -> None:
    async with (
        open_stores(source) as old, open_stores(target) as new,
        open_runs(source) as old_runs, open_runs(target) as new_runs,
    ):  # fmt: skip
        writes, really = 0, SqliteDatabase.write

        async def write(self: SqliteDatabase, work: Callable[..., Any]) -> Any:
            nonlocal writes
            if target in self.path.parents:
                writes += 1
                if writes == moment:
                    os.kill(os.getpid(), signal.SIGKILL)
            return await really(self, work)

        SqliteDatabase.write = write  # type: ignore[method-assign]
        await copy_website(old, new, "shop")
        await copy_runs(old_runs, new_runs)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])))
