"""A real LiveKit server for tests, on free ports of this machine."""

from __future__ import annotations

import secrets
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.needs import lacking

PROGRAM = Path(__file__).parents[2] / ".tools" / "livekit" / "livekit-server"
START_S = 20.0


@dataclass(frozen=True)
class LiveKitServer:
    """Where it listens, and who may do everything there."""

    url: str
    api_key: str
    api_secret: str
    log: Path
    pid: int

    @property
    def environment(self) -> dict[str, str]:
        """As `periplus rooms` and `periplus serve` are told of it."""
        return {
            "PERIPLUS_LIVEKIT_URL": self.url,
            "PERIPLUS_LIVEKIT_API_KEY": self.api_key,
            "PERIPLUS_LIVEKIT_API_SECRET": self.api_secret,
        }


@contextmanager
def livekit_running(folder: Path) -> Iterator[LiveKitServer]:
    """Skips where there is no server; fails where CI has none."""
    if not PROGRAM.is_file():
        lacking("no LiveKit server: `make setup-livekit` builds one where Go 1.26 is")
    port, tcp, udp = (_free(kind) for kind in (socket.SOCK_STREAM, socket.SOCK_STREAM, socket.SOCK_DGRAM))
    key, secret = "test", secrets.token_hex(24)
    config = (
        f"port: {port}\nbind_addresses: [127.0.0.1]\n"
        f"rtc: {{tcp_port: {tcp}, udp_port: {udp}, node_ip: 127.0.0.1, use_external_ip: false, "
        "enable_loopback_candidate: true}\n"
        f"keys: {{{key}: {secret}}}\nlogging: {{level: info}}\n"
    )
    log = folder / "livekit.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [str(PROGRAM), "--config-body", config], stdout=output, stderr=subprocess.STDOUT
        )
    try:
        _wait_for(port, process, log)
        yield LiveKitServer(f"ws://127.0.0.1:{port}", key, secret, log, process.pid)
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _free(kind: socket.SocketKind) -> int:
    with socket.socket(socket.AF_INET, kind) as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _wait_for(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline and process.poll() is None:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=1):
                return
        except OSError:
            time.sleep(0.05)
    pytest.fail(f"the LiveKit server did not start:\n{log.read_text()[-2000:]}")
