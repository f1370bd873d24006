"""The one comment that tells of a patch: `# periplus: was page.locator("#save"), <why>, <date>`."""

from __future__ import annotations

from datetime import date

import libcst as cst

from agent.optimizing.sources.files import SourceFile

MARK = "# periplus: was "
WAS = 70
"""Characters of the old code that are told."""
WIDTH = 110
"""Comments are kept within this many characters, whatever the suite's own line length."""


def one_line(text: str) -> str:
    """Code with its line breaks and indentation taken out."""
    return " ".join(text.split()).replace("( ", "(").replace(" )", ")").replace(" .", ".").replace(",)", ")")


def comment_for(before: str, why: str, day: date, indent: int) -> str:
    """The comment above the statement."""
    end = f", {day.isoformat()}"
    room = max(40, WIDTH - indent - len(MARK) - len(end))
    was = was_of(before)
    reason = _short(" ".join(why.split()), max(0, room - len(was) - 2))
    return f"{MARK}{was}, {reason}{end}" if len(reason) > len("...") else f"{MARK}{was}{end}"


def was_of(before: str) -> str:
    """How a comment names what was there: the same wherever it stands."""
    return _short(one_line(before), WAS)


def _short(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: max(0, most - 3)].rstrip()}..."


def statement_of(file: SourceFile, node: cst.CSTNode) -> cst.CSTNode | None:
    """The statement a comment can stand above."""
    return next((each for each in file.within(node) if hasattr(each, "leading_lines")), None)


def undone(file: SourceFile, node: cst.CSTNode, before: str) -> bool:
    """Whether a comment above says that this was changed, and it stands there as it was again."""
    statement = statement_of(file, node)
    lines = getattr(statement, "leading_lines", ()) if statement is not None else ()
    if statement is not None and file.module.body and file.module.body[0] is statement:
        lines = (*file.module.header, *lines)
    told = f"{MARK}{was_of(before)}, "
    return any(line.comment is not None and line.comment.value.startswith(told) for line in lines)
