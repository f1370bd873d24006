"""Which stores a command works on: flags, then the environment, then the embedded ones."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer
from pydantic import SecretStr

from kb_store import Stores, open_stores
from kb_store.opening import choose_stores
from kb_store.runs import RunStore, open_runs
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
        "mongodb_url": _secret(mongodb),
        "arangodb_url": _secret(arangodb),
    }


@dataclass(frozen=True, slots=True)
class Place:
    """A store that a command names, whatever the environment says. Its `repr` shows no password."""

    data_dir: Path
    mongodb_url: SecretStr | None = None
    arangodb_url: SecretStr | None = None

    def open(self) -> AbstractAsyncContextManager[Stores]:
        """Its knowledge and what was learned. Raises as `open_stores` does."""
        return open_stores(
            self.data_dir, mongodb_url=_secret(self.mongodb_url), arangodb_url=_secret(self.arangodb_url)
        )

    def open_runs(self) -> AbstractAsyncContextManager[RunStore]:
        """Its runs. Raises as `open_runs` does."""
        return open_runs(self.data_dir, _secret(self.mongodb_url))


def named(place: str, arangodb_url: str | None = None) -> Place:
    """The store that `embedded:DIR` or `mongodb://...` names. Raises `UserError`."""
    arangodb = SecretStr(arangodb_url) if arangodb_url else None
    kind, _, rest = place.partition(":")
    if kind == "embedded" and rest:
        return Place(Path(rest).resolve(), None, arangodb)
    if kind in ("mongodb", "mongodb+srv"):
        return Place(load_settings().data_dir, SecretStr(place), arangodb)
    raise UserError(  # what was named is not quoted: it may hold a password
        "--from or --to names no store",
        fix="write embedded:DIR (embedded:.periplus) or mongodb://HOST/DATABASE",
    )


def _secret(value: SecretStr | None) -> str | None:
    return None if value is None else value.get_secret_value()
