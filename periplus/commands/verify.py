"""`periplus verify`: verify requirements on a live site and generate tests (PACTS)."""

from __future__ import annotations

import asyncio
from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from agent.browser.browser_profile import (
    BrowserProfile,
    Engine,
    ProfileInvalid,
    parse_viewport,
    read_device_options,
)
from kb_schema.base import LONGEST_TIMEOUT_S
from kb_schema.url_patterns import is_web_address, origin_of
from periplus.commands.command_options import (
    AllowRemoteCdp,
    BaseUrl,
    CdpEndpoint,
    Channel,
    Headed,
    ImportMemory,
    ImportSeconds,
    ProxyServer,
    choose_browser,
    choose_import_budget,
    parse_inputs,
)
from periplus.errors import UserError
from periplus.exit_codes import ExitCode
from periplus.fleet.workers_option import WorkersOption, parse_workers
from periplus.output_folder import prepare_output_folder
from periplus.session_setup import BrowserOptions
from periplus.settings import load_settings
from periplus.terminal.command_console import CommandConsole

app = typer.Typer(add_completion=False, rich_markup_mode="rich")


@app.command()
def verify(
    requirements: Annotated[
        list[Path] | None,
        typer.Argument(
            help="Requirement files or folders: .xlsx .csv .tsv .json .feature .txt .md",
            show_default=False,
            metavar="FILES",
        ),
    ] = None,
    *,
    base_url: BaseUrl = None,
    origin: Annotated[
        list[str] | None,
        typer.Option(
            metavar="URL",
            help="Another origin where secrets may be typed, such as a sign-in service; may be repeated.",
            show_default=False,
        ),
    ] = None,
    max_import_memory: ImportMemory = None,
    max_import_seconds: ImportSeconds = None,
    url: Annotated[
        str | None,
        typer.Option(metavar="URL", help="The start page of requirements that do not name one."),
    ] = None,
    seed: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Start the site of a built-in demo, like `periplus demo NAME`."),
    ] = None,
    website: Annotated[
        str | None,
        typer.Option(
            metavar="ID", help="The website's id for learned data; default: its host.", show_default=False
        ),
    ] = None,
    login: Annotated[
        str | None,
        typer.Option(
            metavar="TASK",
            help="Sign in once per worker, with the task or the requirement with this id.",
        ),
    ] = None,
    inputs: Annotated[
        list[str] | None,
        typer.Option(
            "--input", "-i", metavar="NAME=VALUE", help="An input of the sign-in task; may be repeated."
        ),
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(
            "--only", metavar="REQ", help="Only the requirement or the tag with this name; may be repeated."
        ),
    ] = None,
    workers: WorkersOption = "2",
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="The folder for reports, tests and screenshots.", show_default=False
        ),
    ] = None,
    headed: Headed = None,
    cdp_endpoint: CdpEndpoint = None,
    allow_remote_cdp: AllowRemoteCdp = False,
    channel: Channel = None,
    proxy_server: ProxyServer = None,
    browser: Annotated[
        Engine, typer.Option(help="The browser, as Playwright installed it; also that of the tests.")
    ] = "chromium",
    viewport: Annotated[
        str | None,
        typer.Option(
            metavar="WIDTHxHEIGHT",
            help="The size of the page in pixels; also in the tests.",
            show_default="1280x720, or the device's",
        ),
    ] = None,
    device: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help='A device that Playwright emulates, such as "iPhone 13"; also in the tests.',
            show_default=False,
        ),
    ] = None,
    max_heal_rounds: Annotated[
        int | None,
        typer.Option(
            min=0, max=10, help="Maximum number of healing rounds per step; 0: no healing.", show_default="3"
        ),
    ] = None,
    timeout: Annotated[
        float | None,
        typer.Option(
            metavar="S",
            min=0.1,
            max=LONGEST_TIMEOUT_S,
            help="Seconds that an element and an expected outcome may take.",
            show_default="5",
        ),
    ] = None,
    requirement_timeout: Annotated[
        float | None,
        typer.Option(
            metavar="S",
            min=0.01,
            help="Seconds after which a requirement is ended and fails.",
            show_default="1800",
        ),
    ] = None,
    tests: Annotated[bool, typer.Option("--tests/--no-tests", help="Write pytest-playwright tests.")] = True,
    run_tests: Annotated[
        bool,
        typer.Option("--run-tests", help="Run the generated tests with pytest at the end."),
    ] = False,
    prove: Annotated[
        bool | None,
        typer.Option(
            "--prove/--no-prove",
            help="Run each generated test once with pytest before its verdict: all, or none.",
            show_default="those whose steps sent no data",
        ),
    ] = None,
    reset: Annotated[
        str | None,
        typer.Option(
            metavar="COMMAND",
            help="Puts the site back before each proof, so that every test is run; needs --workers 1.",
            show_default=False,
        ),
    ] = None,
    accept: Annotated[
        list[str] | None,
        typer.Option(
            metavar="REQ:STEP",
            help="Use the element that the last run offered for this step (healing_declined); may be repeated.",
            show_default=False,
        ),
    ] = None,
    ask: Annotated[
        bool,
        typer.Option(
            "--ask", help="Ask at the terminal about each offered element, and verify again with it."
        ),
    ] = False,
    rediscover: Annotated[
        bool,
        typer.Option("--rediscover", help="Search every element again, even if an earlier run passed."),
    ] = False,
    resume: Annotated[
        str | None,
        typer.Option(
            metavar="RUN", help="Resume an interrupted verification: its id, or `last`.", show_default=False
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
    model: Annotated[
        str | None,
        typer.Option(
            metavar="PROVIDER:MODEL",
            help="The language model for requirements in prose and for root causes; default: PERIPLUS_MODEL.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Verify requirements on a live site and generate tests for them.

    [bold]periplus verify login.xlsx --base-url https://shop.example[/]
    [bold]periplus verify seeds/spadeworks/requirements/spadeworks.csv --seed spadeworks[/]

    Every element is located on the page before a test is generated; for a missing element the report lists
    similar ones. Then each requirement runs in its own browser context. Steps whose elements changed are
    healed. The verdict is pass, fail or partial, with the root cause. A requirement that passed runs with
    the same plan the next time, which distinguishes changed pages from defects.

    Requirements have one step per line:

        [cyan]Username@LoginForm | fill | {secret:SHOP_USER} | field_populated[/]
        [cyan]Login@LoginForm | click | | navigates_to:Products[/]

    {secret:NAME} is read from the environment and never stored; {unique} is a different word in every run.

    [bold]periplus verify --resume last[/]

    Resumes an interrupted verification (a crash, Ctrl-C). Finished requirements are not repeated.

    The output folder contains report.html (open it), junit.xml (for CI), verdict_REQ.json, and
    generated_tests/, which runs with plain pytest: [cyan]pytest generated_tests[/].

    [bold]periplus verify login.xlsx --base-url https://shop.example --cdp-endpoint http://127.0.0.1:9222[/]

    Each requirement runs in a window of its own of your running Chrome, as a new visitor. The generated tests start a
    browser of their own.

    Exit codes: 0 all passed, 1 a requirement did not pass, 2 an error to correct, 130 interrupted.
    """
    console = CommandConsole(stderr=as_json)
    using = choose_browser(cdp_endpoint, allow_remote_cdp, None, channel, proxy_server, headed)
    _check_engine(using, browser)
    parse_workers(workers)  # reports a wrong value first
    data_dir = load_settings().data_dir
    if resume is None and not requirements:
        raise UserError(
            "no requirement files given",
            fix="periplus verify FILES --base-url URL; `periplus verify --help` shows the format",
        )
    if resume is not None and accept:
        raise UserError(
            "--accept cannot be combined with --resume", fix="periplus verify FILES --accept REQ:STEP"
        )
    accepted = [_parse_accepted(each) for each in accept or ()]
    if resume is not None and requirements:
        raise UserError("--resume cannot be combined with files", fix="periplus verify --resume RUN")
    from periplus.verification.verification_batch import VerificationBatch, find_batch, keep_batch  # noqa: PLC0415 - slow import

    if resume is not None:
        batch = find_batch(resume, data_dir)
    else:
        moment = datetime.now().astimezone()
        folder = out or Path("out") / f"verify-{moment:%Y%m%d-%H%M%S}"
        budget = choose_import_budget(max_import_memory, max_import_seconds)
        batch = VerificationBatch(
            files=tuple(str(each.absolute()) for each in requirements or ()),
            only=tuple(only or ()),
            out=str(folder.absolute()),
            base_url=base_url,
            origins=_origins(origin),
            import_memory_mb=budget.memory_mb,
            import_seconds=budget.seconds,
            url=url,
            website=website,
            seed=seed,
            login=login,
            workers=workers,
            headed=_choose_headed(using, headed),
            cdp_endpoint=cdp_endpoint,
            channel=channel,
            proxy_server=proxy_server,
            profile=asyncio.run(choose_profile(browser, viewport, device)),
            timeout=timeout,
            max_heal_rounds=max_heal_rounds,
            requirement_timeout=requirement_timeout,
            tests=tests,
            run_tests=run_tests,
            prove="repeatable" if prove is None else "always" if prove else "never",
            reset=reset,
            rediscover=rediscover,
            model=model,
        )
    from periplus.verification.verification_run import (  # noqa: PLC0415 - as above
        VerificationRun,
        check_pytest_available,
        check_runnable,
        check_worker_support,
        print_verification_result,
        read_requested_requirements,
    )

    if ask:
        from periplus.verification.offer_questions import check_terminal  # noqa: PLC0415 - as above

        check_terminal()
        if parse_workers(workers).kind != "contexts":
            raise UserError(
                "--ask verifies again in this process", fix="use --workers N, or --accept REQ:STEP"
            )
    if batch.run_tests:
        check_pytest_available("--run-tests", tests=batch.tests)
    if batch.prove == "always" or batch.reset is not None:
        check_pytest_available("--prove" if batch.prove == "always" else "--reset", tests=batch.tests)
    check_worker_support(batch)
    wanted = read_requested_requirements(batch, CommandConsole(stderr=True))
    given = parse_inputs(inputs or [])
    check_runnable(batch, wanted, given)
    prepare_output_folder(Path(batch.out))
    keep_batch(batch, data_dir)
    run = VerificationRun(batch, wanted, console, given, accepted, ask=ask)
    result = asyncio.run(run.done())
    print_verification_result(batch, result, console, as_json=as_json)
    if result.stopped is not None:
        raise typer.Exit(ExitCode.INTERRUPTED)
    if not result.passed:
        raise typer.Exit(ExitCode.FAILED)


def _check_engine(using: BrowserOptions, engine: Engine) -> None:
    """Raise `UserError` for options of Chromium with another engine."""
    if engine != "chromium" and (using.given or using.channel is not None):
        option = "--cdp-endpoint" if using.given else "--channel"
        raise UserError(f"{option} is for Chromium", fix=f"leave out {option} or --browser {engine}")


def _choose_headed(using: BrowserOptions, headed: bool | None) -> bool | None:
    if using.given:
        return None
    return not load_settings().playwright_headless if headed is None else headed


async def choose_profile(engine: Engine, viewport: str | None, device: str | None) -> BrowserProfile:
    """Return the browser of these options. Raises `UserError` for a viewport or device that there is not."""
    option = "--viewport"
    try:
        size = parse_viewport(viewport) if viewport is not None else None
        option = "--device"
        known = await read_device_options(device, engine) if device is not None else {}
    except ProfileInvalid as exc:
        raise UserError(f"{option}: {exc.message}", fix=exc.fix) from exc
    return BrowserProfile(engine=engine, viewport=size, device=device, device_options=known)


def _parse_accepted(text: str) -> tuple[str, int]:
    """Return the requirement and the number of the step, from 1. Raises `UserError`."""
    req_id, _, step = text.rpartition(":")
    if not req_id or not step.isdecimal() or int(step) < 1:
        raise UserError(
            f"--accept {text!r} names no step of a requirement", fix="write it as REQ:STEP, such as sign_in:3"
        )
    return req_id, int(step)


def _origins(named: list[str] | None) -> tuple[str, ...]:
    """Return the origins of these addresses. Raises `UserError` for an invalid address."""
    for each in named or ():
        if not is_web_address(each):
            raise UserError(
                f"--origin {each!r} is not a web address", fix="write it as https://login.example.com"
            )
    return tuple(origin_of(each) for each in named or ())
