"""Chains of calls that make a locator, as syntax: `page.locator("form").get_by_role("button", name="Save")`.

This module lists which of Playwright's calls do what; `patch_proposals` decides which chain becomes which.
"""

from __future__ import annotations

from dataclasses import dataclass

import libcst as cst
from pydantic import JsonValue

from agent.optimization.sources.source_files import SourceFile
from kb_schema.locator_expressions import LocatorLink, Span

LOCATOR_CALLS = frozenset(
    {
        "locator",
        "frame_locator",
        "get_by_role",
        "get_by_text",
        "get_by_label",
        "get_by_placeholder",
        "get_by_alt_text",
        "get_by_title",
        "get_by_test_id",
        "filter",
        "nth",
        "or_",
        "and_",
        "describe",
    }
)
"""Calls on a page, frame or locator that return a locator."""
LOCATOR_PROPERTIES = frozenset({"first", "last", "content_frame", "owner"})
ACTIONS = frozenset(
    {
        "check",
        "click",
        "dblclick",
        "dispatch_event",
        "fill",
        "focus",
        "hover",
        "press",
        "select_option",
        "set_checked",
        "set_input_files",
        "tap",
        "type",
        "uncheck",
    }
)
QUESTIONS = frozenset(
    {
        "get_attribute",
        "inner_html",
        "inner_text",
        "input_value",
        "is_checked",
        "is_disabled",
        "is_editable",
        "is_enabled",
        "is_hidden",
        "is_visible",
        "text_content",
    }
)
SHORTCUTS = ACTIONS | QUESTIONS
"""Calls on a page or frame that take a selector first, and that locators have, too: `page.click("#save")`."""
BY_SELECTOR = SHORTCUTS | {"wait_for_selector", "query_selector", "query_selector_all"}
TIMED = SHORTCUTS | {
    "blur",
    "bounding_box",
    "clear",
    "drag_to",
    "evaluate",
    "press_sequentially",
    "screenshot",
    "scroll_into_view_if_needed",
    "select_text",
    "wait_for",
    "wait_for_selector",
    "wait_for_url",
    "wait_for_function",
    "wait_for_load_state",
    "goto",
    "reload",
    "go_back",
    "go_forward",
    "expect_popup",
    "expect_download",
    "expect_response",
    "expect_request",
    "expect_navigation",
    "expect_page",
}
"""Calls that take `timeout=`, besides the assertions of `expect`."""


_SECOND = frozenset(
    {
        "dispatch_event",
        "fill",
        "get_attribute",
        "press",
        "select_option",
        "set_checked",
        "set_input_files",
        "type",
    }
)
"""Shortcuts that take another argument after the selector; on a locator that one comes first."""


def takes_selector(name: str, positional: int, keywords: frozenset[str]) -> bool:
    """Return whether a call with this name and number of positional arguments takes a selector first."""
    if name not in BY_SELECTOR:
        return False
    if name == "select_option" and positional == 1:
        return bool(keywords & {"value", "label", "index", "element"})
    return positional >= (2 if name in _SECOND else 1)


def get_receiver(node: cst.BaseExpression) -> cst.BaseExpression | None:
    """Return the expression a link is called on; None if the node is no method call and no `.first`."""
    if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute):
        return node.func.value
    if isinstance(node, cst.Attribute):
        return node.value
    return None


def get_method_name(node: cst.BaseExpression) -> str:
    """Return the name of a link's method or property."""
    if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute):
        return node.func.attr.value
    return node.attr.value if isinstance(node, cst.Attribute) else ""


def is_link(node: cst.BaseExpression) -> bool:
    """Return whether it is a call (or property) that makes a locator."""
    if isinstance(node, cst.Call):
        return isinstance(node.func, cst.Attribute) and node.func.attr.value in LOCATOR_CALLS
    return isinstance(node, cst.Attribute) and node.attr.value in LOCATOR_PROPERTIES


@dataclass(frozen=True, slots=True)
class LocatorChain:
    """The links of one expression, and the expression the first one is called on."""

    root: cst.BaseExpression
    links: tuple[cst.BaseExpression, ...]


def chain_of(node: cst.BaseExpression) -> LocatorChain:
    """Return the chain that ends with this link."""
    links: list[cst.BaseExpression] = []
    while is_link(node):
        links.append(node)
        below = get_receiver(node)
        assert below is not None  # noqa: S101 - a link hangs on something
        node = below
    return LocatorChain(node, tuple(reversed(links)))


