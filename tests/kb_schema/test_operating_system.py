"""One module knows what differs between operating systems: without the others' modules everything of ours is imported."""

from __future__ import annotations

import multiprocessing
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kb_schema import operating_system

ROOT = Path(__file__).parents[2]
PACKAGES = ("periplus", "agent", "mcp_server", "loaders", "kb_store", "web_pages", "kb_schema")
ONLY_POSIX = ("fcntl", "termios", "resource", "pwd", "grp", "tty", "pty")
_WITHOUT = """
import importlib, pkgutil, sys

def import_all():
    wrong = []
    for package in {packages}:
        found = importlib.import_module(package)
        for each in pkgutil.walk_packages(found.__path__, package + "."):
            if each.name.endswith("__main__") or ".templates." in each.name or ".probe" in each.name:
                continue
            try:
                importlib.import_module(each.name)
            except ImportError as exc:
                wrong.append(f"{{each.name}}: {{exc}}")
    return wrong

import_all()  # the libraries of others choose by the system; they are loaded now
for name in [each for each in sys.modules if each.split(".")[0] in {packages}]:
    del sys.modules[name]
for name in {names}:
    sys.modules[name] = None
print([each for each in import_all() if any(name in each for name in {names})])
"""


def test_nothing_else_imports_a_module_that_only_some_systems_have():
    told = []
    for package in PACKAGES:
        for path in (ROOT / package).rglob("*.py"):
            for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
                if re.match(rf"\s*(?:import|from) (?:{'|'.join(ONLY_POSIX)}|msvcrt)\b", line):
                    told.append(f"{path.relative_to(ROOT)}:{number}: {line.strip()}")
                if re.search(
                    r"\bos\.(?:setsid|killpg|geteuid|getuid|fork|nice)\(|os\.kill\([^)]*, 0\)", line
                ):
                    told.append(f"{path.relative_to(ROOT)}:{number}: {line.strip()}")
    assert [each for each in told if not each.startswith("kb_schema/operating_system.py")] == []
    assert told


def test_every_module_is_imported_without_the_modules_of_posix():
    program = _WITHOUT.format(names=ONLY_POSIX, packages=PACKAGES)
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    said = subprocess.run(
        [sys.executable, "-c", program],
        check=False,
        cwd=ROOT,
        env=env,
        capture_output=True,
        text=True,
        timeout=110,
    )
    assert said.returncode == 0, said.stderr[-2_000:]
    assert said.stdout.splitlines()[-1] == "[]"


def _hold(path, ready, go):
    with path.open("a") as file, operating_system.lock_file(file.fileno()):
        ready.set()
        go.wait(30)


def test_a_lock_keeps_another_process_waiting_until_it_is_released(tmp_path):
    spawn = multiprocessing.get_context("spawn")
    ready, go, second = spawn.Event(), spawn.Event(), spawn.Event()
    first = spawn.Process(target=_hold, args=(tmp_path / "lock", ready, go))
    first.start()
    assert ready.wait(30)
    other = spawn.Process(target=_hold, args=(tmp_path / "lock", second, go))
    other.start()
    assert not second.wait(1)
    go.set()
    assert second.wait(30)
    first.join(30)
    other.join(30)


def test_a_process_that_ended_is_not_alive():
    process = subprocess.Popen(
        [sys.executable, "-c", "input()"], stdin=subprocess.PIPE, start_new_session=True
    )
    assert operating_system.is_process_alive(process.pid)
    operating_system.end_process_group(process.pid, at_once=True)
    process.wait()
    assert not operating_system.is_process_alive(process.pid)
    assert operating_system.is_process_alive(1)


@pytest.mark.skipif(not Path("/proc/self/schedstat").exists(), reason="the system does not tell")
def test_what_a_process_computed_is_told():
    before, began = operating_system.read_scheduled_s(os.getpid()), time.process_time()
    while time.process_time() - began < 0.1:
        pass
    assert operating_system.read_scheduled_s(os.getpid()) - before >= 0.09


def test_of_a_process_that_is_gone_it_is_not_told_what_it_waited_for():
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    assert operating_system.read_scheduled_s(child.pid) is None
