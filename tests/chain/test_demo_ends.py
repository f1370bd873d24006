"""However a demo ends, what there is by then is on disk."""

from __future__ import annotations

import asyncio
import io
import json
import signal
from pathlib import Path

import pytest
from playwright.async_api import Error as PlaywrightError
from rich.console import Console

from agent.media.media_tools import MediaInputError
from agent.presentation.flow_player import FlowPlayer
from periplus.demos import demo_filming_session
from periplus.demos.filmed_demo import DemoSettings, run_demo
from periplus.errors import UserError
from periplus.seed_sites.seed_manifests import find_seed

pytestmark = pytest.mark.sampled(0.5)

HARBOUR = Path(__file__).parent.parent / "data" / "harbour"
LEFT = {"captions.vtt", "captions.srt", "result.json", "report.html", "session"}


async def _demo(site, tmp_path: Path, console: Console | None = None):
    return await run_demo(
        find_seed(str(HARBOUR)), DemoSettings(speed=0, headed=False, base_url=site.url),
        data_dir=tmp_path / "data", out=tmp_path / "out", console=console or Console(file=io.StringIO()),
    )  # fmt: skip


def _left(tmp_path: Path) -> set[str]:
    return {path.name for path in (tmp_path / "out").iterdir()}


async def test_a_defect_in_the_show_is_raised_once_everything_is_on_disk(site, tmp_path, monkeypatch):
    async def defect(*_: object) -> None:
        raise RuntimeError("a defect")

    monkeypatch.setattr(FlowPlayer, "_play_segment", defect)
    with pytest.raises(RuntimeError, match="a defect"):
        await _demo(site, tmp_path)
    assert _left(tmp_path) >= LEFT
    result = json.loads((tmp_path / "out" / "result.json").read_text())
    assert result["interrupted"]
    assert [segment["status"] for segment in result["segments"]] == ["interrupted"]
    assert not json.loads((tmp_path / "out" / "session" / "manifest.json").read_text())["complete"]


@pytest.mark.usefixtures("ffmpeg")
async def test_all_but_the_film_is_there_before_it_is_made_and_ctrl_c_then_changes_nothing(
    site, tmp_path, monkeypatch
):
    there: set[str] = set()

    async def mux(*_: object, **__: object) -> None:
        there.update(_left(tmp_path))
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGTERM)
        await asyncio.sleep(0.1)  # they arrive by way of the loop
        raise MediaInputError("no film today")

    monkeypatch.setattr(demo_filming_session, "mux_film", mux)
    console = Console(file=io.StringIO())
    before = signal.getsignal(signal.SIGINT)
    result = await _demo(site, tmp_path, console)
    assert there >= LEFT
    assert result.presentation.succeeded
    assert not result.presentation.interrupted
    assert console.file.getvalue().count("finishing") == 1
    assert "<video" not in (tmp_path / "out" / "report.html").read_text()
    assert signal.getsignal(signal.SIGINT) is before


async def test_what_a_person_hears_of_an_error_is_without_secrets(site, tmp_path, monkeypatch):
    async def gone(player: FlowPlayer, *_: object) -> None:
        player._session.context.keep_secret("hunter2")
        raise PlaywrightError("cannot type hunter2")

    monkeypatch.setattr(FlowPlayer, "_play_segment", gone)
    with pytest.raises(UserError) as caught:
        await _demo(site, tmp_path)
    assert "hunter2" not in str(caught.value)
    assert "crashed or was closed" in str(caught.value)
