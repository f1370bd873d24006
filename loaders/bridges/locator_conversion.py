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
from loaders.bridges.scoped_locators import Unwritable, read_pattern, to_scoped_xpath

_CSS = ("css", "relational_css", "shadow_pierce", "fallback_css")
_NAMED = {"get_by_label": "label", "get_by_placeholder": "placeholder"}
_ATTRIBUTES = {"get_by_title": "title", "get_by_alt_text": "alt"}
_XPATH = re.compile(r"^(?:xpath=|\(*//|\.\.)")
_ENGINE = re.compile(r"^[a-z_:-]+=")
_OWN_PSEUDO = re.compile(
    r":(?:nth-match|text|text-is|text-matches|visible|right-of|left-of|above|below|near)\b"
)
"""What only Playwright's CSS has, except `:has-text`, which ours has, too."""


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
        one = _strategy(links[0]) if len(links) == 1 and not _is_exact_text(links[0]) else _scoped(links)
        return Selector(strategies=(one,), frame=frame)
    except ValidationError as exc:
        raise UntranslatableLocator(f"its {links[-1].method} has an argument that is no text") from exc


def _is_exact_text(link: LocatorLink) -> bool:
    return link.method == "get_by_text" and link.keywords.get("exact") is True


def _scoped(links: Expression) -> Strategy:
    """Return the XPath of an element in its container: outside of it, another one may be called the same."""
    try:
        return ValueStrategy(type="xpath", value=to_scoped_xpath(links))
    except Unwritable as exc:
        raise UntranslatableLocator(str(exc)) from exc


def _frame(expression: Expression) -> tuple[str | None, Expression]:
    """Return the CSS of the frame around an element, if there is one, and the links inside it."""
    ends = [at for at, link in enumerate(expression) if link.method in ("frame_locator", "content_frame")]
    if not ends:
        return None, expression
    inner = expression[ends[-1] + 1 :]
    around = (
        expression[: ends[-1]]
        if expression[ends[-1]].method == "content_frame"
        else expression[: ends[-1] + 1]
    )
    css = (
        _plain_css(around[0].model_copy(update={"method": "locator"}), among=1) if len(around) == 1 else None
    )
    if css is None or css.startswith("internal:"):
        raise UntranslatableLocator("its frame is known by more than simple CSS")
    return css, inner


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
    return None if _ENGINE.match(value) or _OWN_PSEUDO.search(value) else value


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
    """Replace patterns that only match a text by that text."""
    where = "name" if link.method == "get_by_role" else None
    given = link.keywords.get("name") if where else next(iter(link.arguments), None)
    read = None if link.method in ("locator", "get_by_test_id") else read_pattern(given)
    if read is None:
        return link
    text, whole = read
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
        return _scoped((link,))
    if ">>" in value:
        raise UntranslatableLocator(f"{value[:80]!r} is Playwright's own syntax")
    if _XPATH.match(value):
        return ValueStrategy(type="xpath", value=value.removeprefix("xpath="))
    if value.startswith("text="):
        text = value.removeprefix("text=").strip()
        if text[:1] in "\"'" and text[-1:] == text[:1] and len(text) > 2:
            return _scoped(
                (LocatorLink(method="get_by_text", arguments=(text[1:-1],), keywords={"exact": True}),)
            )
        return SemanticStrategy(type="semantic", text_contains=text)
    if value.startswith("css="):
        return ValueStrategy(type="css", value=value.removeprefix("css="))
    if _ENGINE.match(value) or _OWN_PSEUDO.search(value):
        raise UntranslatableLocator(f"{value[:80]!r} is Playwright's own syntax")
    return ValueStrategy(type="css", value=value)


def _text(link: LocatorLink) -> Any:
    if not link.arguments or not isinstance(link.arguments[0], str):
        raise UntranslatableLocator(f"the argument of `{link.method}` is not a literal")
    return link.arguments[0]
