"""`/health`: how the service is: stores, browser, queue, disk, versions, and what is known of each website.

For programs: `/api/health`.
"""

from __future__ import annotations

import asyncio
import platform
import shutil
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from fastapi import APIRouter, Request
from fastapi.responses import Response

from kb_schema.base import SCHEMA_VERSION
from kb_store import StoreError
from kb_store.status import Beside, StoreStatus, WebsiteStatus, store_status
from periplus import __version__
from periplus.console.runs_words import size
from periplus.console.shell import ConsoleParts, TheParts, render

PATIENCE_S = 4.0
"""How long the stores may take to say how they are."""
FULL = 0.9
"""From this share on a disk is said to be nearly full."""

router = APIRouter()


@dataclass(frozen=True, slots=True)
class Disk:
    """The disk with the runs' folder."""

    used: float
    """0-1."""
    free: str
    nearly_full: bool


@dataclass(frozen=True, slots=True)
class SiteRow:
    """One website in the stores."""

    site: str
    generation: int
    loaded: datetime
    whole: bool
    problem: str
    proposals: int
    """That wait."""
    runs: int
    loading: bool
    older: int
    """Generations that are still read, or wait to be collected."""


@dataclass(frozen=True, slots=True)
class StoreRow:
    """One store."""

    holds: str
    address: str
    ok: bool
    detail: str


@router.get("/health")
async def health(request: Request, parts: TheParts) -> Response:
    """Everybody is asked now."""
    view, status, disk = await asyncio.gather(
        parts.health(), _status(parts), asyncio.to_thread(disk_of, parts.folder)
    )
    return render(
        request, "stores.html.j2",
        health=view, disk=disk,
        stores=store_rows(status) if status else [], sites=site_rows(status) if status else [],
        asked=status is not None,
        versions=[("Periplus", __version__), ("Python", platform.python_version()),
                  ("Knowledge schema", str(SCHEMA_VERSION)), ("System", f"{platform.system()} {platform.machine()}")],
    )  # fmt: skip


def disk_of(folder: Path) -> Disk | None:
    """How full the disk is; None where it does not say."""
    try:
        usage = shutil.disk_usage(folder)
    except OSError:
        return None
    used = usage.used / max(1, usage.used + usage.free)
    return Disk(used, size(usage.free), used >= FULL)


def store_rows(status: StoreStatus) -> list[StoreRow]:
    """The stores by what they hold; addresses have no credentials."""
    return [StoreRow(name, each.address, each.ok, each.detail) for name, each in status.stores.items()]


def site_rows(status: StoreStatus) -> list[SiteRow]:
    """The websites, by id."""
    return [_site(each) for each in sorted(status.websites, key=lambda each: each.active.website_id)]


def _site(status: WebsiteStatus) -> SiteRow:
    lasting = status.lasting
    return SiteRow(
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


async def _status(parts: ConsoleParts) -> StoreStatus | None:
    """None where the stores do not say in time."""
    beside = Beside(parts.stores.learned, parts.stores.proposals, parts.runs)
    try:
        async with asyncio.timeout(PATIENCE_S):
            return await store_status(parts.stores.documents, parts.stores.graph, beside)
    except (StoreError, TimeoutError):
        return None
