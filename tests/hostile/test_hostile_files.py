"""Small files that expand end with exit code 2 and a reason, in a process that stays small."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.hostile.hostile_files import FILES, write

pytestmark = pytest.mark.sampled(0.25)

SMALL_FILE = 2_000_000
"""Bytes. The files are small; what they become is not."""
MOST_RESIDENT_KB = 1_000_000
MEASURED = """
import resource, sys
from periplus.cli import main
try:
    main()
finally:
    # The kernel hands a process the peak of the one that started it; this is its own.
    own = next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1]
    print("PEAK", max(int(own), resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss), file=sys.stderr)
"""


@pytest.mark.parametrize("name", sorted(FILES))
def test_a_file_that_expands_is_refused_in_bounded_memory(tmp_path, name):
    path, command = write(name, tmp_path)
    assert path.stat().st_size < SMALL_FILE or name == "paths.json"
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, *command],
        capture_output=True, text=True, timeout=120, check=False, cwd=tmp_path,
    )  # fmt: skip
    said = done.stderr + done.stdout
    assert done.returncode == 2, said[-3_000:]
    assert "Traceback" not in said
    assert "internal error" not in said
    assert Path(name).name in said.replace("\n", "")
    assert int(re.search(r"PEAK (\d+)", said)[1]) < MOST_RESIDENT_KB
