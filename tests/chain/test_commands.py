"""`periplus demo` and `periplus run` as a newcomer meets them: files, messages, exit codes, processes."""

from __future__ import annotations

import asyncio
import json
import os
import select
import signal
import subprocess
import sys
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from agent.media.media_probe import grab_frame, probe_media
from tests.support import warm
from tests.support.processes import descendants, process_is_alive
from tests.support.warm import Started

pytestmark = pytest.mark.sampled(0.3)

HARBOUR = str(Path(__file__).parent.parent / "data" / "harbour")


def periplus(*arguments: str, cwd: Path, env: dict[str, str] | None = None) -> CompletedProcess[str]:
    return warm.run("periplus", *arguments, cwd=cwd, env={"COLUMNS": "200", **(env or {})})


@pytest.mark.usefixtures("ffmpeg")
async def test_a_demo_leaves_a_film_captions_a_report_and_a_trace(tmp_path):
    command = [sys.executable, "-m", "periplus", "demo", HARBOUR]  # from nothing, as a newcomer does
    hurried = ["--speed", "4", "--window", "90"]  # time enough for every segment on a busy machine
    done = await asyncio.to_thread(
        subprocess.run, [*command, *hurried, "--headless", "--out", "film"], cwd=tmp_path,
        env={**os.environ, "COLUMNS": "200"}, capture_output=True, text=True, timeout=100, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    folder = tmp_path / "film"
    info = await probe_media(folder / "demo.mp4")
    kinds = {stream.codec for stream in info.streams}
    assert {"h264", "mov_text"} <= kinds
    assert [chapter.title for chapter in info.chapters] == ["Hello", "Register", "Look"]
    result = json.loads((folder / "result.json").read_text())
    assert result["succeeded"]
    assert abs(info.duration_s - result["duration_s"]) < 1.5
    first = await grab_frame(folder / "demo.mp4", 0.5, tmp_path / "first.jpg")
    last = await grab_frame(folder / "demo.mp4", info.duration_s - 0.5, tmp_path / "last.jpg")
    assert first.read_bytes() != last.read_bytes()
    assert "Her name is Seagull," in (folder / "captions.vtt").read_text()
    report = (folder / "report.html").read_text()
    assert "http://" not in report.replace("http://127.0.0.1", "").replace("http://www.w3.org", "")
    assert report.count("data:image/jpeg;base64,") == 3
    assert "<svg" in report
    manifest = json.loads((folder / "session" / "manifest.json").read_text())
    assert manifest["complete"]
    lines = [
        json.loads(line)
        for line in (folder / "session" / manifest["turns"][0]["path"]).read_text().splitlines()
    ]
    actions = ["navigate", "click", "fill", "select_option", "click"]
    assert [line["action_type"] for line in lines] == actions
    assert all(line["body_html_after_last_action"] for line in lines)
    assert all(line["body_html_before_last_action"] for line in lines[1:])


def test_ctrl_c_ends_a_demo_in_good_order_and_keeps_what_there_is(tmp_path):
    process = _start("demo", HARBOUR, "--speed", "1", "--headless", "--out", "film", cwd=tmp_path)
    _read_until(process, "[2/4]")
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 130, out
    assert "stopped: 1 of 4 segments shown" in out
    result = json.loads((tmp_path / "film" / "result.json").read_text())
    assert result["interrupted"]
    assert [segment["status"] for segment in result["segments"]] == ["shown", "interrupted"]
    assert "1 of 4" in (tmp_path / "film" / "report.html").read_text()
    assert not json.loads((tmp_path / "film" / "session" / "manifest.json").read_text())["complete"]
    assert (tmp_path / "film" / "report.html").is_file()
    assert (tmp_path / "film" / "demo.mp4").stat().st_size > 0


@pytest.mark.usefixtures("ffmpeg")
def test_ctrl_c_while_the_film_is_finished_changes_nothing(tmp_path):
    process = _start("demo", HARBOUR, "--speed", "1", "--headless", "--out", "film", cwd=tmp_path)
    _read_until(process, "[2/4]")
    process.send_signal(signal.SIGINT)
    process.send_signal(signal.SIGINT)  # may be one with the first
    _read_until_file(tmp_path / "film" / "report.html", process)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 130, out
    assert out.count("finishing") == 1
    assert "stopped" in out
    assert {path.name for path in (tmp_path / "film").iterdir()} >= {
        "demo.mp4", "captions.vtt", "captions.srt", "result.json", "report.html", "session",
    }  # fmt: skip


def test_a_killed_demo_leaves_no_process_behind_and_a_whole_knowledge_base(tmp_path):
    process = _start("demo", HARBOUR, "--speed", "1", "--headless", "--out", "film", cwd=tmp_path)
    _read_until(process, "[2/4]")
    children = descendants(process.pid)
    assert len(children) >= 3  # the site, Playwright's driver, Chromium's processes
    process.kill()
    process.communicate(timeout=60)
    _gone(children)
    status = periplus("kb", "status", "--json", cwd=tmp_path)
    assert status.returncode == 0, status.stderr
    assert "harbour" in status.stdout


def test_a_demo_whose_browser_is_killed_says_so_and_keeps_what_there_is(tmp_path):
    process = _start("demo", HARBOUR, "--speed", "1", "--headless", "--out", "film", cwd=tmp_path)
    _read_until(process, "[2/4]")
    children = descendants(process.pid)
    browsers = [pid for pid in children if "--remote-debugging" in _command_of(pid)]
    assert browsers
    for pid in browsers:
        os.kill(pid, signal.SIGKILL)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 1, out
    assert "the browser crashed or was closed" in out
    assert json.loads((tmp_path / "film" / "result.json").read_text())["interrupted"]
    assert (tmp_path / "film" / "report.html").is_file()
    _gone(children)


def test_a_demo_whose_site_is_killed_ends_as_incomplete(tmp_path):
    process = _start("demo", HARBOUR, "--speed", "2", "--headless", "--out", "film", cwd=tmp_path)
    _read_until(process, "[2/4]")
    children = descendants(process.pid)
    for pid in children:
        if "site.py" in _command_of(pid):
            os.kill(pid, signal.SIGKILL)
    out, _ = process.communicate(timeout=90)
    assert process.returncode == 1, out
    assert "incomplete" in out
    assert "Traceback" not in out
    _gone(children)


def test_run_prints_its_result_as_json_and_tells_by_its_exit_code(site, tmp_path):
    assert periplus("kb", "load", f"{HARBOUR}/kb", cwd=tmp_path).returncode == 0
    base = ["--base-url", site.url, "--headless", "--out"]
    done = periplus("run", "register_boat", *base, "done", "-i", "boat_name=Skua", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["outputs"] == {"moored": "Skua"}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["register_boat"], ["needs the input 'boat_name'", "-> give it with --input boat_name=VALUE"]),
        (["register_boat", "-i", "boat_nam=Skua"], ["register_boat has no input 'boat_nam'", '-> did you mean "boat_name"?']),
        (["registr_boat", "-i", "boat_name=Skua"], ["no task 'registr_boat'", '-> did you mean "register_boat"?']),
        (["nope"], ["no task 'nope'", "-> known: cast_off_all, cast_off_one, register_boat"]),
        (["--goal", "nope"], ["no screen 'nope'", "-> known: "]),
        (["--undo", "nope"], ["no run 'nope'"]),
    ],
)  # fmt: skip
def test_a_run_that_cannot_begin_is_refused_before_a_browser_opens(tmp_path, arguments, words):
    assert periplus("kb", "load", f"{HARBOUR}/kb", cwd=tmp_path).returncode == 0
    done = periplus("run", *arguments, cwd=tmp_path, env={"PERIPLUS_CHROMIUM": "/no/such/browser"})
    assert done.returncode == 2, done.stdout + done.stderr
    for each in words:
        assert each in done.stdout + done.stderr
    assert "list_tasks" not in done.stdout + done.stderr
    assert "search_knowledge" not in done.stdout + done.stderr
    assert not (tmp_path / "out").exists(), "no folder is left behind"
    assert json.loads(periplus("runs", "list", "--json", cwd=tmp_path).stdout) == []


