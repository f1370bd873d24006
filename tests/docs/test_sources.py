"""docs/sources.md explains every key by which code and documentation cite a source document."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("agent", "kb_schema", "kb_store", "loaders", "mcp_server", "periplus", "web_pages", "docs")
CITED = re.compile(r"\b(?:KS|MA|PACTS|WR) \d+(?:\.\d+)*")


def cited_sections():
    files = (path for name in PACKAGES for path in (ROOT / name).rglob("*") if path.suffix in {".py", ".md"})
    return {key for path in files for key in CITED.findall(path.read_text(encoding="utf-8"))}


def test_every_cited_section_has_its_row():
    page = (ROOT / "docs" / "sources.md").read_text(encoding="utf-8")
    rows = set(re.findall(r"^\| ((?:KS|MA|PACTS|WR) [\d.]+) \| \*", page, re.MULTILINE))
    assert sorted(cited_sections() - rows) == []
