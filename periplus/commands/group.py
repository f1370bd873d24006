"""`periplus group`: group stored pages into screens without a browser, and write labels that `learn` takes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from loaders.screen_learner.page_clusters import cluster_pages
from loaders.screen_learner.screen_names import choose_free_id, choose_name
from periplus.commands.command_options import ImportMemory, ImportSeconds, choose_import_budget
from periplus.commands.command_output import format_count, print_json
from periplus.errors import UserError
from periplus.learned_screens.sorted_pages import SortedPage, read_stored_pages
from periplus.terminal.command_console import CommandConsole

out = CommandConsole()
app = typer.Typer(add_completion=False, rich_markup_mode="rich")


@app.command()
def group(
    *,
    snapshots: Annotated[
        Path,
        typer.Option(metavar="DIR", help="Stored pages: NAME.html with NAME.json; subfolders are read too."),
    ],
    labels: Annotated[
        Path | None,
        typer.Option("--labels", metavar="FILE", help="Write the screen of each page, for `periplus learn`."),
    ] = None,
    replace: Annotated[bool, typer.Option("--replace", help="Write over an existing --labels file.")] = False,
    base_url: Annotated[
        str | None, typer.Option(metavar="URL", help="The site's base URL when the pages were stored.")
    ] = None,
    max_import_memory: ImportMemory = None,
    max_import_seconds: ImportSeconds = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the labels as JSON.")] = False,
) -> None:
    """Group stored pages into screens, without a browser and without labels.

    Example: [cyan]periplus group --snapshots pages/ --labels pages/labels.json[/]

    States of one address are one screen: correct the labels where you want
    them apart, then run `periplus learn`.
    """
    if labels is not None and labels.exists() and not replace:
        raise UserError(f"{labels} exists already", fix="name another file, or add --replace")
    pages = read_stored_pages(
        snapshots, base_url, choose_import_budget(max_import_memory, max_import_seconds)
    )
    found = name_groups(pages)
    if labels is not None:
        try:
            labels.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        except OSError as exc:
            raise UserError(
                f"{labels} cannot be written: {exc.strerror or exc}", fix="name another file"
            ) from exc
    if as_json:
        print_json(out, found)
        return
    for screen in dict.fromkeys(found.values()):
        own = [name for name, given in found.items() if given == screen]
        shown = ", ".join(own[:3]) + (", ..." if len(own) > 3 else "")
        out.print(
            f"[bold]{escape(screen)}[/]: {format_count(len(own), 'page')} ({escape(shown)})", soft_wrap=True
        )
    if labels is not None:
        next_step = f"periplus learn --snapshots {snapshots} --labels {labels}"
        out.print(f"[green]written[/]: {escape(str(labels))}; next: {escape(next_step)}", soft_wrap=True)


def name_groups(pages: list[SortedPage]) -> dict[str, str]:
    """Return the screen id of each page, by the page's name."""
    observed = [page.observed for page in pages]
    found: dict[str, str] = {}
    taken: set[str] = set()
    for numbers in cluster_pages(observed):
        inside = set(numbers)
        others = [page for at, page in enumerate(observed) if at not in inside]
        screen_id = choose_free_id(choose_name([observed[at] for at in numbers], others), taken)
        taken.add(screen_id)
        found |= {pages[at].stored.name: screen_id for at in numbers}
    return found
