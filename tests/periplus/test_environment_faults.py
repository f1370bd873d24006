"""What the machine lacks is said with what to do about it, and is no defect of ours."""

from __future__ import annotations

import errno
import sqlite3

import pytest
from playwright.async_api import Error as DriverError
from rich.console import Console

from periplus.errors import find_environment_fault, report_error
from periplus.exit_codes import ExitCode


def _caused(cause: BaseException) -> Exception:
    error = RuntimeError("the step failed")
    error.__cause__ = cause
    return error


FULL = OSError(errno.ENOSPC, "No space left on device", "out/session.jsonl")
DRIVER = DriverError("Page.goto: Connection closed while reading from the driver")


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (FULL, "the disk is full: out/session.jsonl"),
        (_caused(FULL), "the disk is full"),
        (ExceptionGroup("two", [ValueError("x"), _caused(FULL)]), "the disk is full"),
        (OSError(errno.EROFS, "Read-only file system", "x"), "the disk is read-only: x"),
        (OSError(errno.EMFILE, "Too many open files"), "ulimit -n"),
        (sqlite3.OperationalError("database or disk is full"), "the disk is full"),
        (DRIVER, "Playwright's driver"),
        (_caused(DRIVER), "--resume last"),
    ],
)
def test_it_is_named_with_what_to_do(tmp_path, monkeypatch, error, words):
    monkeypatch.setenv("PERIPLUS_DATA_DIR", str(tmp_path))
    console = Console(record=True, width=200)
    assert report_error(error, console) == ExitCode.FAILED
    said = console.export_text()
    assert words in said
    assert "internal error" not in said
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "error",
    [ValueError("x"), OSError(errno.ENOENT, "No such file", "x"), DriverError("Page.goto: net::ERR_FAILED")],
)
def test_other_errors_are_ours(error):
    assert find_environment_fault(error) is None
