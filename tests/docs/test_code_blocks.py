"""Whatever a Python block of the documentation imports exists."""

from __future__ import annotations

import ast
import importlib
import re
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = {"agent", "kb_schema", "kb_store", "loaders", "mcp_server", "periplus", "web_pages"}
PAGES = sorted(
    path for path in (ROOT / "docs").rglob("*.md") if "```python" in path.read_text(encoding="utf-8")
)


def imports_of(page):
    for block in re.findall(
        r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    ):
        for node in ast.walk(ast.parse(textwrap.dedent(block))):
            if isinstance(node, ast.ImportFrom) and node.module.split(".")[0] in PACKAGES:
                yield from ((node.module, name.name) for name in node.names)


def test_some_page_has_imports():
    assert [page for page in PAGES if list(imports_of(page))]


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_every_import_of_a_page_exists(page):
    missing = [
        f"{module}.{name}"
        for module, name in imports_of(page)
        if not hasattr(importlib.import_module(module), name)
    ]
    assert missing == []
