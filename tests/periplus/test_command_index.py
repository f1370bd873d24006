"""The index of commands tells the same as the commands, and help and usage errors need nothing else."""

import importlib
import json
import os
import subprocess
import sys

import pytest
import typer

from periplus import cli
from periplus.cli import COMMANDS
from periplus.command_index import INDEX, read_indexed_app
from periplus.command_index_writer import describe_commands

ALLOWED = ("typer", "click", "rich", "pydantic", "annotated_types", "typing_inspection", "typing_extensions")
"""What a help page may import beside the standard library: typer, and what typer imports."""
ALLOWED += (
    "annotated_doc",
    "attr",
    "cython_runtime",
    "pydantic_core",
    "markdown_it",
    "mdurl",
    "pygments",
    "colorama",
    "shellingham",
    "linkify_it",
)
OURS = {"periplus", "periplus.cli", "periplus.command_index"}
MODULES_OF_ERRORS = {
    *(
        "agent",
        "agent.redaction",
        "agent.secret_disguises",
        "kb_store",
        "kb_store.errors",
        "kb_schema",
        "kb_schema.base",
        "kb_schema.errors",
        "kb_schema.owner_folders",
        "kb_schema.public_names",
    ),
    *("kb_schema.model_use", "kb_schema.run_records", "kb_schema.templates", "kb_schema.text_similarity"),
}
"""What printing an error needs: the errors of stores and knowledge, and the redaction of secrets."""


def _find_commands(command, path=()):
    yield path
    for name, below in getattr(command, "commands", {}).items():
        yield from _find_commands(below, (*path, name))


PATHS = [
    path
    for name in COMMANDS
    for path in _find_commands(typer.main.get_command(read_indexed_app(name)), (name,))
]


def _help(app, path, capsys):
    command = typer.main.get_command(app)
    for name in path[1:]:
        command = command.commands[name]
    with pytest.raises(SystemExit):
        command.main(["--help"], prog_name=f"periplus {' '.join(path)}")
    return capsys.readouterr().out


def test_the_index_is_what_its_writer_writes():
    assert INDEX.read_text(encoding="utf-8") == describe_commands(), (
        "run `python -m periplus.command_index_writer`"
    )


@pytest.mark.parametrize("path", PATHS, ids=" ".join)
def test_help_from_the_index_is_the_help_of_the_command(path, capsys):
    real = importlib.import_module(COMMANDS[path[0]].module).app
    assert _help(read_indexed_app(path[0]), path, capsys) == _help(real, path, capsys)


def _main_without_more(*arguments, environment=None, first=""):
    """Run the command line in a process of its own; return its output and what it imported that it may not.

    `first`: code that is run before.
    """
    code = (
        "import atexit, json, sys\n"
        "before = set(sys.modules)\n"
        "atexit.register(lambda: print('MODULES', json.dumps(sorted(set(sys.modules) - before))))\n"
        f"{first}\n"
        "from periplus.cli import main\n"
        f"main({list(arguments)!r})"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, env=environment
    )
    out, _, modules = done.stdout.rpartition("MODULES ")
    loaded = json.loads(modules)
    foreign = [
        each
        for each in loaded
        if each.partition(".")[0] not in {*ALLOWED, "periplus", *sys.stdlib_module_names}
        and not each.startswith(("_", "__editable__"))
    ]
    ours = [each for each in loaded if each.startswith("periplus") and each not in OURS]
    return done.returncode, out, done.stderr, foreign + ours


