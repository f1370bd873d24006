"""`/health`: the state of stores, browser, queue, disk and versions, and the loaded websites.

For programs: `/api/health`.
"""

from __future__ import annotations

import asyncio
import platform
import shutil
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path, PurePath

from fastapi import APIRouter, Request
from fastapi.responses import Response

from kb_schema.base import SCHEMA_VERSION
from kb_store import StoreError
from kb_store.ports import StoreHealth
from kb_store.status import StoreStatus, UnversionedStores, WebsiteStatus, store_status
from periplus import __version__
from periplus.console.console_framework import ConsoleContext, ConsoleContextParam, render
from periplus.console.run_labels import format_size

PATIENCE_S = 4.0
"""Timeout for the state of the stores."""
FULL = 0.9
"""The used share from which a disk counts as nearly full."""

router = APIRouter()


@dataclass(frozen=True, slots=True)
class DiskUsage:
    """Usage of the disk with the runs' folder."""

    used: float
    """0-1."""
    free: str
    nearly_full: bool


@dataclass(frozen=True, slots=True)
class StoredSiteRow:
    """One website in the stores."""

    site: str
    generation: int
    loaded: datetime
    whole: bool
    problem: str
    proposals: int
    """Open proposals."""
    runs: int
    loading: bool
    older: int
    """Older generations that are still read, or not yet deleted."""


@dataclass(frozen=True, slots=True)
class StoreRow:
    """One store."""

    holds: str
    address: str
    ok: bool
    detail: str


@router.get("/health")
async def health(request: Request, parts: ConsoleContextParam) -> Response:
    """Query the current state of everything and show it."""
    view, status, disk = await asyncio.gather(
        parts.health(), _status(parts), asyncio.to_thread(read_disk_usage, parts.folder)
    )
    return render(
        request,
        "stores.html.j2",
        health=view,
        disk=disk,
        stores=build_store_rows(status) if status else [],
        sites=build_site_rows(status) if status else [],
        asked=status is not None,
        versions=[
            ("Periplus", __version__),
            ("Python", platform.python_version()),
            ("Knowledge schema", str(SCHEMA_VERSION)),
            ("System", f"{platform.system()} {platform.machine()}"),
        ],
    )


def read_disk_usage(folder: Path) -> DiskUsage | None:
    """Return the disk usage; None if unknown."""
    try:
        usage = shutil.disk_usage(folder)
    except OSError:
        return None
    used = usage.used / max(1, usage.used + usage.free)
    return DiskUsage(used, format_size(usage.free), used >= FULL)


def build_store_rows(status: StoreStatus) -> list[StoreRow]:
    """Return the stores' rows; addresses contain no credentials, and files no folders of the server."""
    return [_store(name, each) for name, each in status.stores.items()]


def _store(name: str, health: StoreHealth) -> StoreRow:
    shown = health.address if "://" in health.address else PurePath(health.address).name
    return StoreRow(name, shown, health.ok, health.detail.replace(health.address, shown))


def build_site_rows(status: StoreStatus) -> list[StoredSiteRow]:
    """Return the websites' rows, sorted by id."""
    return [_site(each) for each in sorted(status.websites, key=lambda each: each.active.website_id)]


def _site(status: WebsiteStatus) -> StoredSiteRow:
    lasting = status.lasting
    return StoredSiteRow(
        site=status.active.website_id,
        generation=status.active.generation,
        loaded=status.active.loaded_at,
        whole=status.whole,
        problem=status.problem,
        proposals=0 if lasting is None else lasting.proposals.get("proposed", 0),
        runs=0 if lasting is None else sum(lasting.runs.values()),
        loading=status.loading is not None,
        older=len(status.leftovers) + len(status.pinned),
    )


async def _status(parts: ConsoleContext) -> StoreStatus | None:
    """Return the state of the stores; None after the timeout."""
    beside = UnversionedStores(parts.stores.learned, parts.stores.proposals, parts.runs)
    try:
        async with asyncio.timeout(PATIENCE_S):
            return await store_status(parts.stores.documents, parts.stores.graph, beside)
    except (StoreError, TimeoutError):
        return None
