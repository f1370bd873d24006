"""Which stores a command works on: flags, then the environment, then the embedded ones."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Annotated

import typer

from kb_store import Stores, open_stores
from kb_store.opening import choose_stores
from periplus.errors import UserError
from periplus.settings import load_settings

MongoUrl = Annotated[
    str | None,
    typer.Option(
        "--mongodb-url",
        metavar="URL",
        help="Use this MongoDB; else PERIPLUS_MONGODB_URL, which keeps a password off the command line.",
        show_default=False,
    ),
]
ArangoUrl = Annotated[
    str | None,
    typer.Option(
        "--arangodb-url",
        metavar="URL",
        help="Keep the graph in this ArangoDB; else PERIPLUS_ARANGODB_URL.",
        show_default=False,
    ),
]


def open_chosen(
    mongodb_url: str | None = None, arangodb_url: str | None = None
) -> AbstractAsyncContextManager[Stores]:
    """The stores that flags and environment ask for. Raises as `open_stores` does, and `UserError`."""
    data_dir, urls = _chosen(mongodb_url, arangodb_url)
    return open_stores(data_dir, **urls)


@asynccontextmanager
async def unprepared(
    mongodb_url: str | None = None, arangodb_url: str | None = None
) -> AsyncIterator[Stores]:
    """As `open_chosen`, but nothing is made that is missing."""
    data_dir, urls = _chosen(mongodb_url, arangodb_url)
    stores = choose_stores(data_dir, **urls)
    try:
        yield stores
    finally:
        await stores.close()


def _chosen(mongodb_url: str | None, arangodb_url: str | None) -> tuple[Path, dict[str, str | None]]:
    settings = load_settings(mongodb_url=mongodb_url, arangodb_url=arangodb_url)
    mongodb, arangodb = settings.mongodb_url, settings.arangodb_url
    return settings.data_dir, {
        "mongodb_url": mongodb.get_secret_value() if mongodb else None,
        "arangodb_url": arangodb.get_secret_value() if arangodb else None,
    }


def open_named(place: str, arangodb_url: str | None = None) -> AbstractAsyncContextManager[Stores]:
    """The stores that `embedded:DIR` or `mongodb://...` names, whatever the environment says."""
    kind, _, rest = place.partition(":")
    if kind == "embedded" and rest:
        return open_stores(Path(rest), arangodb_url=arangodb_url)
    if kind in ("mongodb", "mongodb+srv"):
        return open_stores(load_settings().data_dir, mongodb_url=place, arangodb_url=arangodb_url)
    raise UserError(  # what was named is not quoted: it may hold a password
        "--from or --to names no store",
        fix="write embedded:DIR (embedded:.periplus) or mongodb://HOST/DATABASE",
    )
