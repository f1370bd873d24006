"""The data directory and its stores are for their owner only, whatever makes them first."""

from __future__ import annotations

import os

import pytest

from kb_schema.owner_folders import is_open_to_others, make_owner_folder
from periplus.output_folder import prepare_output_folder
from tests.support import warm

pytestmark = pytest.mark.skipif(os.name == "nt", reason="Windows has no such modes")
KNOWLEDGE = "seeds/spadeworks/kb"
REQUIREMENT = '[{"url": "http://127.0.0.1:9/", "steps": [{"element": "Save", "action": "click"}]}]'
COMMANDS = (
    ("kb", "load", KNOWLEDGE),
    ("kb", "status"),
    ("runs", "list"),
    ("mcp", "token", "new"),
    ("run", "no_such_task"),
    ("map", "http://127.0.0.1:9/", "--website", "shop"),
    ("verify", "requirement.json"),
)


@pytest.fixture
def usual_umask():
    before = os.umask(0o022)
    yield
    os.umask(before)


@pytest.mark.usefixtures("usual_umask")
@pytest.mark.sampled(0.4)
@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_nothing_that_a_command_stores_can_be_read_by_others(tmp_path, command):
    (tmp_path / "requirement.json").write_text(REQUIREMENT)
    (tmp_path / "seeds").symlink_to(warm.ROOT / "seeds")
    done = warm.run("periplus", *command, cwd=tmp_path, env={"PERIPLUS_DATA_DIR": ""}, timeout=110)
    made = tmp_path / ".periplus"
    assert made.is_dir(), done.stdout + done.stderr
    assert not is_open_to_others(made)


@pytest.mark.usefixtures("usual_umask")
@pytest.mark.sampled(0.4)
def test_stores_in_a_folder_that_others_can_read_are_not_readable_themselves(tmp_path):
    (tmp_path / "data").mkdir(mode=0o755)
    done = warm.run("periplus", "kb", "load", KNOWLEDGE, env={"PERIPLUS_DATA_DIR": str(tmp_path / "data")})
    assert done.returncode == 0, done.stderr
    stores = list((tmp_path / "data").glob("*.sqlite3*"))
    assert stores
    assert not [each for each in stores if is_open_to_others(each)]
    told = warm.run("periplus", "doctor", "--no-ask", env={"PERIPLUS_DATA_DIR": str(tmp_path / "data")})
    assert "can be read by other users" in told.stdout
    assert "chmod -R go-rwx" in told.stdout


@pytest.mark.usefixtures("usual_umask")
def test_an_output_folder_is_private_within_the_data_directory_only(tmp_path, monkeypatch):
    monkeypatch.setenv("PERIPLUS_DATA_DIR", str(tmp_path / "data"))
    prepare_output_folder(tmp_path / "data" / "runs" / "r1")
    assert not is_open_to_others(tmp_path / "data")
    assert is_open_to_others(prepare_output_folder(tmp_path / "out"))


def test_a_file_in_the_place_of_the_folder_is_an_error(tmp_path):
    (tmp_path / "data").touch()
    with pytest.raises(FileExistsError):
        make_owner_folder(tmp_path / "data")
