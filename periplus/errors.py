"""How a command ends when something is wrong: one clear message, never a traceback.

Exit codes: 0 done, 1 a defect of Periplus (the traceback is in a log file), 2 something a person
can put right, 130 interrupted.
"""

from __future__ import annotations

import os
import traceback
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console
from rich.markup import escape

from agent.redaction import redact_known
from kb_schema import KnowledgeError, Problem
from kb_store import StoreError

EXIT_DEFECT = 1
EXIT_USER = 2
EXIT_INTERRUPTED = 130


class UserError(Exception):
    """Something a person can put right: what is wrong, and what to do."""

    def __init__(self, message: str, *, fix: str | None = None) -> None:
        self.message, self.fix = message, fix
        super().__init__(f"{message} -> {fix}" if fix else message)


def report(error: BaseException, console: Console) -> int:
    """Tell a person what went wrong; returns the exit code."""
    if isinstance(error, KeyboardInterrupt):
        console.print("[yellow]interrupted[/]")
        return EXIT_INTERRUPTED
    if isinstance(error, UserError | StoreError):
        _tell(console, error.message, error.fix)
        return EXIT_USER
    if isinstance(error, KnowledgeError):
        _tell(console, headline(error), None)
        print_problems(console, error.problems)
        return EXIT_USER
    path = write_traceback(error)
    where = f"the details are in {path}" if path else "the details could not be written"
    _tell(console, f"this should not have happened: {type(error).__name__}", f"{where}; please report it")
    return EXIT_DEFECT


def headline(error: KnowledgeError) -> str:
    """`3 problems in 2 files`."""
    errors = [problem for problem in error.problems if problem.severity == "error"]
    files = {problem.source for problem in errors if problem.source}
    text = f"{len(errors)} problem{'' if len(errors) == 1 else 's'}"
    return f"{text} in {len(files)} file{'' if len(files) == 1 else 's'}" if files else text


def print_problems(console: Console, problems: tuple[Problem, ...]) -> None:
    """Problems grouped by file, errors first, each with its place and what to do."""
    by_file: dict[str, list[Problem]] = {}
    for problem in problems:
        by_file.setdefault(problem.source or problem.document or "the knowledge base", []).append(problem)
    for source in sorted(by_file):
        console.print(f"[bold]{escape(source)}[/]", soft_wrap=True, highlight=False)
        for problem in sorted(by_file[source], key=lambda p: p.severity != "error"):
            style = "red" if problem.severity == "error" else "yellow"
            place = "" if problem.path == "$" else f"[cyan]{escape(problem.path)}[/] "
            fix = f" [green]-> {escape(problem.fix)}[/]" if problem.fix else ""
            mark = f"[{style}]{'x' if style == 'red' else '!'}[/]"
            rule = f" [dim]({escape(problem.rule)})[/]" if problem.rule not in ("schema", "syntax") else ""
            console.print(
                f"  {mark} {place}{escape(problem.message)}{fix}{rule}", soft_wrap=True, highlight=False
            )


def write_traceback(error: BaseException) -> Path | None:
    """The traceback, without secrets, into a new file under the data directory; None where that is
    impossible.
    """
    text = redact_known("".join(traceback.format_exception(error)))
    folder = Path(os.environ.get("PERIPLUS_DATA_DIR") or ".periplus") / "logs"
    path = folder / f"error-{datetime.now(UTC):%Y%m%dT%H%M%S.%f}-{os.getpid()}.log"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError:
        return None
    return path


def _tell(console: Console, message: str, fix: str | None) -> None:
    message, fix = redact_known(message), redact_known(fix) if fix else None
    console.print(f"[bold red]Error:[/] {escape(message)}", soft_wrap=True, highlight=False)
    if fix:
        console.print(f"  [green]-> {escape(fix)}[/]", soft_wrap=True, highlight=False)
