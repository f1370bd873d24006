"""Measures what verifying says after ordinary changes of an interface, and after bugs of an application.

    python -m tests.interface_changes measure [SITE ...] [--only OPERATOR ...] [--again] [--why]
    python -m tests.interface_changes serve SITE [OPERATOR ...]     show a changed site in your browser
    python -m tests.interface_changes report
    python -m tests.interface_changes suites [SITE ...] [--again]     the generated tests in plain pytest, with each bug
    python -m tests.interface_changes folds       thresholds set on the other sites, and what they find on each

`measure` keeps each result in out/interface-changes/SITE.jsonl and leaves it out the next time (`--again` repeats it);
`suites` keeps those of a site in out/interface-changes/suites/SITE.json.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from rich.console import Console

from periplus.session_setup import start_browser
from tests.interface_changes.change_figures import print_tables
from tests.interface_changes.generated_suites import (
    check_suite_in_thread,
    print_suites,
    read_figures,
    write_figures,
)
from tests.interface_changes.measurement import Bench, Measured, open_bench, read_record, to_record
from tests.interface_changes.operators import apply_operators, list_operators
from tests.interface_changes.page_records import read_records, record_site, write_records
from tests.interface_changes.site_models import SITES
from tests.interface_changes.site_server import is_installed, serve_site
from tests.interface_changes.threshold_folds import list_cases as list_located_controls
from tests.interface_changes.threshold_folds import print_folds

OUT = Path("out/interface-changes")
DOUBLES = 5
"""Pairs of changes for each site."""
SEED = 22


def draw_pairs(site: str) -> list[tuple[str, str]]:
    """Return the pairs of changes of a site: drawn once, both for one requirement."""
    changes = [each for each in list_operators().values() if not each.is_bug]
    pairs = [
        (one.name, other.name)
        for one in changes
        for other in changes
        if one.name < other.name and one.requirement == other.requirement
    ]
    random.Random(f"{SEED}/{site}").shuffle(pairs)
    usable = (pair for pair in pairs if apply_operators(site, pair) is not None)
    return [pair for pair, _ in zip(usable, range(DOUBLES), strict=False)]


def list_cases(site: str) -> list[tuple[str, ...]]:
    """Return all operators of a site, each alone, then the pairs."""
    return [(each,) for each in list_operators()] + list(draw_pairs(site))


async def measure(
    sites: Sequence[str], only: Sequence[str], console: Console, *, again: bool, why: bool
) -> None:
    """Measure what is not measured yet, and keep it."""
    OUT.mkdir(parents=True, exist_ok=True)
    async with start_browser(headed=False) as browser, open_bench(browser) as bench:
        for site in sites:
            if not is_installed(SITES[site].make):
                console.print(f"{site}: its libraries are not there: make setup-changes")
                continue
            await _measure_site(bench, site, only, console, again=again, why=why)


async def _measure_site(
    bench: Bench, site: str, only: Sequence[str], console: Console, *, again: bool, why: bool
) -> None:
    file = OUT / f"{site}.jsonl"
    done = {} if again and not only else {each.key: each for each in _read(file)}
    for names in list_cases(site):
        if only and "+".join(names) not in only:
            continue
        if f"{site}.{'+'.join(names)}" in done and not again:
            continue
        measured = await bench.measure(site, names)
        done[measured.key] = measured
        file.write_text("".join(json.dumps(to_record(each)) + "\n" for each in done.values()), "utf-8")
        if measured.result != "inapplicable":
            console.print(f"{measured.key}: {measured.result} {measured.cause} {measured.confidence:.2f} {measured.message} ({measured.seconds} s)", highlight=False, soft_wrap=True, markup=False)  # fmt: skip
        if why and measured.result not in ("inapplicable", "green", "healed", "right"):
            console.print(measured.told, highlight=False, soft_wrap=True, markup=False)


def _read(file: Path) -> Iterator[Measured]:
    if file.is_file():
        for line in file.read_text("utf-8").splitlines():
            yield read_record(json.loads(line))


async def check_suites(sites: Sequence[str], console: Console, *, again: bool) -> bool:
    """Run the generated tests of each site that is not measured yet, unchanged and with each bug; return whether all
    is as it should be.
    """
    files = {site: OUT / "suites" / f"{site}.json" for site in sites if is_installed(SITES[site].make)}
    for site in sites:
        if site not in files:
            console.print(f"{site}: its libraries are not there: make setup-changes")
    async with start_browser(headed=False) as browser, open_bench(browser) as bench:
        for site, file in files.items():
            if again or not file.is_file():
                plans = await bench.build_plans(site)
                with tempfile.TemporaryDirectory(prefix="periplus-suites-") as folder:
                    write_figures(await check_suite_in_thread(site, plans, Path(folder)), file)
                console.print(f"{site}: done")
    found = [read_figures(file) for file in files.values()]
    print_suites(found, console)
    return all(each.right for each in found) and len(files) == len(sites)


async def fold(console: Console) -> None:
    """Record the pages that are not recorded yet, and print what is found on each site with the others' thresholds."""
    async with start_browser(headed=False) as browser:
        for site in SITES:
            file = OUT / "pages" / f"{site}.jsonl"
            if is_installed(SITES[site].make) and not file.is_file():
                write_records(await record_site(browser, site), file)
    files = [OUT / "pages" / f"{site}.jsonl" for site in SITES]
    records = [page for file in files if file.is_file() for page in read_records(file)]
    print_folds(list_located_controls(records), console)


