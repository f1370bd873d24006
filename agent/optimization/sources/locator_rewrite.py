"""Rewrites the links of one expression. What varies in the old locator varies in the new one.

A variable in a locator (a parameter, a loop's value, test data) must be in the new one, too: a word that the
test computes is never replaced by the value it had in one run.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import libcst as cst
from pydantic import JsonValue

from agent.optimization.sources.locator_chains import get_receiver, is_link, link_on, value_of
from agent.optimization.sources.source_files import SourceFile
from agent.optimization.sources.suite_names import SuiteNames, find_enclosing
from agent.optimization.sources.syntax_edits import (
    build_selector_string,
    find_quotes,
    realign_fstring,
    requote_literal,
)
from agent.optimization.sources.value_origins import (
    EditableLiteral,
    FixedValue,
    ValueOrigin,
    VaryingValue,
    trace_origin,
)
from kb_schema.locator_expressions import LocatorLink, Span

MEANT = 2
"""A shorter value may be in another text by chance."""


@dataclass(frozen=True, slots=True)
class ExpressionChange:
    """One expression of a file, and its replacement."""

    file: SourceFile
    node: cst.BaseExpression
    after: cst.BaseExpression


@dataclass(frozen=True, slots=True)
class RewriteRefusal:
    """No safe change is possible, and why; `wanted` is right if all users of the expression need the same."""

    why: str
    wanted: ExpressionChange | None = None


@dataclass(frozen=True, slots=True)
class _NonLiteralArgument:
    """An argument of the old locator that is no literal."""

    node: cst.BaseExpression
    value: JsonValue
    origin: ValueOrigin


class LocatorRewriter:
    """Rewrites expressions of a suite for one failing call with this stack."""

    def __init__(self, suite: SuiteNames, stack: Sequence[Span]) -> None:
        self._suite, self._stack = suite, stack

    # -- values

    def origin(self, file: SourceFile, node: cst.BaseExpression, value: JsonValue) -> ValueOrigin:
        """Return where the value of an expression comes from."""
        if _literal(value_of(node)):
            return FixedValue("a literal")
        if not isinstance(value, str):
            return VaryingValue(f"`{file.code(node)}` is computed")
        return trace_origin(self._suite, file, node, self._stack, value)

    def value(
        self, file: SourceFile, whole: cst.BaseExpression, node: cst.BaseExpression, old: str, new: str
    ) -> ExpressionChange | RewriteRefusal:
        """Replace a string in an expression, or where it is defined."""
        made = self._other(file, node, old, new)
        if isinstance(made, ExpressionChange | RewriteRefusal):
            return made
        return ExpressionChange(file, whole, _replaced(whole, node, made))

    def _other(
        self, file: SourceFile, node: cst.BaseExpression, old: str, new: str
    ) -> cst.BaseExpression | ExpressionChange | RewriteRefusal:
        quote = find_quotes(node)
        literal = requote_literal(cst.SimpleString(repr(new)), quote)
        if isinstance(node, cst.FormattedString):
            again = realign_fstring(node, old, new)
            if again is not None:
                return again
        found = self.origin(file, node, old)
        match found:
            case VaryingValue(why=why, by_pytest=True):
                return RewriteRefusal(why)
            case VaryingValue(why=why):
                frame = _framed(node)
                again = None if frame is None or len(old) < MEANT else realign_fstring(frame, old, new)
                return RewriteRefusal(why) if again is None else again
            case EditableLiteral(file=home, node=there) if there is not node:
                return ExpressionChange(home, there, requote_literal(literal, find_quotes(there)))
            case _:
                return literal

    def fixed(self, file: SourceFile, node: cst.BaseExpression, value: str) -> RewriteRefusal | None:
        """Return why an argument may not be dropped; None if it may."""
        found = self.origin(file, node, value)
        return RewriteRefusal(found.why) if isinstance(found, VaryingValue) else None

    def constant(
        self, file: SourceFile, node: cst.BaseExpression, ours: LocatorLink, said: Sequence[LocatorLink]
    ) -> ExpressionChange | None:
        """Replace the selector's constant where it is defined; None if it is no such constant."""
        if _literal(value_of(node)) or not ours.arguments or not isinstance(ours.arguments[0], str):
            return None
        found, selector = self.origin(file, node, ours.arguments[0]), build_selector_string(tuple(said))
        if not isinstance(found, EditableLiteral) or selector is None:
            return None
        quote = find_quotes(found.node)
        return ExpressionChange(
            found.file, found.node, requote_literal(cst.SimpleString(repr(selector)), quote)
        )

    # -- links

    def links(
        self,
        file: SourceFile,
        nodes: Sequence[cst.BaseExpression],
        ours: Sequence[LocatorLink],
        said: Sequence[LocatorLink],
        theirs: Sequence[cst.BaseExpression],
        *,
        base: cst.BaseExpression | None = None,
    ) -> ExpressionChange | RewriteRefusal:
        """Replace consecutive links, called on the same expression as the first one (or on `base`)."""
        first, last = nodes[0], nodes[-1]
        under = get_receiver(first)
        assert under is not None  # noqa: S101 - a link hangs on something
        if len(nodes) == len(said) == 1 and base in (None, under) and isinstance(first, cst.Call):
            there = self._single(file, first, ours[0], said, theirs[0])
            if there is not None:
                return there
        made = self._rebuilt(file, nodes, ours, said, theirs, under if base is None else base)
        if isinstance(made, RewriteRefusal):
            return made
        return self._for_all(file, nodes, ours, _outer(file, last, made))

    def _single(
        self,
        file: SourceFile,
        node: cst.Call,
        ours: LocatorLink,
        said: Sequence[LocatorLink],
        theirs: cst.BaseExpression,
    ) -> ExpressionChange | RewriteRefusal | None:
        if ours.method == "locator" and len(node.args) == 1:
            there = self.constant(file, node.args[0].value, ours, said)
            if there is not None:
                return there
        if ours.method != said[0].method or not isinstance(theirs, cst.Call):
            return None
        made = self._reargued(file, node, ours, said[0], theirs)
        if made is None or isinstance(made, RewriteRefusal):
            return made
        if made.node is not node:
            return made
        return self._for_all(file, [node], [ours], _outer(file, node, made.after))

    def _reargued(  # noqa: PLR0911, PLR0912 - each refusal with its reason
        self, file: SourceFile, node: cst.Call, ours: LocatorLink, said: LocatorLink, theirs: cst.Call
    ) -> ExpressionChange | RewriteRefusal | None:
        """Return the same call with other arguments; None if they do not line up."""
        plain = [each for each in node.args if each.keyword is None]
        if any(each.star for each in node.args) or len(plain) != len(said.arguments) != len(ours.arguments):
            return None
        if len(plain) != len(ours.arguments):
            return None
        args: list[cst.Arg] = []
        elsewhere: list[ExpressionChange] = []
        changed = 0
        for each in node.args:
            before, after, there = _pair(each, plain, ours, said)
            if not there:
                changed += 1
                continue
            if before == after:
                args.append(each)
                continue
            changed += 1
            if isinstance(before, str) and isinstance(after, str):
                made = self._other(file, each.value, before, after)
                if isinstance(made, RewriteRefusal):
                    return made
                if isinstance(made, ExpressionChange):
                    elsewhere.append(made)
                    made = requote_literal(cst.SimpleString(repr(after)), find_quotes(node))
            elif _literal(value_of(each.value)):
                made = _get_matching_value(theirs, each, plain, find_quotes(node))
            else:
                return RewriteRefusal(f"`{file.code(each.value)}` is computed")
            args.append(each.with_changes(value=made))
        known = {each.keyword.value for each in node.args if each.keyword}
        added = [each for each in theirs.args if each.keyword and each.keyword.value not in known]
        if elsewhere:
            if changed == 1 and not added:
                return elsewhere[0]
            if any(self._from_caller(file, each.value) for each in node.args):
                return RewriteRefusal(
                    "more than what the caller gives would change, in a helper that others use"
                )
        call = node.with_changes(args=_commas(args, node))
        for each in added:
            value = requote_literal(each.value, find_quotes(node))
            call = call.with_changes(args=[*_comma_behind(call.args), each.with_changes(value=value)])
        return ExpressionChange(file, node, call)

    def _from_caller(self, file: SourceFile, node: cst.BaseExpression) -> bool:
        found = self._suite.definition(file, node)
        return found is not None and isinstance(found.node, cst.Param)

    def _rebuilt(
        self,
        file: SourceFile,
        nodes: Sequence[cst.BaseExpression],
        ours: Sequence[LocatorLink],
        said: Sequence[LocatorLink],
        theirs: Sequence[cst.BaseExpression],
        base: cst.BaseExpression,
    ) -> cst.BaseExpression | RewriteRefusal:
        quote = find_quotes(nodes[-1])
        given = list(self._given(file, nodes, ours))
        used: list[_NonLiteralArgument] = []
        made = base
        for link in theirs:
            made = link_on(made, link)
            if isinstance(made, cst.Call):
                args = []
                for each in made.args:
                    value, by = _in_terms_of(each.value, given)
                    used += by
                    args.append(each.with_changes(value=requote_literal(value, quote)))
                made = made.with_changes(args=args)
        for lost in given:
            if isinstance(lost.origin, VaryingValue) and lost not in used:
                return RewriteRefusal(
                    f"the locator depends on `{file.code(lost.node)}`, and the one found does not"
                    f" ({lost.origin.why})"
                )
        del said
        return made

    def _given(
        self, file: SourceFile, nodes: Sequence[cst.BaseExpression], ours: Sequence[LocatorLink]
    ) -> Iterator[_NonLiteralArgument]:
        """Return the arguments of the old links that are no literals."""
        for node, link in zip(nodes, ours, strict=True):
            if not isinstance(node, cst.Call):
                continue
            plain = [each for each in node.args if each.keyword is None]
            for each in node.args:
                if _literal(value_of(each.value)):
                    continue
                if each.keyword is not None:
                    value = link.keywords.get(each.keyword.value)
                else:
                    at = plain.index(each)
                    value = link.arguments[at] if at < len(link.arguments) else None
                yield _NonLiteralArgument(each.value, value, self.origin(file, each.value, value))

    def _for_all(
        self,
        file: SourceFile,
        nodes: Sequence[cst.BaseExpression],
        ours: Sequence[LocatorLink],
        change: ExpressionChange,
    ) -> ExpressionChange | RewriteRefusal:
        """Refuse a change of a helper with parameters that would also change its other callers."""
        function = find_enclosing(file, nodes[-1], cst.FunctionDef)
        if function is None or function.name.value.startswith("test"):
            return change
        helper = function.name.value
        varying = [
            each
            for each in self._given(file, nodes, ours)
            if self._from_caller(file, each.node) or isinstance(each.node, cst.FormattedString)
        ]
        callers = len(self._suite.calls_of(helper)) if varying else 0
        if callers > 1:
            return RewriteRefusal(
                f"`{helper}` is called in {callers} places, each with a locator of its own by"
                f" `{file.code(varying[0].node)}`: the change would hold for all of them",
                change,
            )
        return change


