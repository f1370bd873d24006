"""Which fleet `--workers` asks for, and what workers elsewhere need of it."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

from periplus.errors import UserError
from periplus.fleet.home import Shelf
from periplus.fleet.local import local_fleet
from periplus.fleet.ports import Fleet
from periplus.fleet.workers import Workers
from periplus.settings import load_settings

MARK = ".fleet-"
"""Begins the name of the file by which a worker sees that a folder is the one that was meant."""


@asynccontextmanager
async def open_fleet(workers: Workers) -> AsyncIterator[Fleet]:
    """The workers for as long as one is inside. Raises `UserError`."""
    if workers.kind == "contexts":
        async with local_fleet(workers.count) as fleet:
            yield fleet
        return
    try:
        from periplus.fleet.cluster import cluster_fleet  # noqa: PLC0415 - an extra brings it
    except ImportError as exc:
        raise UserError(
            "worker processes need the extra `scale`", fix="pip install 'periplus[scale]'"
        ) from exc
    async with cluster_fleet(workers) as cluster:
        yield cluster


def shelf_for(workers: Workers, mongodb_url: str | None = None, arangodb_url: str | None = None) -> Shelf:
    """The stores of flags and environment. Raises `UserError` where workers elsewhere could not reach them."""
    settings = load_settings(mongodb_url=mongodb_url, arangodb_url=arangodb_url)
    mongodb, arangodb = settings.mongodb_url, settings.arangodb_url
    if workers.elsewhere and mongodb is None:
        raise UserError(
            f"workers at {workers.address} cannot reach the embedded store in {settings.data_dir}",
            fix="keep knowledge and runs in a MongoDB that all of them reach: --mongodb-url or PERIPLUS_MONGODB_URL"
            " (`periplus kb copy` takes along what is here); or --workers N on this machine",
        )
    return Shelf(
        data_dir=str(settings.data_dir.absolute()),
        mongodb_url=mongodb.get_secret_value() if mongodb else None,
        arangodb_url=arangodb.get_secret_value() if arangodb else None,
    )


@contextmanager
def marked(folder: Path, text: str = "") -> Iterator[str]:
    """A file in the folder meanwhile, with a text for the workers; its path, for `see_mark`."""
    mark = folder.absolute() / f"{MARK}{uuid.uuid4().hex}"
    with mark.open("x", encoding="utf-8") as file:
        file.write(text)
    try:
        yield str(mark)
    finally:
        mark.unlink(missing_ok=True)


def see_mark(mark: str) -> None:
    """On a worker. Raises `UserError` where the folder it is in is another one here."""
    if not Path(mark).is_file():
        folder = Path(mark).parent
        raise UserError(
            f"{folder} is not the same folder here",
            fix="name a folder with --out that every worker has at the same path (a network share)",
        )