def link_at(file: SourceFile, made_at: Span, name: str) -> cst.BaseExpression | None:
    """Return the link of that name that ends where the span ends."""
    found = [
        each
        for each in file.ending(made_at.end_line, made_at.end_column)
        if is_link(each) and get_method_name(each) == name
    ]
    return found[0] if len(found) == 1 else None


def call_at(file: SourceFile, called_at: Span) -> cst.Call | None:
    """Return the call that ends where the span ends; otherwise the only one that begins on its line."""
    found = [
        each for each in file.ending(called_at.end_line, called_at.end_column) if isinstance(each, cst.Call)
    ]
    return found[0] if len(found) == 1 else None


def parse_links(expression: str) -> tuple[cst.BaseExpression, ...]:
    """Return the links of a candidate's expression, starting with the page. Raises `ValueError` if it is no
    chain.
    """
    text = expression.strip().removeprefix("page.")
    try:
        parsed = cst.parse_expression(f"page.{text}")
    except cst.ParserSyntaxError as exc:
        raise ValueError(f"not an expression: {expression}") from exc
    chain = chain_of(parsed)
    if not (isinstance(chain.root, cst.Name) and chain.links):
        raise ValueError(f"not a chain of calls on the page: {expression}")
    return chain.links


def link_data(node: cst.BaseExpression) -> LocatorLink:
    """Return a link as data; arguments that are no literals are given as their code."""
    if isinstance(node, cst.Attribute):
        return LocatorLink(method=node.attr.value)
    assert isinstance(node, cst.Call)  # noqa: S101 - a link is either
    return LocatorLink(
        method=get_method_name(node),
        arguments=tuple(value_of(each.value) for each in node.args if each.keyword is None and not each.star),
        keywords={each.keyword.value: value_of(each.value) for each in node.args if each.keyword},
    )


def value_of(node: cst.BaseExpression) -> JsonValue:  # noqa: PLR0911 - one line per kind of literal
    """Return a literal's value, or `{"regex": ...}`, `{"locator": ...}` or `{"code": ...}`."""
    match node:
        case cst.SimpleString() | cst.ConcatenatedString():
            known = node.evaluated_value
            if isinstance(known, str):
                return known
        case cst.Integer():
            return node.evaluated_value
        case cst.UnaryOperation(operator=cst.Minus(), expression=cst.Integer() as number):
            return -number.evaluated_value
        case cst.Float():
            return node.evaluated_value
        case cst.Name(value="True" | "False" as said):
            return said == "True"
        case cst.Name(value="None"):
            return None
        case cst.Call(
            func=cst.Attribute(value=cst.Name("re"), attr=cst.Name("compile")), args=[pattern, *flags]
        ):
            return {"regex": value_of(pattern.value), "flags": _flags(flags)}
        case cst.Call() if is_link(node):
            return {"locator": cst.Module([]).code_for_node(node)}
        case _:
            pass
    return {"code": cst.Module([]).code_for_node(node)}


def _flags(flags: list[cst.Arg]) -> str:
    said = cst.Module([]).code_for_node(flags[0].value) if flags else ""
    known = {"IGNORECASE": "i", "I": "i", "MULTILINE": "m", "M": "m", "DOTALL": "s", "S": "s"}
    return "".join(known.get(each.strip().removeprefix("re."), "") for each in said.split("|"))


def same_link(ours: LocatorLink, theirs: LocatorLink) -> bool:
    """Return whether two links mean the same."""
    return (
        ours.method == theirs.method
        and ours.arguments == theirs.arguments
        and ours.keywords == theirs.keywords
    )


def link_on(base: cst.BaseExpression, link: cst.BaseExpression) -> cst.BaseExpression:
    """Return the link, called on another expression."""
    if isinstance(link, cst.Attribute):
        return cst.Attribute(value=base, attr=link.attr)
    assert isinstance(link, cst.Call)  # noqa: S101 - a link is either
    return cst.Call(func=cst.Attribute(value=base, attr=cst.Name(get_method_name(link))), args=link.args)


def quoted(value: str, like: str = '"') -> cst.SimpleString:
    """Return a string literal, in the wanted quotes unless they would need a backslash."""
    other = "'" if like == '"' else '"'
    quote = other if like in value and other not in value else like
    plain = value.replace("\\", "\\\\").replace(quote, f"\\{quote}")
    plain = plain.replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t")
    return cst.SimpleString(f"{quote}{plain}{quote}")
