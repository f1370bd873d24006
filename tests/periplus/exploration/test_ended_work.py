"""Ctrl-C while the knowledge base of a map is built: one sentence, at once, and nothing is lost."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from loaders.exploration_import import ExploredKnowledge
from periplus.errors import UserError
from periplus.exit_codes import ExitCode
from periplus.exploration import map_knowledge_base
from periplus.exploration.ended_work import WorkEnded, run_until_signal
from periplus.exploration.map_folder import MapFolder
from periplus.exploration.map_knowledge_base import check_unedited, write_knowledge_base
from tests.support.explored import drawing

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="asyncio hears no signals on Windows")
ROOT = Path(__file__).parents[3]
_ENDLESS = """
import asyncio, os, signal, threading
from periplus.exploration.ended_work import WorkEnded, run_until_signal

def work():
    os.kill(os.getpid(), signal.SIGINT)
    threading.Event().wait()

async def main():
    try:
        await run_until_signal(work)
    except WorkEnded:
        print("ended")

asyncio.run(main())
"""


def interrupt() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def explored(path: Path) -> MapFolder:
    """A map of one page whose knowledge base is not built yet."""
    folder = MapFolder(path)
    drawing(folder.exploration.path).page(
        "p1", "/", "<main><h1>Quay</h1><a href='/log'>Log</a></main>", start=True
    )
    return folder


async def test_what_the_work_returns_or_raises_is_handed_on():
    assert await run_until_signal(lambda: 3) == 3
    with pytest.raises(ZeroDivisionError):
        await run_until_signal(lambda: 1 // 0)


async def test_a_signal_ends_work_that_goes_on():
    released = threading.Event()

    def work() -> None:
        interrupt()
        released.wait()

    with pytest.raises(WorkEnded):
        await run_until_signal(work)
    released.set()


def test_a_process_does_not_wait_for_the_work_that_was_ended():
    done = subprocess.run(
        [sys.executable, "-c", _ENDLESS], cwd=ROOT, capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout == "ended\n"


async def test_the_pages_stay_and_the_message_says_how_the_knowledge_is_written_from_them(
    tmp_path, monkeypatch
):
    folder = explored(tmp_path / "map")
    released = threading.Event()

    def build(*_: object, **__: object) -> None:
        interrupt()
        released.wait()

    with monkeypatch.context() as patched:
        patched.setattr(map_knowledge_base, "build_knowledge", build)
        with pytest.raises(UserError, match="the pages are stored in") as ended:
            await write_knowledge_base(folder)
        released.set()
    assert ended.value.code is ExitCode.INTERRUPTED
    assert ended.value.fix == f"periplus map --redraw {folder.path} writes it from them"
    assert not folder.knowledge.exists()
    assert (await write_knowledge_base(folder)).knowledge.screens


async def test_writing_that_has_begun_is_finished(tmp_path, monkeypatch):
    folder = explored(tmp_path / "map")
    write_folder = map_knowledge_base.write_folder

    def write(*args: object, **options: object) -> object:
        interrupt()
        return write_folder(*args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(map_knowledge_base, "write_folder", write)
    assert isinstance(await write_knowledge_base(folder), ExploredKnowledge)
    check_unedited(folder)


async def test_a_map_without_a_screen_is_no_success_and_leaves_the_knowledge_base(tmp_path, monkeypatch):
    folder = explored(tmp_path / "map")
    await write_knowledge_base(folder)
    before = {each: each.read_bytes() for each in folder.knowledge.rglob("*") if each.is_file()}
    build = map_knowledge_base.build_knowledge

    def build_nothing(*given, **more):
        made = build(*given, **more)
        assert made.knowledge.screens
        others = {kind: each for kind, each in made.knowledge.by_kind.items() if kind != "screen"}
        none = replace(made.knowledge, by_kind=others)
        return ExploredKnowledge(none, {}, ("Quay is left out: it breaks a rule",))

    monkeypatch.setattr(map_knowledge_base, "build_knowledge", build_nothing)
    with pytest.raises(UserError, match=r"no page became a screen.*Quay is left out") as failed:
        await write_knowledge_base(folder)
    assert failed.value.code == ExitCode.FAILED
    assert {each: each.read_bytes() for each in folder.knowledge.rglob("*") if each.is_file()} == before
