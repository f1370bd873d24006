"""Evaluates texts in a source without running it: literals, constants, and concatenations.

Locators made of such texts are in `suite_source`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping

KnownTexts = Mapping[str, str]
"""`NAME`, `self.NAME` or `Class.NAME` -> its value."""


def text_of(node: ast.expr | None, known: KnownTexts) -> str | None:
    """Return the constant text of an expression; None if only running would give it."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.Name(id=name):
            return known.get(name)
        case ast.Attribute(value=ast.Name(id=owner), attr=name):
            return known.get(f"{owner}.{name}")
        case ast.FormattedValue(value=inner, conversion=-1, format_spec=None):
            return text_of(inner, known)
    parts = _parts(node)
    texts = [text_of(each, known) for each in parts]
    return "".join(filter(None, texts)) if texts and None not in texts else None


def address_of(node: ast.expr | None, known: KnownTexts) -> str | None:
    """Return an address: its text, or the part after a base that only running would give."""
    whole = text_of(node, known)
    if whole is not None:
        return whole
    _, *rest = [text_of(each, known) for each in _parts(node)] or [None]
    path = "".join(filter(None, rest))
    return path if path.startswith("/") and None not in rest else None


def texts_in(body: Iterable[ast.stmt], known: KnownTexts, *owners: str) -> dict[str, str]:
    """Return the constants that statements define; those of a class under each of its `owners`."""
    found: dict[str, str] = {}
    for node in body:
        if not isinstance(node, ast.Assign | ast.AnnAssign):
            continue
        text = text_of(node.value, {**known, **found})
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        for target in targets:
            if isinstance(target, ast.Name) and text is not None:
                found |= {f"{owner}.{target.id}" if owner else target.id: text for owner in ("", *owners)}
    return found


def _parts(node: ast.expr | None) -> list[ast.expr]:
    """Return the parts of a concatenated text; empty if it is none."""
    match node:
        case ast.JoinedStr(values=parts):
            return parts
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return [*(_parts(left) or [left]), right]
        case ast.Call(func=ast.Name(id="urljoin") | ast.Attribute(attr="urljoin"), args=[base, path]):
            return [base, path]
    return []