def test_a_folder_that_holds_a_session_or_is_a_file_is_not_written_to(tmp_path):
    (tmp_path / "old" / "session").mkdir(parents=True)
    (tmp_path / "old" / "session" / "manifest.json").write_text("{}")
    (tmp_path / "file").write_text("precious")
    for command in (["demo", HARBOUR], ["run", "register_boat"]):
        for name, words in {"old": "session of another run", "file": "is a file"}.items():
            done = periplus(*command, "--out", name, cwd=tmp_path)
            assert done.returncode == 2, done.stdout + done.stderr
            assert words in done.stderr
            assert "--out" in done.stderr
    assert (tmp_path / "file").read_text() == "precious"


def test_a_run_whose_browser_is_killed_says_so_and_its_session_is_not_complete(site, tmp_path):
    assert periplus("kb", "load", f"{HARBOUR}/kb", cwd=tmp_path).returncode == 0
    process = _start(
        "run", "register_boat", "-i", "boat_name=Skua", "-i", "length=7",  # no such length: it waits
        "--base-url", site.url, "--headless", "--out", "o", cwd=tmp_path,
    )  # fmt: skip
    _read_until(process, "register_boat.fill_name")
    for pid in descendants(process.pid):
        if "--remote-debugging" in _command_of(pid):
            os.kill(pid, signal.SIGKILL)
    out, _ = process.communicate(timeout=60)
    assert process.returncode in (1, 2), out
    assert "Traceback" not in out
    assert "internal error" not in out
    manifest = json.loads((tmp_path / "o" / "session" / "manifest.json").read_text())
    assert manifest["complete"] == (process.returncode == 1)


