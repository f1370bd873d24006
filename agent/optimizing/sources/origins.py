"""Where a value in a locator comes from: a literal that may be edited, something fixed, something that varies.

A literal may be edited where it stands only if all it is used for is finding elements: a word that is also
typed, expected or handed to something unknown is test data, and test data is never touched.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import libcst as cst

from agent.optimizing.sources.chains import LOCATOR_CALLS, is_link, takes_selector
from agent.optimizing.sources.files import SourceFile
from agent.optimizing.sources.suites import Definition, Suite, called, enclosing
from kb_schema.playwright_calls import Span

_DEPTH = 6
"""How many helpers a value is followed through."""


@dataclass(frozen=True, slots=True)
class Literal:
    """A string literal that only finds elements: editing it is editing locators."""

    file: SourceFile
    node: cst.SimpleString


@dataclass(frozen=True, slots=True)
class Fixed:
    """The same in every call, but not to be edited where it stands."""

    why: str


@dataclass(frozen=True, slots=True)
class Varies:
    """Another value in other calls, or test data."""

    why: str
    by_pytest: bool = False
    """Given by a fixture or a parametrization."""


Origin = Literal | Fixed | Varies


def finds(file: SourceFile, node: cst.CSTNode) -> bool:
    """Whether it stands where only the finding of an element uses it."""
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


def origin(
    suite: Suite,
    file: SourceFile,
    node: cst.BaseExpression,
    stack: Sequence[Span],
    value: str,
    depth: int = 0,
) -> Origin:
    """Of an expression that had this value when the test ran; `stack` is how its call came about."""
    told = file.code(node)
    if depth > _DEPTH:
        return Varies(f"`{told}` comes through too many helpers")
    if isinstance(node, cst.SimpleString):
        return (
            Literal(file, node)
            if node.evaluated_value == value
            else Fixed(f"`{told}` is made into something else")
        )
    if isinstance(node, cst.Name | cst.Attribute | cst.Subscript):
        return _named(suite, file, node, stack, value, depth)
    parts = tuple(_parts(node))
    if not parts:
        return Varies(f"`{told}` is computed")
    for part in parts:
        of_part = origin(suite, file, part, stack, "", depth + 1)
        if isinstance(of_part, Varies):
            return Varies(f"`{told}` is computed: {of_part.why}")
    return Fixed(f"`{told}` is put together of parts that others may use")


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
    suite: Suite,
    file: SourceFile,
    node: cst.Name | cst.Attribute | cst.Subscript,
    stack: Sequence[Span],
    value: str,
    depth: int,
) -> Origin:
    told = file.code(node)
    found = suite.definition(file, node)
    if found is None:
        return Varies(f"what `{told}` is cannot be read from the source")
    if isinstance(found.node, cst.Param):
        return _given(suite, found, stack, value, depth)
    if not isinstance(found.node, cst.BaseExpression):
        return Varies(f"`{told}` is assigned in more than one way")
    if isinstance(found.node, cst.SimpleString):
        if found.node.evaluated_value != value:
            return Fixed(f"`{told}` is a constant")
        if suite.only(found, finds):
            return Literal(found.file, found.node)
        if found.local:
            return Varies(f"`{told}` is used for more than finding the element")
        return Fixed(f"`{told}` is used for more than finding elements")
    if found.local:
        return origin(suite, found.file, found.node, stack, value, depth + 1)
    return Fixed(f"`{told}` is a constant")


def _given(suite: Suite, found: Definition, stack: Sequence[Span], value: str, depth: int) -> Origin:  # noqa: PLR0911 - each answer with its reason
    """Of a parameter: what the caller gave for it."""
    parameter = found.node
    assert isinstance(parameter, cst.Param)  # noqa: S101 - asked for by the caller
    name = parameter.name.value
    function = enclosing(found.file, parameter, cst.FunctionDef)
    if function is None:
        return Varies(f"`{name}` is a parameter")
    helper = function.name.value
    if helper.startswith("test") or function.decorators:
        return Varies(f"`{name}` is given to `{helper}` by pytest: it is test data, not a locator", True)
    if not suite.only(found, finds):
        return Varies(f"`{name}` of `{helper}` is used for more than finding the element")
    sites = suite.calls_of(helper)
    chosen = _site(suite, sites, function, found, stack, value)
    if chosen is None:
        return Varies(f"`{helper}` is called in {len(sites)} places; which one this was is not known")
    call_file, call = chosen
    given = argument_for(function, call, name)
    if given is None:
        default = parameter.default
        if isinstance(default, cst.SimpleString) and default.evaluated_value == value:
            return Literal(found.file, default)
        return Varies(f"what `{helper}` is given for `{name}` cannot be read from the source")
    return origin(suite, call_file, given, stack, value, depth + 1)


def _site(
    suite: Suite,
    sites: Sequence[tuple[SourceFile, cst.Call]],
    function: cst.FunctionDef,
    found: Definition,
    stack: Sequence[Span],
    value: str,
) -> tuple[SourceFile, cst.Call] | None:
    """The call of the helper that this was: by the stack, else the only one that gives this very word."""
    helper = function.name.value
    for outer, inner in pairwise(stack):
        if inner.function.rpartition(".")[2] != helper:
            continue
        for file, call in sites:
            span = file.span(call)
            if suite.files.path(outer.file) == file.path and (span.end_line, span.end_column) == (
                outer.end_line, outer.end_column,
            ):  # fmt: skip
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


def _on(suite: Suite, stack: Sequence[Span], file: SourceFile, call: cst.Call) -> bool:
    """Whether the call stands in a function that was running."""
    function = enclosing(file, call, cst.FunctionDef)
    if function is None:
        return False
    return any(
        suite.files.path(each.file) == file.path and each.function.rpartition(".")[2] == function.name.value
        for each in stack
    )


def argument_for(function: cst.FunctionDef, call: cst.Call, name: str) -> cst.BaseExpression | None:
    """What a call gives for a parameter; None where it gives nothing, or nobody can tell."""
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


def only_finds(suite: Suite, file: SourceFile, node: cst.SimpleString) -> bool:
    """Whether a string literal does nothing but find elements, wherever it is used from here."""
    if finds(file, node):
        return True
    above = file.parent(node)
    found: Definition | None = None
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
    return found is not None and suite.only(found, finds)


def _assigned_to(
    file: SourceFile, statement: cst.Assign | cst.AnnAssign, value: cst.BaseExpression, key: str | None
) -> Definition | None:
    if statement.value is not value:
        return None
    targets = (
        [each.target for each in statement.targets]
        if isinstance(statement, cst.Assign)
        else [statement.target]
    )
    match targets:
        case [cst.Name(value=name)]:
            function = enclosing(file, statement, cst.FunctionDef)
            return Definition(file, value, name, key, local=function is not None)
        case [cst.Attribute(value=cst.Name(value="self"), attr=attr)]:
            return Definition(file, value, attr.value, key)
        case _:
            return None


def _parameter_finds(suite: Suite, file: SourceFile, parameter: cst.Param) -> bool:
    function = enclosing(file, parameter, cst.FunctionDef)
    if function is None or function.decorators or function.name.value.startswith("test"):
        return False
    return suite.only(Definition(file, parameter, parameter.name.value, local=True), finds)


def _argument_finds(suite: Suite, file: SourceFile, argument: cst.Arg) -> bool:
    """Whether the one helper it is handed to only finds elements with it."""
    call = file.parent(argument)
    if not isinstance(call, cst.Call) or argument.star:
        return False
    helpers = suite.functions_called(called(call))
    if len(helpers) != 1:
        return False
    home, function = helpers[0]
    for each in (*function.params.posonly_params, *function.params.params, *function.params.kwonly_params):
        if argument_for(function, call, each.name.value) is argument.value:
            return _parameter_finds(suite, home, each)
    return False
