"""Typical mistakes on the command line: each is told in one line with what to do, and leaves no folder behind.

Others are in `test_commands.py`. None of these starts a browser or reaches a site.
"""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from mcp_server.tool_reference import list_tools
from tests.support import warm
from tests.zoo.registry.serving import free_port

pytestmark = pytest.mark.sampled(0.3)

ROOT = Path(__file__).parents[2]
SPADEWORKS, HARBOUR = ROOT / "seeds/spadeworks/kb", ROOT / "tests/data/harbour/kb"
NOWHERE = "http://127.0.0.1:9"
INPUTS = ("-i", "agent_name=Ada", "-i", "email=demo@spadeworks.example")


@pytest.fixture(scope="module")
def loaded(tmp_path_factory):
    """A folder with a loaded knowledge base, a file of rows, a text that is no workbook, and a folder that is empty."""
    folder = tmp_path_factory.mktemp("loaded")
    assert warm.run("periplus", "kb", "load", str(SPADEWORKS), cwd=folder).returncode == 0
    (folder / "rows.csv").write_text("agent_name\nAda\n")
    (folder / "book.xlsx").write_text("no workbook")
    (folder / "empty").mkdir()
    return folder


@pytest.fixture
def folder(loaded, tmp_path):
    """A copy of it, so that what a mistake leaves behind is seen."""
    return shutil.copytree(loaded, tmp_path / "work")


