"""The documentation site: every page is in its navigation, and the generated references leave nothing out."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

from kb_schema.documents import MODELS
from mcp_server.tool_reference import list_tools
from periplus.cli import COMMANDS
from periplus.settings import PeriplusSettings

ROOT = Path(__file__).resolve().parents[2]
NAVIGATION = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:\n")[2]


@pytest.fixture(scope="module")
def reference():
    spec = importlib.util.spec_from_file_location("reference_pages", ROOT / "scripts/reference_pages.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def pages(reference):
    return reference.reference_pages()


def test_every_page_is_in_the_navigation(reference):
    written = {path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")}
    generated = {*reference.reference_pages(), *reference.OUTSIDE.values(), "decisions/index.md"}
    listed = set(re.findall(r": ([\w/-]+\.md)$", NAVIGATION, re.MULTILINE))
    reachable = {page for page in written if not page.startswith(("decisions/", "examples/"))}
    assert sorted(reachable - listed) == []
    assert sorted(listed - written - generated) == []


def test_every_command_setting_tool_and_document_is_in_its_reference(pages):
    assert [name for name in COMMANDS if f"## `periplus {name}`" not in pages["reference/cli.md"]] == []
    settings = {f"`PERIPLUS_{name.upper()}`" for name in PeriplusSettings.model_fields}
    assert sorted(each for each in settings if each not in pages["reference/settings.md"]) == []
    assert [
        each.name for each in list_tools() if f"### `{each.name}`" not in pages["reference/mcp-tools.md"]
    ] == []
    assert [kind for kind in MODELS if f"## {kind}\n" not in pages["reference/documents.md"]] == []
    assert "## `POST /api/run`" in pages["reference/rest.md"]


def test_references_have_no_markup_of_the_terminal(pages):
    assert [path for path, text in pages.items() if re.search(r"\[/?(bold|dim|italic)?\]", text)] == []


def test_every_settings_class_has_its_section(reference):
    sources = (path.read_text(encoding="utf-8") for path in (ROOT / "periplus").rglob("*.py"))
    defined = {
        name for text in sources for name in re.findall(r"^class (\w+)\(BaseSettings\)", text, re.MULTILINE)
    }
    assert defined == {address.partition(":")[2] for address in reference.SETTINGS}


@pytest.mark.parametrize(
    ("source", "link", "wanted"),
    [
        ("index.md", "[x](docs/mcp.md#tools)", "[x](mcp.md#tools)"),
        ("index.md", "[decisions](docs/decisions)", "[decisions](decisions/index.md)"),
        ("mcp.md", "[x](../CONTRIBUTING.md)", "[x](contributing.md)"),
        ("tutorials/tester.md", "[x](../mcp.md)", "[x](../mcp.md)"),
        ("mcp.md", "[site](../seeds/spadeworks)", "site (`seeds/spadeworks`)"),
    ],
)
def test_links_out_of_the_folder_lead_into_the_site(reference, source, link, wanted):
    class Page:
        class file:  # noqa: N801 - MkDocs's name
            src_uri = source

    assert reference.on_page_markdown(link, Page) == wanted
