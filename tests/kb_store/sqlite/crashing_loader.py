"""A loader that kills itself: run as a process by the crash tests.

    python -m tests.kb_store.sqlite.crashing_loader DATA_DIR VERSION STATEMENT

Loads the sample of that version in small batches and sends itself SIGKILL just before the store
runs its STATEMENT-th SQL statement. With 0 it survives and prints the stage of the load at each
statement, as JSON. Says when it is at work.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from pathlib import Path

from kb_store import load_knowledge, open_stores
from tests.kb_store.load_stages import Stage
from tests.kb_store.sample_knowledge import knowledge_of


async def main(data_dir: Path, version: str, doomed: int) -> list[str]:
    stage = Stage()
    stages: list[str] = []

    def before(_statement: str) -> None:
        stages.append(stage.name)
        if len(stages) == doomed:
            os.kill(os.getpid(), signal.SIGKILL)

    async with open_stores(data_dir) as stores:
        stores.documents._database._connection.set_trace_callback(before)
        knowledge = knowledge_of(version=version)
        await load_knowledge(stores.documents, stores.graph, knowledge, batch=8, on_progress=stage)
    return stages


if __name__ == "__main__":
    sys.stdout.write(json.dumps(asyncio.run(main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])))))