MISTAKES = [
    # commands and options
    (["verfy", "x.csv"], "no command 'verfy'", 'did you mean "verify"?'),
    (["frobnicate"], "no command 'frobnicate'", "`periplus --help` lists the commands"),
    (["task"], "no command 'task'", 'did you mean "tasks"?'),
    (["kb", "sttus"], "no such command 'sttus'", "did you mean 'status'?"),
    (["runs", "shw"], "no such command 'shw'", "did you mean 'show'?"),
    (["--verison"], "no option --verison", "did you mean --version?"),
    (["run", "x", "--inptu", "a=b"], "no option --inptu", "did you mean --input?"),
    (["serve", "--port", "99999"], "--port: expected at most 65535, found '99999'", "periplus serve --help"),
    (["run", "x", "--step-timeout", "long"], "--step-timeout: expected a number, found 'long'", "periplus run --help"),
    (["demo", "--speed", "quick"], "--speed: expected a number, found 'quick'", "periplus demo --help"),
    (["demo", "--format", "avi"], "--format: 'avi' is not one of 'mp4', 'gif'", "periplus demo --help"),
    (["review", "extra"], "unexpected extra argument", "periplus review --help"),
    (["snapshot", "http://127.0.0.1"], "missing option '--out'", "periplus snapshot --help"),
    (["synthesize", "traces"], "missing option '--name'", "periplus synthesize --help"),
    (["workflows", "versions"], "missing argument 'WORKFLOW'", "periplus workflows versions --help"),
    (["kb", "load"], "missing argument", "periplus kb load --help"),
    # run
    (["run"], "expected a task, --goal, --resume or --undo", "periplus tasks"),
    (["run", "create_agnt"], "no task 'create_agnt'", 'did you mean "create_agent"?'),
    (["run", "create_agent"], "needs the input 'agent_name'", "--input agent_name=VALUE"),
    (["run", "create_agent", "-i", "agentname=Ada"], "create_agent has no input 'agentname'", 'did you mean "agent_name"?'),
    (["run", "create_agent", "-i", "nope=Ada", *INPUTS], "create_agent has no input 'nope'", "the inputs are: agent_name"),
    (["run", "--goal", "agent_list", "-i", "nope=1"], "the way to a screen has no input 'nope'", "for signing in:"),
    (["run", "create_agent", "-i", "agent_name"], "expected NAME=VALUE", 'for example --input agent_name="Ada"'),
    (["run", "create_agent", *INPUTS], "task 'login' needs the input 'password'", "PERIPLUS_SECRET_PASSWORD"),
    (["run", "--goal", "agnt_list"], "no screen 'agnt_list'", 'did you mean "agent_list"?'),
    (["run", "create_agent", "--goal", "nope", *INPUTS], "no screen 'nope'", "known: agent_create"),
    (["run", "create_agent", "--website", "spadwork"], "no website 'spadwork'", 'did you mean "spadeworks"?'),
    (["run", "create_agent", "--base-url", "localhost:8080", *INPUTS], "'localhost:8080' is not a web address", "http://"),
    (["run", "create_agent", "--resume", "last"], "cannot be combined", "periplus run --resume last"),
    (["run", "create_agent", "--it-happened"], "need --resume", "--resume RUN"),
    (["run", "--undo", "last", "--goal", "agent_list"], "--undo and --goal cannot be combined", "undo first"),
    (["run", "--resume", "abc"], "no run 'abc'", "periplus runs list"),
    (["run", "--undo", "abc"], "no run 'abc'", "periplus runs list"),
    # lists
    (["tasks", "--website", "spadwork"], "no website 'spadwork'", 'did you mean "spadeworks"?'),
    (["runs", "show", "abc"], "no run 'abc'", "periplus runs list"),
    (["workflows", "versions", "nope"], "no workflow 'nope'", "periplus workflows"),
    (["workflows", "rollback", "nope"], "no workflow 'nope'", "periplus workflows"),
    # demo
    (["demo", "spadwroks"], "no demo 'spadwroks'", "built-in demos: spadeworks"),
    (["demo", "--flow", "x"], "no flow 'x'", "spadeworks_demo, spadeworks_tour"),
    (["demo", "--base-url", "localhost"], "'localhost' is not a web address", "http://"),
    (["demo", "-i", "a=b"], "signing in is only for --website", "add --website ID"),
    (["demo", "--workers", "2"], "--workers needs --rehearse", "add --rehearse"),
    (["demo", "--website", "nope"], "no website 'nope'", "periplus kb load DIR"),
    # verify, collect, optimize
    (["verify", "x.csv", "--base-url", NOWHERE], "x.csv there is no such file", "correct the path"),
    (["verify", "book.xlsx", "--base-url", NOWHERE], "book.xlsx", "->"),
    (["verify", "rows.csv", "--base-url", NOWHERE], "rows.csv", "->"),
    (["collect", "create_agnt", "--inputs", "rows.csv"], "no task 'create_agnt'", 'did you mean "create_agent"?'),
    (["collect", "create_agent", "--inputs", "x.csv"], "x.csv does not exist", "name a .csv, .tsv or .jsonl file"),
    (["collect", "create_agent", "--inputs", "rows.csv", "--workers", "many"], "--workers 'many' is invalid", "64"),
    (["optimize", "nothere"], "nothere: no such file or folder", "name files or folders with tests"),
    # map, record, learn, import
    (["map"], "URL is missing", "periplus map https://app.example.com"),
    (["map", "not-a-url"], "not-a-url is not a web address", "https://app.example.com"),
    (["map", "--redraw", "empty"], "empty contains no map", "periplus map"),
    (["map", "--update", "--website", "nope"], "contains no map to update", "periplus map URL"),
    (["map", NOWHERE, "--apply"], "--apply needs --update", "also give --update"),
    (["record", "not-a-url"], "not-a-url is not a web address", "http://"),
    (["import", "x.side"], "x.side: does not exist", "correct the path"),
    (["learn"], "no input to learn from", "--snapshots DIR"),
    (["group", "--snapshots", "nothere"], "there is no such folder", "NAME.html"),
    # knowledge bases
    (["kb", "load", "nothere"], "there is no such folder", "website.yaml"),
    (["kb", "load", "empty"], "website", "->"),
    (["kb", "validate", "rows.csv"], "is not a folder", "website.yaml"),
    (["kb", "export", "out", "--website", "x"], "no website 'x'", "known: spadeworks"),
    (["kb", "copy", "--from", "x", "--to", "y"], "is not a store", "embedded:DIR"),
    # servers and settings
    (["mcp", "--base-url", "x"], "expected WEBSITE=URL", "spadeworks=http://127.0.0.1:8080"),
    (["serve", "--demo", "nope"], "no demo 'nope'", "built-in demos: spadeworks"),
    (["prune", "--out", "nothere"], "there is no folder nothere", "such as out"),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "what", "fix"), MISTAKES, ids=[" ".join(each[0]) for each in MISTAKES])
