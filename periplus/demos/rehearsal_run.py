"""Rehearses a demo for the command: in this process or on a fleet, and prints the results."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from rich.console import Console

from periplus.demos.demo_rehearsal import RehearsalSettings, RehearsalWorkers, rehearse_demo
from periplus.demos.rehearsal_jobs import FleetRehearsalWorkers
from periplus.demos.rehearsal_report import print_rehearsal
from periplus.demos.website_demo import WebsiteDemo
from periplus.errors import UserError
from periplus.fleet.fleet_setup import open_fleet
from periplus.fleet.worker_resources import StoreAddresses
from periplus.fleet.workers_option import WorkerSelection, parse_workers
from periplus.seed_sites.seed_manifests import Seed

ONE = WorkerSelection("contexts", 1)


async def run_rehearsal(
    seed: Seed | WebsiteDemo, settings: RehearsalSettings, data_dir: Path, out: Path, console: Console
) -> bool:
    """Rehearse, print the results, and return whether the demo can be given: it has no serious risk."""
    workers = parse_workers(settings.workers)
    async with AsyncExitStack() as stack:
        rehearsal_workers: RehearsalWorkers | None = None
        if workers != ONE:
            rehearsal_workers = await stack.enter_async_context(
                _open_rehearsal_workers(workers, seed, settings, data_dir)
            )
        rehearsal = await rehearse_demo(
            seed,
            settings,
            data_dir=data_dir,
            out=out,
            rehearsal_workers=rehearsal_workers,
            tell=lambda line: console.print(line, style="dim"),
        )
    print_rehearsal(console, rehearsal)
    return not rehearsal.serious


@asynccontextmanager
async def _open_rehearsal_workers(
    workers: WorkerSelection, seed: Seed | WebsiteDemo, settings: RehearsalSettings, data_dir: Path
) -> AsyncIterator[RehearsalWorkers]:
    """Raises `UserError` if concurrent passes would disturb each other, or workers cannot reach the store."""
    if settings.base_url is not None or isinstance(seed, WebsiteDemo):
        raise UserError(
            "passes on one site must run one after the other",
            fix="leave out --base-url (then each pass has a site of its own) or --workers",
        )
    if settings.headed:
        raise UserError("workers have no window", fix="leave out --headed or --workers")
    if workers.elsewhere and settings.mongodb_url is None:
        raise UserError(
            f"workers at {workers.address} cannot reach the embedded store in {data_dir}",
            fix="use a MongoDB that all workers can reach: --mongodb-url",
        )
    async with open_fleet(workers) as fleet:
        yield FleetRehearsalWorkers(fleet, seed, settings, _build_store_addresses(settings, data_dir))


def _build_store_addresses(settings: RehearsalSettings, data_dir: Path) -> StoreAddresses:
    return StoreAddresses(
        data_dir=str(data_dir.absolute()),
        mongodb_url=settings.mongodb_url,
        arangodb_url=settings.arangodb_url,
    )
