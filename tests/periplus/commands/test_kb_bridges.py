"""`periplus kb export --format ...` and `kb import`: knowledge to and from what other tools have."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from loaders import read_knowledge_folder, write_folder
from periplus.cli import main
from tests.kb_store.sample_knowledge import knowledge_of
from tests.loaders.bridges.test_imports import API, SUITE, sitemap

SEED = Path(__file__).parents[3] / "seeds/spadeworks/kb"


@pytest.fixture
def periplus(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("PERIPLUS_DATA_DIR", str(tmp_path / "data"))

    def run(*args):
        with pytest.raises(SystemExit) as ended:
            main([str(arg) for arg in args])
        told = capsys.readouterr()
        return ended.value.code or 0, told.out, told.err

    return run


@pytest.mark.parametrize(
    ("form", "begins"),
    [("mermaid", "flowchart LR"), ("dot", 'digraph "shop"'), ("graphml", "<?xml"), ("llms", "# `old`")],
)  # fmt: skip
def test_a_map_or_digest_is_a_file_that_is_not_gone_over_unasked(periplus, tmp_path, form, begins):
    write_folder(knowledge_of(), tmp_path / "kb")
    args = ("kb", "export", "--folder", tmp_path / "kb", "--format", form, tmp_path / "out" / "map")
    code, out, _ = periplus(*args)
    assert code == 0
    assert "of shop" in out
    assert (tmp_path / "out/map").read_text().startswith(begins)
    code, _, err = periplus(*args)
    assert code == 2
    assert "--force" in err
    assert periplus(*args, "--force")[0] == 0


def test_page_objects_of_what_is_in_the_store_are_a_package(periplus, tmp_path):
    periplus("kb", "load", SEED)
    args = ("kb", "export", "--website", "spadeworks", "--format", "page-objects")
    code, out, _ = periplus(*args, tmp_path / "pages")
    assert code == 0
    assert "left out AgentListPage: the transition to agent_detail" in out
    assert "25 modules" in out
    assert "class LoginPage(BasePage)" in (tmp_path / "pages/login.py").read_text()
    assert periplus(*args, tmp_path / "pages")[0] == 0
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/x.py").write_text("")
    for target, told in (
        (tmp_path / "no-package", "not a valid Python package name"),
        (tmp_path / "mine", "--force"),
    ):
        code, _, err = periplus(*args, target)
        assert code == 2
        assert told in err
    both = periplus("kb", "export", "--website", "spadeworks", "--folder", SEED, tmp_path / "x")
    assert "--website and --folder cannot be combined" in both[2]
    code, out, _ = periplus("kb", "export", tmp_path / "only")
    assert (code, "spadeworks" in out) == (0, True), "the only website of the store need not be named"


def test_what_a_file_is_is_told_by_its_content_and_the_draft_loads(periplus, tmp_path):
    (tmp_path / "suite").mkdir()
    (tmp_path / "suite/test_shop.py").write_text(SUITE)
    (tmp_path / "map.gz").write_bytes(gzip.compress(sitemap("/", "/about").encode()))
    (tmp_path / "api.json").write_text(json.dumps(API))
    expected = (("suite", "2 screens", 2), ("map.gz", "2 screens", 0), ("api.json", "1 screen", 0))
    for source, told, ends in expected:  # of the suite, a branch and other things are left out
        draft = tmp_path / f"kb-{source}"
        code, out, _ = periplus("kb", "import", tmp_path / source, "--website", "shop", "--out", draft)
        assert code == ends
        assert told in out
        assert periplus("kb", "load", draft, "--replace-learned")[0] == 0


def test_an_api_fills_in_what_a_knowledge_base_does_not_say(periplus, tmp_path):
    (tmp_path / "api.json").write_text(json.dumps(API))
    (tmp_path / "suite").mkdir()
    (tmp_path / "suite/p.py").write_text(
        'class AgentPage:\n    URL = "https://shop.example/agent"\n    def __init__(self, page):\n'
        '        self.agent_name = page.get_by_label("Agent name")\n'
        '        self.greeting = page.get_by_label("Greeting")\n'
    )
    periplus("kb", "import", tmp_path / "suite", "-w", "shop", "--out", tmp_path / "kb")
    code, out, _ = periplus("kb", "import", tmp_path / "api.json", "-w", "shop", "--out", tmp_path / "kb")
    assert code == 0
    assert "screens/agent.yaml" in out
    name = read_knowledge_folder(tmp_path / "kb")[0].elements("agent")["agent_name"]
    assert (name.affordances[0].required, name.affordances[0].validation.max_length) == (True, 40)


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [("x.txt", "hello", "--from"), ("x.py", "print(1)", "--from"), ("x.json", "{", "not JSON"),
     ("x.xml", "<!DOCTYPE a><urlset/>", "document type")],
)  # fmt: skip
def test_what_cannot_be_read_is_refused_in_one_line(periplus, tmp_path, name, content, told):
    (tmp_path / name).write_text(content)
    code, _, err = periplus("kb", "import", tmp_path / name, "--website", "shop", "--out", tmp_path / "kb")
    assert code == 2
    assert told in " ".join(err.split())
    assert not (tmp_path / "kb").exists()


def test_page_objects_somebody_wrote_are_not_gone_over_and_those_of_screens_that_went_are_removed(
    periplus, tmp_path
):
    mine = {"__init__.py": "from .base import Base\n", "base.py": "class Base: ...\n"}
    (tmp_path / "pages").mkdir()
    for name, text in mine.items():
        (tmp_path / "pages" / name).write_text(text)
    write_folder(knowledge_of(screens=3), tmp_path / "kb")
    args = ("kb", "export", "--folder", tmp_path / "kb", "--format", "page-objects", tmp_path / "pages")
    code, _, err = periplus(*args)
    assert (code, "--force" in err) == (2, True)
    assert {each.name: each.read_text() for each in (tmp_path / "pages").iterdir()} == mine
    assert periplus(*args, "--force")[0] == 0
    (tmp_path / "pages/helpers.py").write_text("")
    (tmp_path / "kb").rename(tmp_path / "old")
    write_folder(knowledge_of(screens=2), tmp_path / "kb")
    assert periplus(*args)[0] == 0
    left = {each.name for each in (tmp_path / "pages").iterdir()}
    assert {"screen_1.py", "helpers.py"} <= left
    assert "screen_2.py" not in left


def test_a_knowledge_base_that_is_there_is_not_replaced_by_a_draft_unasked(periplus, tmp_path):
    write_folder(knowledge_of(), tmp_path / "kb")
    before = {each: each.read_bytes() for each in (tmp_path / "kb").rglob("*.yaml")}
    (tmp_path / "map.txt").write_text("https://shop.example/orders\n")
    args = (
        "kb",
        "import",
        tmp_path / "map.txt",
        "--from",
        "sitemap",
        "--website",
        "shop",
        "--out",
        tmp_path / "kb",
    )
    code, _, err = periplus(*args)
    assert (code, "is not empty" in err) == (2, True)
    assert {each: each.read_bytes() for each in (tmp_path / "kb").rglob("*.yaml")} == before
    assert periplus(*args, "--force")[0] == 0
    assert set(read_knowledge_folder(tmp_path / "kb")[0].screens) == {"orders"}