def test_a_mistake_is_told_in_one_line_with_what_to_do(folder, arguments, what, fix):
    before = sorted(folder.rglob("*"))
    done = warm.run(
        "periplus", *arguments, cwd=folder, env={"COLUMNS": "40", "PERIPLUS_CHROMIUM": "/no/browser"}
    )
    told = done.stdout + done.stderr
    assert done.returncode == 2, told
    headline = next(line for line in done.stderr.splitlines() if line.startswith("Error: "))
    assert what in headline or any(what in line for line in told.splitlines()), (
        "cut, broken over lines, or missing"
    )
    assert any("-> " in line and fix in line for line in told.splitlines()), told
    assert not any(tool.name in told for tool in list_tools()), "a message names an MCP tool"
    assert "Traceback" not in told
    assert "internal error" not in told
    made = {path for path in sorted(folder.rglob("*")) if path not in before}
    assert {path for path in made if ".periplus" not in path.parts} == set(), "it left something behind"


def test_sixty_mistakes_are_tried():
    assert len(MISTAKES) >= 60


def test_a_window_without_a_display_is_told_as_such(folder):
    arguments = ["run", "create_agent", *INPUTS, "-i", "password=x", "--headed"]
    done = warm.run("periplus", *arguments, cwd=folder, env={"DISPLAY": "", "WAYLAND_DISPLAY": ""})
    assert done.returncode == 2
    assert "no display to show the browser on" in done.stderr
    assert not (folder / "out").exists()


def test_a_dead_server_is_told_as_one(folder):
    dead = f"http://127.0.0.1:{free_port()}"
    done = warm.run("periplus", "map", dead, cwd=folder)
    assert done.returncode == 2
    assert "no response from the server" in done.stderr
    assert "robots" not in done.stdout + done.stderr
    assert not list((folder / ".periplus").glob("maps/*"))
    arguments = ["run", "create_agent", *INPUTS, "-i", "password=x", "--base-url", dead, "--headless"]
    done = warm.run("periplus", *arguments, cwd=folder)
    assert done.returncode == 2
    assert f"{dead} cannot be opened" in done.stderr
    assert not (folder / "out").exists()


@pytest.mark.parametrize("kind", ["tasks", "screens", "flows"])
def test_what_there_is_is_listed_whole_in_a_pipe_and_as_json(folder, kind):
    key = f"{kind.removesuffix('s')}_id"
    done = warm.run("periplus", kind, "--website", "spadeworks", "--json", cwd=folder)
    listed = [each[key] for each in json.loads(done.stdout)]
    files = [path.stem for path in (SPADEWORKS / kind).glob("*.yaml")]
    assert set(listed) >= set(files)
    table = warm.run("periplus", kind, cwd=folder, env={"COLUMNS": "20"}).stdout.splitlines()
    for each in listed:
        assert any(each in line.split() for line in table), f"{each} is cut or broken"


def test_workflows_alone_lists_them(folder):
    done = warm.run("periplus", "workflows", "--json", cwd=folder)
    assert (done.returncode, json.loads(done.stdout)) == (0, [])


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("periplus run create_ag", {"create_agent", "create_agents"}),
        ("periplus run --goal agent_l", {"agent_list"}),
        ("periplus tasks --website s", {"spadeworks"}),
        ("periplus scr", {"screens"}),
        ("periplus runs show l", {"last"}),
    ],
)
def test_ids_are_completed(folder, typed, expected):
    env = {
        "_PERIPLUS_COMPLETE": "complete_bash",
        "COMP_WORDS": typed,
        "COMP_CWORD": str(len(typed.split()) - 1),
    }
    assert set(warm.run("periplus", cwd=folder, env=env).stdout.split()) == expected


def test_a_store_that_cannot_be_read_completes_nothing(tmp_path):
    (tmp_path / ".periplus").write_text("a file")
    env = {"_PERIPLUS_COMPLETE": "complete_bash", "COMP_WORDS": "periplus run x", "COMP_CWORD": "2"}
    done = warm.run("periplus", cwd=tmp_path, env=env)
    assert (done.stdout.strip(), done.stderr) == ("", "")


def test_old_results_are_pruned_and_nothing_else(folder):

    old, new, own = (
        folder / "out" / name for name in ("run-x-20260101-101010", "run-y-20260102-101010", "mine")
    )
    for each in (old, new, own):
        each.mkdir(parents=True)
        (each / "result.json").write_text("{}")
    for path in (old, old / "result.json", own, own / "result.json"):
        os.utime(path, (0, 0))
    done = warm.run("periplus", "prune", "--out", "out", "--dry-run", "--json", cwd=folder)
    assert json.loads(done.stdout) == {"folders of results": 1}
    assert old.exists()
    assert warm.run("periplus", "prune", "--out", "out", cwd=folder).returncode == 0
    assert not old.exists()
    assert new.exists()
    assert own.exists()
