"""What a command does when nobody reads its output any more: `periplus run --help | head -1`."""

from __future__ import annotations

import os
import subprocess
import sys


def test_a_closed_pipe_ends_a_command_without_an_error_log(tmp_path):
    environment = os.environ | {"PERIPLUS_DATA_DIR": str(tmp_path / "data")}
    command = [sys.executable, "-m", "periplus", "run", "--help"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=tmp_path, env=environment
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        said = process.stderr.read().decode()
    assert process.returncode == 1
    assert said == ""
    assert not (tmp_path / "data").exists()
