"""A browser has no higher priority than the program that started it."""

from __future__ import annotations

import subprocess
import sys

import pytest

SCRIPT = """
import asyncio
from pathlib import Path
from periplus.session_setup.browser_start import start_browser
from agent.browser.browser_processes import find_processes, read_family

async def main():
    async with start_browser(headed=False) as browser:
        await (await browser.new_page()).goto("data:text/html,<h1>One</h1>")
        first = (await find_processes(await browser.new_browser_cdp_session())).browser
        threads = [each for one in read_family(first) for each in Path(f"/proc/{one.pid}/task").iterdir()]
        print(len(threads), min(int((each / "stat").read_text().rpartition(")")[2].split()[16]) for each in threads))

asyncio.run(main())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="priorities are read from /proc")
def test_no_thread_of_a_browser_has_a_higher_priority_than_what_started_it() -> None:
    done = subprocess.run(
        ["nice", "-n", "7", sys.executable, "-c", SCRIPT],
        capture_output=True,
        text=True,
        timeout=100,
        check=True,
    )
    threads, lowest = map(int, done.stdout.split())
    assert threads > 20
    assert lowest >= 7
