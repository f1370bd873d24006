"""Measures the zoo.

    python -m tests.zoo list
    python -m tests.zoo check gitlab_plan_and_track [JOB ...]     the scripted people alone
    python -m tests.zoo measure gitlab_plan_and_track [JOB ...]   record, synthesize, run, compare
    python -m tests.zoo part roundup.next_day.values              the same for one setting and one naming
    python -m tests.zoo collect roundup create_issue              the workflow of its runs, beside that of the recordings
    python -m tests.zoo induce xero-invoicing [JOB ...]           how many are whole, from three and from two demonstrations
    python -m tests.zoo sentences gmail --shown DIR [--bind]      run the benchmark's function tasks from their sentences alone
    python -m tests.zoo map [APPLICATION ...]                     map them, and compare with their own routes or views
    python -m tests.zoo tasks gmail --map DIR [--run]             what a kept map holds of the benchmark's function tasks
    python -m tests.zoo flow roundup [--goal "..."]               play the drafted flow of a map, by commands, and keep its film
    python -m tests.zoo report [--write docs/zoo.md]

`measure` keeps each finished job in out/zoo/APPLICATION.jsonl and leaves it out the next time (`--again` repeats it).
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import random
import sys
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import get_args

from playwright.async_api import Browser
from playwright.async_api import Error as PlaywrightError
from rich.console import Console

from loaders.exploration_import import build_knowledge
from periplus.exploration.map_folder import MapFolder
from periplus.session_setup import start_browser
from tests.zoo.applications import APPLICATIONS
from tests.zoo.collected_jobs import as_line, format_collection, measure_collection
from tests.zoo.drafted_flows import format_played_flow, play_drafted_flow
from tests.zoo.induction_share import measure_induction, record_job, write_shares
from tests.zoo.map_drafts import format_drafts, measure_drafts
from tests.zoo.map_measurement import MapFigures, format_map, measure_map, read_map_truths
from tests.zoo.map_tasks import format_holding, measure_holding, record_tasks
from tests.zoo.map_views import ViewFigures, format_views, measure_views, read_listed_views
from tests.zoo.seed_site import SPADEWORKS
from tests.zoo.sentence_runs import format_sentence, learn_jobs, open_sentence_runs, write_sentence_table
from tests.zoo.single_page.benchmark import MAKE
from tests.zoo.zoo_figures import format_job, read_figures, summarize, write_markdown
from tests.zoo.zoo_jobs import Application, Instance, Job, NoNoise, RunningApplication
from tests.zoo.zoo_measurement import (
    JobMeasurement,
    Naming,
    Setting,
    do_by_hand,
    find_differences,
    open_measurement,
    read_seed_state,
)

OUT = Path("out/zoo")
INDUCED, COLLECTED, SENTENCES = "induced.jsonl", "collected.jsonl", "sentences.jsonl"
COLLECTED_FROM = {**APPLICATIONS, SPADEWORKS.name: SPADEWORKS}
"""Applications on which collected runs are measured."""
SETTINGS: tuple[Setting, ...] = get_args(Setting)
TABLE = "<!-- written by `python -m tests.zoo report --write docs/zoo.md` -->"
"""The table follows in a page."""


async def check(application: Application, jobs: Sequence[str], console: Console) -> int:
    """Let the scripted people do every instance twice; return the number of problems.

    Each instance must change the state, satisfy the benchmark's verifier, and leave the same state with and without
    noise; what is missing must be impossible.
    """
    problems = 0
    folder = OUT / "check"
    folder.mkdir(parents=True, exist_ok=True)
    async with start_browser(headed=False) as browser, application.start(folder) as running:
        for job in application.jobs:
            if jobs and job.name not in jobs:
                continue
            for instance in job.instances:
                said = await _check_instance(browser, running, job, instance)
                problems += bool(said)
                mark = "[red]no" if said else "[green]ok"
                console.print(f"{mark}[/] {job.name} {instance.name} {said}", highlight=False)
    return problems


async def _check_instance(browser: Browser, running: RunningApplication, job: Job, instance: Instance) -> str:
    """Return what is wrong with an instance; empty if nothing is."""
    seed = await read_seed_state(browser, running, job)
    states = []
    for dice in (NoNoise(), random.Random(f"check/{job.name}/{instance.name}")):
        await running.reset()
        try:
            await do_by_hand(browser, running, job, instance.given, dice)
        except PlaywrightError as exc:
            return "" if instance.kind == "missing" else f"cannot be done: {exc.message.splitlines()[0]}"
        if instance.kind == "missing":
            return "it is missing, and yet it could be done"
        states.append(await running.state())
    difference = find_differences(*states)
    if difference:
        return f"the state differs with noise: {difference[:3]}"
    if instance.kind == "plain" and states[0] == seed:
        return "it changes nothing"
    done, why = (True, "") if instance.verify is None else instance.verify(running.base_url)
    return "" if done else f"the verifier says: {why}"


async def measure(
    application: Application, jobs: Sequence[Job], console: Console, *, again: bool, seed: int,
    namings: Sequence[Naming], setting: Setting, folder: Path | None = None,
) -> None:  # fmt: skip
    """Measure the jobs that are not measured yet in a setting. `folder`: to keep sessions and results in."""
    file = OUT / f"{application.name}.jsonl"
    file.parent.mkdir(parents=True, exist_ok=True)
    known = (
        {(each["job"], each["naming"], each["setting"]) for each in read_figures(file)}
        if not again
        else set()
    )
    wanted = [(job, naming) for job in jobs for naming in namings if (job.name, naming, setting) not in known]
    if not wanted:
        return
    with tempfile.TemporaryDirectory(prefix="periplus-zoo-", ignore_cleanup_errors=True) as made:
        started = (folder or Path(made)) / application.name
        started.mkdir(parents=True, exist_ok=True)
        async with (
            start_browser(headed=False) as browser,
            open_measurement(browser, application, started, seed, setting) as measurement,
        ):
            for job, naming in wanted:
                try:
                    figures = await measurement.measure(job, naming)
                except PlaywrightError as exc:  # on a machine that is too busy
                    said = exc.message.splitlines()[0]
                    console.print(
                        f"{job.name}: the person could not do it, measure it again: {said}", highlight=False
                    )
                    continue
                kept = asdict(figures) | {"measured": f"{datetime.now(UTC):%Y-%m-%d}"}
                with file.open("a", encoding="utf-8") as lines:
                    lines.write(json.dumps(kept, ensure_ascii=False) + "\n")
                console.print(format_job(asdict(figures)), highlight=False, markup=False, soft_wrap=True)


async def _collect(
    application: Application, jobs: Sequence[Job], folder: Path | None, console: Console, *, seed: int, again: bool
) -> None:  # fmt: skip
    """Measure the jobs whose collections are not measured yet."""
    file = OUT / COLLECTED
    file.parent.mkdir(parents=True, exist_ok=True)
    lines = file.read_text(encoding="utf-8").splitlines() if file.is_file() and not again else ()
    known = {(each["application"], each["job"]) for each in map(json.loads, lines)}
    wanted = [job for job in jobs if (application.name, job.name) not in known]
    with tempfile.TemporaryDirectory(prefix="periplus-zoo-", ignore_cleanup_errors=True) as made:
        at = (folder or Path(made)) / application.name
        at.mkdir(parents=True, exist_ok=True)
        async with start_browser(headed=False) as browser, application.start(at) as running:
            measurement = JobMeasurement(browser, running, application.name, at, seed)
            for job in wanted:
                found = await measure_collection(measurement, running, application.name, job, at / job.name)
                line = as_line(found, f"{datetime.now(UTC):%Y-%m-%d}")
                with file.open("a", encoding="utf-8") as kept:
                    kept.write(line)
                said = format_collection(json.loads(line))
                console.print(said, highlight=False, markup=False, soft_wrap=True)


async def _induce(
    application: Application, jobs: Sequence[Job], folder: Path, console: Console, *, seed: int, pairs: int, again: bool
) -> None:  # fmt: skip
    """Record what is not recorded in `folder`, and measure what is not measured yet."""
    file = OUT / INDUCED
    file.parent.mkdir(parents=True, exist_ok=True)
    lines = file.read_text(encoding="utf-8").splitlines() if file.is_file() and not again else ()
    known = {(each["application"], each["job"]) for each in map(json.loads, lines)}
    wanted = [job for job in jobs if (application.name, job.name) not in known]
    if not wanted:
        return
    sessions: dict[str, list[Path]] = {}
    with tempfile.TemporaryDirectory(prefix="periplus-zoo-", ignore_cleanup_errors=True) as made:
        async with start_browser(headed=False) as browser, application.start(Path(made)) as running:
            for job in wanted:
                try:
                    sessions[job.name] = await record_job(
                        browser, running, job, folder / application.name, f"{seed}/{application.name}"
                    )
                except PlaywrightError as exc:  # on a machine that is too busy
                    said = exc.message.splitlines()[0]
                    console.print(f"{job.name}: the person could not do it: {said}", highlight=False)
    for job in wanted:
        if job.name not in sessions:
            continue
        figures = [
            each async for each in measure_induction(application.name, job, sessions[job.name], pairs=pairs)
        ]
        with file.open("a", encoding="utf-8") as kept:
            for each in figures:
                kept.write(json.dumps(asdict(each), ensure_ascii=False) + "\n")
        for each in figures:
            if each.reason:
                shown = "+".join(map(str, each.shown))
                console.print(
                    f"{job.name} [{each.naming}, {shown}]: {each.reason}",
                    highlight=False, markup=False, soft_wrap=True,
                )  # fmt: skip


async def _run_sentences(
    application: Application,
    sessions: Path,
    folder: Path,
    console: Console,
    *,
    bind_only: bool,
    seconds: float,
) -> None:
    """Run what is not run yet; `folder` keeps what was learned. With `bind_only` nothing is run, and no figure is kept."""
    file = OUT / SENTENCES
    lines = file.read_text(encoding="utf-8").splitlines() if file.is_file() and not bind_only else ()
    figures = [json.loads(line) for line in lines]
    known = {each["task"] for each in figures if each["application"] == application.name}

    def tell(text: str) -> None:
        console.print(text, highlight=False, markup=False, soft_wrap=True)

    at = folder / application.name
    learned = await learn_jobs(application.jobs, sessions / application.name, at, tell)
    async with (
        start_browser(headed=False) as browser,
        open_sentence_runs(browser, application, learned, at) as runs,
    ):
        async for each in runs.measure(known, bind_only=bind_only, seconds=seconds):
            dated = asdict(each) | {"measured": f"{datetime.now(UTC):%Y-%m-%d}"}
            figures.append(dated)
            tell(format_sentence(dated))
            if not bind_only:
                file.parent.mkdir(parents=True, exist_ok=True)
                with file.open("a", encoding="utf-8") as kept:
                    kept.write(json.dumps(dated, ensure_ascii=False) + "\n")
    tell(write_sentence_table(figures))


def _settings_of(application: Application, wanted: Sequence[Setting]) -> list[Setting]:
    """Return the settings that an application has, of those that are wanted."""
    lacks = set() if application.start_older else {"to_older", "to_newer"}
    lacks |= set() if any(job.invalid for job in application.jobs) else {"invalid"}
    return [each for each in wanted if each not in lacks]


async def _map(
    names: Sequence[str], seconds: float, folder: Path | None, console: Console, *, again: bool
) -> None:
    """Map the applications that are not mapped yet; keep figures in out/zoo/maps.jsonl, and maps in `folder`."""
    truths, views, file = read_map_truths(), read_listed_views(), OUT / "maps.jsonl"
    lines = file.read_text(encoding="utf-8").splitlines() if file.is_file() and not again else ()
    known = {json.loads(line)["application"] for line in lines}
    with tempfile.TemporaryDirectory(prefix="periplus-zoo-map-", ignore_cleanup_errors=True) as made:
        async with start_browser(headed=False) as browser:
            for name in (each for each in names or (*truths, *views) if each not in known):
                at = (folder or Path(made)) / name
                found: MapFigures | ViewFigures
                if name in truths:
                    found = await measure_map(browser, APPLICATIONS[name], truths[name], at, seconds)
                    said = format_map(found)
                else:
                    found = await measure_views(browser, APPLICATIONS[name], views.get(name, ()), at, seconds)
                    said = format_views(found)
                OUT.mkdir(parents=True, exist_ok=True)
                with file.open("a", encoding="utf-8") as figures:
                    kept = asdict(found) | {"measured": f"{datetime.now(UTC):%Y-%m-%d}"}
                    figures.write(json.dumps(kept, ensure_ascii=False) + "\n")
                console.print(said, highlight=False, markup=False, soft_wrap=True)


def _kept_map(kept: Path, name: str) -> MapFolder:
    return MapFolder(kept / name / "map")


async def _measure_tasks(
    application: Application, kept: Path, people: Path, console: Console, *, run: bool, again: bool
) -> None:
    """Compare a kept map with the function tasks; `run`: also the drafts of those not in out/zoo/map_drafts.jsonl yet."""
    folder = MapFolder(kept / application.name / "map")
    if not folder.exploration.exists:
        raise SystemExit(
            f"{folder.path} has no map: `python -m tests.zoo map {application.name} --keep {kept}`"
        )
    outside = folder.signed_out if folder.signed_out.exists else None
    knowledge = build_knowledge(folder.exploration, signed_out=outside).knowledge
    recorded, file = people / application.name, OUT / "map_drafts.jsonl"
    read = file.is_file() and not again
    lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()] if read else []
    with tempfile.TemporaryDirectory(prefix="periplus-zoo-tasks-", ignore_cleanup_errors=True) as made:
        async with start_browser(headed=False) as browser:
            async with application.start(Path(made)) as running:
                await record_tasks(browser, application, running, recorded)
            held = [each for each, _ in measure_holding(application, knowledge, recorded)]
            console.print(format_holding(held), highlight=False, markup=False, soft_wrap=True)
            if not run:
                return
            known = {each["task"] for each in lines if each["application"] == application.name}
            async for figures in measure_drafts(
                browser, application, knowledge, recorded, Path(made) / "runs", known
            ):
                OUT.mkdir(parents=True, exist_ok=True)
                dated = asdict(figures) | {"measured": f"{datetime.now(UTC):%Y-%m-%d}"}
                with file.open("a", encoding="utf-8") as kept_figures:
                    kept_figures.write(json.dumps(dated, ensure_ascii=False) + "\n")
                lines.append(dated)
    own = [each for each in lines if each["application"] == application.name]
    console.print(format_drafts(own), highlight=False, markup=False, soft_wrap=True)


def _list_mapped() -> list[str]:
    single = [each.name for each in APPLICATIONS.values() if each.make == MAKE]
    return [*read_map_truths(), *read_listed_views(), *single]


def _report(applications: Iterable[str], page: Path | None, console: Console) -> None:
    """Print the figures, and renew the rows of a page's table that were measured."""
    files = [OUT / f"{each}.jsonl" for each in applications]
    figures = [figure for file in files for figure in read_figures(file)]
    console.print(summarize(figures))
    if page is not None:
        head, _, former = page.read_text(encoding="utf-8").partition(TABLE)
        table = write_markdown(figures, former)
        page.write_text(f"{head}{TABLE}\n\n{table}", encoding="utf-8")


