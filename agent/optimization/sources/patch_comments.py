"""The comment above a patch: `# periplus: was page.locator("#save"), <why>, <date>`."""

from __future__ import annotations

from datetime import date

import libcst as cst

from agent.optimization.sources.source_files import SourceFile

MARK = "# periplus: was "
WAS = 70
"""Characters of the old code in the comment."""
WIDTH = 110
"""Comments stay within this many characters, whatever the suite's own line length."""


def join_lines(text: str) -> str:
    """Return code without line breaks and indentation."""
    return " ".join(text.split()).replace("( ", "(").replace(" )", ")").replace(" .", ".").replace(",)", ")")


def comment_for(before: str, why: str, day: date, indent: int) -> str:
    """Return the comment for above the statement."""
    end = f", {day.isoformat()}"
    room = max(40, WIDTH - indent - len(MARK) - len(end))
    was = shorten_original(before)
    reason = _short(" ".join(why.split()), max(0, room - len(was) - 2))
    return f"{MARK}{was}, {reason}{end}" if len(reason) > len("...") else f"{MARK}{was}{end}"


def shorten_original(before: str) -> str:
    """Return how a comment names the old code: the same at every indentation."""
    return _short(join_lines(before), WAS)


def _short(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: max(0, most - 3)].rstrip()}..."


def statement_of(file: SourceFile, node: cst.CSTNode) -> cst.CSTNode | None:
    """Return the statement a comment can stand above."""
    return next((each for each in file.within(node) if hasattr(each, "leading_lines")), None)


def is_reverted(file: SourceFile, node: cst.CSTNode, before: str) -> bool:
    """Return whether a comment says that this was changed, and the old code is there again."""
    statement = statement_of(file, node)
    lines = getattr(statement, "leading_lines", ()) if statement is not None else ()
    if statement is not None and file.module.body and file.module.body[0] is statement:
        lines = (*file.module.header, *lines)
    told = f"{MARK}{shorten_original(before)}, "
    return any(line.comment is not None and line.comment.value.startswith(told) for line in lines)
