"""Measures recording and replaying on widgets of libraries from npm.

    python -m tests.widgets list
    python -m tests.widgets measure [LIBRARY ...] [--only WIDGET ...] [--again] [--why]
    python -m tests.widgets sessions [LIBRARY ...] [--minutes M] [--seed N] [--at-once N] [--again] [--why]
    python -m tests.widgets shown [LIBRARY ...] [--only WIDGET ...] [--again] [--why]
    python -m tests.widgets serve                  show the pages in your browser
    python -m tests.widgets report [--write FILE]

`measure` keeps each result in out/widgets/LIBRARY.jsonl, `shown` in out/widgets/shown.jsonl, `sessions` each session in
out/widgets/sessions; what is there is left out the next time (`--again` repeats it).
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from playwright.async_api import Error as PlaywrightError
from rich.console import Console

from periplus.session_setup import start_browser
from tests.widgets import shown_measurement
from tests.widgets.recorded_sessions import read_sessions, write_session
from tests.widgets.session_figures import (
    make_session_table,
    make_shown_table,
    write_session_markdown,
    write_shown_markdown,
)
from tests.widgets.session_judgement import JudgedSession, judge_session
from tests.widgets.session_measurement import record_session
from tests.widgets.shown_measurement import ShownWidget, measure_shown
from tests.widgets.widget_figures import make_table, renew_section, write_markdown
from tests.widgets.widget_list import Widget, list_widgets
from tests.widgets.widget_measurement import MeasuredWidget, WidgetBench, open_bench, read_record, to_record
from tests.widgets.widget_server import is_installed, serve_widgets

OUT = Path("out/widgets")
# After these, the tables follow in a page, up to the next heading.
TABLE = "<!-- written by `python -m tests.widgets report --write docs/widgets.md` -->"
SESSIONS_TABLE = "<!-- sessions, written by `python -m tests.widgets report --write docs/widgets.md` -->"
SHOWN_TABLE = "<!-- shown, written by `python -m tests.widgets report --write docs/widgets.md` -->"
SESSIONS = OUT / "sessions"
SHOWN = OUT / "shown.jsonl"
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


async def record_sessions(
    libraries: Sequence[str], console: Console, *, minutes: float, seed: int, at_once: int, again: bool
) -> None:
    """Record the sessions that are not recorded yet, some at once, and keep each."""
    known = {(each.library, each.seed, each.minutes) for each in read_sessions(SESSIONS)}
    wanted = [each for each in libraries if again or (each, seed, minutes) not in known]
    places = asyncio.Semaphore(at_once)

    async def record(library: str) -> None:
        async with places:
            try:
                session = await record_session(bench, library, minutes, seed)
            except (PlaywrightError, TimeoutError) as exc:
                console.print(
                    f"{library}: not recorded: {exc}", highlight=False, soft_wrap=True, markup=False
                )
                return
            write_session(SESSIONS, session)
            _print_session(judge_session(session), console, why=False)

    async with (
        start_browser(headed=False) as browser,
        open_bench(browser) as bench,
        asyncio.TaskGroup() as group,
    ):
        for library in wanted:
            group.create_task(record(library))


def _print_session(judged: JudgedSession, console: Console, *, why: bool) -> None:
    console.print(
        f"{judged.library}: {judged.changes} changes of state in {judged.acts} acts: {judged.held} in the trace, "
        f"{judged.asked} asked, {len(judged.lost)} lost; {len(judged.invented)} steps that nobody did; "
        f"repeated: {judged.repeated}",
        highlight=False, soft_wrap=True, markup=False,
    )  # fmt: skip
    for kind in ("lost", "invented", "differing") if why else ():
        for line in getattr(judged, kind):
            console.print(f"    {kind}: {line}", highlight=False, soft_wrap=True, markup=False)


async def measure_all_shown(widgets: Sequence[Widget], console: Console, *, again: bool, why: bool) -> None:
    """Show, synthesize and run what is not measured yet, and keep each result."""
    OUT.mkdir(parents=True, exist_ok=True)
    async with start_browser(headed=False) as browser, open_bench(browser) as bench:
        for widget in widgets:
            known = {each.widget: each for each in read_shown()}
            if widget.key in known and not again:
                continue
            known[widget.key] = measured = await measure_shown(bench, widget)
            kept = (json.dumps(shown_measurement.to_record(each)) + "\n" for each in known.values())
            SHOWN.write_text("".join(kept), "utf-8")
            said = measured.said if why else ""
            line = f"{measured.widget}: {measured.verdict} {said}"
            console.print(line, highlight=False, soft_wrap=True, markup=False)


def read_shown() -> Iterator[ShownWidget]:
    """Return what is kept of shown widgets."""
    if SHOWN.is_file():
        for line in SHOWN.read_text("utf-8").splitlines():
            yield shown_measurement.read_record(json.loads(line))


def read(library: str) -> Iterator[MeasuredWidget]:
    """Return what is kept of a library."""
    file = OUT / f"{library}.jsonl"
    if file.is_file():
        for line in file.read_text("utf-8").splitlines():
            yield read_record(json.loads(line))


def report(page: Path | None, console: Console) -> None:
    """Print the table, and renew it in a page."""
    found = [each for library in LIBRARIES for each in read(library)]
    sessions, shown = [judge_session(each) for each in read_sessions(SESSIONS)], list(read_shown())
    console.print(make_table(found))
    console.print(make_session_table(sessions))
    console.print(make_shown_table(shown))
    if page is not None:
        text = page.read_text("utf-8")
        if found:
            text = renew_section(text, TABLE, write_markdown(found))
        if sessions:
            text = renew_section(text, SESSIONS_TABLE, write_session_markdown(sessions))
        if shown:
            text = renew_section(text, SHOWN_TABLE, write_shown_markdown(shown))
        page.write_text(text, "utf-8")


def main() -> int:
    """Run a command; return its exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.widgets",
        description=__doc__,
        formatter_class=argparse.RawTextHelpFormatter,
    )
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("measure", "shown"):
        sub = commands.add_parser(name)
        sub.add_argument("libraries", nargs="*", metavar="LIBRARY")
        sub.add_argument(
            "--only", nargs="*", default=[], metavar="WIDGET", help="by name, as in `radix.select`"
        )
        sub.add_argument("--again", action="store_true", help="also what is measured already")
        sub.add_argument("--why", action="store_true", help="show why something is not right")
    sub = commands.add_parser("sessions")
    sub.add_argument("libraries", nargs="*", metavar="LIBRARY")
    sub.add_argument("--minutes", type=float, default=10, help="how long the person works, in minutes")
    sub.add_argument("--seed", type=int, default=1, help="draws another person")
    sub.add_argument("--at-once", type=int, default=1, help="how many libraries are recorded side by side")
    sub.add_argument("--again", action="store_true", help="also what is recorded already")
    sub.add_argument("--why", action="store_true", help="show what is lost, invented or repeated differently")
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
    if options.command == "sessions":
        libraries = options.libraries or LIBRARIES
        job = record_sessions(
            libraries, console, minutes=options.minutes, seed=options.seed, at_once=options.at_once, again=options.again
        )  # fmt: skip
        asyncio.run(job)
        for session in read_sessions(SESSIONS):
            if session.library in libraries:
                _print_session(judge_session(session), console, why=options.why)
        report(None, console)
        return 0
    chosen = [
        each
        for each in list_widgets().values()
        if (each.library in options.libraries or not options.libraries)
        and (each.key in options.only or not options.only)
    ]
    measuring = measure_all_shown if options.command == "shown" else measure
    asyncio.run(measuring(chosen, console, again=options.again, why=options.why))
    report(None, console)
    return 0


if __name__ == "__main__":
    sys.exit(main())
