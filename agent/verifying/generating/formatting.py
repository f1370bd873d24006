"""Formats what is generated with ruff, where the environment has it; without it the code is valid all the same."""

from __future__ import annotations

import shutil
import subprocess
import sys
from functools import cache, lru_cache
from pathlib import Path

from kb_schema.python_names import docstring

__all__ = ["docstring", "formatted", "ruff"]

TIMEOUT_S = 30.0
_COMMON = ("--isolated", "--quiet", "--no-cache")
_FIXED = ("--select=I,F401", "--fix-only", '--config=lint.isort.known-first-party=["pages", "support"]')


@cache
def ruff() -> str | None:
    """The ruff of this environment, else one on the path."""
    beside = shutil.which("ruff", path=str(Path(sys.executable).parent))
    return beside or shutil.which("ruff")


@lru_cache(maxsize=256)
def formatted(source: str, name: str) -> str:
    """The source as ruff leaves it; as it is where there is no ruff, or it does not understand it."""
    program = ruff()
    if program is None:
        return source
    sorted_ = _piped([program, "check", *_COMMON, *_FIXED, "--stdin-filename", name, "-"], source)
    return _piped([program, "format", *_COMMON, "--stdin-filename", name, "-"], sorted_)


def _piped(command: list[str], source: str) -> str:
    try:
        done = subprocess.run(
            command,
            input=source,
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return source
    return done.stdout if done.returncode == 0 and done.stdout else source
