"""Every file and folder that a page of the documentation names exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TOP_FOLDERS = (
    "agent|benchmarks|docs|kb_schema|kb_store|loaders|mcp_server|periplus|scripts|seeds|tests|web_pages"
)
NAMED = re.compile(rf"`((?:{TOP_FOLDERS})/[\w./-]*)`")


PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")])


def files_named_in(page):
    return NAMED.findall(page.read_text(encoding="utf-8"))


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_every_named_file_exists(page):
    assert [path for path in files_named_in(page) if not (ROOT / path).exists()] == []


@pytest.mark.parametrize("page", ["docs/architecture.md", "CONTRIBUTING.md"])
def test_pages_that_show_the_way_name_files(page):
    assert len(files_named_in(ROOT / page)) > 40
