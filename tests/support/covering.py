"""How much of our own code the tests ran (PACTS 11: at least 80 %), measured by SlipCover.

`make test` loads this with `-p`, before anything of ours is imported. Every worker measures itself, whoever
started them adds up: the very run that decides is measured, and what is said is the least it can be, for what
runs in processes of its own (commands, sites, suites) is not counted.
"""

from __future__ import annotations

import json
import os
import tempfile
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from slipcover import FileMatcher, ImportManager, Slipcover, merge_coverage

if TYPE_CHECKING:
    from collections.abc import Generator

VARIABLE = "PERIPLUS_TEST_COVERAGE"
"""Where the processes of one run leave what they measured."""
ROOT = Path(__file__).parents[2]
PACKAGES = ("agent", "kb_schema", "kb_store", "loaders", "mcp_server", "periplus", "web_pages")
ELSEWHERE = ("agent/optimization/probe/*",)
"""Runs in the processes of other people's suites."""
AT_LEAST = 80.0
TOO_LITTLE = 10
"""The exit code of a run that ran too few of our lines, whatever else went wrong: trying tests again mends nothing."""

_sources = [str(ROOT / name) for name in PACKAGES]
_matcher = FileMatcher(sources=_sources, omit=[str(ROOT / each) for each in ELSEWHERE])
_measured = Slipcover(immediate=True, source=_sources, omit=[str(ROOT / each) for each in ELSEWHERE])
ImportManager(_measured, _matcher).__enter__()


def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Let no assertions of `periplus` be rewritten: what pytest's hook loads is not measured.

    pytest registers every package whose distribution has a plugin (`periplus.pytest_plugin`).
    """
    early_config.pluginmanager.rewrite_hook._must_rewrite.discard("periplus")  # type: ignore[attr-defined]


def pytest_configure(config: pytest.Config) -> None:
    """The first process of a run makes the folder; the workers find it."""
    if not hasattr(config, "workerinput"):
        os.environ[VARIABLE] = tempfile.mkdtemp(prefix="periplus-coverage-")


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Leave what was measured; the first process judges it."""
    folder = Path(os.environ[VARIABLE])
    part = folder / f"{os.getpid()}.json"
    part.write_text(json.dumps(_measured.get_coverage()), encoding="utf-8")
    if hasattr(session.config, "workerinput"):
        return
    whole = reduce(merge_coverage, (json.loads(each.read_text()) for each in sorted(folder.glob("*.json"))))
    share = whole["summary"]["percent_covered"]
    session.config.stash[_SHARE] = share
    (folder / "whole.json").write_text(json.dumps(whole), encoding="utf-8")
    if share < AT_LEAST and session.exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
        session.exitstatus = TOO_LITTLE


_SHARE: pytest.StashKey[float] = pytest.StashKey()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> Generator[None]:
    """Say it after all else, for it may be why the run failed, and where it can be read by file."""
    yield
    share = config.stash.get(_SHARE, None)
    if share is not None:
        verdict = "" if share >= AT_LEAST else f": less than the {AT_LEAST:.0f} % that are asked for"
        terminalreporter.write_line(
            f"covered: {share:.1f} % of our lines{verdict} ({os.environ[VARIABLE]}/whole.json)"
        )
