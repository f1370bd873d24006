"""Expressions of a module replaced by others, comments put above statements and taken away."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import libcst as cst

from agent.optimizing.sources.files import SourceFile


def parsed(text: str) -> cst.BaseExpression:
    """Of several lines, too. Raises `ParserSyntaxError`."""
    return cst.parse_expression(f"({text})").with_changes(lpar=[], rpar=[])


def replace(
    file: SourceFile,
    replaced: Mapping[cst.BaseExpression, cst.BaseExpression],
    comments: Mapping[cst.CSTNode, Sequence[str]],
    *,
    without: Mapping[cst.CSTNode, int] | None = None,
) -> cst.Module:
    """The module with other expressions, with comments above statements, `without` one above another."""
    changed = file.module.visit(_Replacing(replaced, comments, without or {}))
    assert isinstance(changed, cst.Module)  # noqa: S101 - a module is visited
    return changed


class _Replacing(cst.CSTTransformer):
    def __init__(
        self,
        replaced: Mapping[cst.BaseExpression, cst.BaseExpression],
        comments: Mapping[cst.CSTNode, Sequence[str]],
        without: Mapping[cst.CSTNode, int],
    ) -> None:
        super().__init__()
        self._replaced, self._comments, self._without = replaced, comments, without

    def on_leave(self, original_node: cst.CSTNodeT, updated_node: cst.CSTNodeT) -> Any:
        if isinstance(original_node, cst.BaseExpression) and original_node in self._replaced:
            new = self._replaced[original_node]
            return new.with_changes(lpar=original_node.lpar, rpar=original_node.rpar)
        said, gone = self._comments.get(original_node, ()), self._without.get(original_node)
        if not said and gone is None:
            return updated_node
        lines = [cst.EmptyLine(comment=cst.Comment(each)) for each in said]
        above: Any = getattr(updated_node, "leading_lines", ())
        above = [each for number, each in enumerate(above) if number != gone]
        return updated_node.with_changes(leading_lines=[*above, *lines])
