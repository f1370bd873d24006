"""What is bound and told inside of a loop that goes through the rows of a list."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from agent.synthesis.alignment import AlignedPosition, AlignedTraceSet, RowKey
from agent.synthesis.binding import Binder, Values
from agent.synthesis.deciding import Sight
from agent.synthesis.looping import Pass
from agent.synthesis.pages import Pages
from agent.synthesis.patterns import Binding, ExtractedPatterns, LoopRule
from kb_schema.selectors import Selector, TemplateStrategy, ValueStrategy
from kb_schema.templates import fill_selector


class BinderOfRounds(Binder):
    """Binds inside of a loop: what the round is about comes first."""

    def __init__(
        self, aligned: AlignedTraceSet, pages: Pages, names: dict[str, str], rule: LoopRule,
        passes: Mapping[RowKey, Pass],
    ) -> None:  # fmt: skip
        super().__init__(aligned, pages, names)  # a value is the same variable in and outside of the loop
        self._rule, self._passes = rule, passes

    def bind(
        self,
        values: Values,
        position: AlignedPosition,
        key: str,
        *,
        item: Callable[[RowKey], Any] | None = None,
    ) -> Binding:
        """As outside of loops, the item of the round first."""
        if item is None and self._rule.kind == "collection":
            item = self._word
        return super().bind(values, position, key, item=item)

    def _word(self, row: RowKey) -> str | None:
        one = self._passes.get((row[0], row[1][:-1]))
        number = row[1][-1] if row[1] else 0
        return one.words[number] if one is not None and number < len(one.words) else None


def first_of_equals(
    body: ExtractedPatterns, first: int, passes: Mapping[RowKey, Pass], pages: Pages
) -> ExtractedPatterns:
    """The body of a loop over rows, its step at the position `first` for rows that say the same, too.

    Where a row has no such thing any more once it was dealt with, the first of several equal rows is the
    one whose turn it is. Where it stays, nothing tells them apart, and the step is left as it is.
    """
    steps = []
    for position, info in body.parameterizable_steps:
        if position.index == first and info.target is not None and _goes(info.target.selector, passes, pages):
            made = replace(info.target, selector=_first(info.target.selector))
            steps.append((position, replace(info, target=made)))
        else:
            steps.append((position, info))
    return body if not steps else replace(body, parameterizable_steps=tuple(steps))


def _goes(target: Selector, passes: Mapping[RowKey, Pass], pages: Pages) -> bool:
    """Whether it is there no more after each round."""
    told = [
        _there(target, words, sight, pages)
        for one in passes.values()
        for words, sight in zip(one.words, [*one.before[1:], one.after], strict=False)
        if sight is not None
    ]
    return bool(told) and not any(told)


def _there(target: Selector, words: str, sight: Sight, pages: Pages) -> bool:
    page = pages.get(sight.html, sight.url)
    (strategy,) = target.strategies
    if page is None or not isinstance(strategy, TemplateStrategy) or len(strategy.parameters) != 1:
        return True
    value = fill_selector(strategy.template, {strategy.parameters[0]: words}, "xpath")
    filled = Selector(strategies=(ValueStrategy(type="xpath", value=value),))
    return bool(page.stored.resolve(filled).found)


def _first(target: Selector) -> Selector:
    (strategy,) = target.strategies
    if not isinstance(strategy, TemplateStrategy):
        return target
    one = strategy.model_copy(update={"template": f"({strategy.template})[1]"})
    return target.model_copy(update={"strategies": (one,)})