def _has_setting(job: Job, setting: Setting) -> bool:
    if setting == "invalid":
        return job.invalid is not None
    return job.in_older or setting in ("same", "next_day")


def _list(console: Console) -> None:
    for application in APPLICATIONS.values():
        console.print(f"{application.name} ({application.make})", highlight=False)
        for job in application.jobs:
            console.print(f"  {job.name}", highlight=False)


def _list_parts() -> list[str]:
    return [
        f"{name}.{setting}.{naming}"
        for name, application in APPLICATIONS.items()
        for setting in _settings_of(application, SETTINGS)
        for naming in get_args(Naming)
        if naming == "values" or any(each.sentence for job in application.jobs for each in job.instances)
    ]


def _choose_jobs(
    parser: argparse.ArgumentParser, options: argparse.Namespace
) -> tuple[Application, list[Job]]:
    application = COLLECTED_FROM[options.application]
    unknown = set(options.jobs) - {job.name for job in application.jobs}
    if unknown:
        parser.error(f"{options.application} has no job {', '.join(sorted(unknown))}")
    return application, [job for job in application.jobs if not options.jobs or job.name in options.jobs]


def _measure_settings(parser: argparse.ArgumentParser, options: argparse.Namespace, console: Console) -> None:
    application, jobs = _choose_jobs(parser, options)
    for setting in _settings_of(application, options.setting or SETTINGS):
        asyncio.run(
            measure(
                application, [job for job in jobs if _has_setting(job, setting)], console,
                again=options.again, seed=options.seed, namings=options.naming or get_args(Naming),
                setting=setting, folder=options.keep,
            )
        )  # fmt: skip


