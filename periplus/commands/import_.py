"""`periplus import`: convert recordings of other tools to traces for `periplus synthesize`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from agent.redaction import Secrets
from kb_schema.session_reader import MANIFEST
from kb_schema.session_writer import write_session
from loaders.recordings.field_names import MarkedFields
from loaders.recordings.formats import known_formats, read_recording
from loaders.recordings.imported_traces import ImportedTrace, UnreadableRecording
from periplus.commands.command_options import ImportMemory, ImportSeconds, choose_import_budget
from periplus.commands.command_output import format_count
from periplus.errors import UserError
from periplus.foreign_input import InputTooLarge, read_foreign
from periplus.terminal.command_console import CommandConsole

app = typer.Typer(add_completion=False, rich_markup_mode="rich")
FOLDER = Path("out") / "traces"


@app.command(name="import")
def import_(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Recordings.", show_default=False)],
    *,
    out: Annotated[
        Path,
        typer.Option(metavar="DIR", help="The folder for the traces; each trace gets its own subfolder."),
    ] = FOLDER,
    secret: Annotated[
        list[str] | None,
        typer.Option(
            "--secret",
            metavar="NAME",
            help="A field that holds a secret, by its id, name or label; may be repeated.",
        ),
    ] = None,
    no_secret: Annotated[
        list[str] | None,
        typer.Option(
            "--no-secret",
            metavar="NAME",
            help="A field that holds no secret although it looks so; may be repeated.",
        ),
    ] = None,
    max_import_memory: ImportMemory = None,
    max_import_seconds: ImportSeconds = None,
) -> None:
    """Convert recordings of other tools to traces.

    Example: [cyan]periplus import checkout.json login.side trace.zip --out traces[/]

    Supported formats: user flows of Chrome DevTools Recorder (JSON), Selenium IDE projects (.side),
    Playwright traces (.zip) and MiniWoB++ demonstrations (.json, .json.gz). Secrets are left out: a run asks
    for them. Steps that cannot be read are reported with their line; the others are imported.

    Exit codes: 0 done, 2 something was left out or a file is not a recording (the rest is imported).
    """
    console = CommandConsole()
    refused: list[str] = []
    left_out = 0
    marks = MarkedFields(frozenset(secret or ()), frozenset(no_secret or ()))
    budget = choose_import_budget(max_import_memory, max_import_seconds)
    for file in files:
        try:
            found = read_foreign(file, budget, read_recording, file, marks)
        except (UnreadableRecording, InputTooLarge) as exc:
            refused.append(str(exc))
            continue
        for each in found:
            left_out += _import_recording(each, file, out, console)
    if len(refused) < len(files):
        console.print(
            f"  [dim]periplus synthesize {escape(str(out))}/* --name NAME[/]", soft_wrap=True, highlight=False
        )
    if refused:
        rest = "" if len(refused) == len(files) else "; the other files were imported"
        if not any(file.exists() for file in files):
            raise UserError("\n".join(refused), fix="correct the path")
        raise UserError("\n".join(refused), fix=f"supported formats: {', '.join(known_formats())}{rest}")
    if left_out:
        raise UserError(
            f"{format_count(left_out, 'part')} of the recordings left out, as named above",
            fix="the rest is imported: complete it by recording the task once, or go on without",
        )


def _import_recording(imported: ImportedTrace, file: Path, out: Path, console: Console) -> int:
    """Write a trace and print what came of it; return how much was left out."""
    target = _find_free_folder(out, imported.trace.trace_id)
    _write(imported, target)
    steps = len(imported.trace.steps)
    console.print(
        f"[green]{escape(str(target))}[/]: {steps} step{'' if steps == 1 else 's'}"
        f" from {escape(file.name)}{_format_secret_count(imported)}",
        soft_wrap=True,
        highlight=False,
    )
    for note in imported.trace.metadata.get("notes", ()):
        console.print(f"  [dim]{escape(note)}[/]", soft_wrap=True, highlight=False)
    problems = imported.trace.metadata.get("problems", ())
    for problem in problems:
        console.print(f"  [yellow]{escape(problem)}[/]", soft_wrap=True, highlight=False)
    return len(problems)


def _write(imported: ImportedTrace, target: Path) -> None:
    secrets = Secrets()
    secrets.keep(list(imported.secrets))
    try:
        write_session(imported.trace, target, clean=secrets.redact)
    except OSError as exc:
        raise UserError(
            f"{target} cannot be written: {exc.strerror or exc}", fix="name another folder with --out"
        ) from exc


def _find_free_folder(folder: Path, name: str) -> Path:
    """Return a folder with this name, or the name and a number, that contains no session yet."""
    plain = re.sub(r"[^\w.-]+", "-", name).strip("-.") or "trace"
    candidates = (folder / (plain if number == 1 else f"{plain}-{number}") for number in range(1, 100_000))
    return next(each for each in candidates if not (each / MANIFEST).exists())


def _format_secret_count(imported: ImportedTrace) -> str:
    hidden = sum(bool(step.metadata.get("secret")) for step in imported.trace.steps)
    return f", {hidden} with a secret" if hidden else ""
