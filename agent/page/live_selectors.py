"""Resolves selectors on a live page, by the same rules as probes and the gate; fills and orders them; reads collections."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from playwright.async_api import Page

from agent.page import in_page_library
from agent.page.errors import SelectorNotFilled
from kb_schema.base import Model
from kb_schema.selectors import DomIndexStrategy, Selector, Strategy, TemplateStrategy, ValueStrategy
from kb_schema.templates import MissingVariable, as_text, fill_selector


@dataclass(frozen=True, slots=True)
class ResolutionAttempt:
    """The result of one strategy."""

    strategy: str
    count: int
    visible: int
    error: str | None = None


@dataclass(frozen=True, slots=True)
class SelectorResolution:
    """What a selector leads to. `resolved` is False for no element, and for several."""

    resolved: bool
    strategy: Strategy | None
    """The strategy that determined the result."""
    count: int
    visible: int
    description: str | None
    """Short form for people: `button#save.primary`."""
    role: str | None
    name: str | None
    attempts: tuple[ResolutionAttempt, ...]
    error: str | None = None


FILLED = "filled"
"""Metadata of a filled template: its values by parameter."""


def fill_selector_parameters(selector: Selector, values: Mapping[str, Any]) -> Selector:
    """Return the selector with every template filled; drop strategies whose variables have no value.

    A template becomes a `css` or `xpath` strategy, `{index}` of a `dom_index` its number. Raises
    `SelectorNotFilled` where no strategy is left.
    """
    kept: list[Strategy] = []
    missing: set[str] = set()
    reasons: list[str] = []
    for strategy in selector.strategies:
        try:
            kept.append(_fill_strategies(strategy, values))
        except MissingVariable as error:
            missing.add(error.name)
        except ValueError as error:
            reasons.append(str(error))
    if not kept:
        raise SelectorNotFilled(frozenset(missing), tuple(reasons))
    return Selector(strategies=tuple(kept), frame=selector.frame)


def _fill_strategies(strategy: Strategy, values: Mapping[str, Any]) -> Strategy:
    common: dict[str, Any] = {
        "fallback": strategy.fallback,
        "confidence": strategy.confidence,
        "meta": strategy.meta,
    }
    if isinstance(strategy, TemplateStrategy):
        value = fill_selector(strategy.template, values, strategy.language)
        filled = {name: as_text(values[name]) for name in strategy.parameters if name in values}
        common["meta"] = {**strategy.meta, FILLED: filled} if filled else strategy.meta
        return ValueStrategy(type=strategy.language, value=value, **common)
    if isinstance(strategy, DomIndexStrategy) and isinstance(strategy.index, str):
        name = strategy.index.strip("{}")
        if name not in values:
            raise MissingVariable(name, strategy.index)
        text = as_text(values[name])
        if not text.isdecimal():
            raise ValueError(f"{text!r} is no index for {strategy.index}")
        return DomIndexStrategy(type="dom_index", index=int(text), **common)
    return strategy


_FIRST_OR_LAST = re.compile(r":(?:first|last)-(?:child|of-type)\b")


def means_first_or_last(selector: Selector) -> bool:
    """Whether every strategy means the first or the last of several elements, whatever it is at the time."""
    return all(_FIRST_OR_LAST.search(getattr(each, "value", "")) for each in selector.strategies)


def order_learned_first(selector: Selector) -> Selector:
    """Return the selector with its learned strategies (`meta.learned`, confirmed by several runs) first.

    Use it only where the element's identity is checked: the knowledge server puts learned strategies last.
    """
    ahead = [each for each in selector.strategies if "learned" in each.meta]
    if not ahead:
        return selector
    behind = [each for each in selector.strategies if "learned" not in each.meta]
    promoted = [each.model_copy(update={"fallback": False}) for each in ahead]
    return selector.model_copy(update={"strategies": (*promoted, *behind)})


def prepend_strategies(first: Selector, then: Selector) -> Selector:
    """Return one selector with the strategies of `first` before those of `then`; only `first` if the frames differ."""
    if first.frame != then.frame:
        return first
    ahead = [each.model_copy(update={"fallback": False}) for each in first.ordered]
    behind = [each for each in then.strategies if each not in first.strategies]
    return Selector(strategies=(*ahead, *behind), frame=first.frame)


async def resolve_selector(page: Page, selector: Selector) -> SelectorResolution:
    """Return what the selector leads to now. A missing element is a result, not an error."""
    said = await in_page_library.call(page, "resolve", selector.model_dump_json())
    index = said["strategy"]
    return SelectorResolution(
        resolved=said["resolved"],
        strategy=selector.strategies[index] if index >= 0 else None,
        count=said["count"],
        visible=said["visible"],
        description=said["described"],
        role=said["role"],
        name=said["name"],
        attempts=tuple(
            ResolutionAttempt(t["type"], t["count"], t["visible"], t["error"]) for t in said["tried"]
        ),
        error=said["error"],
    )


def summarize_selector(selector: Selector) -> str:
    """Return a selector in one short line, for evidence and errors.

    A filled template is told by its values: `row 'Harbour walk' (xpath)`.
    """
    filled = selector.ordered[0].meta.get(FILLED)
    if isinstance(filled, Mapping) and filled:
        said = ", ".join(f"{name} {value!r}" for name, value in filled.items())
        return f"{said} ({selector.ordered[0].type})"
    first = selector.ordered[0].model_dump(exclude_defaults=True, exclude={"meta", "confidence", "fallback"})
    told = " ".join(f"{key}={value!r}" for key, value in first.items() if key != "type")
    more = f" (+{len(selector.strategies) - 1} more)" if len(selector.strategies) > 1 else ""
    frame = f" in frame {selector.frame}" if selector.frame else ""
    return f"{first['type']} {told}{more}{frame}"


# -- collections --------------------------------------------------------------------------------


class CollectionMember(Model):
    """One visible element of a collection."""

    text: str
    key: str
    """Distinguishes it from the others: its text, and the addresses and ids in it."""


class CollectionMembers(Model):
    """The members of a collection, in document order."""

    count: int
    """Number of visible members; `items` has at most the first 2,000."""
    items: tuple[CollectionMember, ...]
    error: str | None = None
    """Why the collection could not be looked up."""


async def read_collection_members(page: Page, selector: Selector) -> CollectionMembers:
    """Return the collection's visible elements, in one round trip. Raises `PageGone`."""
    return CollectionMembers.model_validate(
        await in_page_library.call(page, "items", selector.model_dump_json())
    )
