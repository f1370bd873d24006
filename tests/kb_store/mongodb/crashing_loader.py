"""A loader into MongoDB that kills itself: run as a process by the crash tests.

    python -m tests.kb_store.mongodb.crashing_loader URL VERSION MOMENT

Loads the sample of that version in small batches. Every command to the server has two moments,
before it is sent and after it was answered; at the MOMENT-th it sends itself SIGKILL. With 0 it
survives and prints the stage of the load at each moment, as JSON. Says when it is at work.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from pathlib import Path

from pymongo import monitoring

from kb_store import load_knowledge, open_stores
from tests.kb_store.load_stages import Stage
from tests.kb_store.sample_knowledge import knowledge_of

LOAD_COMMANDS = {
    "insert",
    "update",
    "commitTransaction",
    "findAndModify",
    "delete",
    "aggregate",
    "find",
    "distinct",
}


class Doom(monitoring.CommandListener):
    """Counts moments of the load, and strikes at one of them."""

    def __init__(self, moment: int) -> None:
        self.doomed, self.stage = moment, Stage()
        self.stages: list[str] = []

    def started(self, event: monitoring.CommandStartedEvent) -> None:
        self._moment(event.command_name)

    def succeeded(self, event: monitoring.CommandSucceededEvent) -> None:
        self._moment(event.command_name)

    def failed(self, event: monitoring.CommandFailedEvent) -> None:
        pass

    def _moment(self, command: str) -> None:
        if command not in LOAD_COMMANDS or self.stage.name in {"opening", "done"}:
            return
        self.stages.append(self.stage.name)
        if len(self.stages) == self.doomed:
            os.kill(os.getpid(), signal.SIGKILL)


async def main(url: str, version: str, moment: int) -> list[str]:
    doom = Doom(moment)
    monitoring.register(doom)
    async with open_stores(Path("unused"), mongodb_url=url) as stores:
        knowledge = knowledge_of(version=version)
        await load_knowledge(stores.documents, stores.graph, knowledge, batch=8, on_progress=doom.stage)
    return doom.stages


if __name__ == "__main__":
    sys.stdout.write(json.dumps(asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))))
