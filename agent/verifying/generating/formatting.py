"""Formats what is generated with ruff, where the environment has it; without it the code is valid all the same."""

from __future__ import annotations

import shutil
import subprocess
import sys
import textwrap
from functools import cache, lru_cache
from pathlib import Path

TIMEOUT_S = 30.0
WIDTH = 88
"""ruff's own."""
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


def docstring(paragraphs: str, indent: int = 0) -> str:
    """A docstring of these paragraphs, wrapped; whatever is in them."""
    shown = "".join(each if each.isprintable() or each == "\n" else " " for each in paragraphs)
    plain = [" ".join(each.split()) for each in shown.split("\n\n")]
    safe = [each.replace("\\", "\\\\").replace('"""', '\\"\\"\\"') for each in plain if each]
    wrapped = ["\n".join(textwrap.wrap(each, WIDTH - indent - 6 * (len(safe) == 1))) for each in safe]
    text = "\n\n".join(wrapped)
    text = text[:-1] + '\\"' if text.endswith('"') else text
    end = "\n" if "\n" in text else ""
    return textwrap.indent(f'"""{text}{end}"""', " " * indent)


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
