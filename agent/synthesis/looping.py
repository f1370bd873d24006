"""When a loop goes on and when it ends, by the pages before each round and the page after the last."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agent.synthesis.alignment import RowKey
from agent.synthesis.binding import list_keys
from agent.synthesis.chosen_rows import Shown, chosen_rows
from agent.synthesis.deciding import Deciding, Sight, usable
from agent.synthesis.items import row_of, siblings_of
from agent.synthesis.pages import Pages, SeenPage
from agent.synthesis.patterns import LoopRule
from kb_schema.conditions import Combined, Condition, ElementEnabled, ElementHidden
from kb_schema.pages.css import SelectorError
from kb_schema.pages.fields import enabled
from kb_schema.pages.texts import squeeze, text_of
from kb_schema.pages.tree import Element
from kb_schema.pages.visibility import visible
from kb_schema.selectors import Selector, ValueStrategy, css
from kb_schema.traces import TraceStep


@dataclass(frozen=True, slots=True)
class Pass:
    """One time that a loop was gone through."""

    first_steps: tuple[TraceStep, ...]
    """The first step of each round."""
    after: Sight | None
    """The page behind the last round; without rounds, where there would have been one."""
    words: tuple[str, ...] = ()
    """What each round was about, where its target was a thing of a list."""
    inputs: Mapping[str, Any] | None = None

    @property
    def before(self) -> list[Sight]:
        """The page before each round."""
        return [Sight(step.html_before, step.source_url) for step in self.first_steps if step.html_before]


class LoopRules:
    """Finds out why loops end."""

    def __init__(self, pages: Pages) -> None:
        self._pages, self._deciding = pages, Deciding(pages)

    def rule(self, passes: Mapping[RowKey, Pass], steps: Sequence[Selector | None]) -> LoopRule:
        """The rule of a loop. `steps`: the constant targets of its body, the first step's first.

        A rule holds for every pass. Loops that always have the same number of rounds, and of which nothing
        else is known, are done that many times.
        """
        found = (
            self._over_a_list(passes)
            or self._over_a_collection(passes)
            or self._while_there(passes, steps)
            or self._until(passes)
        )
        if found is not None:
            return found
        counts = {len(each.first_steps) for each in passes.values()}
        if len(counts) == 1:
            times = counts.pop()
            told = f"always {times} times, and nothing else tells when it ends"
            return LoopRule("fixed", told, times=times)
        told = f"between {min(counts)} and {max(counts)} times, and nothing that was seen tells when it ends"
        return LoopRule("unknown", told)

    def searching(self, passes: Mapping[RowKey, Pass], found: Condition, told: str) -> LoopRule:
        """The rule of a loop that ends when something is found: one row of a list after the other, where
        the rounds are about rows.
        """
        model = next((each for each in passes.values() if each.words and each.before), None)
        collection = None if model is None else self._collection(model)
        return LoopRule("until" if collection is None else "collection", told, found, collection)

    def turning(self, turn: Selector | None, turned: Sequence[Sight], ended: Sequence[Sight]) -> LoopRule:
        """The rule of a loop that turns pages: it goes on while there is something to turn with.

        `turned`: the pages on which it was turned; `ended`: those on which it was not.
        """
        if turn is not None and turned and ended and usable(turn):
            told = f"there was a next page on {len(turned)} of {len(turned)} pages, and on the last one of"
            if self._deciding.by_target(turn, turned, ended) is not None or (
                self._enabled(turn, turned) == {True} and self._enabled(turn, ended) <= {False}
            ):
                return LoopRule("pages", f"{told} {len(ended)} passes none", turn=turn)
        return LoopRule("unknown", "pages are turned, and nothing that was seen tells which one is the last")

    def _over_a_list(self, passes: Mapping[RowKey, Pass]) -> LoopRule | None:
        """As many rounds as an input has items."""
        for key in list_keys([each.inputs or {} for each in passes.values()]):
            sizes = [len((each.inputs or {})[key]) for each in passes.values()]
            if sizes == [len(each.first_steps) for each in passes.values()] and (
                len(set(sizes)) > 1 or sizes[0] > 1
            ):
                return LoopRule("list", f"as many rounds as the input {key} has items", items=key)
        return None

    # -- the rows of a list on the page

    def _over_a_collection(self, passes: Mapping[RowKey, Pass]) -> LoopRule | None:
        """Each row in turn, or the first row until there is none."""
        gone = [each for each in passes.values() if each.words and each.before]
        if not gone or len({len(each.words) for each in gone} | {0}) < 2:
            return None
        collection = self._collection(gone[0])
        if collection is None or not all(len(each.words) == len(each.before) for each in gone):
            return None
        listed = [[self._listed(collection, sight) for sight in each.before] for each in gone]
        left = [self._listed(collection, each.after) for each in passes.values()]
        if all(pages and pages[0] == list(each.words) for each, pages in zip(gone, listed, strict=True)) and all(
            each.words or each.first_steps or not rows for each, rows in zip(passes.values(), left, strict=True)
        ) and not _shrinks(listed):  # fmt: skip
            told = (
                f"each of the rows of {collection} once, in their order, in {len(gone)} of {len(gone)} passes"
            )
            return LoopRule("collection", told, collection=collection)
        firsts = all(
            rows[:1] == [said] for each, pages in zip(gone, listed, strict=True)
            for said, rows in zip(each.words, pages, strict=True)
        )  # fmt: skip
        if firsts and all(rows == [] for rows in left):
            over = ElementHidden(type="element_disappears", element=css(collection))
            told = f"the first row of {collection}, until there is none, in {len(gone)} of {len(gone)} passes"
            return LoopRule("collection", told, over, collection, shrinking=True)
        return self._over_chosen_rows(passes, gone[0])

    def _over_chosen_rows(self, passes: Mapping[RowKey, Pass], model: Pass) -> LoopRule | None:
        """Those of the rows that something tells, in their order."""
        found = self._row_of(model)
        if found is None:
            return None
        page, row, named = found
        around = _list_css(page, row)
        rows = f"{around} > {row.tag}"
        seen = [self._shown(each, rows) for each in passes.values()]
        told = [each for each in seen if each is not None]
        chosen = None if around is None or len(told) < len(seen) else chosen_rows(told, rows)
        if chosen is None:
            return None
        collection = f"{rows}{chosen.condition}{_path_within(row, named)}"
        over = ElementHidden(type="element_disappears", element=css(collection)) if chosen.shrinking else None
        evidence = f"those of the rows of {rows} that are told by {chosen.told}"
        return LoopRule("collection", evidence, over, collection, shrinking=chosen.shrinking)

    def _shown(self, one: Pass, rows: str) -> tuple[list[Shown], Shown | None] | None:
        """The list before each round of a pass and behind it; None where it is not always to be seen."""
        before = []
        for step in one.first_steps:
            page = self._pages.get(step.html_before, step.source_url)
            element = (
                page.find(step.target) if page is not None and isinstance(step.target, Selector) else None
            )
            if page is None or element is None:
                return None
            shown = Shown(page.stored, tuple(_resolved(page, rows)), element)
            if not any(element in (row, *row.descendants()) for row in shown.rows):
                return None
            before.append(shown)
        last = None if one.after is None else self._pages.get(one.after.html, one.after.url)
        return before, None if last is None else Shown(last.stored, tuple(_resolved(last, rows)), None)

    def _row_of(self, gone: Pass) -> tuple[SeenPage, Element, Element] | None:
        """The page, the row of the first round, and what in it says what the round is about."""
        sight, step, said = gone.before[0], gone.first_steps[0], gone.words[0]
        page = self._pages.get(sight.html, sight.url)
        element = page.find(step.target) if page is not None and isinstance(step.target, Selector) else None
        row = None if element is None else row_of(element)
        if page is None or row is None or row.parent is None:
            return None
        named = next((node for node in (*row.descendants(), row) if squeeze(text_of(node)) == said), None)
        return None if named is None else (page, row, named)

    def _collection(self, gone: Pass) -> str | None:
        """CSS of what names the rows of the list that the rounds are about."""
        found = self._row_of(gone)
        if found is None:
            return None
        page, row, named = found
        around = _list_css(page, row)
        if around is None:
            return None
        value = f"{around} > {row.tag}{_path_within(row, named)}"
        return value if self._listed(value, gone.before[0])[:1] or len(siblings_of(row)) == 1 else None

    def _listed(self, collection: str, sight: Sight | None) -> list[str]:
        """What the rows say, in order."""
        page = None if sight is None else self._pages.get(sight.html, sight.url)
        return [] if page is None else [squeeze(text_of(each)) for each in _resolved(page, collection)]

    # -- what is there while it goes on

    def _while_there(
        self, passes: Mapping[RowKey, Pass], targets: Sequence[Selector | None]
    ) -> LoopRule | None:
        """Something of the body is there, or can be used, before each round and not after the last."""
        going, over = _sides(passes)
        if not going or not over:
            return None
        for target in targets:
            if target is None or not usable(target):
                continue
            decision = self._deciding.by_target(target, going, over)
            if decision is not None:
                gone = ElementHidden(type="element_hidden", element=target)
                return LoopRule("until", f"until the step's element is gone: {decision.evidence}", gone)
            if self._enabled(target, going) == {True} and self._enabled(target, over) <= {False}:
                can = ElementEnabled(type="element_enabled", element=target)
                stop: Condition = Combined(type="none_of", conditions=(can,))
                told = (
                    f"until the step's element cannot be used: {len(going)} pages it could, {len(over)} not"
                )
                return LoopRule("until", told, stop)
        return None

    def _enabled(self, target: Selector, sights: Sequence[Sight]) -> set[bool]:
        found = set()
        for sight in dict.fromkeys(sights):
            page = self._pages.get(sight.html, sight.url)
            element = None if page is None else page.find(target)
            found.add(element is not None and visible(element) and enabled(element))
        return found

    def _until(self, passes: Mapping[RowKey, Pass]) -> LoopRule | None:
        going, over = _sides(passes)
        decision = self._deciding.by_page(over, going)
        return (
            None if decision is None else LoopRule("until", f"until {decision.evidence}", decision.condition)
        )


def _resolved(page: SeenPage, selector: str) -> list[Element]:
    """What can be seen of what a selector leads to."""
    try:
        return [each for each in page.stored.resolve(css(selector)).found if visible(each)]
    except SelectorError:
        return []


def _sides(passes: Mapping[RowKey, Pass]) -> tuple[list[Sight], list[Sight]]:
    going = [sight for each in passes.values() for sight in each.before]
    return going, [each.after for each in passes.values() if each.after is not None]


def _shrinks(listed: Sequence[Sequence[Sequence[str]]]) -> bool:
    """Whether some list was shorter before a later round than before the first."""
    return any(rows and len(rows) < len(pages[0]) for pages in listed for rows in pages)


def _list_css(page: SeenPage, row: Element) -> str | None:
    """CSS of the list around a row, by what lasts of it or of what is around it."""
    path: list[str] = []
    node = row.parent
    while node is not None:
        choice = page.selectors.of(node).selector
        for each in () if choice is None else choice.strategies:
            if isinstance(each, ValueStrategy) and not each.fallback:
                if each.type == "css":
                    return " > ".join([each.value, *path])
                if (
                    each.type in ("id", "data-testid", "data-qa")
                    and '"' not in each.value
                    and "\\" not in each.value
                ):
                    return " > ".join([f'[{each.type}="{each.value}"]', *path])
        same = (
            []
            if node.parent is None
            else [child for child in node.parent.elements() if child.tag == node.tag]
        )
        path.insert(0, node.tag if len(same) < 2 else f"{node.tag}:nth-of-type({same.index(node) + 1})")
        node = node.parent
    return " > ".join(path) if path else None


def _path_within(row: Element, named: Element) -> str:
    """From a row to what names it, as CSS."""
    steps: list[str] = []
    node = named
    while node is not row and node.parent is not None:
        same = [child for child in node.parent.elements() if child.tag == node.tag]
        steps.insert(
            0, f" > {node.tag}:nth-of-type({same.index(node) + 1})" if len(same) > 1 else f" > {node.tag}"
        )
        node = node.parent
    return "".join(steps)
