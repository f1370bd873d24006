"""What the commands that give demos may be told alike."""

from __future__ import annotations

from typing import Annotated

import typer

DemoName = Annotated[
    str, typer.Argument(help="A demo that comes with Periplus, or a folder with a seed.yaml.")
]
DemoBaseUrl = Annotated[
    str | None, typer.Option(help="Drive a site that runs already instead of starting the demo's own.")
]
DemoWorkers = Annotated[
    str,
    typer.Option(
        "--workers",
        metavar="N|processes:N|ADDRESS",
        help="With --rehearse: how many walks at a time, and where (docs/scale.md).",
    ),
]
DemoMongoUrl = Annotated[
    str | None,
    typer.Option(metavar="URL", help="Keep the demo's knowledge and runs here.", show_default=False),
]
DemoArangoUrl = Annotated[
    str | None,
    typer.Option(metavar="URL", help="Keep the demo's graph here.", show_default=False),
]
