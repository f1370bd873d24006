"""Records in the audit log that runs begin and end."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from kb_store.audit.audit_recorder import record_async
from kb_store.errors import StoreError

if TYPE_CHECKING:
    from kb_schema.run_records import RunEnding, StoredRun
    from kb_store.runs.run_store import RunStore


class AuditedRuns:
    """A run store whose new and ended runs are recorded in the audit log."""

    def __init__(self, runs: RunStore) -> None:
        self._runs = runs

    def __getattr__(self, name: str) -> Any:
        return getattr(self._runs, name)

    async def begin_run(self, run: StoredRun) -> bool:
        """Store a run that starts; see `RunStore`."""
        new = await self._runs.begin_run(run)
        if new:
            about = f"{run.run_id} ({run.kind} {run.req_id or run.subject})"
            await record_async("run_submitted", about, website=run.website_id)
        return new

    async def finish_run(self, run_id: str, ending: RunEnding) -> bool:
        """Store how a run ended; see `RunStore`."""
        known = await self._runs.finish_run(run_id, ending)
        if known:
            run = None
            with suppress(StoreError):  # the end is stored; only the website's name is missing
                run = await self._runs.run(run_id)
            website = "" if run is None else run.website_id
            await record_async("run_finished", run_id, outcome=ending.status.value, website=website)
        return known