def _build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tests.zoo", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("list", help="applications and their jobs")
    commands.add_parser("parts", help="names of the parts: application, setting and naming")
    commands.add_parser("part", help="measure a part").add_argument("part", choices=_list_parts())
    for name in ("check", "measure", "collect", "induce"):
        sub = commands.add_parser(name)
        known = APPLICATIONS if name != "collect" else COLLECTED_FROM
        sub.add_argument("application", choices=sorted(known))
        sub.add_argument("jobs", nargs="*", metavar="JOB")
        if name == "induce":
            sub.add_argument(
                "--keep", type=Path, default=OUT / "shown", metavar="DIR", help="of the sessions"
            )
            sub.add_argument(
                "--pairs", type=int, choices=(0, 1, 2, 3), default=1, help="of two demonstrations"
            )
        if name != "check":
            sub.add_argument("--again", action="store_true", help="also jobs that are measured already")
            sub.add_argument("--seed", type=int, default=1, help="of the people's noise (default: 1)")
        if name == "collect":
            sub.add_argument("--keep", type=Path, metavar="DIR", help="keep sessions and collections here")
        if name == "measure":
            sub.add_argument("--naming", choices=get_args(Naming), action="append")
            sub.add_argument(
                "--setting",
                choices=SETTINGS,
                action="append",
                help="see `Setting` (default: all, one after the other)",
            )
            sub.add_argument(
                "--keep", type=Path, metavar="DIR", help="keep sessions and results of runs here"
            )
    single_page = sorted(name for name, each in APPLICATIONS.items() if each.make == MAKE)
    sub = commands.add_parser("sentences")
    sub.add_argument("application", choices=single_page)
    sub.add_argument(
        "--shown",
        type=Path,
        default=OUT / "shown",
        metavar="DIR",
        help="where `induce --keep DIR` kept sessions",
    )
    sub.add_argument(
        "--keep", type=Path, default=OUT / "sentences", metavar="DIR", help="of workflows and results"
    )
    sub.add_argument("--bind", action="store_true", help="only bind them; nothing is run or kept")
    sub.add_argument(
        "--seconds", type=float, default=math.inf, help="begin none after so long; the next call goes on"
    )
    sub = commands.add_parser("map")
    sub.add_argument("applications", nargs="*", help=f"of: {', '.join(_list_mapped())} (default: all)")
    sub.add_argument("--again", action="store_true", help="also applications that are mapped already")
    sub.add_argument("--seconds", type=float, default=900.0, help="for exploring each (default: 900)")
    sub.add_argument("--keep", type=Path, metavar="DIR", help="keep the maps here")
    sub = commands.add_parser("tasks")
    sub.add_argument("application", choices=single_page)
    sub.add_argument(
        "--map", type=Path, required=True, metavar="DIR", help="where `map --keep DIR` kept the map"
    )
    sub.add_argument(
        "--people", type=Path, default=OUT / "people", metavar="DIR", help="of the recorded people"
    )
    sub.add_argument("--run", action="store_true", help="also run the drafted tasks, and ask the verifier")
    sub.add_argument("--again", action="store_true", help="also those that were run already")
    sub = commands.add_parser("flow")
    sub.add_argument("application", choices=sorted(APPLICATIONS))
    sub.add_argument("--keep", type=Path, default=OUT / "flows", metavar="DIR", help="keep the film here")
    sub.add_argument("--seconds", type=float, default=200.0, help="for exploring")
    sub.add_argument("--goal", help="what to show besides the tour")
    sub.add_argument(
        "--input", action="append", default=[], metavar="NAME=VALUE", help="for the task of the goal"
    )
    sub = commands.add_parser("report")
    sub.add_argument("applications", nargs="*")
    sub.add_argument(
        "--write", type=Path, metavar="FILE", help="renew the measured rows of the table in this page, too"
    )
    return parser


