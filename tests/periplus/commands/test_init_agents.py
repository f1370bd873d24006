"""`periplus init-agents` writes what its clients read, may be repeated, and changes nothing that is someone's own."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pytest
import typer
import yaml
from typer.testing import CliRunner

from periplus.cli import COMMANDS
from periplus.cli import app as periplus
from periplus.coding_agents.agent_files import TEXTS, list_files
from periplus.coding_agents.client_layouts import LAYOUTS, CodingAgent
from periplus.commands.init_agents import app
from periplus.errors import UserError

ROOT = Path(__file__).resolve().parents[3]
TOOLS = {
    name
    for page in ("docs/mcp.md", "docs/agent-server.md", "docs/browser-tools.md")
    for name in re.findall(r"^\| `(\w+)` \|", (ROOT / page).read_text(), re.MULTILINE)
}
"""The tools of all servers, from the tables that are generated from them."""
TEXT_FILES = sorted(TEXTS.glob("*.md"))


@pytest.fixture
def project(tmp_path):
    return tmp_path


def init(project: Path, *clients: str, options: tuple[str, ...] = ()):
    named = [part for each in clients for part in ("--for", each)]
    return CliRunner().invoke(app, ["--dir", str(project), *named, *options])


def everything_in(project: Path) -> dict[str, str]:
    return {str(path.relative_to(project)): path.read_text() for path in project.rglob("*") if path.is_file()}


def servers_of(project: Path, client: CodingAgent):
    layout = LAYOUTS[client]
    text = (project / layout.config).read_text()
    return (tomllib.loads(text) if layout.is_toml else json.loads(text))[layout.servers_key]


@pytest.mark.parametrize("client", CodingAgent)
def test_each_client_gets_servers_a_skill_and_three_agents_in_its_own_format(project, client):
    done = init(project, client, options=("--base-url", "shop=http://127.0.0.1:8080"))
    assert done.exit_code == 0, done.output
    servers = servers_of(project, client)
    wanted = ["mcp", "--browser", "--all-tools", "--base-url", "shop=http://127.0.0.1:8080"]
    assert servers["periplus"]["args"] == wanted
    assert ("type" in servers["periplus"]) == (client is CodingAgent.COPILOT)
    layout = LAYOUTS[client]
    _, fields, body = (project / layout.skill).read_text().split("---\n", 2)
    assert yaml.safe_load(fields)["name"] == "periplus"
    assert "`run_task`" in body
    for each in ("verify", "record", "map"):
        text = (project / layout.agents.format(name=f"periplus-{each}")).read_text()
        agent = (
            tomllib.loads(text)
            if layout.agents.endswith(".toml")
            else yaml.safe_load(text.split("---\n", 2)[1])
        )
        assert agent["name"] == f"periplus-{each}"
        assert len(agent["description"]) > 40
        assert f"periplus {each}" in text


@pytest.mark.parametrize("client", CodingAgent)
def test_a_second_time_changes_nothing(project, client):
    init(project, client)
    before = everything_in(project)
    again = init(project, client)
    assert again.exit_code == 0
    assert everything_in(project) == before
    assert "written" not in again.stdout
    assert "added" not in again.stdout


def test_an_edited_file_is_kept_and_one_of_an_older_version_is_updated(project, monkeypatch):
    (path, text), *_ = list_files(LAYOUTS[CodingAgent.CLAUDE])
    init(project, "claude")
    skill = project / path
    monkeypatch.setattr(
        "periplus.coding_agents.agent_files._read_text", lambda name: (f"{name} now", "new\n")
    )
    assert f"{path}: updated" in init(project, "claude").stdout
    assert "new" in skill.read_text()
    skill.write_text(text.replace("Ask it before", "Always ask it before"))
    told = init(project, "claude")
    assert f"{path}: kept" in told.stdout
    assert "Always ask it before" in skill.read_text()


def test_a_file_of_the_same_name_without_our_mark_is_kept(project):
    own = project / ".claude/agents/periplus-map.md"
    own.parent.mkdir(parents=True)
    own.write_text("mine")
    assert "kept" in init(project, "claude").stdout
    assert own.read_text() == "mine"


def test_other_servers_and_settings_stay_and_a_server_of_that_name_is_not_changed(project):
    config = project / ".mcp.json"
    mine = {"command": "docker", "args": ["run", "periplus"]}
    config.write_text(json.dumps({"other": [1], "mcpServers": {"periplus": mine, "x": {}}}, indent=4))
    told = init(project, "claude")
    assert "kept periplus, which has another entry" in told.stdout
    after = json.loads(config.read_text())
    assert after["other"] == [1]
    assert list(after["mcpServers"]) == ["periplus", "x"]
    assert after["mcpServers"]["periplus"] == mine
    assert config.read_text().startswith('{\n    "other"')


def test_comments_of_a_toml_configuration_stay(project):
    config = project / ".codex/config.toml"
    config.parent.mkdir()
    config.write_text('# mine\nmodel = "x"\n\n[mcp_servers.x]\ncommand = "y"\n')
    assert init(project, "codex", options=("--data-dir", str(project / "kb"))).exit_code == 0
    assert config.read_text().startswith('# mine\nmodel = "x"\n\n[mcp_servers.x]\ncommand = "y"\n')
    servers = servers_of(project, CodingAgent.CODEX)
    assert servers["x"] == {"command": "y"}
    assert servers["periplus"]["env"] == {"PERIPLUS_DATA_DIR": str(project / "kb")}


@pytest.mark.parametrize(
    ("client", "before"),
    [
        ("copilot", '{\n  // servers of the team\n  "servers": {}\n}\n'),
        ("claude", '{"mcpServers": []}'),
        ("gemini", "[]"),
        ("codex", "mcp_servers = {}\n"),
        ("codex", "mcp_servers = \n"),
    ],
)
def test_a_configuration_that_cannot_be_extended_is_left_and_the_entry_is_printed(project, client, before):
    layout = LAYOUTS[CodingAgent(client)]
    config = project / layout.config
    config.parent.mkdir(exist_ok=True)
    config.write_text(before)
    told = init(project, client)
    assert told.exit_code == 4
    assert config.read_text() == before
    assert "add this by hand" in told.stdout
    assert '"--browser"' in told.stdout
    assert (project / layout.skill).is_file()


def test_bad_input_is_one_error(project):
    missing = init(project / "nowhere", "claude")
    assert isinstance(missing.exception, UserError)
    assert "is no folder" in str(missing.exception)
    assert "expected WEBSITE=URL" in str(init(project, "claude", options=("--base-url", "x")).exception)
    (project / ".claude").write_text("a file")
    assert "cannot be written" in str(init(project, "claude").exception)
    (project / ".mcp.json").write_bytes(b"\xff")
    assert "not UTF-8" in str(init(project, "claude").exception)
    assert init(project, "emacs").exit_code == 2
    assert init(project).exit_code == 2


@pytest.mark.parametrize("text", TEXT_FILES, ids=lambda path: path.stem)
def test_every_tool_command_and_option_in_the_texts_exists(text):
    written = text.read_text()
    tools = set(re.findall(r"`([a-z]+(?:_[a-z]+)+)`", written)) - {
        "run_id", "website_id", "input_required", "needs_person",
    }  # fmt: skip
    assert tools - TOOLS == set()
    called = [each.split() for each in re.findall(r"`periplus ([^`\n]+)`", written)]
    assert called or text.stem == "skill"
    root = typer.main.get_command(periplus)
    for words in called:
        assert words[0] in COMMANDS
        context = typer.Context(root, resilient_parsing=True)
        _, command, rest = root.resolve_command(context, words)
        if hasattr(command, "commands"):
            command = command.commands[rest[0]]
        known = {option for each in command.params for option in (*each.opts, *each.secondary_opts)}
        assert {word for word in rest if word.startswith("-")} - known == set(), words
