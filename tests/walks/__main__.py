"""Walks as four first users do, and says how long each took to an own result.

python -m tests.walks [WALK ...] --periplus /path/to/a/fresh/environment/bin/periplus
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from pathlib import Path

from rich.console import Console

from tests.interface_changes.site_models import SITES
from tests.interface_changes.site_server import serve_site
from tests.walks.walk_runner import Walked, read_walks, walk


def main() -> int:
    """Do the walks; the exit code is 1 if one did not come to its end."""
    scripts = {each["walk"]: each for each in read_walks()}
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("walks", nargs="*", metavar="WALK")
    parser.add_argument("--periplus", required=True, help="the command, as a first user has it")
    options = parser.parse_args()
    console = Console(width=160)
    complete = True
    for name in options.walks or scripts:
        with serve_site() as shown, tempfile.TemporaryDirectory() as folder:
            shown.show(SITES[scripts[name]["site"]])
            done = asyncio.run(walk(scripts[name], shown.base, Path(folder), [options.periplus]))
        _print(done, scripts[name]["reader"], console)
        complete = complete and done.complete
    return 0 if complete else 1


def _print(done: Walked, reader: str, console: Console) -> None:
    result = "not reached" if done.goal_s is None else f"{done.goal_s:.0f} s"
    console.print(f"{done.name} ({reader}): own result {result}", highlight=False, markup=False)
    for step in done.steps:
        console.print(f"  {step.seconds:5.1f} s  {step.what}", highlight=False, markup=False)
        if step.missing:
            console.print(f"    missing: {step.missing}\n{step.output}", highlight=False, markup=False)


if __name__ == "__main__":
    sys.exit(main())
