"""Pages that speak for a proposal: from the run's folder, from the website's map, as kept HTML, or told to be missing."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest
from axe_playwright_python.async_playwright import Axe

from agent.run_records.run_log import compute_digest
from kb_schema.exploration_folder import ExplorationFolder
from kb_schema.explorations import Exploration, ExplorationPage
from kb_schema.graph_documents import Transition
from kb_schema.page_snapshots import PageSnapshot
from kb_schema.proposals import PageReference, Proposal, ScreenChange, Support, TransitionChange, proposal_id
from kb_schema.run_records import Artifact, StoredRun, TraceEntry
from kb_schema.screens import Screen
from kb_schema.session_writer import SessionWriter
from kb_store import load_knowledge, open_stores
from kb_store.store_factory import open_runs
from periplus.exploration.map_folder import MapFolder
from tests.periplus.console.console_site import SITE, seed_knowledge
from tests.periplus.service.service_support import KEY, Served, served

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
JPEG = b"\xff\xd8\xff\xe0 a picture of "
BASE = "https://app.spadeworks.co"


@dataclass
class Place:
    served: Served
    data: Path
    stores: object
    runs: object

    async def proposed(self, change, **support) -> str:
        """The page of a proposal that one run speaks for."""
        made = Proposal(
            proposal_id=proposal_id(SITE, change), website_id=SITE, change=change, proposed_at=NOW
        )
        await self.stores.proposals.support(made, Support(at=NOW, **support))
        return f"/sites/{SITE}/proposals/{made.proposal_id}"

    async def get(self, path: str, status: int = 200):
        answer = await self.served.client.get(path)
        assert answer.status_code == status, answer.text
        return answer


@asynccontextmanager
async def _place(data: Path) -> AsyncIterator[Place]:
    async with (
        open_stores(data) as stores,
        open_runs(data) as runs,
        served(data, maps=data / "maps") as service,
    ):
        await load_knowledge(stores.documents, stores.graph, seed_knowledge())
        yield Place(service, data, stores, runs)


@pytest.fixture
async def place(tmp_path) -> AsyncIterator[Place]:
    async with _place(tmp_path) as opened:
        yield opened


def _screen(name: str = "history") -> ScreenChange:
    said = {"type": "screen", "screen_id": name, "name": "History", "url_patterns": ["^/history$"]}
    return ScreenChange(type="screen", screen=Screen.model_validate(said))


def _explored(data: Path, *addresses: str) -> ExplorationFolder:
    """A map of the site: each page with a picture that says which it is."""
    folder = MapFolder(data / "maps" / SITE).exploration
    folder.begin(Exploration(website_id=SITE, base_url=BASE, starts=(BASE,), origins=(BASE,), started_at=NOW))
    for number, address in enumerate(addresses):
        page = ExplorationPage(
            page_id=f"p{number}", url=address, state=f"s{number}", depth=0, seen_at=NOW, picture=True
        )
        snapshot = PageSnapshot(url=address, html="<p>")
        folder.add_page(page, snapshot, JPEG + address.encode())
    return folder


async def _session(place: Place, run_id: str, url: str, html: str) -> None:
    """A run whose trace kept that page."""
    folder = place.data / "runs" / run_id / "session"
    writer = SessionWriter(folder, session_id=run_id, website_id=SITE)
    writer.begin_turn("work", "work")
    writer.write(
        TraceEntry(
            type="AgentActionResults", timestamp=NOW, action_type="click", target="#x", args={},
            body_html_before_last_action=html, source_url=url,
        )
    )  # fmt: skip
    writer.close(complete=True)
    await place.runs.begin_run(
        StoredRun(run_id=run_id, url=url, started_at=NOW, website_id=SITE, kind="task", subject="work")
    )
    path, file_hash, size = compute_digest(folder)
    await place.runs.put_artifact(
        Artifact(
            run_id=run_id, name="session/", artifact_type="trace", file_path=path, file_hash=file_hash,
            size_bytes=size, created_at=NOW,
        )
    )  # fmt: skip


async def test_what_a_recording_found_is_shown_as_the_map_has_the_page(place):
    _explored(place.data, f"{BASE}/", f"{BASE}/history")
    path = await place.proposed(
        _screen(), run_id="rec-1", seen=(PageReference(url="http://127.0.0.1:4567/history?token=s3cret"),)
    )
    await place.get(f"{path}/pictures/0", 404)  # that address with a query is another page
    assert "No screenshot of /history (seen in run rec-1)" in (await place.get(path)).text
    other = await place.proposed(
        _screen("other"), run_id="rec-1", seen=(PageReference(url="http://127.0.0.1:4567/history"),)
    )
    page = await place.get(other)
    assert "Seen from the map: /history" in page.text
    picture = await place.get(f"{other}/pictures/0")
    assert picture.content == JPEG + f"{BASE}/history".encode()
    assert picture.headers["content-type"] == "image/jpeg"
    assert "s3cret" not in (await place.get(path)).text, "a query may hold secrets"


async def test_a_page_that_more_of_was_mapped_meanwhile_is_found(place):
    folder = _explored(place.data, f"{BASE}/")
    path = await place.proposed(_screen(), run_id="rec-1", seen=(PageReference(url=f"{BASE}/history"),))
    await place.get(f"{path}/pictures/0", 404)
    page = ExplorationPage(
        page_id="p9", url=f"{BASE}/history", state="s9", depth=1, seen_at=NOW, picture=True
    )
    folder.add_page(page, PageSnapshot(url=page.url, html="<p>"), JPEG)
    await place.get(f"{path}/pictures/0")


async def test_a_page_of_an_exploration_is_shown_by_the_name_it_has_there_and_no_name_leads_out_of_it(place):
    _explored(place.data, f"{BASE}/a")
    (place.data / "maps" / "secret.jpg").write_bytes(JPEG)
    link = MapFolder(place.data / "maps" / SITE).exploration.path / "link.jpg"
    link.symlink_to(place.data / "maps" / "secret.jpg")
    path = await place.proposed(
        _screen(),
        run_id="explored",
        seen=(PageReference(snapshot="pages/p0"), PageReference(picture="link.jpg")),
    )
    assert (await place.get(f"{path}/pictures/0")).content == JPEG + f"{BASE}/a".encode()
    await place.get(f"{path}/pictures/1", 404)
    await place.get(f"{path}/pictures/2", 404)


async def test_without_a_picture_the_page_that_the_run_kept_is_shown_sealed_in_a_frame(place, browser):
    await _session(
        place, "run-7", f"{BASE}/history", "<p id=kept>As it was</p><script>window.ran = 1</script>"
    )
    path = await place.proposed(_screen(), run_id="run-7", seen=(PageReference(url=f"{BASE}/history"),))
    context = await browser.new_context(extra_http_headers={"X-API-Key": KEY})
    page = await context.new_page()
    await page.goto(f"{place.served.url}{path}")
    await page.frame_locator("iframe.page").locator("#kept").wait_for()
    assert await page.frames[1].evaluate("[window.ran === undefined, window.origin]") == [True, "null"]
    assert (await Axe().run(page)).response["violations"] == []
    assert await page.get_by_role("link", name="Run run-7").count() == 1
    await context.close()


async def test_where_nothing_is_kept_it_is_said_and_a_recording_without_a_page_is_no_link(place):
    way = TransitionChange(
        type="transition",
        transition=Transition.model_validate({
            "type": "transition", "_from": "dashboard", "_to": "settings",
            "triggered_by": {"action_type": "click", "element_id": "nav_settings"},
        }),
    )  # fmt: skip
    path = await place.proposed(way, run_id="rec-2")
    page = (await place.get(path)).text
    assert "Transition from “Dashboard” to “Settings”" in page
    assert "the supporting runs name no page, and no map of spadeworks has one" in page
    assert 'href="/runs/rec-2"' not in page


async def test_the_list_of_proposals_comes_in_pages(place):
    for number in range(53):
        await place.proposed(_screen(f"screen_{number:02d}"), run_id="rec-1")
    first = (await place.get(f"/sites/{SITE}/proposals")).text
    assert first.count('<li class="run-row">') == 50
    assert "page 1 of 2" in first
    assert (await place.get(f"/sites/{SITE}/proposals?page=2")).text.count('<li class="run-row">') == 3
    assert (await place.get(f"/sites/{SITE}/proposals?page=900")).text.count('<li class="run-row">') == 3
