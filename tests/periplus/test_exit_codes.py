"""The exit codes are one table, and the commands keep to it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from kb_schema.run_records import EvidenceLevel, RunStatus
from periplus.exit_codes import ExitCode, exit_code_for

ROOT = Path(__file__).parents[2]
TABLE = re.compile(r"^\| (\d+) \| (.+?) \| (.+?) \|$", re.MULTILINE)


def test_the_table_of_the_docs_has_every_exit_code_once():
    rows = TABLE.findall((ROOT / "docs/exit-codes.md").read_text(encoding="utf-8"))
    assert [int(code) for code, _, _ in rows] == [int(code) for code in ExitCode]


@pytest.mark.parametrize(
    "file", sorted((ROOT / "periplus/commands").glob("*.py")), ids=lambda file: file.stem
)
def test_a_command_names_only_codes_of_the_table_and_states_none_of_its_own(file):
    text = file.read_text(encoding="utf-8")
    told = " ".join(re.findall(r"Exit codes?:? ((?:.|\n)*?)\"\"\"", text))
    assert {int(code) for code in re.findall(r"(?<![\w-])(\d+) [a-z]{2,}", told)} <= {
        int(code) for code in ExitCode
    }
    assert not re.search(r"typer\.Exit\((code=)?\d", text)


def test_every_status_has_an_exit_code_and_only_evidence_gives_zero():
    codes = {status: exit_code_for(status) for status in RunStatus}
    assert [status for status, code in codes.items() if code is ExitCode.DONE] == [RunStatus.SUCCESS]
    assert codes[RunStatus.UNVERIFIED] is ExitCode.UNVERIFIED
    assert exit_code_for(RunStatus.UNVERIFIED, allow_unverified=True) is ExitCode.DONE
    assert exit_code_for(RunStatus.FAILURE, allow_unverified=True) is ExitCode.FAILED


@pytest.mark.parametrize("evidence", [EvidenceLevel.UNVERIFIED, EvidenceLevel.CONTRADICTED])
def test_a_success_without_evidence_is_none(evidence):
    assert RunStatus.SUCCESS.with_evidence(evidence) is RunStatus.UNVERIFIED
    assert RunStatus.SUCCESS.with_evidence(EvidenceLevel.VERIFIED) is RunStatus.SUCCESS
    assert RunStatus.PARTIAL.with_evidence(evidence) is RunStatus.PARTIAL


def test_output_whose_reader_is_gone_is_no_internal_error():
    process = subprocess.Popen(
        [sys.executable, "-m", "periplus", "demo", "--help"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    process.stdout.close()
    _, said = process.communicate(timeout=60)
    assert (process.returncode, said) == (1, b"")


def test_an_mcp_client_that_is_gone_before_its_answer_is_no_internal_error(tmp_path):
    process = subprocess.Popen(
        [sys.executable, "-m", "periplus", "mcp"],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PERIPLUS_DATA_DIR": str(tmp_path)},
    )
    assert process.stdout is not None
    process.stdout.close()
    begin = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "gone", "version": "1"},
    }
    asked = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": begin}
    _, said = process.communicate(f"{json.dumps(asked)}\n".encode(), timeout=110)
    assert (process.returncode, b"internal error" in said) == (1, False), said
