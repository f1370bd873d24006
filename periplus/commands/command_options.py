"""Options that several commands share: the website, its address, inputs, and the options of demos."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

import typer

from periplus.errors import UserError

WebsiteId = Annotated[str | None, typer.Option(help="The website's id; required if the store has several.")]
BaseUrl = Annotated[
    str | None, typer.Option(help="The site's base URL, if it differs from the one in the knowledge base.")
]
Headed = Annotated[bool | None, typer.Option("--headed/--headless", help="Show the browser.")]


ImportMemory = Annotated[
    int,
    typer.Option(
        "--max-import-memory", metavar="MB", min=64, help="Memory that reading a file may use, in MB."
    ),
]
ImportSeconds = Annotated[
    int,
    typer.Option(
        "--max-import-seconds", metavar="S", min=1, help="Processor time that reading a file may use."
    ),
]


def parse_inputs(pairs: Iterable[str]) -> dict[str, str]:
    """Return `NAME=VALUE` pairs as a dict. Raises `UserError` for text in another form."""
    values: dict[str, str] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name.strip():
            raise UserError(
                f"--input: expected NAME=VALUE, found {pair!r}", fix='for example --input agent_name="Ada"'
            )
        values[name.strip()] = value
    return values


DemoName = Annotated[str, typer.Argument(help="The name of a built-in demo, or a folder with a seed.yaml.")]
DemoBaseUrl = Annotated[
    str | None, typer.Option(help="Use a site that is already running; by default the demo starts its own.")
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
