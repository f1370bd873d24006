"""`periplus kb`: its commands, of which each is in a module of its own, and the JSON Schema of documents."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from kb_schema import MODELS
from kb_schema.documents import did_you_mean
from kb_schema.json_schemas import json_schema
from periplus.commands import (
    kb_check,
    kb_diff,
    kb_edit,
    kb_export,
    kb_import,
    kb_load,
    kb_migrate,
    kb_proposals,
    kb_signature,
    kb_status,
    kb_stores,
)
from periplus.commands.command_output import print_json
from periplus.errors import UserError
from periplus.terminal.command_console import CommandConsole

app = typer.Typer(
    help="Validate, load, export and compare knowledge bases.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

out = CommandConsole()

app.command()(kb_stores.init)
app.command()(kb_status.status)
app.command()(kb_stores.copy)
app.command()(kb_migrate.migrate)
app.command()(kb_check.check)
app.command()(kb_export.export)
app.command("import")(kb_import.import_)
app.command()(kb_edit.rename)
app.command()(kb_edit.merge)
app.command()(kb_edit.split)
app.command()(kb_signature.signature)
app.add_typer(kb_proposals.app, name="proposals")
app.command()(kb_load.load)
app.command()(kb_load.validate)


@app.command()
def schema(
    kind: Annotated[str | None, typer.Argument(help="The kind of document; default: all.")] = None,
    *,
    folder: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Write one file per kind.")
    ] = None,
) -> None:
    """Print the JSON Schema of documents, for editors and other tools.

    Example: [cyan]periplus kb schema screen[/]
    """
    if kind is not None and kind not in MODELS:
        fix = did_you_mean(kind, MODELS) or f"one of {', '.join(MODELS)}"
        raise UserError(f"unknown kind of document {kind!r}", fix=fix)
    schemas = {name: json_schema(name) for name in ([kind] if kind else MODELS)}
    if folder is None:
        print_json(out, schemas[kind] if kind else schemas)
        return
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in schemas.items():
            text = json.dumps(content, indent=2, ensure_ascii=False)
            (folder / f"{name}.schema.json").write_text(f"{text}\n", encoding="utf-8")
    except OSError as exc:
        raise UserError(
            f"{folder} cannot be written: {exc.strerror or exc}", fix="name another folder"
        ) from exc
    out.print(f"[green]wrote[/] {len(schemas)} schemas to {escape(str(folder))}", highlight=False)


app.command("diff")(kb_diff.diff_)
