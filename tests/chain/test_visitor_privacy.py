"""A visitor comes to a demo on the harbour, says a name, gives one to a boat, asks, and leaves no word behind."""

from __future__ import annotations

import asyncio
import io
import json
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from rich.console import Console
from typer.testing import CliRunner

from agent.events import Event
from agent.presentation.presentation_records import SegmentStarted
from kb_store.store_factory import open_runs
from periplus.cli import app
from periplus.demos import filmed_demo
from periplus.demos.demo_measurements import list_unanswered, read_visit
from periplus.demos.filmed_demo import DemoSettings, run_demo
from periplus.demos.website_demo import WebsiteDemo
from periplus.seed_sites.seed_manifests import find_seed

pytestmark = pytest.mark.sampled(0.5)

HARBOUR = Path(__file__).parent.parent / "data" / "harbour"
NAME = "Philippa"
QUESTION = "what does my grandmother Okonkwo pay for a yellow submarine?"
WORDS = (NAME, "grandmother", "Okonkwo", "submarine")


class _Visitor:
    """Says one thing at the beginning of each segment."""

    def __init__(self, show) -> None:
        self._turns = show.turns
        self._says = {"register": f"my name is {NAME}", "look": QUESTION}

    def __call__(self, event: Event) -> None:
        if isinstance(event, SegmentStarted) and event.segment_id in self._says:
            self._turns.hear(self._says[event.segment_id])


@pytest.fixture
def visited(monkeypatch):
    """Demos have a visitor."""
    opened = filmed_demo.open_live_presentation

    @asynccontextmanager
    async def open_show(*args, **kwargs):
        async with opened(*args, **kwargs) as show:
            show.bus.listen(_Visitor(show))
            yield show

    monkeypatch.setattr(filmed_demo, "open_live_presentation", open_show)


async def _demo(site, tmp_path: Path, data: Path | None = None, demo=None):
    return await run_demo(
        demo or find_seed(str(HARBOUR)), DemoSettings(speed=0, headed=False, base_url=site.url),
        data_dir=data or tmp_path / "data", out=tmp_path / "out", console=Console(file=io.StringIO()),
    )  # fmt: skip


def _said_on_disk(*folders: Path) -> set[tuple[str, str]]:
    return {
        (path.name, word)
        for folder in folders
        for path in folder.rglob("*")
        if path.is_file()
        for word in WORDS
        if word.lower().encode() in path.read_bytes().lower()
    }


@pytest.mark.usefixtures("visited")
async def test_nothing_that_a_visitor_said_is_on_disk_unless_an_owner_wants_it(site, tmp_path):
    result = await _demo(site, tmp_path)
    assert result.presentation.succeeded, result.presentation
    assert "Seagull is moored" in (tmp_path / "out" / "captions.vtt").read_text()
    assert any("no film is kept" in note for note in result.notes) or "demo.mp4" not in result.files
    assert _said_on_disk(tmp_path / "data", tmp_path / "out") == set()
    async with open_runs(tmp_path / "data") as runs:
        visit = await read_visit(runs, result.run_id)
        assert (visit.introduced, visit.name) == (True, None)
        (open_question,) = await list_unanswered(runs, "harbour")
        assert (open_question.words, open_question.run_id) == (None, result.run_id)


@pytest.mark.usefixtures("visited")
async def test_words_that_an_owner_wants_are_in_the_store_and_in_no_file(site, tmp_path, monkeypatch):
    monkeypatch.setenv("PERIPLUS_VISITOR_RETENTION_DAYS", "7")
    result = await _demo(site, tmp_path)
    assert _said_on_disk(tmp_path / "out") == set()
    async with open_runs(tmp_path / "data") as runs:
        visit = await read_visit(runs, result.run_id)
        assert visit.name == NAME
        assert [q.words for q in await list_unanswered(runs, "harbour")] == [QUESTION]


@pytest.mark.usefixtures("visited")
async def test_owners_read_what_visitors_did_and_what_nobody_could_answer(site, tmp_path, monkeypatch):
    monkeypatch.setenv("PERIPLUS_DATA_DIR", str(tmp_path / "data"))
    await _demo(site, tmp_path)
    runner = CliRunner()
    shown = await _run(runner, "runs", "show", "last")
    assert "given, not stored" in shown
    assert "unanswered" in shown
    assert "register  shown in" in shown
    asked = await _run(runner, "runs", "questions")
    assert "not stored" in asked
    assert "PERIPLUS_VISITOR_RETENTION_DAYS" in asked
    (told,) = json.loads(await _run(runner, "runs", "questions", "--json"))
    assert (told["words"], told["flow_id"]) == (None, "harbour_tour")
    whole = json.loads(await _run(runner, "runs", "show", "last", "--json"))
    assert whole["visit"]["introduced"] is True


@pytest.mark.usefixtures("visited")
async def test_a_question_that_was_kept_is_answered_in_one_step_and_the_next_visitor_hears_it(
    site, tmp_path, monkeypatch
):
    monkeypatch.setenv("PERIPLUS_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("PERIPLUS_VISITOR_RETENTION_DAYS", "7")
    await _demo(site, tmp_path)
    runner = CliRunner()
    listed = await _run(runner, "runs", "questions")
    assert "periplus runs answer NUMBER" in listed
    changed = json.loads(
        await _run(runner, "runs", "answer", "1", "Submarines pay by their colour.", "--json")
    )
    assert [(each["kind"], each["after"]) for each in changed["documents"]] == [
        ("presentation_flow", "harbour_tour")
    ]
    own = WebsiteDemo("harbour")  # a sample site's knowledge is read from its files each time
    again = await _demo(site, tmp_path / "again", tmp_path / "data", own)
    assert "Submarines pay by their colour" in (tmp_path / "again" / "out" / "captions.vtt").read_text()
    async with open_runs(tmp_path / "data") as runs:
        assert [q.run_id for q in await list_unanswered(runs, "harbour")] != [again.run_id]
    for wrong, said in (
        ("7", "there is no question 7"),
        ("0", "there is no question 0"),
        ("why?", "--flow is missing"),
    ):
        refused = await asyncio.to_thread(runner.invoke, app, ["runs", "answer", wrong, "x"])
        assert refused.exit_code != 0
        assert said in str(refused.exception or refused.output)


async def _run(runner: CliRunner, *words: str) -> str:
    """In a thread: a command has an event loop of its own."""
    result = await asyncio.to_thread(runner.invoke, app, list(words))
    assert result.exit_code == 0, result.output
    return result.output
