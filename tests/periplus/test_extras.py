"""A base install: each command works, or names the extra that it needs before anything starts."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from periplus.cli import COMMANDS
from periplus.extras import EXTRAS, find_extra

ROOT = Path(__file__).parents[2]
OPTIONAL = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
NOT_OF_THE_PRODUCT = {"all", "docs", "audit", "dev"}
NOT_IN_ALL = {"google"}
"""Its package wants an older tenacity than the others are pinned with."""
ALL_MODULES = repr(sorted({each for modules in EXTRAS.values() for each in modules}))
WITHOUT_EXTRAS = f"""
import sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name in {ALL_MODULES}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Missing())
"""
"""Makes the modules of all extras unknown to an interpreter, as in a base install."""


def run(*arguments: str, cwd: Path, having: str | None = None) -> subprocess.CompletedProcess[str]:
    """Run a command where no extra is installed, or only `having`."""
    there = EXTRAS[having] if having is not None else ()
    if having == "serve":  # it brings those of `verify`, too
        there += EXTRAS["verify"]
    hidden = sorted({each for modules in EXTRAS.values() for each in modules} - set(there))
    code = (
        WITHOUT_EXTRAS.replace(ALL_MODULES, repr(hidden))
        + f"from periplus.cli import main; main({list(arguments)!r})"
    )
    env = {**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "100"}
    command = [sys.executable, "-c", code]
    return subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, timeout=100, check=False)


def test_the_extras_are_those_of_the_package_and_all_has_every_one():
    assert set(EXTRAS) <= set(OPTIONAL)
    (everything,) = OPTIONAL["all"]
    named = re.fullmatch(r"periplus\[(.*)\]", everything)
    assert named is not None
    assert set(named[1].split(",")) == set(OPTIONAL) - NOT_OF_THE_PRODUCT - NOT_IN_ALL
    for name, lazy in COMMANDS.items():
        assert set(lazy.extras) <= set(EXTRAS), name


@pytest.mark.parametrize(
    ("arguments", "extra"),
    [
        (["verify", "x.csv"], "verify"),
        (["verify", "--resume", "last"], "verify"),
        (["optimize", "tests"], "verify"),
        (["serve"], "serve"),
        (["rooms"], "livekit"),
    ],
)
def test_a_missing_extra_is_named_before_anything_starts(tmp_path, arguments, extra):
    done = run(*arguments, cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    assert f"Error: `periplus {arguments[0]}` needs the extra `{extra}`" in done.stderr
    assert f"-> pip install 'periplus[{extra}]'" in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.sampled(0.2)
@pytest.mark.parametrize("having", EXTRAS)
def test_with_one_extra_alone_its_commands_work_and_the_others_name_theirs(tmp_path, having):
    """The same with installed packages, for each extra, is `tests/chain/test_wheel.py` (nightly)."""
    needing = {"verify": ["verify", "x.csv"], "serve": ["serve", "--demo", "nope"], "livekit": ["rooms"]}
    works = {"verify": {"verify"}, "serve": {"verify", "serve"}, "livekit": {"livekit"}}.get(having, set())
    for extra, arguments in needing.items():
        done = run(*arguments, cwd=tmp_path, having=having)
        assert done.returncode == 2, done.stderr
        assert ("needs the extra" not in done.stderr) == (extra in works), f"{arguments[0]}: {done.stderr}"
        assert "internal error" not in done.stderr, done.stderr
    assert list(tmp_path.iterdir()) == []


def test_every_command_is_explained_without_extras(tmp_path):
    code = f"""
from periplus.cli import main
for name in {list(COMMANDS)!r}:
    try:
        main([name, "--help"])
    except SystemExit as ended:
        assert not ended.code, name
"""
    command = [sys.executable, "-c", WITHOUT_EXTRAS + code]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2_000:]
    assert all(f"periplus {name}" in done.stdout for name in COMMANDS)


def test_a_module_that_an_extra_brings_is_told_with_it_wherever_it_is_missing():
    assert find_extra("langgraph.graph") == "verify"
    assert find_extra("opentelemetry.sdk.trace") == "otel"
    assert find_extra("no_such_module") is None


def test_a_folder_agent_of_the_users_own_does_not_break_python_dash_m(tmp_path):
    for name in ("agent", "loaders", "seeds"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("raise SystemExit('imported the folder of the user')\n")
    command = [sys.executable, "-m", "periplus", "runs", "list"]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "no runs yet" in done.stdout


def test_install_lists_what_is_there_and_fetches_no_second_browser(tmp_path, chromium_path):
    command = [sys.executable, "-m", "periplus", "install"]
    env = {**os.environ, "PYTHONPATH": str(ROOT), "PERIPLUS_CHROMIUM": chromium_path}
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert chromium_path in done.stdout
    assert all(f"extra {extra}" in done.stdout for extra in EXTRAS)


def test_a_browser_that_cannot_be_fetched_is_an_error_with_what_to_do(tmp_path):
    nothing = {"PLAYWRIGHT_DOWNLOAD_HOST": "http://127.0.0.1:1", "PLAYWRIGHT_BROWSERS_PATH": str(tmp_path)}
    command = [sys.executable, "-m", "periplus", "install", "--force"]
    env = {**os.environ, "PYTHONPATH": str(ROOT), **nothing}
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    assert "could not fetch Chromium" in done.stderr
    assert "PERIPLUS_CHROMIUM" in done.stderr
