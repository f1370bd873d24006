"""What a page must show for a condition to hold: the necks by which thousands of screens are looked up.

An anchor is something cheap to find on a page: a literal text, the name of a role, a token of a
selector. Each condition comes down to anchors of which at least one is there wherever it holds. So
a screen whose anchors are all missing need not be judged. A condition type without an entry here
is judged everywhere.

Not here: which anchors a screen is filed under (`guards`), what a page shows (`sightings`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import Enum, StrEnum
from functools import lru_cache, singledispatch
from typing import NamedTuple

from kb_schema.conditions import (
    MESSAGE_REGIONS,
    BaseCondition,
    Combined,
    CustomCondition,
    DomContains,
    DomElement,
    ElementCount,
    ElementEnabled,
    ElementVisible,
    FieldFilled,
    FieldHasValue,
    ShowsMessage,
    TitleContains,
    UrlContains,
    UrlMatches,
)
from kb_schema.pages.css import Complex, SelectorError, check_selector, parse_list
from kb_schema.pages.outline_css import can_be_found
from kb_schema.pages.texts import fold, squeeze
from kb_schema.probes import Scope
from kb_schema.selectors import (
    NameStrategy,
    Selector,
    SemanticStrategy,
    SessionStrategy,
    Strategy,
    TemplateStrategy,
    ValueStrategy,
)


class Medium(Enum):
    """What a client sent of the page."""

    MARKUP = "markup"
    """HTML, our own or anybody's."""
    OUTLINE = "outline"
    """An accessibility snapshot of the whole page: words that are not in it are not there."""
    PLAIN = "plain"
    """Text without elements."""
    PART = "part"
    """A snapshot of a part of the page, or nothing: what is not in it may be there all the same."""


class Kind(StrEnum):
    """Where an anchor is looked for."""

    TEXT = "text"
    """Visible text, exact as to case."""
    FOLDED = "folded"
    """Visible text without case."""
    NAME = "name"
    """Accessible names of a role, without case."""
    LABEL = "label"
    PLACEHOLDER = "placeholder"
    TITLE = "title"
    ADDRESS = "address"
    """A literal part of the URL."""
    URL = "url"
    """A pattern of the URL."""
    TOKEN = "token"  # noqa: S105 - of a selector
    """An id, class, attribute or tag, as `token_of` writes it."""


class Anchor(NamedTuple):
    """Something to look for. `where` is the role of a name, else empty."""

    kind: Kind
    needle: str
    where: str = ""


class Anchors(NamedTuple):
    """Anchors of which one is there wherever a condition holds; none at all: it can never hold."""

    any_of: frozenset[Anchor]
    decided: bool
    """Whether the condition surely does not hold where none is there, rather than that it cannot be told."""


NEVER = Anchors(frozenset(), decided=False)
"""It can never hold, but that it does not is not known either."""


def anchors_of(condition: BaseCondition, scope: Scope, medium: Medium) -> Anchors | None:
    """What a condition needs of a page; None: it may hold anywhere."""
    found = _anchors(condition, scope, medium)
    return found._replace(decided=False) if found is not None and medium is Medium.PART else found


@singledispatch
def _anchors(condition: BaseCondition, scope: Scope, medium: Medium) -> Anchors | None:  # noqa: ARG001
    return None


@_anchors.register
def _(condition: UrlMatches, _scope: Scope, _medium: Medium) -> Anchors | None:
    return Anchors(frozenset({Anchor(Kind.URL, condition.pattern)}), decided=False)


@_anchors.register
def _(condition: UrlContains, _scope: Scope, _medium: Medium) -> Anchors | None:
    return Anchors(frozenset({Anchor(Kind.ADDRESS, condition.value)}), decided=False)


@_anchors.register
def _(condition: TitleContains, _scope: Scope, _medium: Medium) -> Anchors | None:
    return Anchors(frozenset({Anchor(Kind.TITLE, condition.value)}), decided=True)