def _induce_jobs(parser: argparse.ArgumentParser, options: argparse.Namespace, console: Console) -> None:
    application, jobs = _choose_jobs(parser, options)
    asyncio.run(
        _induce(
            application, jobs, options.keep, console,
            seed=options.seed, pairs=options.pairs, again=options.again,
        )
    )  # fmt: skip
    lines = (OUT / INDUCED).read_text(encoding="utf-8").splitlines()
    console.print(write_shares(list(map(json.loads, lines))), highlight=False, markup=False)


def _measure_kept_map(parser: argparse.ArgumentParser, options: argparse.Namespace, console: Console) -> None:
    name = options.application
    if not _kept_map(options.map, name).exploration.exists:
        keep = f"python -m tests.zoo map {name} --keep {options.map}"
        parser.error(f"{options.map} has no map of {name}; make one: {keep}")
    asyncio.run(
        _measure_tasks(
            APPLICATIONS[name], options.map, options.people, console, run=options.run, again=options.again
        )
    )


def _measure_maps(parser: argparse.ArgumentParser, options: argparse.Namespace, console: Console) -> None:
    if unknown := set(options.applications) - set(_list_mapped()):
        parser.error(f"map_screens.yaml and map_views.yaml have no {', '.join(sorted(unknown))}")
    asyncio.run(_map(options.applications, options.seconds, options.keep, console, again=options.again))


