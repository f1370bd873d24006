"""Selects the stores of a command: options, then the environment, then the embedded stores."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer
from pydantic import SecretStr

from kb_store import Stores, open_stores
from kb_store.runs.run_store import RunStore
from kb_store.store_factory import choose_stores, open_runs
from periplus.audit_setup import start_audit_log
from periplus.errors import UserError
from periplus.settings import load_settings

MongoUrl = Annotated[
    str | None,
    typer.Option(
        "--mongodb-url",
        metavar="URL",
        help="The MongoDB to use. Default: PERIPLUS_MONGODB_URL, which keeps passwords off the command line.",
        show_default=False,
    ),
]
ArangoUrl = Annotated[
    str | None,
    typer.Option(
        "--arangodb-url",
        metavar="URL",
        help="The ArangoDB for the graph. Default: PERIPLUS_ARANGODB_URL.",
        show_default=False,
    ),
]


def open_selected_stores(
    mongodb_url: str | None = None, arangodb_url: str | None = None
) -> AbstractAsyncContextManager[Stores]:
    """Open the stores and the audit log of options and environment. Raises the errors of `open_stores`, `UserError`."""
    data_dir, urls = _read_store_choice(mongodb_url, arangodb_url)
    start_audit_log(data_dir)
    return open_stores(data_dir, **urls)


def get_store_urls(mongodb_url: str | None, arangodb_url: str | None) -> tuple[str | None, str | None]:
    """Return the URLs of MongoDB and ArangoDB of options and environment; None for the embedded store."""
    urls = _read_store_choice(mongodb_url, arangodb_url)[1]
    return urls["mongodb_url"], urls["arangodb_url"]


def get_store_places(mongodb_url: str | None, arangodb_url: str | None) -> tuple[Path, tuple[str, str]]:
    """Return the data directory, and the addresses of documents and graph, of options and environment. Opens nothing."""
    data_dir, urls = _read_store_choice(mongodb_url, arangodb_url)
    stores = choose_stores(data_dir, **urls)
    return data_dir, (stores.documents.address, stores.graph.address)


@asynccontextmanager
async def open_unprepared_stores(
    mongodb_url: str | None = None, arangodb_url: str | None = None
) -> AsyncIterator[Stores]:
    """Open the stores without creating missing collections."""
    data_dir, urls = _read_store_choice(mongodb_url, arangodb_url)
    stores = choose_stores(data_dir, **urls)
    try:
        yield stores
    finally:
        await stores.close()


def _read_store_choice(
    mongodb_url: str | None, arangodb_url: str | None
) -> tuple[Path, dict[str, str | None]]:
    settings = load_settings(mongodb_url=mongodb_url, arangodb_url=arangodb_url)
    mongodb, arangodb = settings.mongodb_url, settings.arangodb_url
    return settings.data_dir, {
        "mongodb_url": _secret(mongodb),
        "arangodb_url": _secret(arangodb),
    }


@dataclass(frozen=True, slots=True)
class StoreLocation:
    """A store that a command names, independent of the environment. Its `repr` shows no password."""

    data_dir: Path
    mongodb_url: SecretStr | None = None
    arangodb_url: SecretStr | None = None

    def open(self) -> AbstractAsyncContextManager[Stores]:
        """Open its knowledge and learned data. Raises the errors of `open_stores`."""
        return open_stores(
            self.data_dir, mongodb_url=_secret(self.mongodb_url), arangodb_url=_secret(self.arangodb_url)
        )

    def open_runs(self) -> AbstractAsyncContextManager[RunStore]:
        """Open its runs, without records in the audit log. Raises the errors of `open_runs`."""
        return open_runs(self.data_dir, _secret(self.mongodb_url), audited=False)


def parse_store_location(place: str, arangodb_url: str | None = None) -> StoreLocation:
    """Return the store at `embedded:DIR` or `mongodb://...`. Raises `UserError`."""
    arangodb = SecretStr(arangodb_url) if arangodb_url else None
    kind, _, rest = place.partition(":")
    if kind == "embedded" and rest:
        return StoreLocation(Path(rest).resolve(), None, arangodb)
    if kind in ("mongodb", "mongodb+srv"):
        return StoreLocation(load_settings().data_dir, SecretStr(place), arangodb)
    raise UserError(  # the value is not quoted: it may contain a password
        "--from or --to is not a store",
        fix="give embedded:DIR (such as embedded:.periplus) or mongodb://HOST/DATABASE",
    )


def _secret(value: SecretStr | None) -> str | None:
    return None if value is None else value.get_secret_value()
