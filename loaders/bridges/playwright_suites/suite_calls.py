"""Which calls of Playwright do something, which need no step, and what the options of an action mean.

A call on a page or an element that is in none of these lists is reported: nothing is dropped without a word.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from dataclasses import replace

from pydantic import JsonValue

from kb_schema.secret_fields import looks_like_a_secret
from loaders.bridges.playwright_suites.suite_literals import KnownTexts
from loaders.bridges.playwright_suites.suite_source import ACTIONS, SuiteStep, argument
from loaders.bridges.playwright_suites.typescript_parser import snake

DEVICES = frozenset({"keyboard", "mouse", "touchscreen"})
_TYPES = frozenset({"fill", "press", "type"})
"""Actions of a page whose first argument is the element, and the second one the text."""
OPENS_TAB = frozenset({"popup", "page"})
"""Events of a new tab."""
CHECKS: Mapping[str, str] = {
    "to_be_visible": "element_visible",
    "to_be_attached": "element_visible",
    "to_be_hidden": "element_absent",
    "to_have_text": "dom_contains",
    "to_contain_text": "dom_contains",
    "to_have_title": "title_contains",
    "to_have_url": "url_contains",
}
"""What `expect` asks -> our type of condition."""
OPPOSITES: Mapping[str, str] = {"element_visible": "element_absent", "element_absent": "element_visible"}
_HARMLESS = frozenset(
    {
        "all", "all_inner_texts", "all_text_contents", "aria_snapshot", "blur", "bounding_box",
        "bring_to_front", "close", "content", "context", "cookies", "count", "dispose", "element_handle", "element_handles", "first",
        "frame", "frames", "get_attribute", "getfixturevalue", "addfinalizer", "highlight", "inner_html", "inner_text", "input_value", "is_checked",
        "is_closed", "is_disabled", "is_editable", "is_enabled", "is_hidden", "is_visible", "last", "main_frame", "new_page",
        "on", "once", "off", "pause", "pdf", "query_selector", "query_selector_all", "remove_listener", "screenshot",
        "scroll_into_view_if_needed", "set_default_navigation_timeout", "storage_state", "set_default_timeout", "set_viewport_size",
        "text_content", "title", "url", "video", "viewport_size", "set_viewport", "emulate_media",
    }
)  # fmt: skip
"""Calls that only read the page, or concern the browser."""
_WAITS = ("wait_for", "expect_", "wait_until")
_SCROLLS = re.compile(r"^[\s\S]{0,200}scroll[\s\S]{0,200}$", re.IGNORECASE)
_ACTS = re.compile(r"click|submit|value|remove|set|fetch|dispatch|location", re.IGNORECASE)
_MODIFIERS = {
    "Alt": "Alt",
    "Control": "Control",
    "ControlOrMeta": "Control",
    "Meta": "Meta",
    "Shift": "Shift",
}
_IDLE_OPTIONS = frozenset({"timeout", "force", "no_wait_after", "delay", "steps", "strict"})
"""Options that change how Playwright acts, not what is done."""


def needs_no_step(call: ast.Call, name: str) -> bool:
    """Return whether a call on a page or an element does nothing that a run must do."""
    name = snake(name)
    if name == "evaluate":
        script = call.args[0] if call.args else None
        text = script.value if isinstance(script, ast.Constant) else None
        return isinstance(text, str) and bool(_SCROLLS.match(text)) and not _ACTS.search(text)
    return name in _HARMLESS or name.startswith(_WAITS)


def with_options(step: SuiteStep, call: ast.Call, texts: KnownTexts) -> SuiteStep | str:
    """Return an action as its options say, or what cannot be done, in words for a note."""
    for option in call.keywords:
        name, value = snake(option.arg or ""), argument(option.value, texts)
        if name == "button" and value == "right" and step.action == "click":
            step = replace(step, action="right_click")
        elif name == "click_count" and value == 2 and step.action == "click":
            step = replace(step, action="double_click")
        elif name == "modifiers":
            step = replace(step, modifiers=_modifiers(option.value))
            if not step.modifiers:
                return "keys held down that are not literal"
        elif (name, value) in (("button", "left"), ("click_count", 1), ("trial", False)):
            continue
        elif name not in _IDLE_OPTIONS and not _is_value(step.action, name):
            said = (
                "a place in the element"
                if name == "position"
                else f"`{name}={ast.unparse(option.value)[:60]}`"
            )
            return f"an action with {said}"
    if step.action == "press" and isinstance(step.value, str):
        step = replace(step, value=step.value.replace("ControlOrMeta", "Control"))
    return step


def _is_value(action: str, name: str) -> bool:
    return name in {
        "fill": ("value",),
        "append_text": ("text",),
        "press": ("key",),
        "select_option": ("value", "label"),
        "upload_file": ("files",),
    }.get(action, ())


def _modifiers(node: ast.expr) -> tuple[str, ...]:
    given = node.elts if isinstance(node, ast.List | ast.Tuple) else []
    names = [_MODIFIERS.get(str(getattr(each, "value", ""))) for each in given]
    return tuple(each for each in names if each) if None not in names else ()


def read_check(call: ast.Call, texts: KnownTexts) -> tuple[ast.expr, str, str, bool] | None:
    """Return what `expect(subject).to_...(text)` asks: subject, name, text, negated; None if it is no check."""
    if not isinstance(call.func, ast.Attribute):
        return None
    name, inner, negated = snake(call.func.attr), call.func.value, False
    if name.startswith("not_to_"):
        name, negated = name.removeprefix("not_"), True
    while isinstance(inner, ast.Attribute):
        negated = negated or inner.attr == "not"
        inner = inner.value
    if not (isinstance(inner, ast.Call) and _is_expect(inner.func) and inner.args):
        return None
    given = argument(call.args[0], texts) if call.args else None
    visible = [each for each in call.keywords if each.arg == "visible"]
    if visible:
        return inner.args[0], name, "", negated ^ (getattr(visible[0].value, "value", True) is False)
    return inner.args[0], name, given if isinstance(given, str) else "", negated


def _is_expect(node: ast.expr) -> bool:
    if isinstance(node, ast.Attribute):  # `expect.soft(...)`
        node = node.value
    return isinstance(node, ast.Name) and node.id == "expect"


def read_dialog_answer(handler: ast.expr | ast.stmt, texts: KnownTexts) -> JsonValue:
    """Return what a handler of dialogs answers: `accept`, `dismiss`, or a text to type; None if it is not plain, or a secret."""
    found = [
        node
        for node in _everything(handler)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in ("accept", "dismiss")
    ]
    if len(found) != 1:
        return None
    (call,) = found
    assert isinstance(call.func, ast.Attribute)  # noqa: S101 - as above
    if call.func.attr == "dismiss" or not call.args:
        return call.func.attr
    text = argument(call.args[0], texts)
    plain = isinstance(text, str) and not looks_like_a_secret(text)
    return {"accept": True, "text": text} if plain else None


def _everything(node: ast.AST) -> list[ast.AST]:
    """Return all nodes, also those in functions that TypeScript writes as expressions."""
    found = list(ast.walk(node))
    for each in found:  # grows during the iteration
        for statement in getattr(each, "block", ()):
            found += ast.walk(statement)
    return found


# -- expressions ---------------------------------------------------------------------------------------


def root_name(node: ast.expr) -> str:
    """Return the name with which a chain of calls and attributes begins."""
    while not isinstance(node, ast.Name):
        match node:
            case ast.Await(value=inner) | ast.Attribute(value=inner) | ast.Subscript(value=inner):
                node = inner
            case ast.Call(func=inner):
                node = inner
            case _:
                return ""
    return node.id


def names_element(call: ast.Call, receiver: ast.expr) -> bool:
    """Return whether a call on a page names its element: `page.click("#go")`."""
    if not isinstance(call.func, ast.Attribute) or call.func.attr not in ACTIONS:
        return False
    on_device = isinstance(receiver, ast.Attribute) and receiver.attr in DEVICES
    return not on_device and len(call.args) + len(call.keywords) >= (2 if call.func.attr in _TYPES else 1)


def is_opened(node: ast.expr) -> bool:
    """Return whether an expression is the page that was waited for: `info.value`, `await promise`."""
    inner = node.value if isinstance(node, ast.Await) else node
    return isinstance(inner, ast.Name) or (isinstance(inner, ast.Attribute) and inner.attr == "value")


def expected_event(node: ast.expr) -> str | None:
    """Return for what a call waits: `popup` of `expect_popup()` and of `waitForEvent("popup")`."""
    call = node.value if isinstance(node, ast.Await) else node
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
        return None
    name = snake(call.func.attr)
    if name in ("expect_event", "wait_for_event"):
        return {"filechooser": "file_chooser"}.get(event := given_text(call), event)
    return name.removeprefix("expect_") if name.startswith("expect_") else None


def given_text(call: ast.Call) -> str:
    """Return the first argument, if it is a literal; else an empty text."""
    given = call.args[0] if call.args else None
    return str(given.value) if isinstance(given, ast.Constant) else ""


def is_super(node: ast.expr) -> bool:
    """Return whether an expression is `super` or `super()`."""
    inner = node.func if isinstance(node, ast.Call) else node
    return isinstance(inner, ast.Name) and inner.id == "super"
