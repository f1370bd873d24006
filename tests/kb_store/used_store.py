"""A store that has been used for a while: what was learned, proposed and run of the sample website."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from kb_schema.cached_locators import Locator
from kb_schema.observed_outcomes import ElementUse, Outcome
from kb_schema.proposals import Proposal, SelectorChange, Support, proposal_id
from kb_schema.run_records import RunEnding, StoredRun
from kb_schema.selectors import css
from kb_store import open_stores
from kb_store.store_factory import open_runs

if TYPE_CHECKING:
    from pathlib import Path

    from kb_store import Stores
    from kb_store.runs.run_store import RunStore

FOUND = Locator(website_id="shop", url="http://h", element="screen_0.go", selector=css("#go"), confidence=1.0)


async def lived(data_dir: Path, website_id: str = "shop") -> None:
    """Outcomes of two transitions and an element, three proposals, three runs, a locator, a heal."""
    now = datetime.now(UTC)
    async with open_stores(data_dir) as stores, open_runs(data_dir) as runs:
        await _learn(stores, website_id, now)
        await _propose(stores, website_id, now)
        await _run(runs, website_id, now)


async def _learn(stores: Stores, website_id: str, now: datetime) -> None:
    go = ElementUse(screen_id="screen_0", element_id="go", strategy="css")
    about = [{"transition_id": "t_0"}, {"transition_id": "t_1"}, {"element": go}]
    said = {"website_id": website_id, "at": now, "succeeded": True}
    outcomes = [{"outcome_id": f"o{number}", **each, **said} for number, each in enumerate(about)]
    await stores.learned.record([Outcome.model_validate(each) for each in outcomes])


async def _propose(stores: Stores, website_id: str, now: datetime) -> None:
    for number in range(3):
        change = SelectorChange(
            type="selector", screen_id="screen_0", element_id="go", selector=css(f"#go-{number}")
        )
        own_id = proposal_id(website_id, change)
        proposed = Proposal(proposal_id=own_id, website_id=website_id, change=change, proposed_at=now)
        await stores.proposals.support(proposed, Support(run_id="r1", succeeded=True, at=now))
        if number == 0:
            await stores.proposals.decide(website_id, own_id, "rejected", now)


async def _run(runs: RunStore, website_id: str, now: datetime) -> None:
    for number, status in enumerate((None, "success", "needs_person")):
        run = {
            "run_id": f"r{number}",
            "url": "http://h",
            "website_id": website_id,
            "kind": "task",
            "subject": "order",
        }
        await runs.begin_run(StoredRun.model_validate({**run, "started_at": now - timedelta(minutes=number)}))
        if status is not None:
            ending = {"status": status, "evidence": "verified", "finished_at": now, "duration_ms": 7}
            await runs.finish_run(f"r{number}", RunEnding.model_validate(ending))
    await runs.put_locator(FOUND.model_copy(update={"website_id": website_id}))
    await runs.count_heal("r1", "#go")
