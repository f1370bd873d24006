"""What commands that work on a site are told in the same way: which site, where it is, with what."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

import typer

from periplus.errors import UserError

WebsiteId = Annotated[str | None, typer.Option(help="Which website; needed where the store has several.")]
BaseUrl = Annotated[str | None, typer.Option(help="Where the site is, if not where it was authored.")]
Headed = Annotated[bool | None, typer.Option("--headed/--headless", help="Show the browser.")]


def read_inputs(pairs: Iterable[str]) -> dict[str, str]:
    """`NAME=VALUE` pairs by name. Raises `UserError` for what is none."""
    values: dict[str, str] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name.strip():
            raise UserError(
                f"--input {pair!r} is not NAME=VALUE", fix='write it like --input agent_name="Ada"'
            )
        values[name.strip()] = value
    return values
