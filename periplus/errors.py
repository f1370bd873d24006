"""Errors of commands: a message and a fix instead of a traceback."""

from __future__ import annotations

import errno
import os
import sqlite3
import time
import traceback
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console
from rich.markup import escape

from kb_schema import KnowledgeError, Problem
from kb_schema.owner_folders import make_owner_folder
from kb_store import StoreError
from periplus.exit_codes import ExitCode
from periplus.extras import ExtraMissing, find_extra


class UserError(Exception):
    """An error that the user can correct: `message` says what is wrong, `fix` what to do.

    `code` is the exit code of a command that ends with it: 2 says that nothing was done.
    """

    def __init__(self, message: str, *, fix: str | None = None, code: ExitCode = ExitCode.USER_ERROR) -> None:
        self.message, self.fix, self.code = message, fix, code
        super().__init__(f"{message} -> {fix}" if fix else message)


def report_error(error: BaseException, console: Console) -> int:
    """Print an error for people; return the exit code."""
    if isinstance(error, KeyboardInterrupt):
        console.print("[yellow]interrupted[/]")
        return ExitCode.INTERRUPTED
    if isinstance(error, ModuleNotFoundError) and (extra := find_extra(error.name or "")):
        error = ExtraMissing("this", extra, error.name or "")
    if isinstance(error, ExtraMissing):
        _print_error(console, str(error), error.fix)
        return ExitCode.USER_ERROR
    if isinstance(error, UserError | StoreError):
        _print_error(console, error.message, error.fix)
        return error.code if isinstance(error, UserError) else ExitCode.USER_ERROR
    if isinstance(error, KnowledgeError):
        _print_error(console, format_headline(error), None)
        print_problems(console, error.problems)
        return ExitCode.USER_ERROR
    fault = find_environment_fault(error)
    if fault is not None:
        _print_error(console, fault.message, fault.fix)
        return ExitCode.FAILED
    path = write_traceback(error)
    where = f"the details are in {path}" if path else "the details could not be written"
    _print_error(console, f"internal error: {type(error).__name__}", f"please report it; {where}")
    return ExitCode.FAILED


_OF_ERRNO = {
    errno.ENOSPC: ("the disk is full", "free some space"),
    errno.EDQUOT: ("the disk quota is used up", "free some space"),
    errno.EROFS: ("the disk is read-only", "name a folder that can be written (PERIPLUS_DATA_DIR, --out)"),
    errno.EMFILE: ("too many files are open", "raise the limit with `ulimit -n`, or use fewer --workers"),
    errno.ENFILE: ("too many files are open on this machine", "close other programs"),
}
_RESUME = "; a run that was interrupted continues with `periplus run --resume last`"


def find_environment_fault(error: BaseException) -> UserError | None:
    """Return what the machine lacks if an error, or one that caused it, says so; None for other errors."""
    for each in _list_causes(error):
        known = _OF_ERRNO.get(each.errno or 0) if isinstance(each, OSError) else None
        if known is not None:
            name = getattr(each, "filename", None)
            return UserError(f"{known[0]}{f': {name}' if name else ''}", fix=known[1] + _RESUME)
        if isinstance(each, sqlite3.OperationalError) and "disk is full" in str(each):
            return UserError("the disk is full", fix=f"free some space{_RESUME}")
        if type(each).__module__.startswith("playwright") and "reading from the driver" in str(each):
            fix = f"look at the machine's memory, and run it again{_RESUME}"
            return UserError("Playwright's driver, which controls the browser, ended", fix=fix)
    return None


def _list_causes(error: BaseException) -> list[BaseException]:
    """Return an error, its causes and contexts, and those of a group's members, each once."""
    found: list[BaseException] = []
    waiting: list[BaseException | None] = [error]
    while waiting:
        each = waiting.pop()
        if each is None or any(each is known for known in found):
            continue
        found.append(each)
        waiting += [each.__context__, each.__cause__]
        if isinstance(each, BaseExceptionGroup):
            waiting += each.exceptions
    return found


def format_headline(error: KnowledgeError) -> str:
    """Return a headline such as `3 problems in 2 files`."""
    errors = [problem for problem in error.problems if problem.severity == "error"]
    files = {problem.source for problem in errors if problem.source}
    text = f"{len(errors)} problem{'' if len(errors) == 1 else 's'}"
    return f"{text} in {len(files)} file{'' if len(files) == 1 else 's'}" if files else text


def print_problems(console: Console, problems: tuple[Problem, ...]) -> None:
    """Print problems grouped by file, errors first, each with its path and its fix."""
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


TRACEBACKS_AN_HOUR = 10
"""Files for errors of the same kind and place within an hour."""
MOST_TRACEBACKS = 200
_HOUR_S = 3_600.0
_TRACEBACKS: dict[str, list[tuple[float, Path]]] = {}


def write_traceback(error: BaseException) -> Path | None:
    """Write the traceback, without secrets, to a new file in the data directory.

    Returns its path; None if it cannot be written. An error of the same kind and place is written at most
    `TRACEBACKS_AN_HOUR` times within an hour; then the path of the last one is returned. The oldest of more than
    `MOST_TRACEBACKS` files are deleted.
    """
    kind, now = _kind_of(error), time.monotonic()
    recent = [each for each in _TRACEBACKS.get(kind, []) if now - each[0] < _HOUR_S]
    if len(recent) >= TRACEBACKS_AN_HOUR:
        return recent[-1][1]
    from agent.redaction import redact_known  # noqa: PLC0415 - decision 0140

    text = redact_known("".join(traceback.format_exception(error)))
    folder = Path(os.environ.get("PERIPLUS_DATA_DIR") or ".periplus") / "logs"
    path = folder / f"error-{datetime.now(UTC):%Y%m%dT%H%M%S.%f}-{os.getpid()}.log"
    try:
        make_owner_folder(folder)
        path.write_text(text, encoding="utf-8")
        for old in sorted(folder.glob("error-*.log"))[:-MOST_TRACEBACKS]:
            old.unlink(missing_ok=True)
    except OSError:
        return None
    _TRACEBACKS[kind] = [*recent, (now, path)]
    return path


def _kind_of(error: BaseException) -> str:
    """Return the type of an error and where it was raised."""
    frames = traceback.extract_tb(error.__traceback__)
    return (
        f"{type(error).__qualname__} {frames[-1].filename}:{frames[-1].lineno}"
        if frames
        else repr(type(error))
    )


def _print_error(console: Console, message: str, fix: str | None) -> None:
    from agent.redaction import redact_known  # noqa: PLC0415 - decision 0140

    message, fix = redact_known(message), redact_known(fix) if fix else None
    console.print(f"[bold red]Error:[/] {escape(message)}", soft_wrap=True, highlight=False)
    if fix:
        console.print(f"  [green]-> {escape(fix)}[/]", soft_wrap=True, highlight=False)