@pytest.mark.parametrize(
    ("arguments", "env", "words"),
    [
        (["demo", "spadewrks"], {}, ["no demo 'spadewrks'", "spadeworks"]),
        (["demo", HARBOUR, "--flow", "nope"], {}, ["no flow 'nope'", "harbour_tour"]),
        (["demo", HARBOUR, "--base-url", "http://127.0.0.1:9"], {}, ["127.0.0.1:9", "cannot be opened"]),
        (["demo", HARBOUR], {"PERIPLUS_CHROMIUM": "/no/such/browser"}, ["no Chromium", "/no/such/browser"]),
        (["run", "x", "-i", "novalue"], {}, ["novalue", "NAME=VALUE"]),
        (["run", "x"], {}, ["the store is empty", "periplus kb load"]),
    ],
)
def test_what_a_person_can_put_right_is_one_clear_message_and_exit_code_2(tmp_path, arguments, env, words):
    done = periplus(*arguments, cwd=tmp_path, env=env)
    assert done.returncode == 2, done.stdout + done.stderr
    for word in words:
        assert word in done.stderr
    assert "Traceback" not in done.stderr


def test_an_unknown_task_is_told_with_what_was_meant(site, tmp_path):
    assert periplus("kb", "load", f"{HARBOUR}/kb", cwd=tmp_path).returncode == 0
    done = periplus("run", "registr_boat", "--base-url", site.url, "--headless", cwd=tmp_path)
    assert done.returncode == 2
    assert "register_boat" in done.stderr


def test_a_malformed_seed_is_named_with_file_place_and_fix(tmp_path):
    seed = tmp_path / "bad"
    (seed / "kb").mkdir(parents=True)
    (seed / "seed.yaml").write_text("name: bad\nsite: {script: site.py}\n")
    (seed / "kb" / "website.yaml").write_text(
        "type: website\nwebsite_id: bad\nname: Bad\nbase_url: nowhere\n"
    )
    done = periplus("demo", str(seed), cwd=tmp_path)
    assert done.returncode == 2
    assert "website.yaml" in done.stderr
    assert "$.base_url" in done.stderr
    (seed / "seed.yaml").write_text("name: bad\nsyte: {}\n")
    done = periplus("demo", str(seed), cwd=tmp_path)
    assert done.returncode == 2
    assert "seed.yaml" in done.stderr
    assert "syte" in done.stderr


def test_a_site_that_does_not_start_is_told_with_its_last_words(tmp_path):
    seed = tmp_path / "mute"
    seed.mkdir()
    (seed / "kb").symlink_to(Path(HARBOUR) / "kb")
    (seed / "seed.yaml").write_text("name: mute\nsite: {script: site.py}\n")
    (seed / "site.py").write_text("raise SystemExit('no harbour today')\n")
    done = periplus("demo", str(seed), cwd=tmp_path)
    assert done.returncode == 2
    assert "did not start" in done.stderr
    assert "no harbour today" in done.stderr


def _start(*arguments: str, cwd: Path) -> Started:
    return warm.start("periplus", *arguments, cwd=cwd, env={"COLUMNS": "200"}, streamed=True)


def _command_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    except OSError:
        return ""


def _read_until(process: Started, words: str) -> None:
    lines = []
    for line in process.stdout:
        lines.append(line)
        if words in line:
            return
    pytest.fail(f"{words!r} was never said:\n{''.join(lines)}")


def _read_until_file(path: Path, process: Started) -> None:
    while not path.exists():
        assert process_is_alive(process.pid), "it ended without the file"
        select.select([], [], [], 0.005)


def _gone(pids: list[int]) -> None:
    """Every process ends by itself; waits on its pidfd, at most 15 s in all."""
    for pid in pids:
        try:
            handle = os.pidfd_open(pid)
        except ProcessLookupError:
            continue
        select.select([handle], [], [], 15)
        os.close(handle)
    assert [pid for pid in pids if process_is_alive(pid)] == []
