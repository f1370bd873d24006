"""Mistakes of calls of the Python API, and what a run over it leaves. `tests/docs/test_python_api.py` runs the examples."""

from __future__ import annotations

from pathlib import Path

import pytest

from periplus import UserError, map_website, open_site, open_store, record, synthesize
from periplus.seed_sites.seed_manifests import find_seed
from periplus.seed_sites.site_process import start_seed_site

HARBOUR = Path(__file__).parents[1] / "data" / "harbour"


@pytest.fixture
async def store(tmp_path):
    async with open_store(tmp_path / "data") as opened:
        assert await opened.load(HARBOUR / "kb") == "harbour"
        yield opened


@pytest.fixture
async def base_url():
    async with start_seed_site(find_seed(str(HARBOUR))) as url:
        yield url


async def test_a_run_on_a_page_of_ones_own_is_stored_and_the_page_stays_open(store, base_url, page):
    async with open_site(store, page=page, base_url=base_url) as site:
        result = await site.run("register_boat", boat_name="Skua")
        assert result.succeeded
        assert result.outputs == {"moored": "Skua"}
        again = await site.run("register_boat", boat_name="Tern")
        assert again.succeeded
        assert again.run_id != result.run_id
    assert not page.is_closed()
    assert await page.get_by_text("Tern").count() == 1
    stored = await store.runs.run(result.run_id)
    assert (stored.subject, stored.status) == ("register_boat", "success")
    assert (store.data_dir / "runs" / result.run_id / "session" / "manifest.json").is_file()


async def test_mistakes_of_a_call_are_told_with_what_to_do(store, base_url, page, tmp_path):
    async with open_site(store, page=page, base_url=base_url) as site:
        with pytest.raises(UserError, match="no task 'registr_boat' -> did you mean"):
            await site.run("registr_boat", boat_name="Skua")
        with pytest.raises(UserError, match="needs the input 'boat_name'"):
            await site.run("register_boat")
        with pytest.raises(UserError, match="register_boat has no input 'boat_nam'"):
            await site.run("register_boat", boat_nam="Skua")
        with pytest.raises(UserError, match="no screen 'nope'"):
            await site.go_to("nope")
        with pytest.raises(UserError, match="is no known screen"):
            await site.find_path("quay")
    assert await store.runs.runs(limit=5) == []
    for arguments, words in (
        ({"base_url": "localhost"}, "is not a web address"),
        ({"page": object()}, "playwright.async_api"),
    ):
        with pytest.raises(UserError, match=words):
            await open_site(store, **arguments).__aenter__()
    with pytest.raises(UserError, match="is not a web address"):
        await map_website("localhost:8080", out=tmp_path / "map")
    with pytest.raises(UserError, match="traces"):
        await synthesize([tmp_path / "traces"], "Nothing")


async def test_a_recording_needs_an_empty_folder_and_a_context_of_its_own(page, tmp_path):
    async with record(page, tmp_path / "one") as recording:
        await page.goto("data:text/html,<button>Save</button>")
        await page.get_by_role("button").click()
    assert recording.problems == []
    for folder, words in (("one", "is not empty"), ("two", "a new browser context")):
        with pytest.raises(UserError, match=words):
            await record(page, tmp_path / folder).__aenter__()
