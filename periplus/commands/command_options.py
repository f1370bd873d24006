"""Options that several commands share: the website, its address, inputs, and the options of demos."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from kb_schema.objectives import Objective
from kb_schema.url_patterns import is_web_address
from periplus.commands.id_completion import complete_websites
from periplus.errors import UserError
from periplus.foreign_input import DEFAULT_BUDGET, ImportBudget
from periplus.secret_names import check_no_secret_names
from periplus.session_setup.browser_options import BrowserOptions
from periplus.settings import load_settings

WebsiteId = Annotated[
    str | None,
    typer.Option(
        autocompletion=complete_websites, help="The website's id; required if the store has several."
    ),
]


KnowledgeFolder = Annotated[
    Path,
    typer.Argument(
        metavar="DIR",
        help="A folder with [bold]website.yaml[/] and [bold]screens/[/], [bold]tasks/[/], ...",
        show_default=False,
    ),
]


def check_base_url(url: str | None) -> str | None:
    """Return the URL as it is. Raises `UserError` if it is no web address."""
    if url is not None and not is_web_address(url):
        raise UserError(
            f"--base-url: {url!r} is not a web address", fix="write it like http://127.0.0.1:8080"
        )
    return url


BaseUrl = Annotated[
    str | None,
    typer.Option(
        callback=check_base_url,
        help="The site's base URL, if it differs from the one in the knowledge base.",
    ),
]
PathObjective = Annotated[
    Objective | None,
    typer.Option(
        "--objective",
        show_default=False,
        help="By what paths between screens are chosen: fewest transitions, fastest, most reliable, or balanced."
        " Default: what the task says, else PERIPLUS_OBJECTIVE.",
    ),
]
Headed = Annotated[bool | None, typer.Option("--headed/--headless", help="Show the browser.")]
CdpEndpoint = Annotated[
    str | None,
    typer.Option(
        metavar="URL",
        show_default=False,
        help="Work in a running Chrome (--remote-debugging-port), such as http://127.0.0.1:9222, and leave it as it was.",
    ),
]
AllowRemoteCdp = Annotated[
    bool, typer.Option("--allow-remote-cdp", help="--cdp-endpoint may be on another machine.")
]
UserDataDir = Annotated[
    Path | None,
    typer.Option(metavar="DIR", show_default=False, help="The profile of the browser that is started."),
]
Channel = Annotated[
    str | None,
    typer.Option(
        metavar="NAME", show_default=False, help="An installed browser to start, such as chrome or msedge."
    ),
]
StepPicturesOption = Annotated[
    bool | None,
    typer.Option(
        "--pictures/--no-pictures",
        show_default=False,
        help="Take a picture of the page after each step, for the console. Default: PERIPLUS_STEP_PICTURES, else yes.",
    ),
]
PlaywrightTrace = Annotated[
    bool,
    typer.Option(
        "--trace",
        help="Also record trace.zip for `playwright show-trace`, without secrets; not with --cdp-endpoint.",
    ),
]
ProxyServer = Annotated[
    str | None,
    typer.Option(metavar="URL", show_default=False, help="The proxy of the browser that is started."),
]


def choose_browser(
    cdp_endpoint: str | None,
    allow_remote_cdp: bool,
    user_data_dir: Path | None,
    channel: str | None,
    proxy_server: str | None,
    headed: bool | None,
) -> BrowserOptions:
    """Return the browser of these options. Raises `UserError` if they contradict each other."""
    chosen = BrowserOptions(
        cdp_endpoint, allow_remote_cdp, user_data_dir, channel, None, proxy_server, headed
    )
    chosen.check()
    return chosen


ImportMemory = Annotated[
    int | None,
    typer.Option(
        "--max-import-memory",
        metavar="MB",
        min=64,
        help="Memory that reading files may use, in MB.",
        show_default=str(DEFAULT_BUDGET.memory_mb),
    ),
]
ImportSeconds = Annotated[
    int | None,
    typer.Option(
        "--max-import-seconds",
        metavar="S",
        min=1,
        help="Processor time that reading files may use.",
        show_default=str(DEFAULT_BUDGET.seconds),
    ),
]


def choose_import_budget(memory_mb: int | None, seconds: int | None) -> ImportBudget:
    """Return the limits given with the options, otherwise those of the settings."""
    settings = load_settings()
    return ImportBudget(memory_mb or settings.max_import_memory, seconds or settings.max_import_seconds)


def parse_inputs(pairs: Iterable[str]) -> dict[str, str]:
    """Return `NAME=VALUE` pairs as a dict. Raises `UserError` for text in another form, and for `{secret:NAME}`."""
    values: dict[str, str] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name.strip():
            raise UserError(
                f"--input: expected NAME=VALUE, found {pair!r}", fix='for example --input agent_name="Ada"'
            )
        values[name.strip()] = value
    check_no_secret_names(values, "--input")
    return values


DemoName = Annotated[str, typer.Argument(help="The name of a built-in demo, or a folder with a seed.yaml.")]
DemoBaseUrl = Annotated[
    str | None,
    typer.Option(
        callback=check_base_url,
        help="Use a site that is already running; by default the demo starts its own.",
    ),
]
DemoWorkers = Annotated[
    str,
    typer.Option(
        "--workers",
        metavar="N|processes:N|ADDRESS",
        help="With --rehearse: how many paths to try in parallel, and where (docs/scale.md).",
    ),
]
DemoMongoUrl = Annotated[
    str | None,
    typer.Option(
        metavar="URL", help="Store the demo's knowledge and runs in this MongoDB.", show_default=False
    ),
]
DemoArangoUrl = Annotated[
    str | None,
    typer.Option(metavar="URL", help="Store the demo's graph in this ArangoDB.", show_default=False),
]
StoredWebsite = Annotated[
    str | None,
    typer.Option(
        "--website",
        "-w",
        metavar="ID",
        help="The website's id; required if the store has several.",
        show_default=False,
    ),
]
DemoInputs = Annotated[
    list[str] | None,
    typer.Option(
        "--input",
        "-i",
        metavar="NAME=VALUE",
        help="With --website: a value for signing in or for a task; may be repeated.",
        show_default=False,
    ),
]
DemoStorageState = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="With --website: a Playwright storage state of a signed-in session.",
        show_default=False,
    ),
]
DemoSignInForm = Annotated[
    bool, typer.Option("--sign-in-form", help="With --website: sign in with the form on the site first.")
]
DemoSignInUrl = Annotated[
    str | None,
    typer.Option(
        "--sign-in-url",
        metavar="URL",
        help="The URL of the form; default: the start page.",
        show_default=False,
    ),
]
