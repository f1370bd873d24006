"""Converts selectors to Playwright locators, and locators to selectors, as far as possible.

Pure: nothing is looked up on a page.
"""

from __future__ import annotations

import re
from typing import Any

from pydantic import JsonValue, ValidationError

from kb_schema.locator_expressions import ROLES, Expression, LocatorLink
from kb_schema.selectors import NameStrategy, Selector, SemanticStrategy, Strategy, ValueStrategy
from kb_schema.templates import css_string

_CSS = ("css", "relational_css", "shadow_pierce", "fallback_css")
_NAMED = {"get_by_label": "label", "get_by_placeholder": "placeholder"}
_ATTRIBUTES = {"get_by_title": "title", "get_by_alt_text": "alt"}
_XPATH = re.compile(r"^(?:xpath=|\(*//|\.\.)")
_ENGINE = re.compile(r"^[a-z_:-]+=")
_SPECIAL = re.compile(r"[\\^$.|?*+(){}\[\]]")
"""The characters that make a pattern more than a text."""


# -- selectors as locators -----------------------------------------------------------------------------


def to_locator_expressions(selector: Selector) -> tuple[Expression, ...]:
    """Return the strategies of the selector that Playwright can use without the page, in their order."""
    frame: Expression = (_call("frame_locator", selector.frame),) if selector.frame else ()
    found = (_expression(strategy) for strategy in selector.ordered)
    return tuple((*frame, link) for link in found if link is not None)


def _expression(strategy: Strategy) -> LocatorLink | None:
    match strategy:
        case ValueStrategy():
            return _by_value(strategy)
        case NameStrategy(type="role_name"):
            return _by_role(strategy.role, strategy.name, exact=strategy.exact)
        case NameStrategy():
            exact: dict[str, JsonValue] = {"exact": True} if strategy.exact else {}
            return _call(f"get_by_{strategy.type}", strategy.name, **exact)
        case SemanticStrategy():
            return _by_meaning(strategy)
    return None


def _by_value(strategy: ValueStrategy) -> LocatorLink | None:
    value = strategy.value
    match strategy.type:
        case "data-testid":
            return _call("get_by_test_id", value)
        case "data-qa" | "id":
            return _call("locator", f"[{strategy.type}={css_string(value)}]")
        case "aria":
            if strategy.role:
                return _by_role(strategy.role, value, exact=True)
            return _call("locator", f"[aria-label={css_string(value)}]")
        case "xpath" | "xpath-text" | "xpath-class":
            return _call("locator", f"xpath={value}")
    # Playwright's own CSS searches open shadow roots.
    return _call("locator", "css=" + " ".join(part.strip() for part in value.split(">>>")))


def _by_role(role: str | None, name: str, *, exact: bool) -> LocatorLink | None:
    if role not in ROLES:
        return None
    keywords: dict[str, JsonValue] = {"name": name, **({"exact": True} if exact else {})}
    return _call("get_by_role", role, **keywords)


def _by_meaning(strategy: SemanticStrategy) -> LocatorLink | None:
    if strategy.label_contains:
        return _call("get_by_label", strategy.label_contains)
    if strategy.placeholder_contains:
        return _call("get_by_placeholder", strategy.placeholder_contains)
    role = strategy.role or ("button" if strategy.button_type else None)
    if strategy.text_contains and role:
        return _by_role(role, strategy.text_contains, exact=False)
    if strategy.text_contains:
        return _call("get_by_text", strategy.text_contains)
    return _call("get_by_role", role) if role in ROLES else None


def _call(method: str, *arguments: JsonValue, **keywords: JsonValue) -> LocatorLink:
    return LocatorLink(method=method, arguments=arguments, keywords=keywords)


# -- locators as selectors -----------------------------------------------------------------------------


