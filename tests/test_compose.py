"""docker-compose.yml: what it starts of ours starts with exactly these arguments and this environment, and LiveKit takes its setting.

There is no Docker here. The file is read as Compose reads it (variables, profiles), and each command of ours is started as a process.
Paths and ports of the machine are replaced by free ones; nothing else is.
"""

from __future__ import annotations

import os
import re
import secrets
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.livekit_server import PROGRAM
from tests.support.needs import lacking

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "docker-compose.yml").read_text(encoding="utf-8")
KEY = secrets.token_hex(24)
SMALL = {"PERIPLUS_API_KEY": KEY}
TEAM = {"PERIPLUS_MONGO_PASSWORD": "m0ng0", "PERIPLUS_ARANGO_PASSWORD": "ar4ng0"}
LIVE = {"LIVEKIT_API_KEY": "key", "LIVEKIT_API_SECRET": secrets.token_hex(24)}
_VARIABLE = re.compile(r"\$\$|\$\{(?P<name>\w+)(?::(?P<how>[-+?])(?P<word>(?:[^{}]|\{[^{}]*\})*))?\}")


class Unset(Exception):
    """A variable that must be set is not."""


def interpolate(value: Any, env: dict[str, str]) -> Any:
    """Replace variables as Compose does: `${A}`, `${A:-word}`, `${A:+word}`, `${A:?message}`, `$$`."""
    if isinstance(value, dict):
        return {key: interpolate(each, env) for key, each in value.items()}
    if isinstance(value, list):
        return [interpolate(each, env) for each in value]
    if not isinstance(value, str):
        return value

    def replaced(found: re.Match[str]) -> str:
        if found[0] == "$$":
            return "$"
        given, how, word = env.get(found["name"], ""), found["how"], found["word"] or ""
        if how == "?" and not given:
            raise Unset(f"{found['name']}: {word}")
        if how == "+":
            return str(interpolate(word, env)) if given else ""
        return given or (str(interpolate(word, env)) if how == "-" else "")

    return _VARIABLE.sub(replaced, value)


def composed(env: dict[str, str], *profiles: str) -> dict[str, Any]:
    """The services that start, by name."""
    services = interpolate(yaml.safe_load(TEXT)["services"], env)
    return {
        name: each
        for name, each in services.items()
        if not each.get("profiles") or set(each["profiles"]) & set(profiles)
    }


def free_port(kind: socket.SocketKind = socket.SOCK_STREAM) -> int:
    with socket.socket(socket.AF_INET, kind) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def until_answered(url: str, process: subprocess.Popen[bytes], log: Path) -> bytes:
    """What an address answers, as soon as it does; the process must live."""
    ends = time.monotonic() + 90
    while time.monotonic() < ends:
        assert process.poll() is None, log.read_text()
        try:
            with urllib.request.urlopen(url, timeout=2) as answer:
                return bytes(answer.read())
        except OSError:
            time.sleep(0.1)
    raise AssertionError(log.read_text())


def test_without_a_profile_there_is_one_service_with_the_embedded_store():
    services = composed(SMALL)
    assert list(services) == ["periplus"]
    env = services["periplus"]["environment"]
    assert (env["PERIPLUS_MONGODB_URL"], env["PERIPLUS_ARANGODB_URL"], env["PERIPLUS_LIVEKIT_URL"]) == (
        "",
        "",
        "",
    )


def test_a_missing_key_is_named_and_the_profiles_need_no_passwords_of_each_other():
    with pytest.raises(Unset, match=r"PERIPLUS_API_KEY: set it in \.env"):
        composed({})
    assert set(composed({**SMALL, **TEAM}, "team")) == {"periplus", "mongo", "arangodb"}
    assert set(composed({**SMALL, **LIVE}, "live")) == {"periplus", "livekit", "rooms"}


def test_the_databases_of_the_team_are_addressed_with_their_passwords():
    services = composed({**SMALL, **TEAM}, "team")
    env = services["periplus"]["environment"]
    assert env["PERIPLUS_MONGODB_URL"].startswith("mongodb://periplus:m0ng0@mongo:27017/periplus?")
    assert env["PERIPLUS_ARANGODB_URL"] == "http://root:ar4ng0@arangodb:8529"
    for name in ("mongo", "arangodb", "livekit"):  # a service of a profile that is off is not waited for
        assert services["periplus"]["depends_on"][name] == {"condition": "service_healthy", "required": False}
    assert "${MONGO_INITDB_ROOT_PASSWORD:?" in services["mongo"]["entrypoint"][-1]  # bash ends without it