@_anchors.register
def _(condition: DomContains, _scope: Scope, medium: Medium) -> Anchors | None:
    return _saying(condition.value, condition.selector, medium)


@_anchors.register
def _(condition: ShowsMessage, _scope: Scope, medium: Medium) -> Anchors | None:
    return _saying(condition.text_contains, condition.selector or MESSAGE_REGIONS, medium)


@_anchors.register
def _(condition: DomElement, _scope: Scope, medium: Medium) -> Anchors | None:
    if condition.text_contains is not None:
        return _saying(condition.text_contains, condition.selector, medium)
    return _of_css(condition.selector, medium)


@_anchors.register(ElementVisible)
@_anchors.register(ElementEnabled)
@_anchors.register(FieldFilled)
@_anchors.register(FieldHasValue)
def _(
    condition: ElementVisible | ElementEnabled | FieldFilled | FieldHasValue, scope: Scope, medium: Medium
) -> Anchors | None:
    selector = scope.element(condition.element)
    return NEVER if selector is None else _of_selector(selector, medium)


@_anchors.register
def _(condition: ElementCount, scope: Scope, medium: Medium) -> Anchors | None:
    selector = scope.element(condition.element)
    return None if selector is None or condition.min == 0 else _of_selector(selector, medium)


@_anchors.register
def _(condition: CustomCondition, scope: Scope, medium: Medium) -> Anchors | None:
    return _anchors(condition.condition, scope, medium)


@_anchors.register
def _(condition: Combined, scope: Scope, medium: Medium) -> Anchors | None:
    parts = [_anchors(part, scope, medium) for part in condition.conditions]
    if condition.type == "all_of":
        known = [part for part in parts if part is not None]
        return min(known, key=lambda part: (not part.decided, len(part.any_of)), default=None)
    return _any(parts) if condition.type == "any_of" else None


def _any(parts: Iterable[Anchors | None]) -> Anchors | None:
    """One of several is enough."""
    known = [*parts]
    if any(part is None for part in known):
        return None
    sure = [part for part in known if part is not None]
    return Anchors(
        frozenset().union(*(part.any_of for part in sure)), decided=all(part.decided for part in sure)
    )


def _saying(words: str, selector: str | None, medium: Medium) -> Anchors | None:
    """A text probe: wherever it is answered with yes, the page shows the words."""
    squeezed = squeeze(words)
    if not squeezed:
        return None
    if selector is not None and medium is Medium.PLAIN:
        return NEVER
    readable = selector is None or can_be_asked(selector)
    return Anchors(frozenset({Anchor(Kind.TEXT, squeezed)}), decided=readable)


# -- selectors -----------------------------------------------------------------------------------


def _of_selector(selector: Selector, medium: Medium) -> Anchors | None:
    """A selector finds something if one of its strategies does."""
    if medium is Medium.PLAIN or (medium is not Medium.MARKUP and selector.frame is not None):
        return NEVER
    found = _any(_of_strategy(strategy, medium) for strategy in selector.ordered)
    if found is None or medium is Medium.MARKUP:
        return found
    # Of the rest a snapshot tells too little to be sure that there is nothing.
    named = all(isinstance(strategy, NameStrategy) for strategy in selector.strategies)
    return found._replace(decided=found.decided and named)


def _of_strategy(strategy: Strategy, medium: Medium) -> Anchors | None:
    """One entry per model of a strategy; what finds nothing on a stored page is `NEVER`."""
    match strategy:
        case NameStrategy():
            return _of_name(strategy)
        case SemanticStrategy():
            return _of_semantics(strategy)
        case TemplateStrategy() | SessionStrategy():
            return NEVER
        case ValueStrategy():
            return _of_value(strategy, medium)
    return None


def _of_name(strategy: NameStrategy) -> Anchors | None:
    name = fold(strategy.name)
    if not name:
        return None
    kind = {"label": Kind.LABEL, "placeholder": Kind.PLACEHOLDER, "role_name": Kind.NAME}[strategy.type]
    where = strategy.role or "" if kind is Kind.NAME else ""
    return Anchors(frozenset({Anchor(kind, name, where)}), decided=True)


