"""Formats generated code with ruff if it is installed; without it the code is valid but not formatted."""

from __future__ import annotations

import shutil
import subprocess
import sys
from functools import cache, lru_cache
from pathlib import Path

from kb_schema.python_names import docstring

__all__ = ["docstring", "find_ruff", "format_source"]

TIMEOUT_S = 30.0
_COMMON = ("--isolated", "--quiet", "--no-cache")
_FIXED = ("--select=I,F401", "--fix-only", '--config=lint.isort.known-first-party=["pages", "support"]')


@cache
def find_ruff() -> str | None:
    """Return the ruff of this environment, otherwise one on the path."""
    beside = shutil.which("ruff", path=str(Path(sys.executable).parent))
    return beside or shutil.which("ruff")


@lru_cache(maxsize=256)
def format_source(source: str, name: str) -> str:
    """Return the formatted source; unchanged if there is no ruff, or ruff cannot parse it."""
    program = find_ruff()
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
