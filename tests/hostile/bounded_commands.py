"""Runs a command on a file from a stranger: it ends with 0 or 2, in few words and within the limits."""

from __future__ import annotations

import re
import signal
import subprocess
from pathlib import Path

from tests.support import warm

MOST_RESIDENT_KB = 1_000_000
MOST_SECONDS = 10.0
"""Processor time, which does not depend on what else the machine does."""
LONGEST_S = 900
"""Until a command that waits is killed: one that computes is ended by its processor time (`measured_command`), however long a busy machine
takes for that."""
LONGEST_LINE = 2_000


def run_bounded(command: tuple[str, ...], folder: Path) -> subprocess.CompletedProcess[str]:
    """Run `periplus COMMAND` with its data in `folder` and check everything but what it did."""
    done = warm.run(
        "tests.hostile.measured_command", *command,
        env={"PERIPLUS_DATA_DIR": str(folder / "data"), "COLUMNS": "200", "NO_COLOR": "1"}, timeout=LONGEST_S,
    )  # fmt: skip
    said = done.stderr + done.stdout
    assert done.returncode != -signal.SIGXCPU, "it computes without end"
    assert done.returncode >= 0, f"ended by signal {-done.returncode}: SIGKILL is ours, after {LONGEST_S} s"
    # A requirement that can be read is verified: the site cannot be reached, which is a result.
    assert done.returncode in ((0, 1, 2) if command[0] == "verify" else (0, 2)), said[-3_000:]
    for forbidden in ("Traceback", "internal error", "Fatal Python error"):
        assert forbidden not in said, said[-3_000:]
    if done.returncode == 2:
        assert len(re.findall(r"^Error:", said, re.MULTILINE)) == 1, said[-3_000:]
    assert "\x1b" not in said, "the file writes to the terminal"
    assert max(map(len, said.splitlines())) < LONGEST_LINE, "the answer repeats what was read"
    peak, seconds = re.search(r"USED (\d+) ([\d.]+)", said).groups()
    assert int(peak) < MOST_RESIDENT_KB
    assert float(seconds) < MOST_SECONDS
    return done
