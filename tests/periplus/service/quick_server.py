"""A service as a process of its own, for tests that end it: `python quick_server.py DATA_DIR GRACE_S`.

Its verifier is quick; a requirement REQ waits while there is a file DATA_DIR/hold-REQ. Prints its address.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from kb_store import open_stores
from kb_store.store_factory import open_runs
from periplus.log_setup import log_to_stderr
from periplus.mcp_settings import McpSettings
from periplus.server_sockets import open_listening_socket
from periplus.service.run_queue import RunQueueLimits
from periplus.service.service_settings import ServeSettings
from periplus.web_server.service_setup import ServiceOptions, open_service
from periplus.web_server.uvicorn_server import serve_until_signal
from tests.periplus.service.service_support import Quick, no_browser_needed


class HeldByFiles(Quick):
    async def verify(self, requirement, **more):
        hold = self.folder.parent / f"hold-{requirement.req_id}"
        while hold.exists():
            await asyncio.sleep(0.01)  # a file tells nobody that it is gone
            more["stop"].check()
        return await super().verify(requirement, **more)


async def main(data_dir: Path, grace_s: float) -> None:
    quick = HeldByFiles(folder=data_dir / "runs")
    wanted = ServiceOptions(
        "127.0.0.1", ServeSettings(), McpSettings(tokens=data_dir / "none.json"), data_dir / "runs", data_dir / "files",
        RunQueueLimits(grace_s=grace_s, stop_s=5),
    )  # fmt: skip
    async with open_stores(data_dir) as stores, open_runs(data_dir) as runs:
        opened = open_service(wanted, stores, runs, quick.opened, browser=no_browser_needed)
        async with opened as (service, queue):
            with open_listening_socket("127.0.0.1", 0) as listener:
                sys.stdout.write(f"http://127.0.0.1:{listener.getsockname()[1]}\n")
                sys.stdout.flush()
                await serve_until_signal(service, queue, listener)


if __name__ == "__main__":
    log_to_stderr()
    asyncio.run(main(Path(sys.argv[1]), float(sys.argv[2])))