def _of_semantics(strategy: SemanticStrategy) -> Anchors | None:
    said = (
        (Kind.LABEL, strategy.label_contains),
        (Kind.PLACEHOLDER, strategy.placeholder_contains),
        (Kind.FOLDED, strategy.text_contains),
    )
    known = [Anchor(kind, fold(words)) for kind, words in said if words and fold(words)]
    return Anchors(frozenset(known[:1]), decided=True) if known else None


def _of_value(strategy: ValueStrategy, medium: Medium) -> Anchors | None:
    if strategy.type in ("data-qa", "data-testid", "id", "aria"):
        if medium is not Medium.MARKUP:
            return None if strategy.type == "aria" else NEVER
        name = "aria-label" if strategy.type == "aria" else strategy.type
        token = token_of("#", strategy.value) if name == "id" else token_of(f"@{name}=", strategy.value)
        return Anchors(frozenset({Anchor(Kind.TOKEN, token)}), decided=True)
    if strategy.type in ("css", "relational_css", "fallback_css"):
        return _of_css(strategy.value, medium)
    return None if medium is Medium.MARKUP else NEVER


def _of_css(selector: str, medium: Medium) -> Anchors | None:
    if not can_be_asked(selector):
        return NEVER
    if medium is not Medium.MARKUP:
        return None if can_be_found(selector) else NEVER
    tokens = css_tokens(selector)
    if tokens is None:
        return None
    return Anchors(frozenset(Anchor(Kind.TOKEN, token) for token in tokens), decided=True)


@lru_cache(maxsize=50_000)
def can_be_asked(selector: str) -> bool:
    """Whether a stored page can be asked for a selector at all."""
    try:
        check_selector(selector)
    except SelectorError:
        return False
    return True


def token_of(sign: str, value: str) -> str:
    """How an id (`#`), class (`.`), attribute (`@name` or `@name=`) or tag (`<`) is written as a token.

    Without case: some of it has none in HTML, the rest loses nothing by it.
    """
    return f"{sign}{value}".lower()


_TOKEN = re.compile(
    r"(?P<tag>^[a-zA-Z][\w-]*)"
    r"|#(?P<id>[\w-]+)"
    r"|\.(?P<class>[\w-]+)"
    r"|\[\s*(?P<attribute>[\w-]+)\s*(?:(?P<how>[*^$~|]?=)\s*(?P<value>\"[^\"\\]*\"|'[^'\\]*'|[\w-]+)\s*)?\]"
)


@lru_cache(maxsize=50_000)
def css_tokens(selector: str) -> frozenset[str] | None:
    """Tokens of which one is on every page with an element that matches; None: of that nothing is known."""
    found = [_best_token(parts) for parts in parse_list(selector, relative=False)]
    return frozenset(token for token in found if token) if all(found) else None


def _best_token(parts: Complex) -> str:
    """What is probably rarest of all that the parts of one selector ask for."""
    tokens = [token for part in parts for token in _tokens(part.native)]
    return max(tokens, default=(0, ""))[1]


def _tokens(native: str) -> list[tuple[int, str]]:
    """Tokens with how telling each is, up to the first thing that is none of these."""
    found = []
    at = 0
    while (simple := _TOKEN.match(native, at)) is not None:
        at = simple.end()
        if simple["tag"]:
            found.append((1, token_of("<", simple["tag"])))
        elif simple["id"]:
            found.append((5, token_of("#", simple["id"])))
        elif simple["class"]:
            found.append((3, token_of(".", simple["class"])))
        elif simple["how"] == "=" and simple["value"].strip("\"'"):
            found.append((4, token_of(f"@{simple['attribute']}=", simple["value"].strip("\"'"))))
        else:
            found.append((2, token_of("@", simple["attribute"])))
    return found