class UntranslatableLocator(ValueError):
    """A locator that no selector can express. `reason` is for people."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(reason)


def to_selector(expression: Expression) -> Selector:
    """Return a selector for a locator; what it leaves out is in the strategy's notes.

    Raises `UntranslatableLocator` if too little would be left to find one element.
    """
    frame, links = _frame(tuple(map(_without_patterns, expression)))
    if not links:
        raise UntranslatableLocator("it names no element")
    css = _joined_css(links)
    try:
        if css is not None:
            return Selector(strategies=(ValueStrategy(type="css", value=css),), frame=frame)
        strategy = _strategy(links[-1])
        if len(links) > 1:
            if links[-1].method == "get_by_role" and isinstance(strategy, SemanticStrategy):
                raise UntranslatableLocator("only its container distinguishes it from others with its role")
            within = [f"{link.method}({', '.join(map(str, link.arguments))})"[:200] for link in links[:-1]]
            strategy = strategy.model_copy(update={"meta": {"within": [*within]}})
        return Selector(strategies=(strategy,), frame=frame)
    except ValidationError as exc:
        raise UntranslatableLocator(f"its {links[-1].method} has an argument that is no text") from exc


def _frame(expression: Expression) -> tuple[str | None, Expression]:
    if expression and expression[0].method == "frame_locator":
        return _text(expression[0]), expression[1:]
    return None, expression


def _joined_css(links: Expression) -> str | None:
    """Return nested CSS locators as one CSS selector; None if one of them is not CSS."""
    parts = [_plain_css(link, among=len(links)) for link in links]
    return None if any(part is None for part in parts) else " ".join(part for part in parts if part)


def _plain_css(link: LocatorLink, *, among: int) -> str | None:
    if link.method == "get_by_test_id" and among > 1:
        return f"[data-testid={css_string(_text(link))}]"
    if link.method != "locator" or link.keywords or len(link.arguments) != 1:
        return None
    value = link.arguments[0]
    if not isinstance(value, str) or ">>" in value or "," in value or _XPATH.match(value):
        return None
    if value.startswith("css="):
        return value.removeprefix("css=")
    return None if _ENGINE.match(value) else value


def _strategy(link: LocatorLink) -> Strategy:
    exact = link.keywords.get("exact") is True
    match link.method:
        case "get_by_role":
            return _role_strategy(link, exact=exact)
        case "get_by_test_id":
            return ValueStrategy(type="data-testid", value=_text(link))
        case "get_by_label" | "get_by_placeholder":
            return NameStrategy.model_validate(
                {"type": _NAMED[link.method], "name": _text(link), "exact": exact}
            )
        case "get_by_text":
            return SemanticStrategy(type="semantic", text_contains=_text(link))
        case "get_by_title" | "get_by_alt_text":
            operator = "=" if exact else "*="
            value = f"[{_ATTRIBUTES[link.method]}{operator}{css_string(_text(link))}]"
            return ValueStrategy(type="css", value=value)
        case "locator":
            return _located(link)
    raise UntranslatableLocator(f"`{link.method}` depends on what else is on the page")


def _without_patterns(link: LocatorLink) -> LocatorLink:
    """Replace patterns that only match a text by that text.

    `re.compile("sign in", re.I)` becomes `"sign in"`, because Playwright compares texts case-insensitively
    and by substring; `^Save$` becomes an exact text.
    """
    where = "name" if link.method == "get_by_role" else None
    given = link.keywords.get("name") if where else next(iter(link.arguments), None)
    if not isinstance(given, dict) or link.method in ("locator", "get_by_test_id"):
        return link
    pattern = str(given.get("regex", ""))
    inner = pattern.removeprefix("^").removesuffix("$")
    whole = pattern == f"^{inner}$" and not given.get("flags")
    text = re.sub(r"\\([^A-Za-z0-9])", r"\1", inner)
    if not inner or _SPECIAL.search(re.sub(r"\\[^A-Za-z0-9]", "", inner)) or (inner != pattern and not whole):
        return link
    exact: dict[str, JsonValue] = {"exact": True} if whole else {}
    keywords = {key: each for key, each in link.keywords.items() if key not in ("exact", "name")} | exact
    if where:
        return link.model_copy(update={"keywords": {**keywords, "name": text}})
    return link.model_copy(update={"arguments": (text, *link.arguments[1:]), "keywords": keywords})


def _role_strategy(link: LocatorLink, *, exact: bool) -> Strategy:
    role, name = _text(link), link.keywords.get("name")
    if name is None:
        return SemanticStrategy(type="semantic", role=role)
    if not isinstance(name, str):
        raise UntranslatableLocator("its name is a pattern")
    return NameStrategy(type="role_name", role=role, name=name, exact=exact)


def _located(link: LocatorLink) -> Strategy:
    value = _text(link)
    if link.keywords:
        raise UntranslatableLocator(f"`{', '.join(link.keywords)}` depends on what else is on the page")
    if _XPATH.match(value):
        return ValueStrategy(type="xpath", value=value.removeprefix("xpath="))
    if value.startswith("text="):
        return SemanticStrategy(type="semantic", text_contains=value.removeprefix("text=").strip("\"'"))
    if value.startswith("css="):
        return ValueStrategy(type="css", value=value.removeprefix("css="))
    if _ENGINE.match(value) or ">>" in value:
        raise UntranslatableLocator(f"{value[:80]!r} is Playwright's own syntax")
    return ValueStrategy(type="css", value=value)


def _text(link: LocatorLink) -> Any:
    if not link.arguments or not isinstance(link.arguments[0], str):
        raise UntranslatableLocator(f"the argument of `{link.method}` is not a literal")
    return link.arguments[0]
