"""One position: what kind it is, what varies in it, and where that comes from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from agent.synthesis.alignment import AlignedPosition, AlignmentType, Cell, RowKey
from agent.synthesis.binding import Binder
from agent.synthesis.lifting import always_there, lift
from agent.synthesis.mentions import MENTION, NAME, ONLY_FOR
from agent.synthesis.moments import Moments
from agent.synthesis.pages import Pages
from agent.synthesis.patterns import (
    BranchPattern,
    ExtractedPatterns,
    LoopPattern,
    OptionalInfo,
    ParameterizableInfo,
    Refusal,
    TargetParameter,
)
from agent.synthesis.rows import every_strategy, has_gaps, have_one_in_common, label_of, refusal_at, within
from kb_schema.conditions import Condition, ContextEquals
from kb_schema.selectors import Selector


class Made:
    """Patterns while they are collected."""

    def __init__(self, rows: frozenset[RowKey]) -> None:
        self._rows = rows
        self.deterministic: list[AlignedPosition] = []
        self.parameterizable: list[tuple[AlignedPosition, ParameterizableInfo]] = []
        self.variable: list[AlignedPosition] = []
        self.optional: list[AlignedPosition] = []
        self.branches: list[BranchPattern] = []
        self.loops: list[LoopPattern] = []
        self.boundaries: list[int] = []
        self.info: dict[int, OptionalInfo] = {}
        self.targets: dict[int, Selector] = {}
        self.waits: dict[int, Selector] = {}
        self.refusals: list[Refusal] = []

    def patterns(self, indices: Sequence[int]) -> ExtractedPatterns:
        """What was collected, for these positions."""
        return ExtractedPatterns(
            deterministic_steps=tuple(self.deterministic),
            parameterizable_steps=tuple(self.parameterizable),
            variable_steps=tuple(self.variable),
            optional_steps=tuple(self.optional),
            branch_patterns=tuple(self.branches),
            loop_patterns=tuple(self.loops),
            user_input_boundaries=tuple(self.boundaries),
            step_order=tuple(indices),
            optional_info=self.info,
            targets=self.targets,
            waits=self.waits,
            refusals=tuple(self.refusals),
        )


class Settler:
    """Puts positions where they belong."""

    def __init__(self, pages: Pages, moments: Moments, binder: Binder) -> None:
        self._pages, self._moments, self._binder = pages, moments, binder

    def settle(self, made: Made, position: AlignedPosition, decisive: frozenset[RowKey]) -> None:
        """Put a position where it belongs."""
        if any(ONLY_FOR in cell.step.metadata for cell in position.cells.values()):
            made.branches.append(self._by_words(position, decisive))
            return
        self._settle(made, position, decisive)

    def _by_words(self, position: AlignedPosition, decisive: frozenset[RowKey]) -> BranchPattern:
        """What is named, but for words that mean something else: those have a way of their own."""
        ways: dict[str, set[RowKey]] = {}
        key = ""
        for row, cell in position.cells.items():
            ways.setdefault(cell.step.metadata.get(ONLY_FOR, ""), set()).add(row)
            key = cell.step.metadata.get(MENTION, key)
        branches: dict[str, tuple[AlignedPosition, ...]] = {}
        conditions: dict[str, Condition | None] = {}
        bodies: dict[str, ExtractedPatterns] = {}
        for number, (words, rows) in enumerate(sorted(ways.items(), reverse=True)):
            label, mine = label_of(number), within(position, frozenset(rows))
            inner = Made(frozenset(rows))
            self._settle(inner, mine, decisive & frozenset(rows))
            branches[label], bodies[label] = (mine,), inner.patterns([position.index])
            conditions[label] = ContextEquals(type="context_equals", name=key, value=words) if words else None
        told = ", ".join(repr(words) for words in sorted(ways) if words)
        return BranchPattern(
            branch_point_index=position.index, branches=branches, bodies=bodies, conditions=conditions,
            condition_description=f"{told} of {key} is no name of a thing: done what was done for it",
            condition_source="input",
        )  # fmt: skip

    def _settle(self, made: Made, position: AlignedPosition, decisive: frozenset[RowKey]) -> None:
        cells = [cell for row, cell in position.cells.items() if row in decisive] or list(
            position.cells.values()
        )
        if any(cell.step.target is True for cell in cells):
            made.boundaries.append(position.index)
        target = self._steady(cells) or every_strategy(cells)
        if target is not None:
            made.targets[position.index] = target
        waited = self._moments.awaited(cells)
        if waited is not None:
            made.waits[position.index] = waited
        if position.alignment_type is AlignmentType.DETERMINISTIC:
            lifted = self._lifted(position, cells)
            if lifted is None:
                made.deterministic.append(position)
            else:
                made.parameterizable.append((position, lifted))
        elif position.alignment_type is AlignmentType.PARAMETERIZABLE:
            found = self._lifted(position, cells) or self._parameters(position, cells)
            made.parameterizable.append((position, found))
        elif position.alignment_type is AlignmentType.OPTIONAL:
            made.optional.append(position)
        else:
            self._varying(made, position, cells)

    def _varying(self, made: Made, position: AlignedPosition, cells: list[Cell]) -> None:
        whole = len(cells) == len(position.steps) or not has_gaps(position)
        placed = self._placed(cells) if whole else None
        if placed is not None:
            made.targets[position.index] = placed
            made.parameterizable.append((position, self._parameters(position, cells)))
            return
        lifted = self._lifted(position, cells) if whole else None
        if lifted is not None:
            made.parameterizable.append((position, lifted))
            return
        made.variable.append(position)
        made.refusals.append(refusal_at("every trace does something else here", cells))

    def _placed(self, cells: list[Cell]) -> Selector | None:
        """The first or last row of a list, where that is what all of them chose, whatever it said."""
        if any(cell.row[1] for cell in cells) or have_one_in_common(cells):
            return None
        found = lift(cells, self._pages)
        if found is not None and self._binder.known(found.words) is not None:
            return None
        return always_there(cells, self._pages)

    def _steady(self, cells: list[Cell]) -> Selector | None:
        """What leads to a field that the task's sentence has a value for, in whatever place it is: the words
        of its row.
        """
        if not all(MENTION in cell.step.metadata for cell in cells):
            return None
        found = lift(cells, self._pages)
        words = set() if found is None else set(found.words.values())
        return found.filled(words.pop()) if found is not None and len(words) == 1 else None

    def _lifted(self, position: AlignedPosition, cells: list[Cell]) -> ParameterizableInfo | None:
        """A target that varies with a row of a list, as a parameter; None where it does not vary."""
        named = all(NAME in cell.step.metadata for cell in cells)
        steady = have_one_in_common(cells) and not named
        if steady and not self._binder.may_be_known(cells):
            return None
        found = lift(cells, self._pages)
        if found is None or (len(set(found.words.values())) < 2 and not named):
            return None
        binding = (
            self._binder.known(found.words) if steady else self._binder.bind(found.words, position, "row")
        )
        if binding is None:
            return None
        info = self._parameters(position, cells)
        return replace(info, target=TargetParameter(found.selector(binding.name), binding, found.words))

    def _parameters(self, position: AlignedPosition, cells: Sequence[Cell]) -> ParameterizableInfo:
        """Which arguments vary, and where they come from."""
        args = {cell.row: cell.step.args or {} for cell in cells}
        keys = sorted({key for each in args.values() for key in each})
        variable, constant, bindings = {}, {}, {}
        for key in keys:
            values = {row: each[key] for row, each in args.items() if key in each}
            given = list(values.values())
            if len(values) == len(args) and all(each == given[0] for each in given):
                constant[key] = given[0]
                continue
            binding = self._binder.bind(values, position, key)
            variable[key], bindings[key] = binding.name, binding
        return ParameterizableInfo(variable, constant, bindings)
