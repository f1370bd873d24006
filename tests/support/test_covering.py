"""A test run that covers too little of our code fails (PACTS 11)."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.support import covering

pytestmark = pytest.mark.sampled(0.3)


def run_tests(folder, body: str):
    (folder / "test_it.py").write_text(body, encoding="utf-8")
    (folder / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "tests.support.covering", "test_it.py"]
    told = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(covering.ROOT), "PYTEST_ADDOPTS": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    return told.returncode, told.stdout + told.stderr


def test_a_run_that_covers_less_than_the_limit_fails_and_says_so(tmp_path):
    code, said = run_tests(tmp_path, "import kb_schema\n\ndef test_it():\n    assert kb_schema\n")
    assert code == covering.TOO_LITTLE, said
    assert "1 passed" in said
    assert f"less than the {covering.AT_LEAST:.0f} % that are asked for" in said
    assert covering.AT_LEAST >= 80
