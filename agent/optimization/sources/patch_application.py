"""Applies patches to sources in memory: checked, commented, limited per file and execution. Also removes
them.

Every patch is checked by `patch_guard`; files are written by `patch_workspace`. A patch is removed by finding
its expression and comment, wherever the lines have moved.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

import libcst as cst

from agent.optimization.sources.patch_comments import (
    MARK,
    comment_for,
    join_lines,
    shorten_original,
    statement_of,
)
from agent.optimization.sources.patch_guard import SourcePosition, find_violations
from agent.optimization.sources.source_files import SourceFile, SourceUnreadable, SuiteSources
from agent.optimization.sources.suite_names import SuiteNames
from agent.optimization.sources.syntax_edits import parse_expression, replace_expressions
from agent.optimization.sources.value_origins import is_locating_literal
from kb_schema.suite_optimization import MAX_PATCHES, Patch


@dataclass(frozen=True, slots=True)
class UnappliedPatch:
    """A patch that was not applied, and why."""

    patch: Patch
    reason: str


@dataclass(frozen=True, slots=True)
class AppliedPatches:
    """The changed contents of a suite's files; nothing is written yet."""

    before: Mapping[Path, bytes]
    after: Mapping[Path, bytes]
    patches: tuple[Patch, ...]
    refused: tuple[UnappliedPatch, ...]


def apply_patches(
    patches: Sequence[Patch],
    files: SuiteSources,
    *,
    today: date,
    made: Counter[str] | None = None,
    most: int = MAX_PATCHES,
) -> AppliedPatches:
    """Apply patches to the files they are for. `made`: number of patches per file so far in this execution."""
    counts = Counter(made or {})
    before: dict[Path, bytes] = {}
    after: dict[Path, bytes] = {}
    done: list[Patch] = []
    refused: list[UnappliedPatch] = []
    by_file: dict[str, list[Patch]] = {}
    for patch in patches:
        by_file.setdefault(patch.file, []).append(patch)
    for name, wanted in by_file.items():
        try:
            file = files.read(name)
        except SourceUnreadable as exc:
            refused += [UnappliedPatch(each, str(exc)) for each in wanted]
            continue
        taken, turned = _fitting(file, SuiteNames(files), wanted, most - counts[name], most)
        refused += turned
        if taken:
            before[file.path], after[file.path] = file.data, _rewritten(file, taken, today)
            done += [patch for patch, _ in taken]
            counts[name] += len(taken)
    return AppliedPatches(before, after, tuple(done), tuple(refused))


def _fitting(
    file: SourceFile, suite: SuiteNames, patches: Iterable[Patch], room: int, most: int
) -> tuple[list[tuple[Patch, cst.BaseExpression]], list[UnappliedPatch]]:
    """Return the patches whose expression is found, that do not overlap and that pass the guard, with their
    nodes.
    """
    taken: list[tuple[Patch, cst.BaseExpression]] = []
    refused: list[UnappliedPatch] = []
    for patch in patches:
        node = _place(file, patch)
        if node is None:
            why = "the source is no longer as it was when the patch was made"
        elif len(taken) >= room:
            why = f"{most} patches of this file are the most in one execution (--max-patches)"
        elif any(_overlap(patch, other) for other, _ in taken):
            why = "another patch changes the same expression"
        else:
            broken = _broken(file, suite, patch, node)
            if not broken:
                taken.append((patch, node))
                continue
            why = f"it would change more than a locator or a wait: {broken[0]}"
        refused.append(UnappliedPatch(patch, why))
    return taken, refused


def _place(file: SourceFile, patch: Patch) -> cst.BaseExpression | None:
    wanted = join_lines(patch.before)
    for node in file.ending(patch.span.end_line, patch.span.end_column):
        span = file.span(node)
        same = (span.line, span.column) == (patch.span.line, patch.span.column)
        if same and join_lines(file.code(node)) == wanted:
            return node
    return None


def _overlap(ours: Patch, theirs: Patch) -> bool:
    mine, its = ours.span, theirs.span
    return not (
        (mine.end_line, mine.end_column) <= (its.line, its.column)
        or (its.end_line, its.end_column) <= (mine.line, mine.column)
    )


def _broken(file: SourceFile, suite: SuiteNames, patch: Patch, node: cst.BaseExpression) -> tuple[str, ...]:
    """Return the forbidden changes the patch would make."""
    try:
        changed = replace_expressions(file, {node: parse_expression(patch.after)}, {})
    except (cst.ParserSyntaxError, TypeError, ValueError):
        return (f"`{patch.after}` is no expression",)
    literals: set[SourcePosition] = set()
    if isinstance(node, cst.SimpleString) and is_locating_literal(suite, file, node):
        literals.add((patch.span.line, patch.span.column))
    return find_violations(file.text, changed.code, literals)


def _rewritten(file: SourceFile, taken: Sequence[tuple[Patch, cst.BaseExpression]], today: date) -> bytes:
    replaced = {node: parse_expression(patch.after) for patch, node in taken}
    comments: dict[cst.CSTNode, list[str]] = {}
    for patch, node in sorted(taken, key=lambda each: (each[0].span.line, each[0].span.column)):
        statement = statement_of(file, node)
        if statement is not None:
            indent = file.span(statement).column
            comments.setdefault(statement, []).append(
                comment_for(patch.before, patch.reason.partition("; ")[0], today, indent)
            )
    return replace_expressions(file, replaced, comments).bytes


def remove_patch(patch: Patch, files: SuiteSources) -> bytes | None:
    """Return the file without the patch; None if the patch is not found in it."""
    file = files.read(patch.file)
    wanted, was = join_lines(patch.after), shorten_original(patch.before)
    for node in file.expressions():
        if type(node) is not type(parse_expression(patch.after)) or join_lines(file.code(node)) != wanted:
            continue
        statement = statement_of(file, node)
        line = None if statement is None else _comment(statement, was)
        if statement is None or line is None:
            continue
        module = replace_expressions(
            file, {node: parse_expression(patch.before)}, {}, without={statement: line}
        )
        return module.bytes
    return None


def _comment(statement: cst.CSTNode, was: str) -> int | None:
    lines: Sequence[cst.EmptyLine] = getattr(statement, "leading_lines", ())
    for number, line in enumerate(lines):
        if line.comment is not None and line.comment.value.startswith(f"{MARK}{was}"):
            return number
    return None
