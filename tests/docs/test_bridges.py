"""What docs/bridges.md and docs/reviewing.md say to type does what they say; no option of theirs is missing there."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
import typer

from loaders import read_knowledge_folder
from periplus.cli import main
from periplus.commands import kb
from periplus.commands.kb_export import ExportForm
from periplus.commands.kb_import import ImportForm

ROOT = Path(__file__).resolve().parents[2]
BRIDGES = (ROOT / "docs/bridges.md").read_text(encoding="utf-8")
REVIEWING = (ROOT / "docs/reviewing.md").read_text(encoding="utf-8")


@pytest.fixture
def typed(tmp_path, monkeypatch, capsys):
    """Every command of a document's `sh` blocks, in a folder with the files that it shows."""
    monkeypatch.setenv("PERIPLUS_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "seeds").symlink_to(ROOT / "seeds")

    def run(document):
        for name, content in re.findall(r"`([\w/.]+)`:\n\n```\w+\n(.*?)```", document, re.DOTALL):
            (tmp_path / name).parent.mkdir(exist_ok=True)
            (tmp_path / name).write_text(content)
        lines = "\n".join(re.findall(r"```sh\n(.*?)```", document, re.DOTALL)).splitlines()
        for line in filter(None, lines):
            with pytest.raises(SystemExit) as ended:
                main(shlex.split(line)[1:])
            assert not ended.value.code, (line, capsys.readouterr())
        return tmp_path

    return run


def test_what_goes_out_and_comes_in_is_there(typed):
    folder = typed(BRIDGES)
    assert {each.name for each in (folder / "out").iterdir()} == {
        "pages", "map.mmd", "map.dot", "map.graphml", "llms.txt", "webmcp.html",
    }  # fmt: skip
    assert len((folder / "out/llms.txt").read_text()) <= 4_000
    assert 'toolname="create_agent"' in (folder / "out/webmcp.html").read_text()
    pages, _ = read_knowledge_folder(folder / "drafts/pages")
    assert set(pages.elements("sign_in")) == {"email", "go"}
    sitemap, _ = read_knowledge_folder(folder / "drafts/sitemap")
    assert set(sitemap.screens) == {"home", "orders_item"}


def test_what_reviewing_says_to_type_ends_well(typed):
    typed(REVIEWING)


def test_every_form_and_option_is_described():
    assert [each for each in ExportForm if f"`{each}`" not in BRIDGES] == []
    assert [
        each for each in ImportForm if f"`{each}`" not in BRIDGES and f"--from {each}" not in BRIDGES
    ] == []
    commands = typer.main.get_command(kb.app).commands
    for name, document in (("export", BRIDGES), ("import", BRIDGES), ("diff", REVIEWING)):
        options = {
            option for each in commands[name].params for option in each.opts if option.startswith("--")
        }
        shared = {"--mongodb-url", "--arangodb-url", "--help"}
        assert [option for option in sorted(options - shared) if option not in document] == []
    proposals = commands["proposals"].commands
    assert [name for name in proposals if f"periplus kb proposals {name}" not in REVIEWING] == []
