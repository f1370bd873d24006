"""Runs generated suites with plain pytest, in the environment that has no Periplus."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path


def run(
    plain: Path, suite: Path, base_url: str, chromium: str, *more: str, secrets: Mapping[str, str]
) -> subprocess.CompletedProcess[str]:
    """The suite by plain pytest, without anything of ours in its environment."""
    environment = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    return subprocess.run(
        [plain, "-m", "pytest", "-p", "no:cacheprovider", "-q", "--base-url", base_url, "--tb=line", *more],
        cwd=suite, capture_output=True, text=True, check=False, timeout=390,
        env={**environment, **secrets, "PLAYWRIGHT_CHROMIUM_EXECUTABLE_PATH": chromium},
    )  # fmt: skip
