"""Measures recording and replaying on widgets of libraries from npm.

    python -m tests.widgets list
    python -m tests.widgets measure [LIBRARY ...] [--only WIDGET ...] [--again] [--why]
    python -m tests.widgets serve                  show the pages in your browser
    python -m tests.widgets report [--write FILE]

`measure` keeps each result in out/widgets/LIBRARY.jsonl and leaves it out the next time (`--again` repeats it).
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.console import Console

from periplus.session_setup import start_browser
from tests.widgets.widget_figures import make_table, write_markdown
from tests.widgets.widget_list import Widget, list_widgets
from tests.widgets.widget_measurement import MeasuredWidget, WidgetBench, open_bench, read_record, to_record
from tests.widgets.widget_server import is_installed, serve_widgets

OUT = Path("out/widgets")
TABLE = "<!-- written by `python -m tests.widgets report --write docs/widgets.md` -->"
"""The table follows in a page, up to its end."""
LIBRARIES = tuple(dict.fromkeys(each.library for each in list_widgets().values()))


async def measure(widgets: Sequence[Widget], console: Console, *, again: bool, why: bool) -> None:
    """Measure what is not measured yet, and keep it."""
    OUT.mkdir(parents=True, exist_ok=True)
    known = {each.widget for library in LIBRARIES for each in read(library)}
    async with start_browser(headed=False) as browser, open_bench(browser) as bench:
        for widget in widgets:
            if again or widget.key not in known:
                await _measure_one(bench, widget, console, why=why)


async def _measure_one(bench: WidgetBench, widget: Widget, console: Console, *, why: bool) -> None:
    measured = await bench.measure(widget)
    kept = {each.widget: each for each in read(widget.library)} | {widget.key: measured}
    file = OUT / f"{widget.library}.jsonl"
    file.write_text("".join(json.dumps(to_record(each)) + "\n" for each in kept.values()), "utf-8")
    console.print(
        f"{measured.widget}: {measured.verdict} {measured.said}",
        highlight=False,
        soft_wrap=True,
        markup=False,
    )
    if why and measured.verdict != "right":
        for line in (
            *measured.steps,
            f"the person left {measured.wanted}",
            f"the replay left {measured.got}",
        ):
            console.print(f"    {line}", highlight=False, soft_wrap=True, markup=False)


def read(library: str) -> Iterator[MeasuredWidget]:
    """Return what is kept of a library."""
    file = OUT / f"{library}.jsonl"
    if file.is_file():
        for line in file.read_text("utf-8").splitlines():
            yield read_record(json.loads(line))


def report(page: Path | None, console: Console) -> None:
    """Print the table, and renew it in a page."""
    found = [each for library in LIBRARIES for each in read(library)]
    console.print(make_table(found))
    if page is not None:
        head = page.read_text("utf-8").partition(TABLE)[0]
        page.write_text(f"{head}{TABLE}\n\n{write_markdown(found)}", "utf-8")


def main() -> int:
    """Run a command; return its exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.widgets",
        description=__doc__,
        formatter_class=argparse.RawTextHelpFormatter,
    )
    commands = parser.add_subparsers(dest="command", required=True)
    sub = commands.add_parser("measure")
    sub.add_argument("libraries", nargs="*", metavar="LIBRARY")
    sub.add_argument("--only", nargs="*", default=[], metavar="WIDGET", help="by name, as in `radix.select`")
    sub.add_argument("--again", action="store_true", help="also what is measured already")
    sub.add_argument("--why", action="store_true", help="show the steps of what is not right")
    commands.add_parser("list")
    commands.add_parser("serve")
    commands.add_parser("report").add_argument(
        "--write", type=Path, metavar="FILE", help="renew the table in a page"
    )
    options = parser.parse_args()
    console = Console(width=140)
    unknown = {*getattr(options, "libraries", ())} - {*LIBRARIES} | {*getattr(options, "only", ())} - {
        *list_widgets()
    }
    if unknown:
        parser.error(f"there is no {', '.join(sorted(unknown))}; `list` shows what there is")
    if options.command == "list":
        for widget in list_widgets().values():
            console.print(f"{widget.key}: {widget.does}", highlight=False)
        return 0
    if options.command == "report":
        report(options.write, console)
        return 0
    if not is_installed():
        parser.error("the libraries are not there: make setup-widgets")
    if options.command == "serve":
        with serve_widgets() as (base, _):
            console.print(f"{base}/LIBRARY/WIDGET  (Enter ends)")
            sys.stdin.readline()
        return 0
    chosen = [
        each
        for each in list_widgets().values()
        if (each.library in options.libraries or not options.libraries)
        and (each.key in options.only or not options.only)
    ]
    asyncio.run(measure(chosen, console, again=options.again, why=options.why))
    report(None, console)
    return 0


if __name__ == "__main__":
    sys.exit(main())
