"""A drafted flow of a loaded website plays at once, without a seed."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from rich.console import Console

from kb_store import load_knowledge, open_stores, read_knowledge
from loaders import read_knowledge_folder
from loaders.flow_drafts.flow_draft import draft_flow
from periplus.demos.filmed_demo import DemoSettings, run_demo
from periplus.demos.website_demo import WebsiteDemo

HARBOUR = Path(__file__).parent.parent / "data" / "harbour" / "kb"


@pytest.mark.usefixtures("ffmpeg")
async def test_a_drafted_flow_of_a_loaded_website_plays_without_a_seed(site, tmp_path):
    knowledge = read_knowledge_folder(HARBOUR)[0]
    flow = draft_flow(knowledge, "drafted")
    async with open_stores(tmp_path / "data") as stores:
        await load_knowledge(stores.documents, stores.graph, knowledge)
    file = tmp_path / "drafted.json"
    file.write_text(json.dumps(flow.to_json()))
    result = await run_demo(
        WebsiteDemo("harbour", file), DemoSettings(speed=0, headed=False, base_url=site.url),
        data_dir=tmp_path / "data", out=tmp_path / "out", console=Console(file=io.StringIO()),
    )  # fmt: skip
    assert result.presentation.succeeded
    assert [each.status for each in result.presentation.segments] == ["shown"] * len(flow.segments)
    assert (tmp_path / "out" / "demo.mp4").stat().st_size > 0
    async with open_stores(tmp_path / "data") as stores:
        stored, generation = await read_knowledge(stores.documents, stores.graph, "harbour")
    assert (generation, stored.flows["drafted"].segments) == (2, flow.segments)


@pytest.mark.usefixtures("ffmpeg")
async def test_a_value_given_to_a_demo_is_used_by_its_flow(site, tmp_path):
    async with open_stores(tmp_path / "data") as stores:
        await load_knowledge(stores.documents, stores.graph, read_knowledge_folder(HARBOUR)[0])
    mapping = {"boat_name": {"source": "global_context", "key": "guest_boat", "persist_as": "guest"}}
    segment = {
        "segment_id": "register", "type": "task_execution", "task_id": "register_boat", "input_mapping": mapping,
        "narrative_hooks": [{"hook_type": "after", "narration": "{guest} is moored."}],
    }  # fmt: skip
    flow = {"type": "presentation_flow", "flow_id": "guests", "name": "Guests", "segments": [segment]}
    file = tmp_path / "guests.json"
    file.write_text(json.dumps(flow))
    result = await run_demo(
        WebsiteDemo("harbour", file, {"guest_boat": "Tern"}),
        DemoSettings(speed=0, headed=False, base_url=site.url),
        data_dir=tmp_path / "data", out=tmp_path / "out", console=Console(file=io.StringIO()),
    )  # fmt: skip
    assert result.presentation.succeeded
    assert [boat["name"] for boat in site.state()["boats"]] == ["Tern"]
    assert "Tern is moored." in (tmp_path / "out" / "captions.vtt").read_text()
