"""A patch taken out of a source again, wherever the lines have moved since: the very expression, and its comment."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from agent.optimizing.sources.comments import MARK, one_line, statement_of, was_of
from agent.optimizing.sources.files import Files
from agent.optimizing.sources.replacing import parsed, replace
from kb_schema.optimizing import Patch


def without(patch: Patch, files: Files) -> bytes | None:
    """The file as it is without the patch; None where it is not to be found in it any more."""
    file = files.read(patch.file)
    wanted, was = one_line(patch.after), was_of(patch.before)
    for node in file.expressions():
        if type(node) is not type(parsed(patch.after)) or one_line(file.code(node)) != wanted:
            continue
        statement = statement_of(file, node)
        line = None if statement is None else _comment(statement, was)
        if statement is None or line is None:
            continue
        module = replace(file, {node: parsed(patch.before)}, {}, without={statement: line})
        return module.bytes
    return None


def _comment(statement: cst.CSTNode, was: str) -> int | None:
    lines: Sequence[cst.EmptyLine] = getattr(statement, "leading_lines", ())
    for number, line in enumerate(lines):
        if line.comment is not None and line.comment.value.startswith(f"{MARK}{was}"):
            return number
    return None
