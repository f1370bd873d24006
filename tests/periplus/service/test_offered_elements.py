"""An element that a verification offers is accepted over REST, or with a press in the console; then the run passes."""

from __future__ import annotations

import asyncio
import re
from contextlib import asynccontextmanager

import pytest

from kb_schema.verification import OfferedElement
from periplus.service.offered_elements import OfferedElements
from periplus.service.problem_details import ApiProblem
from periplus.web_server.service_setup import open_browser_verifier
from tests.interface_changes.measurement import build_requirements
from tests.interface_changes.operators import apply_operators
from tests.interface_changes.site_models import SITES
from tests.interface_changes.site_server import serve_site
from tests.periplus.service.service_support import Quick, served

LIBRARY = SITES["library"]
STEPS = [each for each in build_requirements(LIBRARY)["add"].splitlines()[3:] if each]


class Real(Quick):
    """Verifies in a browser."""

    @asynccontextmanager
    async def opened(self):
        async with open_browser_verifier(self.folder) as verifier:
            yield verifier


@pytest.fixture
def impatient(monkeypatch, tmp_path):
    """Short waits, and plans in a folder of the test."""
    monkeypatch.setenv("PERIPLUS_DATA_DIR", str(tmp_path))
    monkeypatch.setenv("PERIPLUS_PLAYWRIGHT_TIMEOUT", "1500")
    monkeypatch.setenv("PERIPLUS_MAX_HEAL_ROUNDS", "1")


async def verify(service, base):
    """Submit the requirement, wait for its end, and return the run."""
    asked = {"req_id": "add", "url": f"{base}/", "steps": STEPS}
    run_id = (await service.client.post("/api/run", json=asked)).json()["run_id"]
    async with service.client.stream(
        "GET", "/api/runs/add/events", params={"run_id": run_id}, timeout=120
    ) as told:
        async for line in told.aiter_lines():
            if line == "event: finished":
                break
    found = (await service.client.get("/api/runs/add", params={"run_id": run_id})).json()
    assert found["status"] == "completed", found
    return found


@pytest.mark.sampled(0.3)
@pytest.mark.timeout(240)
@pytest.mark.parametrize("way", ["rest", "console"])
async def test_what_is_offered_is_shown_with_its_reasons_and_accepted_once(tmp_path, impatient, way):
    with serve_site() as site:
        async with served(tmp_path, quick=Real(), keyed=way == "rest") as service:
            site.show(LIBRARY)
            green = await verify(service, site.base)
            assert (green["verdict"], green["offered"]) == ("pass", None), green
            site.show(apply_operators("library", ("rename_save",)))
            red = await verify(service, site.base)
            offered, run_id = red["offered"], red["run_id"]
            assert red["rca"]["class"] == "healing_declined", red
            assert (offered["step"], offered["element"], offered["open"]) == (5, "Lend", True)
            assert "Check out" in offered["candidate"]
            assert "Check out" in offered["selector"]
            assert offered["against"]
            picture = await service.client.get(offered["picture"])
            assert picture.content.startswith(b"\xff\xd8\xff"), "a JPEG"
            accept = accept_over_rest if way == "rest" else accept_in_console
            await accept(service, run_id)
            again = (await service.client.get("/api/runs/add")).json()
            assert again["offered"]["open"] is False
            site.show(apply_operators("library", ("rename_save",)))
            passed = await verify(service, site.base)
            assert passed["verdict"] == "pass", passed
            assert {act[0] for act in site.journal} == {"create"}, site.journal


async def accept_over_rest(service, run_id):
    asked = "/api/runs/add/accept"
    wrong = await service.client.post(asked, json={"step": 4})
    assert wrong.status_code == 409, wrong.text
    assert "step 5" in wrong.text
    assert (await service.client.post(asked, json={})).status_code == 422
    done = await service.client.post(asked, json={"step": 5})
    assert (done.status_code, done.json()["run_id"]) == (200, run_id), done.text
    twice = await service.client.post(asked, json={"step": 5})
    assert twice.status_code == 409
    assert "verify the requirement again" in twice.text


async def accept_in_console(service, run_id):
    page = (await service.client.get(f"/runs/{run_id}")).text
    for words in (
        "Check out",
        "is missing, and another element may be it",
        "Why it was not used",
        "Likeness",
    ):
        assert words in page
    picture = await service.client.get(f"/runs/{run_id}/offered/picture")
    assert picture.headers["content-type"] == "image/jpeg"
    token = re.search(r'name="csrf_token" value="([^"]+)"', page)[1]
    path = f"/runs/{run_id}/accept"
    assert (await service.client.post(path)).status_code == 403, "without the form's token"
    done = await service.client.post(path, data={"csrf_token": token})
    assert done.status_code == 303, done.text
    page = (await service.client.get(f"/runs/{run_id}")).text
    assert "It is not offered any more" in page
    assert f"/runs/{run_id}/accept" not in page
    assert (await service.client.post(path, data={"csrf_token": token})).status_code == 409


async def test_what_was_never_offered_cannot_be_accepted(tmp_path):
    offered = OfferedElement(
        req_id="add", website_id="shop", step_idx=1, element="Save", description="button 'Keep'", likeness=0.7
    )
    with pytest.raises(ApiProblem) as refused:
        await OfferedElements(tmp_path).accept(offered)
    assert refused.value.status == 409
    assert "step 2 of add" in str(refused.value)


async def test_a_run_without_an_offer_has_none_to_accept(tmp_path):
    async with served(tmp_path) as service:
        await service.client.post(
            "/api/run",
            json={"req_id": "R", "url": "http://127.0.0.1:9/", "steps": ["Save | click | | shows:x"]},
        )
        async with asyncio.timeout(20), service.quick.changed:
            await service.quick.changed.wait_for(lambda: "R" in service.quick.ended)
        refused = await service.client.post("/api/runs/R/accept", json={"step": 1})
        assert refused.status_code == 409
        assert "healing_declined" in refused.text
        assert (await service.client.get("/api/runs/R/offered/picture")).status_code == 404
