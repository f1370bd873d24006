"""Index keys: what a page must show for a condition to hold. The index looks screens up by them.

A key is cheap to find on a page: a literal text, the name of a role, a token of a selector. Each condition gives a set
of keys of which at least one is present wherever it holds. So a screen whose keys are all missing need not be judged.
A condition type without an entry here is judged on every page.

Not here: which keys a screen is filed under (`key_selection`), and what a page shows (`page_keys`).
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
from kb_schema.probes import ConditionScope
from kb_schema.selectors import (
    NameStrategy,
    Selector,
    SemanticStrategy,
    SessionStrategy,
    Strategy,
    TemplateStrategy,
    ValueStrategy,
)
from web_pages.aria_css_queries import can_be_found
from web_pages.css_queries import CssComplex, SelectorError, check_selector, parse_list
from web_pages.page_texts import fold, squeeze


class SnapshotFormat(Enum):
    """What a client sent of the page."""

    MARKUP = "markup"
    """HTML, our own or anybody's."""
    OUTLINE = "outline"
    """An accessibility snapshot of the whole page: words that are not in it are not there."""
    PLAIN = "plain"
    """Text without elements."""
    PART = "part"
    """A snapshot of a part of the page, or nothing: what is not in it may be there all the same."""


class IndexKeyKind(StrEnum):
    """Where an index key is looked for."""

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
    """An id, class, attribute or tag, as `format_token` writes it."""


class IndexKey(NamedTuple):
    """Something to look for. `where` is the role of a name, else empty."""

    kind: IndexKeyKind
    needle: str
    where: str = ""


class IndexKeySet(NamedTuple):
    """Index keys of which at least one is present wherever a condition holds. An empty set: it can never hold."""

    any_of: frozenset[IndexKey]
    decided: bool
    """Whether the condition surely does not hold where none is there, rather than that it cannot be told."""


NEVER_HOLDS = IndexKeySet(frozenset(), decided=False)
"""It can never hold, but that it does not is not known either."""


def keys_of_condition(
    condition: BaseCondition, scope: ConditionScope, medium: SnapshotFormat
) -> IndexKeySet | None:
    """What a condition needs of a page; None: it may hold anywhere."""
    found = _keys_of_condition(condition, scope, medium)
    return found._replace(decided=False) if found is not None and medium is SnapshotFormat.PART else found


@singledispatch
def _keys_of_condition(
    condition: BaseCondition,  # noqa: ARG001 - dispatched on
    scope: ConditionScope,  # noqa: ARG001
    medium: SnapshotFormat,  # noqa: ARG001
) -> IndexKeySet | None:
    return None


@_keys_of_condition.register
def _(condition: UrlMatches, _scope: ConditionScope, _medium: SnapshotFormat) -> IndexKeySet | None:
    return IndexKeySet(frozenset({IndexKey(IndexKeyKind.URL, condition.pattern)}), decided=False)


@_keys_of_condition.register
def _(condition: UrlContains, _scope: ConditionScope, _medium: SnapshotFormat) -> IndexKeySet | None:
    return IndexKeySet(frozenset({IndexKey(IndexKeyKind.ADDRESS, condition.value)}), decided=False)


@_keys_of_condition.register
def _(condition: TitleContains, _scope: ConditionScope, _medium: SnapshotFormat) -> IndexKeySet | None:
    return IndexKeySet(frozenset({IndexKey(IndexKeyKind.TITLE, condition.value)}), decided=True)


@_keys_of_condition.register
def _(condition: DomContains, _scope: ConditionScope, medium: SnapshotFormat) -> IndexKeySet | None:
    return _keys_of_text(condition.shown_text, condition.selector, medium)


@_keys_of_condition.register
def _(condition: ShowsMessage, _scope: ConditionScope, medium: SnapshotFormat) -> IndexKeySet | None:
    return _keys_of_text(condition.text_contains, condition.selector or MESSAGE_REGIONS, medium)


@_keys_of_condition.register
def _(condition: DomElement, _scope: ConditionScope, medium: SnapshotFormat) -> IndexKeySet | None:
    if condition.text_contains is not None:
        return _keys_of_text(condition.text_contains, condition.selector, medium)
    return _keys_of_css(condition.selector, medium)


@_keys_of_condition.register(ElementVisible)
@_keys_of_condition.register(ElementEnabled)
@_keys_of_condition.register(FieldFilled)
@_keys_of_condition.register(FieldHasValue)
def _(
    condition: ElementVisible | ElementEnabled | FieldFilled | FieldHasValue,
    scope: ConditionScope,
    medium: SnapshotFormat,
) -> IndexKeySet | None:
    selector = scope.element(condition.element)
    return NEVER_HOLDS if selector is None else _keys_of_selector(selector, medium)


@_keys_of_condition.register
def _(condition: ElementCount, scope: ConditionScope, medium: SnapshotFormat) -> IndexKeySet | None:
    selector = scope.element(condition.element)
    return None if selector is None or condition.min == 0 else _keys_of_selector(selector, medium)


@_keys_of_condition.register
def _(condition: CustomCondition, scope: ConditionScope, medium: SnapshotFormat) -> IndexKeySet | None:
    return _keys_of_condition(condition.condition, scope, medium)


@_keys_of_condition.register
def _(condition: Combined, scope: ConditionScope, medium: SnapshotFormat) -> IndexKeySet | None:
    parts = [_keys_of_condition(part, scope, medium) for part in condition.conditions]
    if condition.type == "all_of":
        known = [part for part in parts if part is not None]
        return min(known, key=lambda part: (not part.decided, len(part.any_of)), default=None)
    return _any_of(parts) if condition.type == "any_of" else None