@pytest.mark.parametrize("name", COMMANDS)
def test_help_imports_nothing_but_typer_and_the_index(name):
    code, out, _, more = _main_without_more(name, "--help")
    assert (code, more) == (0, [])
    assert f"Usage: periplus {name}" in out


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["run", "--no-such-option"], "--no-such-option"),
        (["run", "task", "--step-timeout", "soon"], "expected a number"),
        (["kb", "lode"], "did you mean 'load'?"),
        (["kb", "load"], "missing argument 'DIR'"),
        (["kb", "diff", "folder", "--format", "rtf"], "rtf"),
    ],
)
def test_an_error_in_the_arguments_imports_no_package_of_knowledge_or_browsers(arguments, told):
    code, _, err, more = _main_without_more(*arguments)
    assert code == 2
    assert told in err
    assert not {"playwright", "mcp", "langgraph", "livekit", "mcp_server", "loaders"} & set(more)
    ours = {each for each in more if each.partition(".")[0] in {"agent", "kb_schema", "kb_store"}}
    assert ours <= MODULES_OF_ERRORS


def test_an_entry_that_does_not_fit_the_installed_modules_is_not_used(tmp_path):
    told = json.loads(INDEX.read_text(encoding="utf-8"))
    told["run"]["digest"] = "another"
    told["kb"]["sources"] = ["periplus/commands/no_such_module.py"]
    other = tmp_path / "index.json"
    other.write_text(json.dumps(told), encoding="utf-8")
    assert read_indexed_app("run", other) is None
    assert read_indexed_app("kb", other) is None
    assert read_indexed_app("tasks", other) is not None


@pytest.mark.parametrize("text", [None, "{", "{}"])
def test_without_a_readable_index_a_command_tells_its_help_itself(text, monkeypatch, tmp_path, capsys):
    path = tmp_path / "command_index.json"
    if text is not None:
        path.write_text(text, encoding="utf-8")
    monkeypatch.setattr(cli, "read_indexed_app", lambda name, **more: read_indexed_app(name, path, **more))
    with pytest.raises(SystemExit) as ended:
        cli.main(["tasks", "--help"])
    assert ended.value.code == 0
    assert "Usage: periplus tasks" in capsys.readouterr().out


def test_a_command_runs_without_the_modules_of_the_commands_beside_it(tmp_path):
    environment = {**os.environ, "PERIPLUS_DATA_DIR": str(tmp_path)}
    code, out, _, more = _main_without_more("kb", "status", environment=environment)
    assert (code, "nothing is loaded yet" in out) == (0, True)
    assert not {"playwright", "mcp", "langgraph", "livekit", "mcp_server", "periplus.commands.kb"} & set(more)


OF_STATUS = {
    *("agent", "agent.browser", "agent.browser.browser_profile", "agent.retry_limits"),
    *("loaders", "loaders.markup_escapes"),
    *(
        "kb_schema",
        "kb_schema.base",
        "kb_schema.collection_pause",
        "kb_schema.errors",
        "kb_schema.owner_folders",
        "kb_schema.kept_values",
        "kb_schema.operating_system",
    ),
    *("kb_schema.lessons", "kb_schema.model_use", "kb_schema.objectives"),
    *("kb_schema.public_names", "kb_schema.run_records", "kb_schema.run_storage"),
}
"""What `kb status` may import beside `kb_store`, `periplus` and what a help page imports: no model of a document."""
OF_OTHER_COMMANDS = (
    *("agent.exploration", "agent.sentence_runs", "agent.sentences", "agent.synthesis", "agent.verification"),
    *("langgraph", "livekit", "loaders", "openpyxl", "pydantic_ai", "periplus.commands.run_sentence"),
)
"""What `run` with the id of a task may not import."""


BESIDE_A_LOAD = (
    *("jinja2", "langgraph", "mcp", "mcp_server", "networkx", "playwright", "web_pages"),
    *("agent.execution", "agent.verification", "loaders.bridges", "loaders.diffs", "periplus.commands.kb_"),
    *("kb_store.sqlite.run_store", "rapidfuzz"),
)
"""What `kb load` may not import; `periplus.commands.kb_load` alone is its own."""
OF_RUNS = (
    *("agent.events", "agent.execution", "agent.healing", "agent.locators", "agent.page", "agent.session"),
    *("kb_schema.conditions", "kb_schema.tasks", "mcp", "mcp_server", "mcp_types", "structlog", "web_pages"),
    "periplus.runs.task_runs",
)
"""What `run` may not import before the browser is asked for: what performs a run, the knowledge server, models of documents."""
_STOPPED = """
import periplus.commands.run, periplus.errors
def stop(name):
    raise periplus.errors.UserError(f"stopped before {name}", fix="none")
periplus.commands.run.import_module = stop
"""


