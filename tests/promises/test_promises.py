"""Every promise of the source documents is shown by tests that exist, or decided otherwise in a note."""

from __future__ import annotations

import importlib

import pytest

from mcp_server.tool_reference import list_tools
from periplus.cli import COMMANDS
from tests.promises.promise_manifest import (
    ROOT,
    Promise,
    find_decision,
    list_tests,
    read_manifest,
    render_sources,
)

DOCUMENTS = read_manifest()
PROMISES = [(document.key, each) for document in DOCUMENTS for each in document.promises]
MOST_OPEN = 0
"""Open promises. The number may only fall."""


def test_all_five_documents_are_there():
    assert [each.key for each in DOCUMENTS] == ["KS", "MA", "PACTS", "WR", "OL"]


def test_every_test_that_is_named_exists():
    named = [(key, each) for key, promise in PROMISES for each in promise.tests]
    missing = [f"{key}: {each}" for key, each in named if each.rpartition("::")[2] not in list_tests(each.partition("::")[0])]  # fmt: skip
    assert missing == []


def test_every_decision_that_is_named_exists():
    assert [
        each.decision for _, each in PROMISES if each.decision and find_decision(each.decision) is None
    ] == []


def test_no_promise_is_written_twice():
    said = [(key, each.section, each.promise) for key, each in PROMISES]
    assert [each for each in said if said.count(each) > 1] == []


def test_what_a_promise_is_reached_through_exists():
    tools = {each.name for each in list_tools()}
    assert [each.through for _, each in PROMISES if each.through and not _exists(each, tools)] == []


def _exists(promise: Promise, tools: set[str]) -> bool:
    kind, _, name = (promise.through or "").partition(" ")
    if kind == "command":
        return name.split()[0] in COMMANDS
    if kind == "mcp":
        return name in tools
    if kind == "python":
        module, _, attribute = name.rpartition(".")
        return hasattr(importlib.import_module(module), attribute)
    return name.startswith("/") or name.partition(" ")[0] in ("GET", "POST", "PUT", "DELETE")


def test_a_python_api_that_a_promise_is_reached_through_is_documented():
    files = [*(ROOT / "docs").glob("*.md"), ROOT / "CONTRIBUTING.md"]
    pages = "".join(each.read_text(encoding="utf-8") for each in files if each.name != "sources.md")
    named = {each.through for _, each in PROMISES if each.through and each.through.startswith("python ")}
    assert [each for each in sorted(named) if each.rpartition(".")[2] not in pages] == []


def test_open_promises_only_become_fewer():
    assert sum(each.open is not None for _, each in PROMISES) <= MOST_OPEN


@pytest.mark.skipif(not DOCUMENTS, reason="there is no manifest")
def test_the_page_of_sources_is_written_from_the_manifest():
    assert (ROOT / "docs" / "sources.md").read_text(encoding="utf-8") == render_sources(DOCUMENTS), (
        "run `python -m tests.promises`"
    )