def _any_of(parts: Iterable[IndexKeySet | None]) -> IndexKeySet | None:
    """One of several is enough."""
    known = [*parts]
    if any(part is None for part in known):
        return None
    sure = [part for part in known if part is not None]
    return IndexKeySet(
        frozenset().union(*(part.any_of for part in sure)), decided=all(part.decided for part in sure)
    )


def _keys_of_text(words: str, selector: str | None, medium: SnapshotFormat) -> IndexKeySet | None:
    """A text probe: wherever it is answered with yes, the page shows the words."""
    squeezed = squeeze(words)
    if not squeezed:
        return None
    if selector is not None and medium is SnapshotFormat.PLAIN:
        return NEVER_HOLDS
    readable = selector is None or can_be_queried(selector)
    return IndexKeySet(frozenset({IndexKey(IndexKeyKind.TEXT, squeezed)}), decided=readable)


# -- selectors -----------------------------------------------------------------------------------


def _keys_of_selector(selector: Selector, medium: SnapshotFormat) -> IndexKeySet | None:
    """A selector finds something if one of its strategies does."""
    if medium is SnapshotFormat.PLAIN or (medium is not SnapshotFormat.MARKUP and selector.frame is not None):
        return NEVER_HOLDS
    found = _any_of(_keys_of_strategy(strategy, medium) for strategy in selector.ordered)
    if found is None or medium is SnapshotFormat.MARKUP:
        return found
    # Of the rest a snapshot tells too little to be sure that there is nothing.
    named = all(isinstance(strategy, NameStrategy) for strategy in selector.strategies)
    return found._replace(decided=found.decided and named)


def _keys_of_strategy(strategy: Strategy, medium: SnapshotFormat) -> IndexKeySet | None:
    """One entry per model of a strategy; what finds nothing on a stored page is `NEVER_HOLDS`."""
    match strategy:
        case NameStrategy():
            return _keys_of_name(strategy)
        case SemanticStrategy():
            return _keys_of_semantics(strategy)
        case TemplateStrategy() | SessionStrategy():
            return NEVER_HOLDS
        case ValueStrategy():
            return _keys_of_value(strategy, medium)
    return None


def _keys_of_name(strategy: NameStrategy) -> IndexKeySet | None:
    name = fold(strategy.name)
    if not name:
        return None
    kind = {
        "label": IndexKeyKind.LABEL,
        "placeholder": IndexKeyKind.PLACEHOLDER,
        "role_name": IndexKeyKind.NAME,
    }[strategy.type]
    where = strategy.role or "" if kind is IndexKeyKind.NAME else ""
    return IndexKeySet(frozenset({IndexKey(kind, name, where)}), decided=True)


def _keys_of_semantics(strategy: SemanticStrategy) -> IndexKeySet | None:
    said = (
        (IndexKeyKind.LABEL, strategy.label_contains),
        (IndexKeyKind.PLACEHOLDER, strategy.placeholder_contains),
        (IndexKeyKind.FOLDED, strategy.text_contains),
    )
    known = [IndexKey(kind, fold(words)) for kind, words in said if words and fold(words)]
    return IndexKeySet(frozenset(known[:1]), decided=True) if known else None


def _keys_of_value(strategy: ValueStrategy, medium: SnapshotFormat) -> IndexKeySet | None:
    if strategy.type in ("data-qa", "data-testid", "id", "aria"):
        if medium is not SnapshotFormat.MARKUP:
            return None if strategy.type == "aria" else NEVER_HOLDS
        name = "aria-label" if strategy.type == "aria" else strategy.type
        token = (
            format_token("#", strategy.value) if name == "id" else format_token(f"@{name}=", strategy.value)
        )
        return IndexKeySet(frozenset({IndexKey(IndexKeyKind.TOKEN, token)}), decided=True)
    if strategy.type in ("css", "relational_css", "fallback_css"):
        return _keys_of_css(strategy.value, medium)
    return None if medium is SnapshotFormat.MARKUP else NEVER_HOLDS


def _keys_of_css(selector: str, medium: SnapshotFormat) -> IndexKeySet | None:
    if not can_be_queried(selector):
        return NEVER_HOLDS
    if medium is not SnapshotFormat.MARKUP:
        return None if can_be_found(selector) else NEVER_HOLDS
    tokens = css_tokens(selector)
    if tokens is None:
        return None
    return IndexKeySet(frozenset(IndexKey(IndexKeyKind.TOKEN, token) for token in tokens), decided=True)


@lru_cache(maxsize=50_000)
def can_be_queried(selector: str) -> bool:
    """Whether a stored page can be asked for a selector at all."""
    try:
        check_selector(selector)
    except SelectorError:
        return False
    return True


def format_token(sign: str, value: str) -> str:
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
    """Return tokens of which at least one is on every page with a matching element; None if nothing is known."""
    found = [_best_token(parts) for parts in parse_list(selector, relative=False)]
    return frozenset(token for token in found if token) if all(found) else None


def _best_token(parts: CssComplex) -> str:
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
            found.append((1, format_token("<", simple["tag"])))
        elif simple["id"]:
            found.append((5, format_token("#", simple["id"])))
        elif simple["class"]:
            found.append((3, format_token(".", simple["class"])))
        elif simple["how"] == "=" and simple["value"].strip("\"'"):
            found.append((4, format_token(f"@{simple['attribute']}=", simple["value"].strip("\"'"))))
        else:
            found.append((2, format_token("@", simple["attribute"])))
    return found