def _run_beside_a_store(folder, *arguments, first=""):
    environment = {**os.environ, "PERIPLUS_DATA_DIR": str(folder)}
    loaded = [sys.executable, "-m", "periplus", "kb", "load", "seeds/spadeworks/kb"]
    subprocess.run(loaded, check=True, capture_output=True, env=environment)
    return _main_without_more(*arguments, environment=environment, first=first)


def test_the_status_of_a_loaded_store_needs_no_model_of_a_document(tmp_path):
    code, out, _, more = _run_beside_a_store(tmp_path, "kb", "status")
    assert (code, "spadeworks" in out) == (0, True)
    foreign = [
        each
        for each in more
        if each not in OF_STATUS
        and each.partition(".")[0] not in {"dotenv", "kb_store", "periplus", "pydantic_settings", "re2"}
    ]
    assert foreign == []


def test_the_settings_need_no_module_that_starts_processes():
    code = "import sys, periplus.settings; sys.exit('multiprocessing' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.stderr.strip(), done.returncode) == ("", 0)


def test_a_run_of_a_task_needs_nothing_of_sentences_synthesis_and_verification(tmp_path):
    code, _, err, more = _run_beside_a_store(tmp_path, "run", "no_such_task")
    assert (code, "no task 'no_such_task'" in err) == (2, True)
    assert [each for each in more if each.startswith(OF_OTHER_COMMANDS)] == []


def test_a_run_asks_for_its_browser_before_it_imports_what_performs_it(tmp_path):
    given = [f"--input={each}" for each in ("agent_name=Ada", "email=a@b.example", "password=x")]
    code, _, err, more = _run_beside_a_store(tmp_path, "run", "create_agent", *given, first=_STOPPED)
    assert (code, "stopped before periplus.commands.run_performance" in err) == (2, True)
    assert "playwright.async_api" in more
    assert [each for each in more if each.startswith(OF_RUNS)] == []


def test_a_load_needs_nothing_of_the_commands_beside_it(tmp_path):
    environment = {**os.environ, "PERIPLUS_DATA_DIR": str(tmp_path)}
    code, out, _, more = _main_without_more("kb", "load", "seeds/spadeworks/kb", environment=environment)
    assert (code, "loaded spadeworks" in out) == (0, True)
    beside = [each for each in more if each.startswith(BESIDE_A_LOAD)]
    assert beside == ["periplus.commands.kb_load"]


def test_a_subcommand_that_is_no_word_of_the_index_is_refused_as_before(capsys):
    with pytest.raises(SystemExit) as ended:
        cli.main(["kb", "lode", "--help"])
    assert ended.value.code == 2
    assert "no such command 'lode'" in capsys.readouterr().err


def test_a_shell_completes_options_from_the_index_and_values_from_the_store(tmp_path):
    asked = {"_PERIPLUS_COMPLETE": "complete_bash", "PERIPLUS_DATA_DIR": str(tmp_path)}

    def complete(line):
        told = {"COMP_WORDS": line, "COMP_CWORD": str(len(line.split()) - 1)}
        code = "from periplus.cli import main; main([])"
        done = subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, **asked, **told},
        )
        return done.stdout.split()

    assert "--step-timeout" in complete("periplus run --step")
    assert complete("periplus kb stat") == ["status"]
    loaded = [sys.executable, "-m", "periplus", "kb", "load", "seeds/spadeworks/kb"]
    subprocess.run(
        loaded, check=True, capture_output=True, env={**os.environ, **asked, "_PERIPLUS_COMPLETE": ""}
    )
    assert "create_agent" in complete("periplus run create_a")
