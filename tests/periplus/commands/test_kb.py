"""`periplus kb`: what a person sees, and how it ends when something is wrong."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys

import pytest

from kb_schema import KnowledgeBase, SourcedDocument, assemble, parse_document
from loaders import write_folder
from periplus.cli import COMMANDS, main
from tests.kb_store.sample_knowledge import knowledge_of
from tests.kb_store.used_store import lived


@pytest.fixture
def data_dir(tmp_path, monkeypatch):
    monkeypatch.setenv("PERIPLUS_DATA_DIR", str(tmp_path / "data"))
    return tmp_path / "data"


@pytest.fixture
def folder(tmp_path):
    write_folder(knowledge_of(), tmp_path / "kb")
    return tmp_path / "kb"


@pytest.fixture
def periplus(data_dir, capsys):
    def run(*args):
        with pytest.raises(SystemExit) as ended:
            main([str(arg) for arg in args])
        told = capsys.readouterr()
        return ended.value.code or 0, told.out, told.err

    return run


def test_knowledge_is_validated_loaded_and_shown(periplus, folder):
    assert periplus("kb", "validate", folder)[:2] == (0, "valid: 25 documents of shop\n")
    code, out, _ = periplus("kb", "load", folder)
    assert code == 0
    assert out.startswith("loaded shop, generation 1: ")
    for told in ("5 screens", "2 tasks", "4 transitions", "1 error recovery", "4 group memberships"):
        assert told in out
    assert "(in place of 1)" in periplus("kb", "load", folder)[1]
    code, out, _ = periplus("kb", "status")
    assert code == 0
    assert "shop" in out
    assert "complete" in out


def test_load_export_load_export_changes_nothing(periplus, folder, tmp_path):
    periplus("kb", "load", folder)
    code, out, _ = periplus("kb", "export", "--website", "shop", tmp_path / "out")
    assert code == 0
    assert "wrote 25 files" in out
    assert "no difference" in periplus("kb", "diff", tmp_path / "out")[1]
    assert json.loads(periplus("kb", "diff", "--json", tmp_path / "out")[1])["entries"] == []
    for file in folder.rglob("*.yaml"):
        assert file.read_bytes() == (tmp_path / "out" / file.relative_to(folder)).read_bytes()


def test_what_a_load_would_change_is_shown_as_a_tree(periplus, folder, tmp_path):
    code, out, _ = periplus("kb", "diff", folder)
    assert code == 0
    assert "not in the store yet" in out
    periplus("kb", "load", folder)
    write_folder(knowledge_of(screens=3), tmp_path / "other")
    code, out, _ = periplus("kb", "diff", tmp_path / "other")
    assert code == 0
    for line in ("screen (1)", "- screen_3", "~ t_2", "$._to"):
        assert line in out


def _pressing(name: str) -> KnowledgeBase:
    """The shop, whose workflow presses a button that is known by a fingerprint with this name."""
    fingerprint = {"role": "button", "name": name}
    press = {"action_type": "click", "target": "#go", "fingerprint": fingerprint}
    order = parse_document({"type": "task", "task_id": "order", "steps": [{"action": press}]})
    others = [each for each in knowledge_of().documents() if (each.kind, each.local_id) != ("task", "order")]
    return assemble([SourcedDocument(each) for each in (*others, order)])[0]


def test_a_changed_fingerprint_of_a_workflows_step_is_a_difference(periplus, tmp_path):
    write_folder(_pressing("Order"), tmp_path / "before")
    write_folder(_pressing("Order now"), tmp_path / "after")
    assert periplus("kb", "load", tmp_path / "before")[0] == 0
    code, out, _ = periplus("kb", "diff", tmp_path / "after", "--exit-code")
    assert code == 1
    for line in ("~ order", '$.steps[step_1].action.fingerprint.name "Order" -> "Order now"'):
        assert line in out
    assert "screen (" not in out
    told = json.loads(periplus("kb", "diff", tmp_path / "after", "--json")[1])
    assert [(each["change"], each["kind"], each["id"]) for each in told["entries"]] == [
        ("changed", "task", "order")
    ]
    assert periplus("kb", "diff", tmp_path / "before", "--exit-code")[0] == 0


def test_two_folders_differ_in_words_for_a_pull_request_without_a_store(periplus, folder, tmp_path):
    write_folder(knowledge_of(screens=3), tmp_path / "other")
    args = ("kb", "diff", tmp_path / "other", "--against", folder)
    code, out, _ = periplus(*args, "--format", "markdown", "--exit-code")
    assert code == 1
    assert out.startswith(
        "### Knowledge of `shop`: 1 screen removed, 1 transition changed, 1 transition removed"
    )
    assert "<details><summary><b>changed</b>" in out
    told = json.loads(periplus(*args, "--format", "json")[1])
    assert told["headline"].startswith("1 screen removed")
    assert told["entries"][0] == {
        "change": "removed", "kind": "screen", "id": "screen_3", "words": "old (screen_3) with 1 element",
    }  # fmt: skip
    code, out, _ = periplus("kb", "diff", folder, "--against", folder, "--exit-code")
    assert (code, out.startswith("no difference")) == (0, True)


def test_json_is_for_scripts(periplus, folder):
    loaded = json.loads(periplus("kb", "load", "--json", folder)[1])["loaded"]
    assert (loaded["website_id"], loaded["counts"]["screen"]) == ("shop", 5)
    status = json.loads(periplus("kb", "status", "--json")[1])
    assert status["healthy"] is True
    assert status["websites"][0]["counts"] == loaded["counts"]
    assert json.loads(periplus("kb", "validate", "--json", folder)[1])["valid"] is True


def test_status_counts_what_has_no_generation_and_says_what_waits_for_a_person(periplus, folder, data_dir):
    periplus("kb", "load", folder)
    assert "learned   nothing yet\n  proposals none\n  runs      none\n" in periplus("kb", "status")[1]
    asyncio.run(lived(data_dir))
    code, out, _ = periplus("kb", "status")
    assert code == 0
    for line in (
        "learned   from outcomes of 2 transitions, 1 element strategy\n",
        "proposals 1 rejected, 2 open (`periplus kb proposals list`)\n",
        "runs      3 runs: 1 success, 1 needs person, 1 unfinished\n",
    ):
        assert line in out
    (website,) = json.loads(periplus("kb", "status", "--json")[1])["websites"]
    assert website["learned"] == {"transition": 2, "recovery": 0, "element": 1}
    assert website["proposals"] == {"proposed": 2, "accepted": 0, "rejected": 1, "replaced": 0}
    none = {"unverified": 0, "partial": 0, "degraded": 0, "failure": 0}
    assert website["runs"] == {**none, "success": 1, "needs_person": 1, "unfinished": 1}


def test_bad_knowledge_is_refused_with_every_problem_and_loses_nothing(periplus, folder):
    periplus("kb", "load", folder)
    transition = folder / "transitions/t_0.yaml"
    transition.write_text(transition.read_text().replace("screen_1", "screen_11"))
    (folder / "tasks/order.yaml").write_text("task_id: order\nsteps: [\n")
    for command in ("load", "validate", "diff"):
        code, out, err = periplus("kb", command, folder)
        assert (code, out) == (2, "")
        assert "tasks/order.yaml" in err
        assert "line 3" in err
        assert "Traceback" not in err
    problems = json.loads(periplus("kb", "validate", "--json", folder)[1])["problems"]
    assert problems[0]["source"] == "tasks/order.yaml"
    (folder / "tasks/order.yaml").unlink()
    code, _, err = periplus("kb", "load", folder)
    assert code == 2
    for told in (
        "transitions/t_0.yaml",
        "$._to",
        'no screen "screen_11"',
        'did you mean "screen_1"?',
        'no task "order"',
    ):
        assert told in err
    (website,) = json.loads(periplus("kb", "status", "--json")[1])["websites"]
    assert (website["generation"], website["whole"], website["leftovers"]) == (1, True, [])


@pytest.mark.parametrize(
    ("args", "message", "fix"),
    [
        (["kb", "load", "nowhere"], "no such folder", "website.yaml"),
        (["kb", "export", "--website", "shp", "out"], "no website 'shp'", 'did you mean "shop"?'),
        (["kb", "schema", "scren"], "'scren'", 'did you mean "screen"?'),
        (["kb", "export", "-w", "a", "--folder", "b", "out"], "cannot be combined", "give one of them"),
        (["kb", "lod", "x"], "no such command 'lod'", ""),
        (["kab"], "no command 'kab'", ""),
    ],
)
def test_a_mistake_is_one_message_with_a_way_out(periplus, folder, args, message, fix):
    periplus("kb", "load", folder)
    code, out, err = periplus(*args)
    assert (code, out) == (2, "")
    assert message in err
    assert fix in err
    assert "Traceback" not in err


def test_a_folder_inside_a_knowledge_base_is_refused_with_the_folder_to_name(periplus, folder):
    code, _, err = periplus("kb", "load", folder / "screens")
    assert code == 2
    assert f"name the folder that holds website.yaml: {folder}" in err


def test_an_export_does_not_overwrite_what_it_did_not_write(periplus, folder, tmp_path):
    periplus("kb", "load", folder)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/notes.txt").write_text("mine")
    code, _, err = periplus("kb", "export", "-w", "shop", tmp_path / "mine")
    assert code == 2
    assert "notes.txt" in err
    assert "--force" in err
    assert periplus("kb", "export", "-w", "shop", "--force", tmp_path / "mine")[0] == 0
    assert (tmp_path / "mine/notes.txt").read_text() == "mine"


def test_a_store_that_cannot_be_opened_is_named(periplus, data_dir):
    data_dir.parent.mkdir(exist_ok=True)
    data_dir.write_text("a file")
    for command in ("status", "init"):
        code, out, err = periplus("kb", command)
        assert code == 2
        assert str(data_dir) in out + err
        assert "PERIPLUS_DATA_DIR" in out + err


def test_a_defect_is_one_short_message_and_a_log(periplus, data_dir, monkeypatch):
    def broken(_path):
        raise ZeroDivisionError("secret detail")

    monkeypatch.setattr("periplus.commands.kb_load.read_knowledge_folder", broken)
    code, out, err = periplus("kb", "validate", "x")
    assert (code, out) == (1, "")
    (log,) = (data_dir / "logs").iterdir()
    assert str(log) in err
    assert "secret detail" not in err
    assert "secret detail" in log.read_text()


def test_interrupting_ends_with_130(periplus, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("periplus.commands.kb_load.read_foreign", interrupted)
    code, _, err = periplus("kb", "validate", "x")
    assert code == 130
    assert "Traceback" not in err


def test_schemas_are_shown_and_written(periplus, tmp_path):
    assert json.loads(periplus("kb", "schema", "screen")[1])["title"] == "Screen"
    assert len(json.loads(periplus("kb", "schema")[1])) == 14
    assert periplus("kb", "schema", "--out", tmp_path / "schemas")[0] == 0
    assert len(list((tmp_path / "schemas").glob("*.schema.json"))) == 14


@pytest.mark.parametrize(
    "command", [[], ["kb"], *(["kb", c] for c in ("load", "validate", "export", "status", "schema", "diff"))]
)
def test_every_help_page_teaches_with_an_example(periplus, command):
    code, out, _ = periplus(*command, "--help")
    assert code == 0
    assert "Usage: periplus" in out
    if len(command) == 2:
        assert f"Example: periplus kb {command[1]}" in out


def test_every_command_is_told_in_the_help_without_being_imported():
    code = (
        "import sys; from periplus.cli import main\n"
        "try: main(['--help'])\n"
        "except SystemExit: pass\n"
        "heavy = {'pydantic', 'playwright', 'mcp', 'kb_schema', 'sqlite3', 'asyncio'} & set(sys.modules)\n"
        "sys.exit(f'imported {heavy}' if heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    for name in COMMANDS:
        assert name in done.stdout


def test_python_dash_m_is_the_same_command(data_dir):
    done = subprocess.run(
        [sys.executable, "-m", "periplus", "--version"], capture_output=True, text=True, check=False
    )
    assert done.stdout.startswith("periplus ")
