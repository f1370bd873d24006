"""Stage 5: what each position is, and what is known about it (MA 5).

Works on one stretch at a time: the whole, then the body of each loop with its rounds as rows, then each
way of a branch with the rows that take it. Every position ends in exactly one place (MA Property 11).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from agent.synthesis.aligning import classify_position, connected
from agent.synthesis.alignment import (
    AlignedLoop,
    AlignedPosition,
    AlignedTraceSet,
    AlignmentType,
    Cell,
    RowKey,
)
from agent.synthesis.binding import Binder
from agent.synthesis.converting import ordered
from agent.synthesis.deciding import Deciding, Decision, Sight, usable
from agent.synthesis.errors import PatternExtractionError
from agent.synthesis.folding import first_repeat
from agent.synthesis.lifting import lift
from agent.synthesis.looping import LoopRules, Pass
from agent.synthesis.pages import Pages
from agent.synthesis.patterns import (
    UNKNOWN_CONDITION,
    Binding,
    BranchPattern,
    ExtractedPatterns,
    LoopPattern,
    LoopRule,
    OptionalInfo,
    ParameterizableInfo,
    Refusal,
    TargetParameter,
)
from agent.synthesis.symbols import same_args, tokens_of
from kb_schema.selectors import Selector
from kb_schema.traces import TraceStep

FEW = 1 / 3
"""A step that no more than this share of the people did, though all could have, is left out."""
ABSENT = "none"
"""Label of the way that does nothing."""


@dataclass(frozen=True, slots=True)
class _Unit:
    """A position, or a loop as a whole."""

    indices: tuple[int, ...]
    rows: frozenset[RowKey]
    loop: AlignedLoop | None = None


class PatternExtractor:
    """Finds what is constant, varies, may be missing, repeats and forks."""

    def __init__(self, pages: Pages | None = None) -> None:
        self._pages = pages or Pages()

    def extract(self, aligned_set: AlignedTraceSet) -> ExtractedPatterns:
        """The patterns of an alignment. Raises `PatternExtractionError` for one that contradicts itself."""
        numbers = [position.index for position in aligned_set.positions]
        if numbers != list(range(len(numbers))):
            raise PatternExtractionError("positions are not numbered from 0 in order")
        loops = aligned_set.loops or tuple(_loops_left(aligned_set))
        aligned = replace(aligned_set, loops=loops)
        whole = _Stretch(aligned, self._pages, Binder(aligned, self._pages), depth=0)
        rows = frozenset(aligned.rows(None))
        decisive = frozenset((trace, ()) for trace in aligned.distinct_ids)
        found = whole.patterns(numbers, rows, decisive)
        return replace(
            found,
            success=_success(aligned, self._pages),
            trace_ids=aligned.trace_ids,
            alignment_score=aligned.alignment_score,
        )


def _loops_left(aligned: AlignedTraceSet) -> Iterable[AlignedLoop]:
    """Repeats among positions that all traces have, of an alignment made elsewhere (MA `_detect_loops`).

    Looked for again behind each loop: no position belongs to two (MA's known bug).
    """
    numbers: dict[frozenset[str], int] = {}
    signs = []
    for position in aligned.positions:
        told = frozenset().union(*(tokens_of(step) for step in position.observed))
        whole = all(step is not None for step in position.steps.values())
        same = position.alignment_type is not AlignmentType.VARIABLE
        unique = -1 - position.index
        signs.append(numbers.setdefault(told, len(numbers)) if whole and same and told else unique)
    at = 0
    while (found := first_repeat(signs[at:])) is not None:
        begin, length, times = found
        start = at + begin
        rounds: dict[RowKey, int] = {(trace, ()): times for trace in aligned.trace_ids}
        yield AlignedLoop(start, start + length - 1, rounds, start + times * length - 1)
        at = start + times * length


class _Stretch:
    """Extraction at one depth of loops."""

    def __init__(self, aligned: AlignedTraceSet, pages: Pages, binder: Binder, *, depth: int) -> None:
        self._aligned, self._pages, self._binder, self._depth = aligned, pages, binder, depth
        self._deciding, self._rules = Deciding(pages), LoopRules(pages)

    def patterns(
        self, indices: Sequence[int], rows: frozenset[RowKey], decisive: frozenset[RowKey]
    ) -> ExtractedPatterns:
        """The patterns of these positions for these rows; `decisive` are those of them that are no copies."""
        made = _Made(rows)
        units = self._units(indices, rows)
        region: list[_Unit] = []
        for number, unit in enumerate(units):
            if unit.rows >= rows or self._is_alone(units, number):
                self._region(made, region, units, rows, decisive)
                region = []
                self._whole(made, unit, rows, decisive, units)
            else:
                region.append(unit)
        self._region(made, region, units, rows, decisive)
        return made.patterns(indices)

    # -- units

    def _units(self, indices: Sequence[int], rows: frozenset[RowKey]) -> list[_Unit]:
        inner = [loop for loop in self._aligned.loops if self._depth_of(loop) == self._depth]
        units: list[_Unit] = []
        taken: set[int] = set()
        for index in indices:
            if index in taken:
                continue
            loop = next((each for each in inner if each.start == index), None)
            if loop is None:
                here = frozenset(self._aligned.positions[index].cells) & rows
                units.append(_Unit((index,), here))
                continue
            members = tuple(range(loop.start, loop.last + 1))
            taken.update(members)
            going = frozenset(row for row, count in loop.rounds.items() if count) & rows
            units.append(_Unit(members, going, loop))
        return [unit for unit in units if unit.rows]

    def _depth_of(self, loop: AlignedLoop) -> int:
        return sum(
            other is not loop and other.start <= loop.start and loop.last <= other.last
            and (other.start, other.last) != (loop.start, loop.last)
            for other in self._aligned.loops
        )  # fmt: skip

    def _is_alone(self, units: Sequence[_Unit], number: int) -> bool:
        """A loop with rows that did not enter it: none of its rounds was needed, unless they did
        something else instead.
        """
        if units[number].loop is None:
            return False
        around = [units[each] for each in (number - 1, number + 1) if 0 <= each < len(units)]
        everyone = frozenset().union(*(unit.rows for unit in units))
        return all(unit.rows == everyone for unit in around)

    # -- one position or loop that all rows have

    def _whole(
        self, made: _Made, unit: _Unit, rows: frozenset[RowKey], decisive: frozenset[RowKey], units: list[_Unit]
    ) -> None:
        if unit.loop is not None:
            made.loops.append(self._loop(unit.loop, rows, decisive, units))
            return
        position = _within(self._aligned.positions[unit.indices[0]], rows)
        self._settle(made, position, decisive)

    def _settle(self, made: _Made, position: AlignedPosition, decisive: frozenset[RowKey]) -> None:
        """Put a position where it belongs."""
        cells = [cell for row, cell in position.cells.items() if row in decisive] or list(position.cells.values())
        if any(cell.step.target is True for cell in cells):
            made.boundaries.append(position.index)
        target = _every_strategy(cells)
        if target is not None:
            made.targets[position.index] = target
        waited = self._awaited(cells)
        if waited is not None:
            made.waits[position.index] = waited
        if position.alignment_type is AlignmentType.DETERMINISTIC:
            lifted = self._lifted(position, cells)
            if lifted is None:
                made.deterministic.append(position)
            else:
                made.parameterizable.append((position, lifted))
        elif position.alignment_type is AlignmentType.PARAMETERIZABLE:
            made.parameterizable.append((position, self._parameters(position, cells)))
        elif position.alignment_type is AlignmentType.OPTIONAL:
            made.optional.append(position)
        else:
            self._varying(made, position, cells)

    def _varying(self, made: _Made, position: AlignedPosition, cells: list[Cell]) -> None:
        lifted = self._lifted(position, cells) if len(cells) == len(position.steps) or not _gaps(position) else None
        if lifted is not None:
            made.parameterizable.append((position, lifted))
            return
        made.variable.append(position)
        made.refusals.append(_refusal("every trace does something else here", cells))

    def _lifted(self, position: AlignedPosition, cells: list[Cell]) -> ParameterizableInfo | None:
        """A target that varies with a row of a list, as a parameter; None where it does not vary."""
        if _have_one_in_common(cells):
            return None
        found = lift(cells, self._pages)
        if found is None or len(set(found.words.values())) < 2:  # noqa: PLR2004 - one row
            return None
        binding = self._binder.bind(found.words, position, "row")
        info = self._parameters(position, cells)
        return replace(info, target=TargetParameter(found.selector(binding.name), binding))

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

    # -- stretches that only some rows have

    def _region(
        self, made: _Made, region: list[_Unit], units: list[_Unit], rows: frozenset[RowKey],
        decisive: frozenset[RowKey],
    ) -> None:  # fmt: skip
        if not region:
            return
        parts = [[region[each] for each in part] for part in connected([set(unit.rows) for unit in region])]
        sights = self._sights(region, units, rows & decisive)
        if len(parts) > 1:
            branch = self._branch(parts, sights, rows, decisive)
            if branch is not None:
                made.branches.append(branch)
                if not branch.decided:
                    made.refusals.append(self._undecided(branch, decisive))
                return
        for part in parts:
            self._part(made, part, sights, rows, decisive)

    def _branch(
        self, parts: list[list[_Unit]], sights: Mapping[RowKey, Sight], rows: frozenset[RowKey],
        decisive: frozenset[RowKey],
    ) -> BranchPattern | None:  # fmt: skip
        """A fork; None where nothing says that it is one."""
        ways = {_label(number): part for number, part in enumerate(parts)}
        takers = {label: frozenset().union(*(unit.rows for unit in part)) for label, part in ways.items()}
        idle = (rows - frozenset().union(*takers.values())) & decisive
        decisions = {
            label: self._decided(ways[label], taken & decisive, (rows - taken) & decisive, sights)
            for label, taken in takers.items()
        }
        missing = [label for label, decision in decisions.items() if decision is None]
        known = not missing or (len(missing) == 1 and not idle)
        several = len(frozenset().union(*takers.values()) & decisive) > len(parts)
        if not known and not several:
            return None
        conditions = {label: None if each is None else each.condition for label, each in decisions.items()}
        told = "; ".join(f"{label}: {each.evidence}" for label, each in decisions.items() if each is not None)
        sources = sorted({each.source for each in decisions.values() if each is not None})
        bodies = {
            label: self.patterns(_indices(part), takers[label], takers[label] & decisive)
            for label, part in ways.items()
        }
        branches = {label: tuple(self._positions(part, takers[label])) for label, part in ways.items()}
        if idle:
            branches[ABSENT] = ()
        return BranchPattern(
            branch_point_index=min(_indices(region_unit for part in parts for region_unit in part)),
            branches=branches,
            condition_description=told if known and told else UNKNOWN_CONDITION,
            condition_source=", ".join(sources) if known else None,
            conditions=conditions,
            bodies=bodies,
        )

    def _part(
        self, made: _Made, part: list[_Unit], sights: Mapping[RowKey, Sight], rows: frozenset[RowKey],
        decisive: frozenset[RowKey],
    ) -> None:  # fmt: skip
        """Steps that some rows have and the others do without."""
        takers = frozenset().union(*(unit.rows for unit in part))
        decision = self._decided(part, takers & decisive, (rows - takers) & decisive, sights)
        positions = list(self._positions(part, rows))
        if len(part) == 1 and part[0].loop is None and positions[0].alignment_type is AlignmentType.OPTIONAL:
            self._settle(made, positions[0], decisive)
            made.info[positions[0].index] = self._optional(positions[0], decision, takers, rows, decisive, sights)
            return
        if decision is not None:
            made.branches.append(self._detour(part, takers, decision, decisive))
            return
        for unit in part:
            if unit.loop is not None:
                made.loops.append(self._loop(unit.loop, rows, decisive, [unit]))
                continue
            position = _within(self._aligned.positions[unit.indices[0]], rows)
            self._settle(made, position, decisive)
            if position.alignment_type is AlignmentType.OPTIONAL:
                made.info[position.index] = self._optional(position, None, unit.rows, rows, decisive, sights)

    def _detour(
        self, part: list[_Unit], takers: frozenset[RowKey], decision: Decision, decisive: frozenset[RowKey]
    ) -> BranchPattern:
        """Several steps that are done together or not at all."""
        label = _label(0)
        return BranchPattern(
            branch_point_index=min(_indices(part)),
            branches={label: tuple(self._positions(part, takers)), ABSENT: ()},
            condition_description=decision.evidence,
            condition_source=decision.source,
            conditions={label: decision.condition},
            bodies={label: self.patterns(_indices(part), takers, takers & decisive)},
        )

    def _optional(
        self, position: AlignedPosition, decision: Decision | None, takers: frozenset[RowKey],
        rows: frozenset[RowKey], decisive: frozenset[RowKey], sights: Mapping[RowKey, Sight],
    ) -> OptionalInfo:  # fmt: skip
        if decision is not None:
            return OptionalInfo(decision.condition, decision.evidence)
        step = position.observed[0]
        others = [sights[row] for row in (rows - takers) & decisive if row in sights]
        ignored = isinstance(step.target, Selector) and self._deciding.ignored(step.target, others)
        few = len(takers & decisive) <= FEW * len(rows & decisive)
        if ignored and few:
            told = f"{len(takers & decisive)} of {len(rows & decisive)} did it; it was there for all others, too"
            return OptionalInfo(None, told, left_out=told)
        if ignored:
            return OptionalInfo(None, "it was there for those who did not do it, too: nothing tells when")
        return OptionalInfo(None, "done where its element is there" if usable_target(step) else "nothing tells when")

    def _decided(
        self, part: list[_Unit], taken: frozenset[RowKey], other: frozenset[RowKey],
        sights: Mapping[RowKey, Sight],
    ) -> Decision | None:  # fmt: skip
        here = [sights[row] for row in sorted(taken) if row in sights]
        there = [sights[row] for row in sorted(other) if row in sights]
        first = self._first_target(part, taken)
        complete = len(here) == len(taken) and len(there) == len(other) and bool(here) and bool(there)
        found = None
        if complete and first is not None:
            found = self._deciding.by_target(first, here, there)
        if complete and found is None:
            found = self._deciding.by_page(here, there)
        if found is not None:
            return found
        inputs = self._aligned.traces
        return self._deciding.by_input(
            [inputs[row[0]].input_data or {} for row in sorted(taken) if row[0] in inputs],
            [inputs[row[0]].input_data or {} for row in sorted(other) if row[0] in inputs],
        )

    def _first_target(self, part: list[_Unit], taken: frozenset[RowKey]) -> Selector | None:
        """The target of the first step that all who went this way did."""
        for unit in part:
            position = self._aligned.positions[unit.indices[0]]
            cells = self._cells_of(position, taken)
            if unit.rows >= taken and cells:
                return _every_strategy(cells)
        return None

    # -- loops

    def _loop(
        self, loop: AlignedLoop, rows: frozenset[RowKey], decisive: frozenset[RowKey], units: list[_Unit]
    ) -> LoopPattern:
        body = self._body_positions(loop)
        rounds = {row: loop.rounds.get(row, 0) for row in rows}
        aligned = self._aligned
        if loop.span_end is not None:
            kept = {position.index: position for position in body}
            aligned = replace(
                aligned, loops=(), positions=tuple(kept.get(p.index, p) for p in aligned.positions)
            )
        inner_rows = frozenset((t, (*r, n)) for (t, r), count in rounds.items() for n in range(count))
        deciding_rows = frozenset(row for row in inner_rows if (row[0], row[1][:-1]) in decisive)
        passes = self._passes(loop, body, {row for row in rows if row in decisive}, units)
        targets = [_every_strategy(list(position.cells.values())) for position in body]
        constant = [
            target if position.alignment_type is not AlignmentType.VARIABLE else None
            for position, target in zip(body, targets, strict=True)
        ]
        rule = self._rules.rule(passes, constant)
        inner = _Stretch(aligned, self._pages, _BinderOfRounds(self._binder, rule, passes), depth=self._depth + 1)
        numbers = [position.index for position in body]
        each: tuple[ExtractedPatterns, ...] = ()
        if rule.kind == "fixed":
            each = tuple(
                inner.patterns(numbers, _of_round(inner_rows, number), _of_round(deciding_rows, number))
                for number in range(rule.times or 0)
            )
        found = each[0] if each else inner.patterns(numbers, inner_rows, deciding_rows)
        if rule.kind == "unknown":
            cells = [cell for position in body[:1] for cell in position.cells.values() if cell.row in deciding_rows]
            found = replace(found, refusals=(*found.refusals, _refusal(f"loop: {rule.evidence}", cells)))
        counts = list(rounds.values()) or [0]
        return LoopPattern(loop.start, loop.end, min(counts), max(counts), tuple(body), rule, found, loop.last, each)

    def _body_positions(self, loop: AlignedLoop) -> list[AlignedPosition]:
        """The body's positions, later rounds that have positions of their own put into them."""
        positions = self._aligned.positions
        if loop.span_end is None:
            return [positions[index] for index in range(loop.start, loop.end + 1)]
        length = loop.end - loop.start + 1
        body = []
        for offset in range(length):
            cells = [
                Cell((trace, (*rounds, number)), cell.step_index, cell.step)
                for number, index in enumerate(range(loop.start + offset, loop.span_end + 1, length))
                for (trace, rounds), cell in positions[index].cells.items()
            ]
            first = positions[loop.start + offset]
            kind = classify_position({cell.row: cell.step for cell in cells})
            body.append(replace(first, alignment_type=kind, more=tuple(cells)))
        return body

    def _passes(
        self, loop: AlignedLoop, body: list[AlignedPosition], rows: Iterable[RowKey], units: list[_Unit]
    ) -> dict[RowKey, Pass]:
        passes = {}
        words = self._words(body)
        for row in sorted(rows):
            count = loop.rounds.get(row, 0)
            keys = [(row[0], (*row[1], number)) for number in range(count)]
            firsts = tuple(step for key in keys if (step := _first_step(body, key)) is not None)
            said = tuple(words[key] for key in keys if key in words)
            trace = self._aligned.traces.get(row[0])
            after = self._after(row, loop, units)
            passes[row] = Pass(firsts, after, said, None if trace is None else trace.input_data)
        return passes

    def _words(self, body: list[AlignedPosition]) -> dict[RowKey, str]:
        """What each round is about: the words of the row that its first step acts on."""
        if not body or not _vary([cell.step for cell in body[0].cells.values()]):
            return {}
        found = lift(list(body[0].cells.values()), self._pages)
        return {} if found is None else dict(found.words)

    def _after(self, row: RowKey, loop: AlignedLoop, units: list[_Unit]) -> Sight | None:
        """The page behind a row's last round."""
        inside = [
            cell.step_index
            for index in range(loop.start, loop.last + 1)
            for key, cell in self._aligned.positions[index].cells.items()
            if key[0] == row[0] and key[1][: len(row[1])] == row[1]
        ]
        if not inside:
            later = [unit for unit in units if unit.indices[0] > loop.last]
            return self._sights(later, units, frozenset({row})).get(row)
        return self._page_after(row[0], max(inside))

    # -- pages at a moment

    def _sights(
        self, region: Sequence[_Unit], units: Sequence[_Unit], rows: frozenset[RowKey]
    ) -> dict[RowKey, Sight]:
        """The page each row is on where the region begins."""
        if not region:
            return {}
        start = min(unit.indices[0] for unit in region)
        found = {}
        for row in rows:
            ahead = self._first_index(row, [unit for unit in units if unit.indices[0] >= start])
            behind = self._first_index(row, [unit for unit in units if unit.indices[0] < start], last=True)
            trace = self._aligned.traces.get(row[0])
            if trace is None:
                continue
            step = trace.steps[ahead] if ahead is not None else None
            if step is not None and step.html_before:
                found[row] = Sight(step.html_before, step.source_url)
            elif behind is not None and (sight := self._page_after(row[0], behind)) is not None:
                found[row] = sight
        return found

    def _first_index(self, row: RowKey, units: Sequence[_Unit], *, last: bool = False) -> int | None:
        places = [
            cell.step_index
            for unit in units
            for index in unit.indices
            for key, cell in self._aligned.positions[index].cells.items()
            if key[0] == row[0] and key[1][: len(row[1])] == row[1]
        ]
        if not places:
            return None
        return max(places) if last else min(places)

    def _page_after(self, trace_id: str, index: int) -> Sight | None:
        trace = self._aligned.traces.get(trace_id)
        if trace is None:
            return None
        step = trace.steps[index]
        following = trace.steps[index + 1] if index + 1 < len(trace.steps) else None
        if following is not None and following.html_before:
            return Sight(following.html_before, following.source_url)
        if step.html_after is None:
            return None
        url = step.metadata.get("url_after") or (step.source_url if following is None else following.source_url)
        return Sight(step.html_after, url)

    def _awaited(self, cells: Sequence[Cell]) -> Selector | None:
        """The target, where it was not there yet right after the step before in every trace that tells."""
        told = []
        for cell in cells[:3]:
            trace = self._aligned.traces.get(cell.row[0])
            if trace is None or cell.step_index == 0 or not isinstance(cell.step.target, Selector):
                continue
            earlier = trace.steps[cell.step_index - 1]
            before, after = cell.step.html_before, earlier.html_after
            if before is None or after is None or before == after or not usable(cell.step.target):
                continue
            page, old = self._pages.get(before, cell.step.source_url), self._pages.get(after, earlier.source_url)
            if page is not None and old is not None:
                told.append(page.shows(cell.step.target) and not old.shows(cell.step.target))
        return _every_strategy(cells) if told and all(told) else None

    # -- small things

    def _positions(self, part: Iterable[_Unit], rows: frozenset[RowKey]) -> Iterable[AlignedPosition]:
        for unit in part:
            for index in unit.indices:
                position = self._aligned.positions[index]
                yield position if unit.loop is not None else _within(position, rows)

    def _cells_of(self, position: AlignedPosition, rows: frozenset[RowKey]) -> list[Cell]:
        return [
            cell
            for key, cell in sorted(position.cells.items())
            if any(key[0] == row[0] and key[1][: len(row[1])] == row[1] for row in rows)
        ]

    def _undecided(self, branch: BranchPattern, decisive: frozenset[RowKey]) -> Refusal:
        cells = [
            cell
            for positions in branch.branches.values()
            for position in positions
            for cell in self._cells_of(position, decisive)
        ]
        return _refusal("branch: nothing that was seen tells which way is taken", cells)


class _Made:
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


class _BinderOfRounds(Binder):
    """Binds inside of a loop: what the round is about comes first."""

    def __init__(self, outer: Binder, rule: LoopRule, passes: Mapping[RowKey, Pass]) -> None:
        self.__dict__.update(outer.__dict__)
        self._rule, self._passes = rule, passes

    def bind(self, values, position, key, *, item=None):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202, D102
        if item is None and self._rule.kind == "collection":
            item = self._word
        return super().bind(values, position, key, item=item)

    def _word(self, row: RowKey) -> str | None:
        one = self._passes.get((row[0], row[1][:-1]))
        number = row[1][-1] if row[1] else 0
        return one.words[number] if one is not None and number < len(one.words) else None


def usable_target(step: TraceStep) -> bool:
    """Whether a page can be asked for a step's target."""
    return isinstance(step.target, Selector) and usable(step.target)


def _within(position: AlignedPosition, rows: frozenset[RowKey]) -> AlignedPosition:
    """A position as these rows have it."""
    cells = {row: cell for row, cell in position.cells.items() if row in rows}
    steps: dict[RowKey, TraceStep | None] = {row: None for row in rows}
    steps.update({row: cell.step for row, cell in cells.items()})
    per_trace: dict[str, TraceStep | None] = {}
    for row, step in sorted(steps.items()):
        per_trace[row[0]] = per_trace.get(row[0]) or step
    kind = classify_position(steps)
    return replace(position, alignment_type=kind, steps=per_trace, more=tuple(cells.values()))


def _gaps(position: AlignedPosition) -> bool:
    return any(step is None for step in position.steps.values())


def _of_round(rows: frozenset[RowKey], number: int) -> frozenset[RowKey]:
    return frozenset(row for row in rows if row[1][-1] == number)


def _first_step(body: Sequence[AlignedPosition], row: RowKey) -> TraceStep | None:
    found = [
        cell for position in body for key, cell in position.cells.items()
        if key[0] == row[0] and key[1][: len(row[1])] == row[1]
    ]  # fmt: skip
    return min(found, key=lambda cell: cell.step_index).step if found else None


def _have_one_in_common(cells: Sequence[Cell]) -> bool:
    """Whether some strategy leads to the target in every row, or there is no target to find."""
    targets = [cell.step.target for cell in cells]
    ways = [
        {each.model_dump_json(exclude={"confidence", "meta"}) for each in target.strategies if not each.fallback}
        for target in targets
        if isinstance(target, Selector)
    ]
    return len(ways) < len(targets) or bool(set.intersection(*ways))


def _vary(steps: Sequence[TraceStep]) -> bool:
    return len({_first_said(step.target) for step in steps}) > 1


def _first_said(target: object) -> str:
    return target.model_dump_json() if isinstance(target, Selector) else repr(target)


def _every_strategy(cells: Sequence[Cell]) -> Selector | None:
    """All strategies seen for a position, most stable first (MA Properties 14, 17)."""
    targets = [cell.step.target for cell in cells if isinstance(cell.step.target, Selector)]
    if not targets:
        return None
    frames = {target.frame for target in targets}
    if len(frames) > 1:
        return targets[0]
    together = ordered(strategy for target in targets for strategy in target.strategies)
    return Selector(strategies=together, frame=targets[0].frame)


def _indices(units: Iterable[_Unit]) -> list[int]:
    return [index for unit in units for index in unit.indices]


def _label(number: int) -> str:
    return f"way_{number + 1}"


def _refusal(reason: str, cells: Iterable[Cell]) -> Refusal:
    places: dict[str, int] = {}
    for cell in cells:
        places[cell.row[0]] = min(places.get(cell.row[0], cell.step_index), cell.step_index)
    return Refusal(reason, places)


def _success(aligned: AlignedTraceSet, pages: Pages):  # type: ignore[no-untyped-def]  # noqa: ANN202
    """What the last page of every run shows and the page before its last step did not."""
    traces = [aligned.traces[each] for each in aligned.distinct_ids if each in aligned.traces]
    lasts = [trace.steps[-1] for trace in traces if trace.steps]
    if len(lasts) < 2 or any(not step.html_after or not step.html_before for step in lasts):  # noqa: PLR2004
        return None
    ended = [Sight(step.html_after or "", step.metadata.get("url_after") or step.source_url) for step in lasts]
    began = [Sight(step.html_before or "", step.source_url) for step in lasts]
    found = Deciding(pages).by_page(ended, began)
    return None if found is None else found.condition


__all__ = ["ABSENT", "PatternExtractor", "same_args", "usable_target"]
