"""How long a cold `periplus kb load` takes: a new process, an empty store, every file read.

    python benchmarks/bench_load.py [FOLDER] [--runs N]

Beside it, in the same runs, `periplus --version`: what starting Python and the command costs
anyway. Trust the ratio, not the seconds.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
SEED = ROOT / "seeds" / "spadeworks" / "kb"


def timed(arguments: list[str], data_dir: str) -> float:
    """Seconds of one run of the command. Ends the benchmark where it fails."""
    environment = {**os.environ, "PERIPLUS_DATA_DIR": data_dir}
    start = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "periplus", *arguments],
        env=environment, cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    seconds = time.perf_counter() - start
    if done.returncode != 0:
        sys.exit(f"periplus {' '.join(arguments)} failed:\n{done.stderr}")
    return seconds


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="Times a cold `periplus kb load`.")
    parser.add_argument("folder", nargs="?", type=Path, default=SEED)
    parser.add_argument("--runs", type=int, default=7)
    options = parser.parse_args()
    loads, starts = [], []
    for _ in range(options.runs):
        with tempfile.TemporaryDirectory() as data_dir:
            starts.append(timed(["--version"], data_dir))
            loads.append(timed(["kb", "load", str(options.folder.resolve())], data_dir))
    load, start = statistics.median(loads), statistics.median(starts)
    print(f"cold kb load of {options.folder.name}: median {load:.3f} s of {options.runs} runs")
    print(f"  best {min(loads):.3f} s, worst {max(loads):.3f} s")
    print(f"  starting the command alone: {start:.3f} s; ratio {load / start:.1f}")


if __name__ == "__main__":
    main()