def _pair(
    argument: cst.Arg, plain: Sequence[cst.Arg], ours: LocatorLink, said: LocatorLink
) -> tuple[JsonValue, JsonValue, bool]:
    """An argument's value before and after, and whether the new locator has it."""
    if argument.keyword is not None:
        name = argument.keyword.value
        return ours.keywords.get(name), said.keywords.get(name), name in said.keywords
    at = next(number for number, each in enumerate(plain) if each is argument)
    return ours.arguments[at], said.arguments[at], True


def _get_matching_value(
    theirs: cst.Call, argument: cst.Arg, plain: Sequence[cst.Arg], quote: str
) -> cst.BaseExpression:
    if argument.keyword is not None:
        name = argument.keyword.value
        found = next(each.value for each in theirs.args if each.keyword and each.keyword.value == name)
    else:
        at = next(number for number, each in enumerate(plain) if each is argument)
        found = [each.value for each in theirs.args if each.keyword is None][at]
    return requote_literal(found, quote)


def _commas(args: list[cst.Arg], node: cst.Call) -> list[cst.Arg]:
    """Return whether the last argument ends as the old one did."""
    if args and node.args and args[-1] is not node.args[-1]:
        args[-1] = args[-1].with_changes(comma=node.args[-1].comma)
    return args


