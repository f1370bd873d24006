"""A screen as a model carries it out: one line per element with how to find it, within a fixed size."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from kb_schema.screens import Screen, UIElement
from kb_schema.selectors import (
    NameStrategy,
    Selector,
    SemanticStrategy,
    Strategy,
    TemplateStrategy,
    ValueStrategy,
)
from kb_schema.templates import css_string
from mcp_server.document_text import condition_text

MOST_CHARACTERS = 1_700
"""Of all lines together: at most 600 tokens with the rest of the answer (measured in tests/mcp_server/document_text)."""
_LONGEST_SELECTOR = 120
_IDENTIFIER = re.compile(r"[A-Za-z_][\w-]*\Z")


def describe_screen(screen: Screen, shared: Sequence[str] = ()) -> dict[str, Any]:
    """Return a screen in short: its address, then a line per element; `shared` ones (menus, headers) come last.

    A line is `ID: LABEL (TYPE) ACTIONS @ SELECTOR`; `*` marks an action that must be done. What does not fit is
    counted in `more_elements`.
    """
    data: dict[str, Any] = {"id": screen.screen_id, "name": screen.name}
    data |= {"description": screen.description} if screen.description else {}
    data |= {"url": screen.url} if screen.url else {}
    own_first = sorted(screen.ui_elements, key=lambda each: each.element_id in shared)
    lines: list[str] = []
    left = MOST_CHARACTERS - sum(len(str(value)) for value in data.values())
    for element in own_first:
        line = _element_line(element)
        left -= len(line)
        if left < 0:
            break
        lines.append(line)
    data["elements"] = lines
    rest = len(own_first) - len(lines)
    return data | ({"more_elements": f"{rest}; all at detail full"} if rest else {})


def _element_line(element: UIElement) -> str:
    does = ",".join(f"{each.action_type}{'*' * each.required}" for each in element.affordances)
    label = "" if element.label.lower() == element.element_id.replace("_", " ") else f" {element.label}"
    return f"{element.element_id}:{label} ({element.type}) {does} @ {describe_locator(element.selector)}"


def describe_locator(selector: Selector) -> str:
    """Return the first strategy that a browser's tool takes as a selector, else the first in words.

    Ids and test ids become CSS, roles and names Playwright's `role=`; `{{x}}` is to be filled in.
    """
    found = (_as_locator(strategy) for strategy in selector.ordered)
    return next(filter(None, found), None) or condition_text.describe_selector(selector)


def _as_locator(strategy: Strategy) -> str | None:
    """Return one strategy as a selector; None for a kind that browsers' tools do not take, or a long one."""
    said: str | None = None
    match strategy:
        case ValueStrategy(type="id", value=value):
            said = f"#{value}" if _IDENTIFIER.match(value) else f"[id={css_string(value)}]"
        case ValueStrategy(type="data-testid" | "data-qa", value=value):
            said = f"[{strategy.type}={css_string(value)}]"
        case ValueStrategy(type="css" | "relational_css" | "fallback_css", value=value):
            said = value
        case TemplateStrategy(template=template):
            said = template
        case NameStrategy(type="role_name", role=role, name=name):
            said = f"role={role}[name={css_string(name)}]"
        case NameStrategy(type=kind, name=name):
            said = f"{kind} {name!r}"
        case SemanticStrategy(label_contains=str(label)):
            said = f"label {label!r}"
    return said if said is not None and len(said) <= _LONGEST_SELECTOR else None
