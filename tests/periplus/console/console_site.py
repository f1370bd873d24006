"""A service with the seed's knowledge on embedded stores, and some runs, for looking at the console."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from kb_schema.knowledge_base import KnowledgeBase
from kb_schema.run_records import EvidenceLevel, RunEnding, RunStatus, StoredRun
from kb_store import load_knowledge, open_stores
from kb_store.runs.run_store import RunStore
from kb_store.store_factory import open_runs
from loaders.files.folder_reader import read_knowledge_folder
from periplus.seed_sites.seed_manifests import find_seed
from tests.periplus.service.service_support import Served, served

SITE = "spadeworks"
YESTERDAY = timedelta(hours=20)


@dataclass(frozen=True, slots=True)
class Console:
    """A console that listens."""

    served: Served
    data: Path

    def at(self, path: str) -> str:
        """The address of a page."""
        return f"{self.served.url}{path}"


def seed_knowledge() -> KnowledgeBase:
    """What is known of the seed's site."""
    return read_knowledge_folder(find_seed(SITE).knowledge_folder)[0]


@asynccontextmanager
async def console(
    data: Path, *knowledge: KnowledgeBase, keyed: bool = False, **more: object
) -> AsyncIterator[Console]:
    """The console over this knowledge. Without a key, this machine operates it."""
    async with open_stores(data) as stores:
        for each in knowledge:
            await load_knowledge(stores.documents, stores.graph, each)
    async with open_runs(data) as runs:
        await _some_runs(runs, [each.website.website_id for each in knowledge])
    async with served(data, keyed=keyed, maps=data / "maps", **more) as opened:
        yield Console(opened, data)


async def _some_runs(runs: RunStore, sites: Sequence[str]) -> None:
    """One that worked, and one of yesterday that failed."""
    now = datetime.now(UTC)
    for site in sites:
        for name, began, ended in (
            ("good", now - timedelta(minutes=5), _ending(now, RunStatus.SUCCESS, EvidenceLevel.VERIFIED)),
            ("bad", now - YESTERDAY, _ending(now - YESTERDAY, RunStatus.FAILURE, EvidenceLevel.CONTRADICTED)),
        ):
            run = StoredRun(
                run_id=f"{site}-{name}", url="https://shop.example.com/", started_at=began, website_id=site,
                kind="task", subject="create_agent",
            )  # fmt: skip
            await runs.begin_run(run)
            await runs.finish_run(run.run_id, ended)


def _ending(at: datetime, status: RunStatus, evidence: EvidenceLevel) -> RunEnding:
    failed = status is RunStatus.FAILURE
    return RunEnding(
        status=status, evidence=evidence, finished_at=at, duration_ms=4_200,
        error="step submit: the button `Create agent` was covered by a dialog" if failed else None,
        rca_class="app_defect" if failed else None,
        rca_message="the button “Create agent” was covered by a dialog" if failed else None,
    )  # fmt: skip