def _comma_behind(args: Sequence[cst.Arg]) -> list[cst.Arg]:
    if not args:
        return []
    *others, last = args
    return [*others, last.with_changes(comma=cst.Comma(whitespace_after=cst.SimpleWhitespace(" ")))]


def _literal(value: JsonValue) -> bool:
    """Return whether a value could be read completely from the source."""
    if isinstance(value, dict):
        return (
            "code" not in value and all(_literal(each) for each in value.values()) and "locator" not in value
        )
    return True


def _in_terms_of(
    node: cst.BaseExpression, given: Sequence[_NonLiteralArgument]
) -> tuple[cst.BaseExpression, list[_NonLiteralArgument]]:
    """Replace a literal of the new locator by the old argument, if that is or contains it."""
    value = value_of(node)
    for each in given:
        if each.value == value and not isinstance(value, dict | None):
            return each.node, [each]
    if not isinstance(value, str):
        return node, []
    for each in given:
        if isinstance(each.value, str) and len(each.value) >= MEANT and isinstance(each.origin, VaryingValue):
            frame = each.node if isinstance(each.node, cst.FormattedString) else _framed(each.node)
            again = None if frame is None else realign_fstring(frame, each.value, value)
            if again is not None:
                return again, [each]
    return node, []


def _framed(node: cst.BaseExpression) -> cst.FormattedString | None:
    """`f"{title}"`, of a name."""
    if not isinstance(node, cst.Name | cst.Attribute):
        return None
    return cst.FormattedString(parts=[cst.FormattedStringExpression(expression=node)], start='f"', end='"')


def _outer(file: SourceFile, node: cst.BaseExpression, after: cst.BaseExpression) -> ExpressionChange:
    """Return the change as one of the whole chain that contains the links."""
    top: cst.BaseExpression = node
    while True:
        above = file.parent(top)
        if isinstance(above, cst.Attribute) and above.value is top:
            holder = file.parent(above)
            if isinstance(holder, cst.Call) and holder.func is above and is_link(holder):
                top = holder
                continue
            if is_link(above) and not (isinstance(holder, cst.Call) and holder.func is above):
                top = above
                continue
        break
    return ExpressionChange(file, top, after if top is node else _replaced(top, node, after))


def _replaced(whole: cst.BaseExpression, node: cst.CSTNode, after: cst.BaseExpression) -> cst.BaseExpression:
    made = whole.deep_replace(node, after)
    assert isinstance(made, cst.BaseExpression)  # noqa: S101 - one expression in the place of another
    return made
