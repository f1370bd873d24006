"""`periplus review`: a list, or one key after the other in a terminal, each decision written at once."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
import termios
from pathlib import Path

import pytest

from loaders import read_knowledge_folder, write_folder
from periplus.cli import main
from tests.loaders.map_review.test_map_review import both, edge, knowledge_of, screen

ROOT = Path(__file__).parents[3]


@pytest.fixture
def folder(tmp_path):
    knowledge = knowledge_of(
        screen("home", labels=("Search", "Issues", "Users")), screen("issue_20", "Issue 20", ("Reply",)),
        screen("dead", "Calendar", ("Day",)), *both("home", "issue_20"), edge("home", "dead"),
    )  # fmt: skip
    write_folder(knowledge, tmp_path / "maps" / "shop" / "kb")
    pictures = tmp_path / "maps" / "shop" / "pictures"
    pictures.mkdir()
    (pictures / "dead.png").write_bytes(b"")
    return tmp_path / "maps" / "shop" / "kb"


@pytest.fixture
def periplus(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("PERIPLUS_DATA_DIR", str(tmp_path / "data"))

    def run(*args):
        with pytest.raises(SystemExit) as ended:
            main([str(arg) for arg in args])
        return ended.value.code or 0, capsys.readouterr().out

    return run


def test_without_a_terminal_the_list_is_printed_with_the_paths_of_pictures(periplus, folder):
    code, out = periplus("review", "--folder", folder)
    assert code == 0
    assert "1  the name “Issue 20” looks like data" in out
    assert "from Calendar the map leads nowhere" in out
    assert str(folder.parent / "pictures" / "dead.png") in out
    told = json.loads(periplus("review", "--folder", folder, "--json")[1])
    assert [(each["kind"], each["name"], each["picture"] is not None) for each in told] == [
        ("data_name", "issue_20", False), ("no_way_back", "dead", True),
    ]  # fmt: skip


def test_a_loaded_website_is_reviewed_too(periplus, folder):
    periplus("kb", "load", folder)
    code, out = periplus("review")
    assert (code, "looks like data" in out) == (0, True)


class Terminal:
    """The command in a pseudo-terminal."""

    def __init__(self, folder: Path, data: Path) -> None:
        self._fd, there = pty.openpty()
        command = [sys.executable, "-m", "periplus", "review", "--folder", str(folder)]
        environment = {**os.environ, "PERIPLUS_DATA_DIR": str(data), "TERM": "dumb", "COLUMNS": "200"}
        self._process = subprocess.Popen(
            command,
            stdin=there,
            stdout=there,
            stderr=there,
            cwd=ROOT,
            env=environment,
            start_new_session=True,
        )
        os.close(there)
        self._text = ""

    def wait_for(self, text: str) -> None:
        while text not in self._text:
            data = os.read(self._fd, 4096)
            assert data, self._text
            self._text += data.decode()
        self._text = self._text.partition(text)[2]

    def press(self, key: str) -> None:
        """Press a key once the command reads single keys: before, the terminal would drop it."""
        while termios.tcgetattr(self._fd)[3] & termios.ICANON:
            assert self._process.poll() is None, self._text
            os.sched_yield()
        self.send(key)

    def send(self, keys: str) -> None:
        os.write(self._fd, keys.encode())

    def end(self) -> int:
        while True:
            try:
                if not os.read(self._fd, 4096):
                    break
            except OSError:
                break
        code = self._process.wait(30)
        os.close(self._fd)
        return code


def test_each_key_decides_at_once_and_ctrl_c_loses_nothing(folder, tmp_path):
    terminal = Terminal(folder, tmp_path / "data")
    terminal.wait_for("quit")
    terminal.press("r")
    terminal.wait_for("new name")
    terminal.send("Issue details\n")
    terminal.wait_for("Calendar")
    terminal.wait_for("quit")
    assert set(read_knowledge_folder(folder)[0].screens) == {"home", "issue_details", "dead"}
    terminal.press("\x03")
    assert terminal.end() == 130
    terminal = Terminal(folder, tmp_path / "data")
    terminal.wait_for("Calendar")
    terminal.wait_for("quit")
    terminal.press("k")
    assert terminal.end() == 0
    assert read_knowledge_folder(folder)[0].screens["dead"].metadata["reviewed"] == ["no_way_back"]
