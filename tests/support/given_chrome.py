"""A browser that a person started by hand with a debugging port: its tabs are the person's."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from agent.browser.launch import QUIET_FLAGS, find_chromium


@dataclass
class GivenChrome:
    """A running browser."""

    endpoint: str
    process: subprocess.Popen[bytes] | subprocess.Popen[str]

    def pages(self) -> list[str]:
        """The ids of all open tabs."""
        with urllib.request.urlopen(f"{self.endpoint}/json") as answer:
            return sorted(each["id"] for each in json.load(answer) if each["type"] == "page")

    def kill(self) -> None:
        """End it at once, as a crash does."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(10)


@contextmanager
def given_chrome(folder: Path, tabs: Sequence[str], flags: Sequence[str] = ()) -> Iterator[GivenChrome]:
    """Start a browser with a profile in `folder` and these tabs; end it afterwards."""
    path = find_chromium()
    assert path is not None
    log, port_file = folder / "chrome.log", folder / "profile" / "DevToolsActivePort"
    port_file.unlink(missing_ok=True)
    with log.open("w") as said:
        started = subprocess.Popen(
            [path, "--headless", "--no-sandbox", *QUIET_FLAGS, "--remote-debugging-port=0", *flags,
             f"--user-data-dir={folder / 'profile'}", tabs[0]],
            stdout=said, stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip
    try:
        while not port_file.exists() or not port_file.read_text().strip():
            assert started.poll() is None, log.read_text()
        endpoint = f"http://127.0.0.1:{port_file.read_text().split()[0]}"
        for address in tabs[1:]:
            asked = urllib.request.Request(f"{endpoint}/json/new?{address}", method="PUT")
            urllib.request.urlopen(asked).close()
        yield GivenChrome(endpoint, started)
    finally:
        if started.poll() is None:
            os.killpg(started.pid, signal.SIGTERM)  # the program may be a script that starts the browser
            started.wait(10)