def test_every_value_of_the_example_is_used_and_every_variable_is_in_it():
    named = set(re.findall(r"^([A-Z_]+)=", (ROOT / ".env.example").read_text(encoding="utf-8"), re.MULTILINE))
    used = {found["name"] for found in _VARIABLE.finditer(TEXT) if found["name"]}
    used |= set(re.findall(r"\$\{([A-Z_]+)", TEXT)) - {"MONGO_INITDB_ROOT_PASSWORD"}
    assert used - named == {"PERIPLUS_LIVEKIT_PUBLIC_URL"}
    assert named <= used


def test_the_published_ports_are_those_that_the_services_listen_on():
    services = composed({**SMALL, **LIVE}, "live")
    rtc = yaml.safe_load(services["livekit"]["environment"]["LIVEKIT_CONFIG"])
    assert services["livekit"]["ports"] == [
        f"127.0.0.1:{rtc['port']}:{rtc['port']}",
        f"127.0.0.1:{rtc['rtc']['tcp_port']}:{rtc['rtc']['tcp_port']}",
        f"127.0.0.1:{rtc['rtc']['udp_port']}:{rtc['rtc']['udp_port']}/udp",
    ]
    command = services["periplus"]["command"]
    assert services["periplus"]["ports"] == [f"127.0.0.1:8080:{command[command.index('--port') + 1]}"]


def test_the_service_starts_with_these_arguments_and_this_environment(tmp_path):
    service = composed(SMALL)["periplus"]
    port = str(free_port())
    given = [port if each == "8080" else each for each in service["command"]]
    env = {
        **{
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("PERIPLUS_", "LIVEKIT_"))
        },
        **service["environment"],
        "PERIPLUS_DATA_DIR": str(tmp_path / "data"),
        "PYTHONPATH": str(ROOT),
    }
    with (tmp_path / "log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "periplus", *given],
            cwd=tmp_path,
            env=env,
            stdout=log,
            stderr=subprocess.STDOUT,
        )
    try:
        until_answered(f"http://127.0.0.1:{port}/api/health", process, tmp_path / "log")
        # The health check of the file, with this port.
        check = [each.replace("8080", port) for each in service["healthcheck"]["test"][1:]]
        subprocess.run([sys.executable, *check[1:]], check=True, timeout=30)
        refused = urllib.request.Request(f"http://127.0.0.1:{port}/api/runs")
        with pytest.raises(urllib.error.HTTPError, match="401"):
            urllib.request.urlopen(refused, timeout=5)
        allowed = urllib.request.Request(f"http://127.0.0.1:{port}/api/runs", headers={"X-API-Key": KEY})
        assert urllib.request.urlopen(allowed, timeout=5).status == 200
    finally:
        process.terminate()
        assert process.wait(30) == 0, (tmp_path / "log").read_text()


def test_livekit_takes_its_setting_and_presenters_reach_it_with_theirs(tmp_path):
    if not PROGRAM.is_file():
        lacking("no LiveKit server: `make setup-livekit` builds one where Go 1.26 is")
    services = composed({**SMALL, **LIVE}, "live")
    ports = {"7880": free_port(), "7881": free_port(), "7882": free_port(socket.SOCK_DGRAM)}

    def moved(text: str) -> str:
        return re.sub("788[012]", lambda found: str(ports[found[0]]), text).replace(
            "//livekit:", "//127.0.0.1:"
        )

    plain = {
        name: value for name, value in os.environ.items() if not name.startswith(("PERIPLUS_", "LIVEKIT_"))
    }
    livekit = {**plain, **{name: moved(each) for name, each in services["livekit"]["environment"].items()}}
    with (tmp_path / "livekit.log").open("wb") as log:
        server = subprocess.Popen(
            [str(PROGRAM), *services["livekit"]["command"]], env=livekit, stdout=log, stderr=subprocess.STDOUT
        )
    rooms = None
    try:
        until_answered(f"http://127.0.0.1:{ports['7880']}/", server, tmp_path / "livekit.log")
        said = (tmp_path / "livekit.log").read_text()
        assert f'"rtc.portUDP": {{"Start":{ports["7882"]}' in said or str(ports["7882"]) in said
        env = {name: moved(each) for name, each in services["rooms"]["environment"].items()}
        env = {**plain, **env, "PERIPLUS_DATA_DIR": str(tmp_path / "data"), "PYTHONPATH": str(ROOT)}
        with (tmp_path / "rooms.log").open("wb") as log:
            rooms = subprocess.Popen(
                [sys.executable, "-m", "periplus", *services["rooms"]["command"]],
                cwd=tmp_path, env=env, stdout=log, stderr=subprocess.STDOUT,
            )  # fmt: skip
        ends = time.monotonic() + 100
        while "rooms at a time" not in (tmp_path / "rooms.log").read_text():
            assert rooms.poll() is None, (tmp_path / "rooms.log").read_text()
            assert time.monotonic() < ends, (tmp_path / "rooms.log").read_text()
            time.sleep(0.2)
    finally:
        for process in filter(None, (rooms, server)):
            process.terminate()
            process.wait(30)
