"""Edits syntax trees while keeping their style: quotes, f-strings, arguments over several lines.

Replaces expressions of a module, and adds or removes comments above statements.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import libcst as cst
from pydantic import JsonValue

from agent.optimization.sources.locator_chains import quoted
from agent.optimization.sources.source_files import SourceFile
from kb_schema.locator_expressions import Expression, LocatorLink

_PLAIN = re.compile(r"[\w .,:;!?&/+()@#%'-]*\Z")


def find_quotes(node: cst.CSTNode) -> str:
    """Return the quotes of the first string in it."""
    if isinstance(node, cst.SimpleString):
        return node.quote[0]
    if isinstance(node, cst.FormattedString):
        return node.start[-1]
    return next((found for child in node.children if (found := _quote(child))), '"')


def _quote(node: cst.CSTNode) -> str | None:
    if isinstance(node, cst.SimpleString | cst.FormattedString):
        return find_quotes(node)
    return next((found for child in node.children if (found := _quote(child))), None)


def requote_literal(node: cst.BaseExpression, quote: str) -> cst.BaseExpression:
    """Return a literal in the quotes of its new surroundings; everything else unchanged."""
    if isinstance(node, cst.SimpleString) and isinstance(node.evaluated_value, str) and not node.prefix:
        return quoted(node.evaluated_value, quote)
    return node


def realign_fstring(node: cst.FormattedString, old: str, new: str) -> cst.FormattedString | None:
    """Return the f-string with other words around the same values; None if the values cannot be told apart,
    or are not all in the new text.
    """
    texts: list[str] = [""]
    for part in node.parts:
        if isinstance(part, cst.FormattedStringText):
            texts[-1] += part.value.replace("{{", "{").replace("}}", "}")
        else:
            texts.append("")
    if len(texts) == 1 or "\\" in "".join(texts):
        return None
    held = re.fullmatch("(.+?)".join(map(re.escape, texts)), old, re.DOTALL)
    if held is None:
        return None
    rest, words = new, []
    for value in held.groups():
        if rest.count(value) != 1:
            return None
        before, _, rest = rest.partition(value)
        words.append(before)
    words.append(rest)
    quote = node.start[-1]
    if any(quote in each or "\\" in each or "\n" in each for each in words):
        return None
    parts: list[cst.BaseFormattedStringContent] = []
    values = [each for each in node.parts if isinstance(each, cst.FormattedStringExpression)]
    for number, word in enumerate(words):
        if word:
            parts.append(cst.FormattedStringText(word.replace("{", "{{").replace("}", "}}")))
        if number < len(values):
            parts.append(values[number])
    return node.with_changes(parts=parts)


def set_keyword_argument(call: cst.Call, name: str, value: cst.BaseExpression) -> cst.Call:
    """Return the call with one more keyword argument, or another value for it, in the same layout."""
    for each in call.args:
        if each.keyword is not None and each.keyword.value == name:
            return call.with_changes(
                args=[each.with_changes(value=value) if one is each else one for one in call.args]
            )
    added = cst.Arg(
        keyword=cst.Name(name),
        value=value,
        equal=cst.AssignEqual(cst.SimpleWhitespace(""), cst.SimpleWhitespace("")),
    )
    if not call.args:
        return call.with_changes(args=[added])
    *others, last = call.args
    if isinstance(last.comma, cst.Comma):
        between = call.whitespace_before_args
        gap = between if isinstance(between, cst.ParenthesizedWhitespace) else cst.SimpleWhitespace(" ")
        added = added.with_changes(comma=last.comma)
        last = last.with_changes(comma=cst.Comma(whitespace_after=gap))
    else:
        added = added.with_changes(whitespace_after_arg=last.whitespace_after_arg)
        last = last.with_changes(whitespace_after_arg=cst.SimpleWhitespace(""))
    return call.with_changes(args=[*others, last, added])


def format_number(value: float) -> cst.BaseExpression:
    """Write an integer as `5_000`."""
    return cst.Integer(f"{round(value):_}")


def build_selector_string(links: Expression) -> str | None:
    """Return a chain as one selector string of Playwright's documented engines; None if that is not possible."""
    parts = [_engine(each) for each in links]
    return " >> ".join(each for each in parts if each) if all(parts) else None


def _engine(link: LocatorLink) -> str | None:  # noqa: PLR0911 - one line per kind of call
    first = link.arguments[0] if link.arguments else None
    if not isinstance(first, str):
        return {"first": "nth=0", "last": "nth=-1"}.get(link.method) or (
            f"nth={first}" if link.method == "nth" and isinstance(first, int) else None
        )
    if len(link.arguments) > 1 or (not _PLAIN.match(first) and link.method != "locator"):
        return None
    exact = link.keywords.get("exact") is True
    others = {name: value for name, value in link.keywords.items() if name != "exact"}
    match link.method:
        case "locator" if not link.keywords:
            return first
        case "get_by_role":
            return _role(first, others, exact=exact)
        case "get_by_text" if not others and '"' not in first:
            return f'text="{first}"' if exact else f"text={first}"
        case "get_by_placeholder" if not others and '"' not in first:
            return f'[placeholder="{first}"]' if exact else f'[placeholder*="{first}" i]'
        case _:
            return None


def _role(role: str, others: dict[str, JsonValue], *, exact: bool) -> str | None:
    name = others.pop("name", None)
    if others or (name is not None and not isinstance(name, str)) or '"' in (name or ""):
        return None
    if name is None:
        return f"role={role}"
    return f'role={role}[name="{name}"]' if exact else f'role={role}[name*="{name}" i]'


def parse_expression(text: str) -> cst.BaseExpression:
    """Parse an expression, which may have several lines. Raises `ParserSyntaxError`."""
    return cst.parse_expression(f"({text})").with_changes(lpar=[], rpar=[])


def replace_expressions(
    file: SourceFile,
    replaced: Mapping[cst.BaseExpression, cst.BaseExpression],
    comments: Mapping[cst.CSTNode, Sequence[str]],
    *,
    without: Mapping[cst.CSTNode, int] | None = None,
) -> cst.Module:
    """Return the module with other expressions, with comments above statements, and with `without` removed
    above one.
    """
    changed = file.module.visit(_ExpressionReplacer(replaced, comments, without or {}))
    assert isinstance(changed, cst.Module)  # noqa: S101 - a module is visited
    return changed


class _ExpressionReplacer(cst.CSTTransformer):
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
