"""Finds where a value in a locator comes from: an editable literal, something fixed, something that varies.

A literal may be edited only if all its uses find elements. A word that is also typed, expected or passed to
unknown code is test data, and test data is never changed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import libcst as cst

from agent.optimization.sources.locator_chains import LOCATOR_CALLS, is_link, takes_selector
from agent.optimization.sources.source_files import SourceFile
from agent.optimization.sources.suite_names import NameDefinition, SuiteNames, find_enclosing, get_called_name
from kb_schema.locator_expressions import Span

_DEPTH = 6
"""Maximum number of helpers a value is followed through."""


@dataclass(frozen=True, slots=True)
class EditableLiteral:
    """A string literal that only finds elements: editing it only edits locators."""

    file: SourceFile
    node: cst.SimpleString


@dataclass(frozen=True, slots=True)
class FixedValue:
    """The same in every call, but it must not be edited where it is defined."""

    why: str


@dataclass(frozen=True, slots=True)
class VaryingValue:
    """Different in other calls, or test data."""

    why: str
    by_pytest: bool = False
    """Given by a fixture or a parametrization."""


ValueOrigin = EditableLiteral | FixedValue | VaryingValue


def is_only_locating(file: SourceFile, node: cst.CSTNode) -> bool:
    """Return whether its surroundings use it only to find an element."""
    argument = file.parent(node)
    if not isinstance(argument, cst.Arg) or argument.keyword is node:
        return False
    call = file.parent(argument)
    if not (isinstance(call, cst.Call) and isinstance(call.func, cst.Attribute)):
        return False
    name = call.func.attr.value
    if name in LOCATOR_CALLS:
        return True
    if argument is not call.args[0] or argument.keyword is not None or is_link(call.func.value):
        return False
    words = frozenset(each.keyword.value for each in call.args if each.keyword)
    return takes_selector(name, sum(each.keyword is None for each in call.args), words)


def trace_origin(
    suite: SuiteNames,
    file: SourceFile,
    node: cst.BaseExpression,
    stack: Sequence[Span],
    value: str,
    depth: int = 0,
) -> ValueOrigin:
    """Return the origin of an expression that had this value when the test ran; `stack` is how its call was
    reached.
    """
    told = file.code(node)
    if depth > _DEPTH:
        return VaryingValue(f"`{told}` comes through too many helpers")
    if isinstance(node, cst.SimpleString):
        return (
            EditableLiteral(file, node)
            if node.evaluated_value == value
            else FixedValue(f"`{told}` is made into something else")
        )
    if isinstance(node, cst.Name | cst.Attribute | cst.Subscript):
        return _named(suite, file, node, stack, value, depth)
    parts = tuple(_parts(node))
    if not parts:
        return VaryingValue(f"`{told}` is computed")
    for part in parts:
        of_part = trace_origin(suite, file, part, stack, "", depth + 1)
        if isinstance(of_part, VaryingValue):
            return VaryingValue(f"`{told}` is computed: {of_part.why}")
    return FixedValue(f"`{told}` is put together of parts that others may use")


def _parts(node: cst.BaseExpression) -> Iterator[cst.BaseExpression]:
    match node:
        case cst.BinaryOperation(left=left, right=right, operator=cst.Add()):
            yield from (left, right)
        case cst.FormattedString(parts=parts):
            for part in parts:
                if isinstance(part, cst.FormattedStringExpression):
                    yield part.expression
        case cst.ConcatenatedString(left=left, right=right):
            yield from (left, right)


def _named(  # noqa: PLR0911 - each answer with its reason
    suite: SuiteNames,
    file: SourceFile,
    node: cst.Name | cst.Attribute | cst.Subscript,
    stack: Sequence[Span],
    value: str,
    depth: int,
) -> ValueOrigin:
    told = file.code(node)
    found = suite.definition(file, node)
    if found is None:
        return VaryingValue(f"what `{told}` is cannot be read from the source")
    if isinstance(found.node, cst.Param):
        return _given(suite, found, stack, value, depth)
    if not isinstance(found.node, cst.BaseExpression):
        return VaryingValue(f"`{told}` is assigned in more than one way")
    if isinstance(found.node, cst.SimpleString):
        if found.node.evaluated_value != value:
            return FixedValue(f"`{told}` is a constant")
        if suite.only(found, is_only_locating):
            return EditableLiteral(found.file, found.node)
        if found.local:
            return VaryingValue(f"`{told}` is used for more than finding the element")
        return FixedValue(f"`{told}` is used for more than finding elements")
    if found.local:
        return trace_origin(suite, found.file, found.node, stack, value, depth + 1)
    return FixedValue(f"`{told}` is a constant")


def _given(  # noqa: PLR0911 - each answer with its reason
    suite: SuiteNames, found: NameDefinition, stack: Sequence[Span], value: str, depth: int
) -> ValueOrigin:
    """Return the origin of a parameter: what the caller passed for it."""
    parameter = found.node
    assert isinstance(parameter, cst.Param)  # noqa: S101 - asked for by the caller
    name = parameter.name.value
    function = find_enclosing(found.file, parameter, cst.FunctionDef)
    if function is None:
        return VaryingValue(f"`{name}` is a parameter")
    helper = function.name.value
    if helper.startswith("test") or function.decorators:
        return VaryingValue(
            f"`{name}` is given to `{helper}` by pytest: it is test data, not a locator", True
        )
    if not suite.only(found, is_only_locating):
        return VaryingValue(f"`{name}` of `{helper}` is used for more than finding the element")
    sites = suite.calls_of(helper)
    chosen = _site(suite, sites, function, found, stack, value)
    if chosen is None:
        return VaryingValue(f"`{helper}` is called in {len(sites)} places; which one this was is not known")
    call_file, call = chosen
    given = argument_for(function, call, name)
    if given is None:
        default = parameter.default
        if isinstance(default, cst.SimpleString) and default.evaluated_value == value:
            return EditableLiteral(found.file, default)
        return VaryingValue(f"what `{helper}` is given for `{name}` cannot be read from the source")
    return trace_origin(suite, call_file, given, stack, value, depth + 1)


def _site(
    suite: SuiteNames,
    sites: Sequence[tuple[SourceFile, cst.Call]],
    function: cst.FunctionDef,
    found: NameDefinition,
    stack: Sequence[Span],
    value: str,
) -> tuple[SourceFile, cst.Call] | None:
    """Return the call of the helper: by the stack, otherwise the only one that passes this word."""
    helper = function.name.value
    for outer, inner in pairwise(stack):
        if inner.function.rpartition(".")[2] != helper:
            continue
        for file, call in sites:
            span = file.span(call)
            if suite.files.path(outer.file) == file.path and (span.end_line, span.end_column) == (
                outer.end_line,
                outer.end_column,
            ):
                return file, call
    if len(sites) == 1:
        return sites[0]
    assert isinstance(found.node, cst.Param)  # noqa: S101 - asked for by the caller
    name = found.node.name.value
    saying = []
    for file, call in sites:
        given = argument_for(function, call, name)
        if (
            isinstance(given, cst.SimpleString)
            and given.evaluated_value == value
            and _on(suite, stack, file, call)
        ):
            saying.append((file, call))
    return saying[0] if len(saying) == 1 else None


def _on(suite: SuiteNames, stack: Sequence[Span], file: SourceFile, call: cst.Call) -> bool:
    """Return whether the call is in a function that was running."""
    function = find_enclosing(file, call, cst.FunctionDef)
    if function is None:
        return False
    return any(
        suite.files.path(each.file) == file.path and each.function.rpartition(".")[2] == function.name.value
        for each in stack
    )


def argument_for(function: cst.FunctionDef, call: cst.Call, name: str) -> cst.BaseExpression | None:
    """Return what a call passes for a parameter; None if it passes nothing, or that cannot be determined."""
    if any(each.star for each in call.args):
        return None
    for each in call.args:
        if each.keyword is not None and each.keyword.value == name:
            return each.value
    names = [each.name.value for each in (*function.params.posonly_params, *function.params.params)]
    if names and names[0] in ("self", "cls"):
        names = names[1:]
    plain = [each.value for each in call.args if each.keyword is None]
    at = names.index(name) if name in names else len(plain)
    return plain[at] if at < len(plain) else None


def is_locating_literal(suite: SuiteNames, file: SourceFile, node: cst.SimpleString) -> bool:
    """Return whether a string literal only finds elements, in all its uses."""
    if is_only_locating(file, node):
        return True
    above = file.parent(node)
    found: NameDefinition | None = None
    match above:
        case cst.Assign() | cst.AnnAssign():
            found = _assigned_to(file, above, node, None)
        case cst.DictElement(key=cst.SimpleString() as key) if above.value is node:
            holder = file.parent(above)
            statement = file.parent(holder) if isinstance(holder, cst.Dict) else None
            if isinstance(holder, cst.Dict) and isinstance(statement, cst.Assign | cst.AnnAssign):
                found = _assigned_to(file, statement, holder, str(key.evaluated_value))
        case cst.Param() if above.default is node:
            return _parameter_finds(suite, file, above)
        case cst.Arg() if above.value is node:
            return _argument_finds(suite, file, above)
        case _:
            pass
    return found is not None and suite.only(found, is_only_locating)


def _assigned_to(
    file: SourceFile, statement: cst.Assign | cst.AnnAssign, value: cst.BaseExpression, key: str | None
) -> NameDefinition | None:
    if statement.value is not value:
        return None
    targets = (
        [each.target for each in statement.targets]
        if isinstance(statement, cst.Assign)
        else [statement.target]
    )
    match targets:
        case [cst.Name(value=name)]:
            function = find_enclosing(file, statement, cst.FunctionDef)
            return NameDefinition(file, value, name, key, local=function is not None)
        case [cst.Attribute(value=cst.Name(value="self"), attr=attr)]:
            return NameDefinition(file, value, attr.value, key)
        case _:
            return None


def _parameter_finds(suite: SuiteNames, file: SourceFile, parameter: cst.Param) -> bool:
    function = find_enclosing(file, parameter, cst.FunctionDef)
    if function is None or function.decorators or function.name.value.startswith("test"):
        return False
    return suite.only(NameDefinition(file, parameter, parameter.name.value, local=True), is_only_locating)


def _argument_finds(suite: SuiteNames, file: SourceFile, argument: cst.Arg) -> bool:
    """Return whether the helper it is passed to only finds elements with it."""
    call = file.parent(argument)
    if not isinstance(call, cst.Call) or argument.star:
        return False
    helpers = suite.functions_called(get_called_name(call))
    if len(helpers) != 1:
        return False
    home, function = helpers[0]
    for each in (*function.params.posonly_params, *function.params.params, *function.params.kwonly_params):
        if argument_for(function, call, each.name.value) is argument.value:
            return _parameter_finds(suite, home, each)
    return False
