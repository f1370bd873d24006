"""Small files that expand end with exit code 2 and a reason, in a process that stays small."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.hostile.bounded_commands import LONGEST_S, run_bounded
from tests.hostile.generated_files import SIDE
from tests.hostile.hostile_files import FILES, write

pytestmark = [pytest.mark.sampled(0.25), pytest.mark.timeout(LONGEST_S + 60)]

SMALL_FILE = 2_000_000
"""Bytes. The files are small; what they become is not."""
LARGER = {"paths.json"}


def _size(path: Path) -> int:
    return sum(each.stat().st_size for each in ([path] if path.is_file() else path.rglob("*")))


@pytest.mark.parametrize("name", sorted(FILES))
def test_a_file_that_expands_is_refused_in_bounded_memory(tmp_path, name):
    path, command = write(name, tmp_path)
    assert _size(path) < SMALL_FILE or name in LARGER
    done = run_bounded(command, tmp_path)
    said = done.stderr + done.stdout
    assert done.returncode == 2, said[-3_000:]
    inside = [each.name for each in path.rglob("*")] if path.is_dir() else []
    assert any(each in said.replace("\n", "") for each in (path.name, *inside))


def test_a_file_whose_name_is_no_text_is_told_in_escapes(tmp_path):
    path = tmp_path / "\udcff.side"
    path.write_text(json.dumps(SIDE))
    done = run_bounded(("import", str(path), "--out", str(tmp_path / "out")), tmp_path)
    assert done.returncode == 0, done.stderr
    assert "\\udcff.side" in done.stdout