def _play_flow(options: argparse.Namespace, console: Console) -> int:
    folder = (options.keep / options.application).resolve()
    played = asyncio.run(
        play_drafted_flow(
            APPLICATIONS[options.application], folder, options.seconds, options.goal, options.input
        )
    )
    console.print(format_played_flow(played), soft_wrap=True, highlight=False, markup=False)
    return 1 if played.failed or (played.changed and not options.goal) else 0


def _measure_sentences(
    parser: argparse.ArgumentParser, options: argparse.Namespace, console: Console
) -> None:
    name = options.application
    if not (options.shown / name).is_dir():
        record = f"python -m tests.zoo induce {name} --keep {options.shown}"
        parser.error(f"{options.shown} has no demonstrations of {name}; record them: {record}")
    asyncio.run(
        _run_sentences(
            APPLICATIONS[name], options.shown, options.keep.resolve(), console,
            bind_only=options.bind, seconds=options.seconds,
        )
    )  # fmt: skip


_MEASURING = {
    "sentences": _measure_sentences,
    "map": _measure_maps,
    "tasks": _measure_kept_map,
    "induce": _induce_jobs,
    "measure": _measure_settings,
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; return its exit code."""
    parser = _build_parser()
    options, more = parser.parse_known_args(arguments)
    if any(each.startswith("-") for each in more) or (more and not hasattr(options, "jobs")):
        parser.error(f"unknown: {' '.join(more)}")
    if more:
        options.jobs += more  # jobs may also stand behind options
    console = Console(width=160)
    if options.command == "parts":
        console.print(*_list_parts(), soft_wrap=True, highlight=False)
    elif options.command == "part":
        name, setting, naming = options.part.split(".")
        return main(["measure", name, "--setting", setting, "--naming", naming])
    elif options.command == "list":
        _list(console)
    elif options.command == "check":
        return 1 if asyncio.run(check(APPLICATIONS[options.application], options.jobs, console)) else 0
    elif options.command == "flow":
        return _play_flow(options, console)
    elif options.command in _MEASURING:
        _MEASURING[options.command](parser, options, console)
    elif options.command == "collect":
        application, jobs = _choose_jobs(parser, options)
        asyncio.run(
            _collect(application, jobs, options.keep, console, seed=options.seed, again=options.again)
        )
    else:
        _report(options.applications or APPLICATIONS, options.write, console)
    return 0


if __name__ == "__main__":
    sys.exit(main())
