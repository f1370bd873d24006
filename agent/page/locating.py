"""From a selector of the vocabulary to an element of the page, by the same rules as probes and gate."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from playwright.async_api import Page

from agent.page import library
from agent.page.errors import SelectorNotFilled
from kb_schema.selectors import DomIndexStrategy, Selector, Strategy, TemplateStrategy, ValueStrategy
from kb_schema.templates import MissingVariable, as_text, fill_selector


@dataclass(frozen=True, slots=True)
class Attempt:
    """How one strategy fared."""

    strategy: str
    count: int
    visible: int
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Found:
    """What a selector leads to. `resolved` is False where it leads to none, or to several."""

    resolved: bool
    strategy: Strategy | None
    """The strategy that decided."""
    count: int
    visible: int
    description: str | None
    """`button#save.primary`, for people."""
    role: str | None
    name: str | None
    attempts: tuple[Attempt, ...]
    error: str | None = None


def fill_selector_parameters(selector: Selector, values: Mapping[str, Any]) -> Selector:
    """The selector with every template filled; strategies whose variables are missing are dropped.

    A template becomes a `css` or `xpath` strategy, `{index}` of a `dom_index` its number. Raises
    `SelectorNotFilled` where no strategy is left.
    """
    kept: list[Strategy] = []
    missing: set[str] = set()
    reasons: list[str] = []
    for strategy in selector.strategies:
        try:
            kept.append(_filled(strategy, values))
        except MissingVariable as error:
            missing.add(error.name)
        except ValueError as error:
            reasons.append(str(error))
    if not kept:
        raise SelectorNotFilled(frozenset(missing), tuple(reasons))
    return Selector(strategies=tuple(kept), frame=selector.frame)


def _filled(strategy: Strategy, values: Mapping[str, Any]) -> Strategy:
    common: dict[str, Any] = {
        "fallback": strategy.fallback,
        "confidence": strategy.confidence,
        "meta": strategy.meta,
    }
    if isinstance(strategy, TemplateStrategy):
        value = fill_selector(strategy.template, values, strategy.language)
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
    """Whether every strategy says "the first" or "the last" of several, whichever that is at the time."""
    return all(_FIRST_OR_LAST.search(getattr(each, "value", "")) for each in selector.strategies)


def learned_first(selector: Selector) -> Selector:
    """With strategies that several runs confirmed before the authored ones (`meta.learned`): only for
    those who check what they find, as the desk offers them last.
    """
    ahead = [each for each in selector.strategies if "learned" in each.meta]
    if not ahead:
        return selector
    behind = [each for each in selector.strategies if "learned" not in each.meta]
    promoted = [each.model_copy(update={"fallback": False}) for each in ahead]
    return selector.model_copy(update={"strategies": (*promoted, *behind)})


def beginning_with(first: Selector, then: Selector) -> Selector:
    """The strategies of one selector before those of another; in different frames only the first ones."""
    if first.frame != then.frame:
        return first
    ahead = [each.model_copy(update={"fallback": False}) for each in first.ordered]
    behind = [each for each in then.strategies if each not in first.strategies]
    return Selector(strategies=(*ahead, *behind), frame=first.frame)


async def locate(page: Page, selector: Selector) -> Found:
    """What the selector leads to on the page now. Raises nothing for an element that is not there."""
    said = await library.call(page, "resolve", selector.model_dump_json())
    index = said["strategy"]
    return Found(
        resolved=said["resolved"],
        strategy=selector.strategies[index] if index >= 0 else None,
        count=said["count"],
        visible=said["visible"],
        description=said["described"],
        role=said["role"],
        name=said["name"],
        attempts=tuple(Attempt(t["type"], t["count"], t["visible"], t["error"]) for t in said["tried"]),
        error=said["error"],
    )


def summary(selector: Selector) -> str:
    """A selector in one short line, for evidence and errors."""
    first = selector.ordered[0].model_dump(exclude_defaults=True, exclude={"meta", "confidence", "fallback"})
    told = " ".join(f"{key}={value!r}" for key, value in first.items() if key != "type")
    more = f" (+{len(selector.strategies) - 1} more)" if len(selector.strategies) > 1 else ""
    frame = f" in frame {selector.frame}" if selector.frame else ""
    return f"{first['type']} {told}{more}{frame}"
