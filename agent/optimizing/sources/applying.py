"""Patches put into sources: checked, commented, at most so many per file and execution.

Every patch is checked by `guard.py`. Nothing is written here: that is `workbench.py`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

import libcst as cst

from agent.optimizing.sources.comments import comment_for, one_line, statement_of
from agent.optimizing.sources.files import Files, SourceFile, SourceUnreadable
from agent.optimizing.sources.guard import Place, violations
from agent.optimizing.sources.origins import only_finds
from agent.optimizing.sources.replacing import parsed, replace
from agent.optimizing.sources.suites import Suite
from kb_schema.optimizing import Patch

MAX_PATCHES = 10
"""Per file and execution (OL: "more than N patches per file per execution id")."""


@dataclass(frozen=True, slots=True)
class NotApplied:
    """A patch that was not put in, and why."""

    patch: Patch
    reason: str


@dataclass(frozen=True, slots=True)
class Applied:
    """What a set of patches makes of a suite's files; nothing is written yet."""

    before: Mapping[Path, bytes]
    after: Mapping[Path, bytes]
    patches: tuple[Patch, ...]
    refused: tuple[NotApplied, ...]


def apply(
    patches: Sequence[Patch],
    files: Files,
    *,
    today: date,
    made: Counter[str] | None = None,
    most: int = MAX_PATCHES,
) -> Applied:
    """Put patches into the files they are for. `made`: how many each file has had in this execution."""
    counts = Counter(made or {})
    before: dict[Path, bytes] = {}
    after: dict[Path, bytes] = {}
    done: list[Patch] = []
    refused: list[NotApplied] = []
    by_file: dict[str, list[Patch]] = {}
    for patch in patches:
        by_file.setdefault(patch.file, []).append(patch)
    for name, wanted in by_file.items():
        try:
            file = files.read(name)
        except SourceUnreadable as exc:
            refused += [NotApplied(each, str(exc)) for each in wanted]
            continue
        taken, turned = _fitting(file, Suite(files), wanted, most - counts[name], most)
        refused += turned
        if taken:
            before[file.path], after[file.path] = file.data, _rewritten(file, taken, today)
            done += [patch for patch, _ in taken]
            counts[name] += len(taken)
    return Applied(before, after, tuple(done), tuple(refused))


def _fitting(
    file: SourceFile, suite: Suite, patches: Iterable[Patch], room: int, most: int
) -> tuple[list[tuple[Patch, cst.BaseExpression]], list[NotApplied]]:
    """Those that find their place, do not overlap, and keep the promise, each with the node it replaces."""
    taken: list[tuple[Patch, cst.BaseExpression]] = []
    refused: list[NotApplied] = []
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
        refused.append(NotApplied(patch, why))
    return taken, refused


def _place(file: SourceFile, patch: Patch) -> cst.BaseExpression | None:
    wanted = one_line(patch.before)
    for node in file.ending(patch.span.end_line, patch.span.end_column):
        span = file.span(node)
        same = (span.line, span.column) == (patch.span.line, patch.span.column)
        if same and one_line(file.code(node)) == wanted:
            return node
    return None


def _overlap(ours: Patch, theirs: Patch) -> bool:
    mine, its = ours.span, theirs.span
    return not (
        (mine.end_line, mine.end_column) <= (its.line, its.column)
        or (its.end_line, its.end_column) <= (mine.line, mine.column)
    )


def _broken(file: SourceFile, suite: Suite, patch: Patch, node: cst.BaseExpression) -> tuple[str, ...]:
    """What the patch alone would do that no patch may."""
    try:
        changed = replace(file, {node: parsed(patch.after)}, {})
    except (cst.ParserSyntaxError, TypeError, ValueError):
        return (f"`{patch.after}` is no expression",)
    literals: set[Place] = set()
    if isinstance(node, cst.SimpleString) and only_finds(suite, file, node):
        literals.add((patch.span.line, patch.span.column))
    return violations(file.text, changed.code, literals)


def _rewritten(file: SourceFile, taken: Sequence[tuple[Patch, cst.BaseExpression]], today: date) -> bytes:
    replaced = {node: parsed(patch.after) for patch, node in taken}
    comments: dict[cst.CSTNode, list[str]] = {}
    for patch, node in sorted(taken, key=lambda each: (each[0].span.line, each[0].span.column)):
        statement = statement_of(file, node)
        if statement is not None:
            indent = file.span(statement).column
            comments.setdefault(statement, []).append(
                comment_for(patch.before, patch.reason.partition("; ")[0], today, indent)
            )
    return replace(file, replaced, comments).bytes
