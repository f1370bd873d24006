"""`periplus import`: recordings of other tools as traces that `periplus synthesize` reads."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from agent.redaction import Secrets
from kb_schema.session_writing import write_session
from kb_schema.sessions import MANIFEST
from loaders.recordings.formats import known_formats, read_recording
from loaders.recordings.imported import Imported, RecordingUnreadable
from periplus.errors import UserError

app = typer.Typer(add_completion=False, rich_markup_mode="rich")
FOLDER = Path("out") / "traces"


@app.command(name="import")
def import_(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Recordings.", show_default=False)],
    *,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Each trace becomes a folder in it.")] = FOLDER,
) -> None:
    """Turn recordings of other tools into traces.

    Example: [cyan]periplus import checkout.json login.side trace.zip --out traces[/]

    Read are user flows of the recorder in Chrome's DevTools (JSON), projects of Selenium IDE (.side),
    traces of Playwright (.zip) and demonstrations of MiniWoB++ (.json, .json.gz). What was typed into
    password fields is left out. What cannot be read is told with its place; the rest is kept.

    Exit code 0 done, 2 some file is no recording (the others are imported).
    """
    console = Console()
    refused: list[str] = []
    for file in files:
        try:
            found = read_recording(file)
        except RecordingUnreadable as exc:
            refused.append(str(exc))
            continue
        for each in found:
            _take(each, file, out, console)
    if len(refused) < len(files):
        console.print(
            f"  [dim]periplus synthesize {escape(str(out))}/* --name NAME[/]", soft_wrap=True, highlight=False
        )
    if refused:
        rest = "" if len(refused) == len(files) else "; the other files were imported"
        raise UserError("\n".join(refused), fix=f"these can be read: {', '.join(known_formats())}{rest}")


def _take(imported: Imported, file: Path, out: Path, console: Console) -> None:
    target = _free(out, imported.trace.trace_id)
    _write(imported, target)
    steps = len(imported.trace.steps)
    console.print(
        f"[green]{escape(str(target))}[/]: {steps} step{'' if steps == 1 else 's'}"
        f" from {escape(file.name)}{_kept_back(imported)}",
        soft_wrap=True,
        highlight=False,
    )
    for problem in imported.trace.metadata.get("problems", ()):
        console.print(f"  [yellow]{escape(problem)}[/]", soft_wrap=True, highlight=False)


def _write(imported: Imported, target: Path) -> None:
    secrets = Secrets()
    secrets.keep(list(imported.secrets))
    try:
        write_session(imported.trace, target, clean=secrets.redact)
    except OSError as exc:
        raise UserError(
            f"{target} cannot be written: {exc.strerror or exc}", fix="name another folder with --out"
        ) from exc


def _free(folder: Path, name: str) -> Path:
    """A folder of that name in which there is no session yet."""
    plain = re.sub(r"[^\w.-]+", "-", name).strip("-.") or "trace"
    candidates = (folder / (plain if number == 1 else f"{plain}-{number}") for number in range(1, 100_000))
    return next(each for each in candidates if not (each / MANIFEST).exists())


def _kept_back(imported: Imported) -> str:
    hidden = sum(bool(step.metadata.get("secret")) for step in imported.trace.steps)
    return f", {hidden} with a secret" if hidden else ""
