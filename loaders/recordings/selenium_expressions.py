"""Computes the small JavaScript expressions of Selenium IDE: literals, variables, comparisons, sums. Nothing is run."""

from __future__ import annotations

import ast
import json
import operator
import re
from collections.abc import Callable, Mapping
from typing import Any

_VARIABLE = re.compile(r"\$\{(\w+)\}")
_TEXT = re.compile(r"""("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')""")
_OPERATORS = (
    (re.compile(r"!=="), " is not "),
    (re.compile(r"==="), " is "),
    (re.compile(r"&&"), " and "),
    (re.compile(r"\|\|"), " or "),
    (re.compile(r"!(?!=)"), " not "),
    (re.compile(r"\btrue\b"), "True"),
    (re.compile(r"\bfalse\b"), "False"),
    (re.compile(r"\b(?:null|undefined)\b"), "None"),
)
_COMPARISONS: Mapping[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}
_SUMS: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Mod: operator.mod,
    ast.Div: operator.truediv,
}
LONGEST, LONGEST_TEXT = 2_000, 100_000
"""Characters of an expression, and of a text that it makes."""


class NotComputable(ValueError):
    """The value of an expression depends on the page, or the expression is not a small one."""


def compute(expression: str, variables: Mapping[str, Any]) -> Any:
    """Return the value of an expression. Raises `NotComputable`.

    >>> compute("return ${n} + 1", {"n": 2}), compute("${n} >= 3 && '${who}' === 'Ann'", {"n": "7", "who": "Ann"})
    (3, True)
    """
    text = expression.strip().removeprefix("return").strip().removesuffix(";").strip()
    if len(text) > LONGEST:
        raise NotComputable(expression)
    parts = _TEXT.split(text)
    for at in range(0, len(parts), 2):
        for pattern, put in _OPERATORS:
            parts[at] = pattern.sub(put, parts[at])
        parts[at] = _VARIABLE.sub(lambda match: f" v_{match[1]} ", parts[at])
    for at in range(1, len(parts), 2):
        parts[at] = _VARIABLE.sub(lambda match: _inside(match[1], variables), parts[at])
    try:
        return _value(ast.parse("".join(parts).strip(), mode="eval").body, variables)
    except (SyntaxError, TypeError, ArithmeticError, LookupError, RecursionError, MemoryError) as exc:
        raise NotComputable(expression) from exc


def as_javascript_text(value: Any) -> str:
    """Return a value as JavaScript writes it into a text."""
    if isinstance(value, bool) or value is None:
        return json.dumps(value)
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return ",".join(map(as_javascript_text, value)) if isinstance(value, list) else str(value)


def _inside(name: str, variables: Mapping[str, Any]) -> str:
    if name not in variables:
        raise NotComputable(name)
    return json.dumps(as_javascript_text(variables[name]))[1:-1].replace("'", "\\'")


def _value(node: ast.expr, variables: Mapping[str, Any]) -> Any:  # noqa: PLR0911 - one for each kind of expression
    match node:
        case ast.Constant(value=str() | int() | float() | bool() | None as value):
            return value
        case ast.Name(id=name) if name.startswith("v_") and name[2:] in variables:
            return variables[name[2:]]
        case ast.List(elts=items) | ast.Tuple(elts=items):
            return [_value(each, variables) for each in items]
        case ast.Attribute(value=inner, attr="length"):
            return len(_value(inner, variables))
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            return not _value(inner, variables)
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            return -_number(_value(inner, variables))
        case ast.BoolOp(op=op, values=parts):
            values = [_value(each, variables) for each in parts]
            return all(values) if isinstance(op, ast.And) else any(values)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _added(_value(left, variables), _value(right, variables))
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _SUMS:
            return _SUMS[type(op)](_number(_value(left, variables)), _number(_value(right, variables)))
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            return _compared(_value(left, variables), op, _value(right, variables))
    raise NotComputable(ast.dump(node)[:80])


def _added(one: Any, other: Any) -> Any:
    if isinstance(one, str) or isinstance(other, str):
        text = as_javascript_text(one) + as_javascript_text(other)
        if len(text) > LONGEST_TEXT:
            raise NotComputable(text[:80])
        return text
    return _number(one) + _number(other)


def _compared(one: Any, op: ast.cmpop, other: Any) -> bool:
    if isinstance(op, ast.Is | ast.IsNot):
        same = one == other and isinstance(one, str) == isinstance(other, str)
        return same == isinstance(op, ast.Is)
    if not (isinstance(one, str) and isinstance(other, str)):
        one, other = _number(one), _number(other)
    return _COMPARISONS[type(op)](one, other)


def _number(value: Any) -> int | float:
    if isinstance(value, bool | int | float):
        return value
    try:
        number = float(value)
    except (TypeError, ValueError) as exc:
        raise NotComputable(str(value)) from exc
    return int(number) if number.is_integer() else number
