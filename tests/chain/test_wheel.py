"""The built wheel in a fresh environment and an empty folder: what each extra makes work, and what the rest says.

Needs a package index for the packages themselves; the versions are those of `constraints.txt`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from periplus.cli import COMMANDS
from periplus.extras import EXTRAS
from tests.support.needs import lacking

pytestmark = [pytest.mark.nightly, pytest.mark.timeout(900)]

ROOT = Path(__file__).parents[2]
NEEDING = {
    "verify": ["verify", "x.csv"],
    "optimize": ["optimize", "tests"],
    "serve": ["serve", "--demo", "nope"],
    "rooms": ["rooms"],
    "mongodb": ["kb", "status", "--mongodb-url", "mongodb://127.0.0.1:9"],
}
WITH: dict[str, set[str]] = {
    "": set(),
    **{name: set() for name in EXTRAS},
    "verify": {"verify", "optimize"},
    "verify-mongo": {"verify", "optimize", "mongodb"},
    "mongo-arango": {"mongodb"},
    "serve": {"verify", "optimize", "serve"},
    "livekit": {"rooms"},
    "all": {*NEEDING},
}
"""Extra -> the commands of `NEEDING` that it makes work; the other extras are asked for by what a command is given."""
WHOLE = ("", "all")
"""Where every command is explained and a demo is shown; it takes as long as all else."""
UNPINNED = ("google",)
"""Extras whose packages want other versions than `constraints.txt` has."""


def call(*command: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    env = {name: value for name, value in os.environ.items() if not name.startswith(("PERIPLUS_", "PYTHON"))}
    return subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, timeout=600, check=False)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    done = call(
        sys.executable, "-m", "pip", "wheel", "--no-deps", "--wheel-dir", str(folder), ROOT, cwd=folder
    )
    if done.returncode:
        lacking(f"the wheel cannot be built: {done.stderr[-300:]}")
    return next(folder.glob("*.whl"))


@pytest.mark.parametrize("extra", WITH)
def test_the_wheel_works_in_an_empty_folder_as_far_as_its_extra_goes(wheel, tmp_path, extra):
    call(sys.executable, "-m", "venv", tmp_path / "env", cwd=tmp_path)
    wanted = f"periplus[{extra}] @ {wheel.as_uri()}" if extra else str(wheel)
    pip = [
        tmp_path / "env/bin/python",
        "-m",
        "pip",
        "install",
        "--quiet",
        *(() if extra in UNPINNED else ("--constraint", ROOT / "constraints.txt")),
    ]
    installed = call(*pip, wanted, cwd=tmp_path)
    assert installed.returncode == 0, installed.stderr[-2_000:]
    empty = tmp_path / "empty"
    empty.mkdir()
    periplus = tmp_path / "env/bin/periplus"
    modules = [
        module
        for name in ((*EXTRAS,) if extra == "all" else (extra,))
        for module in EXTRAS.get(name, ())
        if name not in UNPINNED or extra in UNPINNED
    ]
    imported = call(
        tmp_path / "env/bin/python", "-c", "".join(f"import {each}\n" for each in modules), cwd=empty
    )
    assert imported.returncode == 0, imported.stderr
    for name in COMMANDS if extra in WHOLE else ():
        helped = call(periplus, name, "--help", cwd=empty)
        assert helped.returncode == 0, f"{name}: {helped.stderr}"
    for name, arguments in NEEDING.items():
        done = call(periplus, *arguments, cwd=empty)
        assert ("pip install 'periplus[" not in done.stderr) == (name in WITH[extra]), (
            f"{name}: {done.stderr}"
        )
        assert "internal error" not in done.stderr, f"{name}: {done.stderr}"
        assert done.returncode == 2
    checked = call(periplus, "doctor", cwd=empty)
    assert "internal error" not in checked.stderr, checked.stderr
    if extra not in WHOLE:
        return
    shown = call(periplus, "demo", "--speed", "0", "--headless", "--out", "film", cwd=empty)
    assert shown.returncode == 0, shown.stdout + shown.stderr
    assert json.loads((empty / "film/result.json").read_text())["succeeded"]
