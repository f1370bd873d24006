"""Opens the fleet that `--workers` names, and checks the stores and folders that remote workers need."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

from periplus.errors import UserError
from periplus.fleet.jobs import Fleet
from periplus.fleet.local_fleet import open_local_fleet
from periplus.fleet.worker_resources import StoreAddresses
from periplus.fleet.workers_option import WorkerSelection
from periplus.settings import load_settings

MARK = ".fleet-"
"""Prefix of the file that workers look for, to check that they see the same folder."""


@asynccontextmanager
async def open_fleet(workers: WorkerSelection) -> AsyncIterator[Fleet]:
    """Open the fleet (an async context manager). Raises `UserError`."""
    if workers.kind == "contexts":
        async with open_local_fleet(workers.count) as fleet:
            yield fleet
        return
    try:
        from periplus.fleet.cluster_fleet import open_cluster_fleet  # noqa: PLC0415 - an optional extra
    except ImportError as exc:
        raise UserError(
            "worker processes need the extra `scale`", fix="pip install 'periplus[scale]'"
        ) from exc
    async with open_cluster_fleet(workers) as cluster:
        yield cluster


def choose_store_addresses(
    workers: WorkerSelection, mongodb_url: str | None = None, arangodb_url: str | None = None
) -> StoreAddresses:
    """Return the store addresses of options and environment. Raises `UserError` if remote workers cannot use them."""
    settings = load_settings(mongodb_url=mongodb_url, arangodb_url=arangodb_url)
    mongodb, arangodb = settings.mongodb_url, settings.arangodb_url
    if workers.elsewhere and mongodb is None:
        raise UserError(
            f"workers at {workers.address} cannot reach the embedded store in {settings.data_dir}",
            fix="use a MongoDB that all workers can reach: --mongodb-url or PERIPLUS_MONGODB_URL"
            " (`periplus kb copy` copies the embedded store); or use --workers N on this machine",
        )
    return StoreAddresses(
        data_dir=str(settings.data_dir.absolute()),
        mongodb_url=mongodb.get_secret_value() if mongodb else None,
        arangodb_url=arangodb.get_secret_value() if arangodb else None,
    )


@contextmanager
def write_folder_mark(folder: Path, text: str = "") -> Iterator[str]:
    """Write a temporary file with a text for the workers; yield its path, for `check_folder_mark`."""
    mark = folder.absolute() / f"{MARK}{uuid.uuid4().hex}"
    with mark.open("x", encoding="utf-8") as file:
        file.write(text)
    try:
        yield str(mark)
    finally:
        mark.unlink(missing_ok=True)


def check_folder_mark(mark: str) -> None:
    """Check on a worker that it sees the same folder. Raises `UserError`."""
    if not Path(mark).is_file():
        folder = Path(mark).parent
        raise UserError(
            f"{folder} is a different folder on this worker",
            fix="name a folder with --out that every worker sees at the same path, such as a network share",
        )