def serve(site: str, names: Sequence[str], console: Console) -> None:
    """Show a changed site until Enter is pressed."""
    changed = apply_operators(site, tuple(names))
    if changed is None:
        console.print("these change nothing there")
        return
    with serve_site() as shown:
        shown.show(replace(changed))
        console.print(f"{shown.base}  (Enter ends)")
        sys.stdin.readline()


def main() -> int:
    """Run a command; return its exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.interface_changes",
        description=__doc__,
        formatter_class=argparse.RawTextHelpFormatter,
    )
    commands = parser.add_subparsers(dest="command", required=True)
    sub = commands.add_parser("measure")
    sub.add_argument("sites", nargs="*", metavar="SITE")
    sub.add_argument("--only", nargs="*", default=[], metavar="OPERATOR")
    sub.add_argument("--again", action="store_true", help="also what is measured already")
    sub.add_argument("--why", action="store_true", help="tell the evidence of what is not as it should be")
    sub = commands.add_parser("serve")
    sub.add_argument("site", choices=SITES)
    sub.add_argument("operators", nargs="*")
    commands.add_parser("report")
    commands.add_parser("folds")
    sub = commands.add_parser("suites")
    sub.add_argument("sites", nargs="*", metavar="SITE")
    sub.add_argument("--again", action="store_true", help="also sites that are measured already")
    options = parser.parse_args()
    console = Console(width=170)
    unknown = set(getattr(options, "sites", [])) - SITES.keys()
    if unknown:
        parser.error(f"there is no site {', '.join(sorted(unknown))}; there are {', '.join(SITES)}")
    if options.command == "serve":
        serve(options.site, options.operators, console)
    elif options.command == "measure":
        sites = options.sites or list(SITES)
        asyncio.run(measure(sites, options.only, console, again=options.again, why=options.why))
    elif options.command == "suites":
        sites = options.sites or list(SITES)
        return 0 if asyncio.run(check_suites(sites, console, again=options.again)) else 1
    elif options.command == "folds":
        asyncio.run(fold(console))
    if options.command in ("measure", "report"):
        print_tables([each for site in SITES for each in _read(OUT / f"{site}.jsonl")], console)
    return 0


if __name__ == "__main__":
    sys.exit(main())
