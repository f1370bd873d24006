"""Shown k times, done on goals nobody showed: workflows made of demonstrations of MiniWoB++ and run on its pages,
scored by the pages' own reward and forms.

For each task, k of its demonstrations are drawn, a workflow is made of them by rules alone (no model), and
run with seeds that nobody demonstrated: the goal's sentence is read by the template that the demonstrations
gave. That is done for several draws. Nothing in the synthesis knows a task.

    make miniwob
    python -m benchmarks.miniwob --demos ../shared/bench/miniwob_demos
    python -m benchmarks.miniwob --tasks buy-ticket,flight/AA --k 5 --again

Two kinds of tasks: those with demonstrations of people (--demos; a folder for each task, with .json or .json.gz in the
format of stanfordnlp/miniwob-plusplus-demos), and those that the scripted person of benchmarks/miniwob_ways.py shows
(recorded into OUT/shown where they are missing). Of the latter, some were tried only after the rules were written; they
have a table of their own. The pages are in --pages (`make setup-miniwob`). Each draw is kept
in OUT/draws.jsonl and left out the next time; --again repeats it. What the table says of a goal:

    solved   the page gave its full reward
    refused  nothing was done: no workflow without gaps could be made, or the sentence does not fit; with why
    stopped  the run noticed that it could not go on, and said so
    wrong    the page gave less than its full reward, the run thought itself done and was not, or it left a value
             in a form that the scripted person never has there on the way to the goal
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path

from playwright.async_api import Browser
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from benchmarks.miniwob_arena import arena, demonstration_files, measured
from benchmarks.miniwob_figures import (
    Draw,
    Score,
    keep_draw,
    make_scores,
    make_table,
    put_into,
    read_draws,
    tell_reasons,
    tell_score,
    write_markdown,
)
from benchmarks.miniwob_pages import PAGES, path_of, served
from benchmarks.miniwob_person import OTHERS, UNSEEN
from benchmarks.miniwob_recordings import SHOWN, record, sessions
from periplus.session_setup import start_browser

KS, DRAWS, SEEDS = (3, 5, 10), 3, 3
OUT = Path("out/miniwob")


def tasks_in(folder: Path | None) -> list[str]:
    """Folders that hold demonstrations."""
    if folder is None:
        return []
    return sorted(each.name for each in folder.iterdir() if each.is_dir() and any(demonstration_files(each)))


async def main(options: argparse.Namespace, console: Console) -> list[Score]:
    """Measure what is not measured yet, and print all of it."""
    kept = {} if options.again else read_draws(options.out / "draws.jsonl", options.series)
    wanted = [(task, k, draw) for task in options.tasks for k in options.k for draw in range(options.draws)]
    left = [key for key in wanted if key not in kept or len(kept[key].endings) != options.seeds]
    if left:
        async with start_browser(headed=False) as browser:
            await _record_missing(browser, options, [task for task, *_ in left], console)
            kept |= await _measure(browser, options, left)
    scores = make_scores(kept[key] for key in wanted if key in kept)
    console.print(make_table(scores, options.k))
    tell_reasons(scores, console)
    if options.write is not None:
        put_into(options.write, write_markdown(scores, options.k))
    return scores


async def _record_missing(
    browser: Browser, options: argparse.Namespace, tasks: Sequence[str], console: Console
) -> None:
    with served(options.pages) as url:
        for task in dict.fromkeys(each for each in tasks if each not in tasks_in(options.demos)):
            if sum(1 for _ in sessions(options.out / "shown" / task)) < SHOWN:
                for why in await record(browser, url, task, options.out / "shown"):
                    console.print(f"not shown: {why}", highlight=False, markup=False, soft_wrap=True)


async def _measure(
    browser: Browser, options: argparse.Namespace, left: Sequence[tuple[str, int, int]]
) -> dict[tuple[str, int, int], Draw]:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    progress = Progress(*columns, console=Console(stderr=True), transient=True)
    done: dict[tuple[str, int, int], Draw] = {}
    with progress:
        bar = progress.add_task("", total=len(left))
        async with arena(browser, options.pages) as place:
            for task, k, draw in left:
                progress.update(bar, description=f"{task}, k = {k}")
                folder = options.demos if task in tasks_in(options.demos) else options.out / "shown"
                endings = await measured(place, task, folder, k, draw, options.seeds, options.series)
                one = Draw(task, k, draw, tuple(endings), options.series)
                keep_draw(options.out / "draws.jsonl", one)
                done[one.key] = one
                progress.advance(bar)
                told = tell_score(Score(task, k, endings))
                progress.console.print(f"{task}, k = {k}, draw {draw}: {told}", highlight=False)
    return done


def _options(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.miniwob",
        description=__doc__,
        formatter_class=argparse.RawTextHelpFormatter,
    )
    parser.add_argument("--demos", type=Path, help="folder of people's demonstrations, one folder a task")
    parser.add_argument("--pages", type=Path, default=PAGES, help="the html folder of MiniWoB++")
    parser.add_argument(
        "--out", type=Path, default=OUT, help="what is recorded and measured (default: %(default)s)"
    )
    parser.add_argument("--tasks", default="", help="names with commas between; all there are")
    parser.add_argument(
        "--k", default=",".join(map(str, KS)), help="demonstrations shown (default: %(default)s)"
    )
    parser.add_argument("--seeds", type=int, default=SEEDS, help="goals for each draw (default: %(default)s)")
    parser.add_argument("--draws", type=int, default=DRAWS, help="draws of k (default: %(default)s)")
    parser.add_argument(
        "--series", default="", help="any word: other draws and goals than those of the default series"
    )
    parser.add_argument("--again", action="store_true", help="measure what is measured already, too")
    parser.add_argument(
        "--write", type=Path, metavar="FILE", help="write the tables into a page of the documentation"
    )
    options = parser.parse_args(arguments)
    if options.demos is not None and not options.demos.is_dir():
        parser.error(f"--demos: there is no folder {options.demos}")
    if not (options.pages / "miniwob").is_dir():
        parser.error(f"--pages: {options.pages} has no folder miniwob: `make setup-miniwob` gets the pages")
    if min(options.seeds, options.draws) < 1:
        parser.error("--seeds and --draws: at least 1")
    _read_lists(parser, options)
    return options


def _read_lists(parser: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    there = [*tasks_in(options.demos), *OTHERS, *UNSEEN]
    options.tasks = [each.strip() for each in options.tasks.split(",") if each.strip()] or there
    for task in options.tasks:
        if task not in there:
            parser.error(
                f"--tasks: there are no demonstrations of {task!r}; there are some of {', '.join(there)}"
            )
        if not (options.pages / path_of(task)).is_file():
            parser.error(f"--tasks: {options.pages} has no page of {task!r}")
    try:
        options.k = [int(each) for each in options.k.split(",")]
    except ValueError:
        parser.error(f"--k: {options.k!r} are no numbers with commas between")
    if not 1 <= min(options.k) <= max(options.k) <= SHOWN:
        parser.error(f"--k: from 1 to {SHOWN}")


if __name__ == "__main__":
    asyncio.run(main(_options(), Console(file=sys.stdout)))
