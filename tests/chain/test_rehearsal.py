"""Rehearsals on the harbour: every branch is taken, on a fresh site, and what is wrong is told."""

from __future__ import annotations

import io
import json
import shutil
from pathlib import Path

import pytest
import yaml
from rich.console import Console

from kb_store.store_factory import open_runs
from periplus.demos.demo_measurements import read_segment_durations
from periplus.demos.demo_rehearsal import PAGE, TABLE, RehearsalSettings, rehearse_demo
from periplus.demos.rehearsal_run import run_rehearsal
from periplus.seed_sites.seed_manifests import find_seed

pytestmark = pytest.mark.sampled(0.5)

HARBOUR = Path(__file__).parent.parent / "data" / "harbour"

REGISTER = {
    "segment_id": "register", "type": "task_execution", "task_id": "register_boat",
    "narration_template": "Let us register a boat.",
    "input_mapping": {"boat_name": {"source": "hardcoded", "value": "Skua", "persist_as": "demo_boat"}},
}  # fmt: skip
SHAKY = {
    "type": "presentation_flow",
    "flow_id": "shaky",
    "name": "A shaky story",
    "segments": [
        {"segment_id": "hello", "type": "conversational", "narration_template": "Hello.", "required": True},
        {"segment_id": "look", "type": "explanation", "screen_id": "quay", "required": True,
         "narration_template": "This is the quay.", "highlights": ["boats"]},
        REGISTER,
        {"segment_id": "again", "type": "task_execution", "task_id": "register_boat", "required": True,
         "duration": 1,
         "narration_template": "The same boat comes again, and this sentence takes much longer than a second.",
         "input_mapping": {"boat_name": {"source": "session_context", "key": "demo_boat"}}},
        {"segment_id": "bye", "type": "conversational", "narration_template": "Bye.", "required": True},
    ],
    "transitions": [
        {"from_segment": "hello", "to_segment": "look", "type": "conditional",
         "narration_template": "You like boats, so look.",
         "condition": {"type": "user_interest", "topic": "boats", "fallback": "skip_to_register"}},
    ],
    "fallback_paths": [{"condition": "user_interrupts", "action": "pause_and_ask"}],
}  # fmt: skip


@pytest.fixture
def shaky(tmp_path):
    """A seed whose story does not do without its optional segment."""
    folder = tmp_path / "seed"
    shutil.copytree(HARBOUR, folder)
    (folder / "kb" / "flows" / "shaky.yaml").write_text(yaml.safe_dump(SHAKY, sort_keys=False))
    seed = yaml.safe_load((folder / "seed.yaml").read_text())
    seed["context"] = {}  # nothing that would stand in for what nobody gives
    (folder / "seed.yaml").write_text(yaml.safe_dump(seed))
    return find_seed(str(folder))


@pytest.mark.usefixtures("impatient")
async def test_every_branch_is_walked_and_every_risk_is_told(shaky, tmp_path):
    told: list[str] = []
    found = await rehearse_demo(
        shaky,
        RehearsalSettings("shaky", headed=False),
        data_dir=tmp_path / "data",
        out=tmp_path / "out",
        tell=told.append,
    )
    assert [w.rehearsal_pass.shows for w in found.passes] == [
        ("hello", "look", "register", "again", "bye"),
        ("hello", "register", "again", "bye"),
        ("hello", "look", "again", "bye"),
        ("hello", "look", "register", "again", "bye"),
        ("hello", "look", "again", "bye"),
    ]
    assert [w.rehearsal_pass.fails for w in found.passes] == [None, None, None, "register", None]
    assert len(told) == 5
    assert found.passes[4].rehearsal_pass.kind == "interrupted"
    assert found.passes[4].noticed["bye"].status == "shown"
    kinds = {(r.kind, r.segment_id, r.serious) for r in found.risks}
    assert ("input_nobody_gives", "again", True) in kinds  # without `register`, which is optional
    assert ("failed", "again", True) in kinds
    assert ("slow", "again", False) in kinds
    # Fresh for every walk: nobody had moored a boat there when the quay was first looked at, and after the
    # walk there were those of this walk alone.
    assert not [r for r in found.risks if r.segment_id in ("hello", "register", "bye")]
    first = found.passes[0]
    assert all(s.status == "shown" for s in first.presentation.segments), first.presentation.segments
    assert first.noticed["hello"].said == ["Hello.", "You like boats, so look."]
    assert found.passes[1].noticed["hello"].said == ["Hello."]
    assert {m.segment_id for m in found.measured} == {"hello", "look", "register", "again", "bye"}

    on_disk = json.loads((tmp_path / "out" / TABLE).read_text())
    assert on_disk == json.loads(json.dumps(found.to_json()))
    assert on_disk["ready"] is False
    page = (tmp_path / "out" / PAGE).read_text()
    assert "Not ready" in page
    assert "an input without a source" in page


async def test_a_demo_that_is_ready_is_told_to_be_and_its_durations_are_kept(tmp_path):
    console = Console(file=io.StringIO(), width=200)
    seed = find_seed(str(HARBOUR))
    settings = RehearsalSettings(headed=False)
    assert await run_rehearsal(seed, settings, tmp_path / "data", tmp_path / "out", console)
    text = console.file.getvalue()
    assert "ready: A turn around the harbour" in text
    assert "Ready" in (tmp_path / "out" / PAGE).read_text()
    async with open_runs(tmp_path / "data") as runs:
        observed = await read_segment_durations(runs, "harbour", "harbour_tour")
    assert set(observed) == {"hello", "register", "look", "late"}
    assert observed["register"] > 1


async def test_on_a_site_that_runs_already_the_walks_share_it_and_that_is_said(site, tmp_path):
    found = await rehearse_demo(
        find_seed(str(HARBOUR)),
        RehearsalSettings(headed=False, base_url=site.url),
        data_dir=tmp_path / "data",
        out=tmp_path / "out",
    )
    assert len(site.state()["boats"]) == len(found.passes)
    assert any("one site" in note for note in found.notes)
