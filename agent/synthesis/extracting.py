"""Stage 5: what each position is, and what is known about it (MA 5).

Works on one stretch at a time: the whole, then the body of each loop with its rounds as rows, then each
way of a branch with the rows that take it. Every position ends in exactly one place (MA Property 11).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

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
from agent.synthesis.deciding import Deciding, Decision, Sight
from agent.synthesis.errors import PatternExtractionError
from agent.synthesis.given_lists import over_given_values
from agent.synthesis.leaving_open import given_or_not, was_left_open
from agent.synthesis.lifting import lift
from agent.synthesis.looping import LoopRules, Pass
from agent.synthesis.moments import Moments
from agent.synthesis.needing import Needs
from agent.synthesis.pages import Pages
from agent.synthesis.patterns import (
    UNKNOWN_CONDITION,
    BranchPattern,
    ExtractedPatterns,
    LoopPattern,
    LoopRule,
    OptionalInfo,
    Refusal,
)
from agent.synthesis.repeats import loops_left
from agent.synthesis.rounds import BinderOfRounds, first_of_equals
from agent.synthesis.rows import (
    Unit,
    every_strategy,
    first_step,
    indices_of,
    label_of,
    of_round,
    refusal_at,
    targets_vary,
    turn_of,
    usable_target,
    within,
)
from agent.synthesis.settling import Made, Settler
from agent.synthesis.succeeding import success_of
from kb_schema.selectors import Selector

FEW = 1 / 3
"""A step that no more than this share of the people did, though all could have, is left out."""
ABSENT = "none"
"""Label of the way that does nothing."""


class PatternExtractor:
    """Finds what is constant, varies, may be missing, repeats and forks."""

    def __init__(self, pages: Pages | None = None) -> None:
        self._pages = pages or Pages()

    def extract(self, aligned_set: AlignedTraceSet) -> ExtractedPatterns:
        """The patterns of an alignment. Raises `PatternExtractionError` for one that contradicts itself."""
        numbers = [position.index for position in aligned_set.positions]
        if numbers != list(range(len(numbers))):
            raise PatternExtractionError("positions are not numbered from 0 in order")
        loops = aligned_set.loops or tuple(loops_left(aligned_set))
        aligned = replace(aligned_set, loops=loops)
        whole = _Stretch(aligned, self._pages, Binder(aligned, self._pages), depth=0)
        rows = frozenset(aligned.rows(None))
        decisive = frozenset((trace, ()) for trace in aligned.distinct_ids)
        found = whole.patterns(numbers, rows, decisive)
        return replace(
            found,
            success=success_of(aligned, found, self._pages),
            trace_ids=aligned.trace_ids,
            alignment_score=aligned.alignment_score,
        )


class _Stretch:
    """Extraction at one depth of loops."""

    def __init__(self, aligned: AlignedTraceSet, pages: Pages, binder: Binder, *, depth: int) -> None:
        self._aligned, self._pages, self._binder, self._depth = aligned, pages, binder, depth
        self._deciding, self._rules = Deciding(pages), LoopRules(pages)
        self._moments = Moments(aligned, pages)
        self._settler = Settler(pages, self._moments, binder)
        self._needs = Needs(aligned, self._moments, pages, binder)

    def patterns(
        self, indices: Sequence[int], rows: frozenset[RowKey], decisive: frozenset[RowKey]
    ) -> ExtractedPatterns:
        """The patterns of these positions for these rows; `decisive` are those of them that are no copies."""
        made = Made(rows)
        units = self._units(indices, rows)
        region: list[Unit] = []
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

    def _units(self, indices: Sequence[int], rows: frozenset[RowKey]) -> list[Unit]:
        inner = [loop for loop in self._aligned.loops if self._depth_of(loop) == self._depth]
        units: list[Unit] = []
        taken: set[int] = set()
        for index in indices:
            if index in taken:
                continue
            loop = next((each for each in inner if each.start == index), None)
            if loop is None:
                here = frozenset(self._aligned.positions[index].cells) & rows
                units.append(Unit((index,), here))
                continue
            members = tuple(range(loop.start, loop.last + 1))
            taken.update(members)
            going = frozenset(row for row, count in loop.rounds.items() if count) & rows
            units.append(Unit(members, going, loop))
        return [unit for unit in units if unit.rows]

    def _depth_of(self, loop: AlignedLoop) -> int:
        return sum(
            other is not loop and other.start <= loop.start and loop.last <= other.last
            and (other.start, other.last) != (loop.start, loop.last)
            for other in self._aligned.loops
        )  # fmt: skip

    def _is_alone(self, units: Sequence[Unit], number: int) -> bool:
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
        self,
        made: Made,
        unit: Unit,
        rows: frozenset[RowKey],
        decisive: frozenset[RowKey],
        units: list[Unit],
    ) -> None:
        if unit.loop is not None:
            made.loops.append(self._loop(unit.loop, rows, decisive, units))
            return
        position = within(self._aligned.positions[unit.indices[0]], rows)
        self._settler.settle(made, position, decisive)

    # -- stretches that only some rows have

    def _region(
        self, made: Made, region: list[Unit], units: list[Unit], rows: frozenset[RowKey],
        decisive: frozenset[RowKey],
    ) -> None:  # fmt: skip
        region = [unit for unit in region if not self._left_open(made, unit, units, rows, decisive)]
        if not region:
            return
        parts = [[region[each] for each in part] for part in connected([set(unit.rows) for unit in region])]
        sights = self._moments.sights(region, units, rows & decisive)
        if len(parts) > 1:
            branch = self._branch(parts, sights, rows, decisive)
            if branch is not None:
                made.branches.append(branch)
                if not branch.decided:
                    made.refusals.append(self._undecided(branch, decisive))
                return
        for part in parts:
            self._part(made, part, sights, rows, decisive)

    def _left_open(
        self, made: Made, unit: Unit, units: list[Unit], rows: frozenset[RowKey], decisive: frozenset[RowKey]
    ) -> bool:
        """Whether it is a field that only some filled in; then it is dealt with."""
        takers, others = unit.rows & decisive, (rows - unit.rows) & decisive
        if unit.loop is not None or not others:
            return False
        sights = self._moments.sights([unit], units, others)
        cells = self._cells_of(self._aligned.positions[unit.indices[0]], takers)
        if not was_left_open(cells, list(sights.values()), self._deciding):
            return False
        body = self.patterns(unit.indices, unit.rows, takers)
        decision = given_or_not(body, len(takers), len(others))
        if decision is not None:
            made.branches.append(self._detour([unit], unit.rows, decision, body))
        return decision is not None

    def _branch(
        self, parts: list[list[Unit]], sights: Mapping[RowKey, Sight], rows: frozenset[RowKey],
        decisive: frozenset[RowKey],
    ) -> BranchPattern | None:  # fmt: skip
        """A fork; None where nothing says that it is one."""
        ways = {label_of(number): part for number, part in enumerate(parts)}
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
            label: self.patterns(indices_of(part), takers[label], takers[label] & decisive)
            for label, part in ways.items()
        }
        branches = {label: tuple(self._positions(part, takers[label])) for label, part in ways.items()}
        if idle:
            branches[ABSENT] = ()
        return BranchPattern(
            branch_point_index=min(indices_of(region_unit for part in parts for region_unit in part)),
            branches=branches,
            condition_description=told if known and told else UNKNOWN_CONDITION,
            condition_source=", ".join(sources) if known else None,
            conditions=conditions,
            bodies=bodies,
        )

    def _part(
        self, made: Made, part: list[Unit], sights: Mapping[RowKey, Sight], rows: frozenset[RowKey],
        decisive: frozenset[RowKey],
    ) -> None:  # fmt: skip
        """Steps that some rows have and the others do without."""
        takers = frozenset().union(*(unit.rows for unit in part))
        decision = self._decided(part, takers & decisive, (rows - takers) & decisive, sights)
        positions = list(self._positions(part, rows))
        if len(part) == 1 and part[0].loop is None and positions[0].alignment_type is AlignmentType.OPTIONAL:
            self._settler.settle(made, positions[0], decisive)
            made.info[positions[0].index] = self._optional(
                positions[0], decision, takers, rows, decisive, sights
            )
            return
        if decision is not None:
            body = self.patterns(indices_of(part), takers, takers & decisive)
            made.branches.append(self._detour(part, takers, decision, body))
            return
        for unit in part:
            if unit.loop is not None:
                made.loops.append(self._loop(unit.loop, rows, decisive, [unit]))
                continue
            position = within(self._aligned.positions[unit.indices[0]], rows)
            self._settler.settle(made, position, decisive)
            if position.alignment_type is AlignmentType.OPTIONAL:
                needed = self._needs.of_step(unit, part, rows & decisive)
                made.info[position.index] = self._optional(
                    position, needed, unit.rows, rows, decisive, sights
                )

    def _detour(
        self, part: list[Unit], takers: frozenset[RowKey], decision: Decision, body: ExtractedPatterns
    ) -> BranchPattern:
        """Several steps that are done together or not at all."""
        label = label_of(0)
        return BranchPattern(
            branch_point_index=min(indices_of(part)),
            branches={label: tuple(self._positions(part, takers)), ABSENT: ()},
            condition_description=decision.evidence,
            condition_source=decision.source,
            conditions={label: decision.condition},
            bodies={label: body},
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
            told = (
                f"{len(takers & decisive)} of {len(rows & decisive)} did it; it was there for all others, too"
            )
            return OptionalInfo(None, told, left_out=told)
        if ignored:
            return OptionalInfo(None, "it was there for those who did not do it, too: nothing tells when")
        return OptionalInfo(
            None, "done where its element is there" if usable_target(step) else "nothing tells when"
        )

    def _decided(
        self, part: list[Unit], taken: frozenset[RowKey], other: frozenset[RowKey],
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
            going, over = ({row: sights[row] for row in rows} for rows in (taken, other))
            found = self._needs.detour(part[-1].indices[-1], going, over)
        if complete and found is None:
            found = self._deciding.by_page(here, there)
        if found is not None:
            return found
        inputs = self._aligned.traces
        return self._deciding.by_input(
            [inputs[row[0]].input_data or {} for row in sorted(taken) if row[0] in inputs],
            [inputs[row[0]].input_data or {} for row in sorted(other) if row[0] in inputs],
        )

    def _first_target(self, part: list[Unit], taken: frozenset[RowKey]) -> Selector | None:
        """The target of the first step that all who went this way did."""
        for unit in part:
            position = self._aligned.positions[unit.indices[0]]
            cells = self._cells_of(position, taken)
            if unit.rows >= taken and cells:
                return every_strategy(cells)
        return None

    # -- loops

    def _loop(
        self, loop: AlignedLoop, rows: frozenset[RowKey], decisive: frozenset[RowKey], units: list[Unit]
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
        targets = [every_strategy(list(position.cells.values())) for position in body]
        constant = [
            target if position.alignment_type is not AlignmentType.VARIABLE else None
            for position, target in zip(body, targets, strict=True)
        ]
        turn = turn_of(body, rounds, self._aligned.loops)
        if turn is None:
            rule = self._needs.of_loop(loop.last, passes, self._rules) or self._rules.rule(passes, constant)
        else:
            rule = self._turning(turn, targets[-1], passes, deciding_rows)
        inner = _Stretch(
            aligned,
            self._pages,
            BinderOfRounds(aligned, self._pages, self._binder.names, rule, passes),
            depth=self._depth + 1,
        )
        numbers = [position.index for position in body if position is not turn]
        each: tuple[ExtractedPatterns, ...] = ()
        if rule.kind == "fixed":
            each = tuple(
                inner.patterns(numbers, of_round(inner_rows, number), of_round(deciding_rows, number))
                for number in range(rule.times or 0)
            )
        found = each[0] if each else inner.patterns(numbers, inner_rows, deciding_rows)
        if rule.kind == "collection":
            found = first_of_equals(found, body[0].index, passes, self._pages)
        listed = (
            over_given_values(found, deciding_rows, self._binder.names) if rule.kind == "unknown" else None
        )
        if listed is not None and turn is None:
            rule, found = listed
        if rule.kind == "unknown":
            cells = [
                cell for position in body[:1] for cell in position.cells.values() if cell.row in deciding_rows
            ]
            found = replace(found, refusals=(*found.refusals, refusal_at(f"loop: {rule.evidence}", cells)))
        counts = list(rounds.values()) or [0]
        return LoopPattern(
            loop.start, loop.end, min(counts), max(counts), tuple(body), rule, found, loop.last, each
        )

    def _turning(
        self, turn: AlignedPosition, target: Selector | None, passes: Mapping[RowKey, Pass],
        rows: frozenset[RowKey],
    ) -> LoopRule:  # fmt: skip
        turned = [
            Sight(cell.step.html_before, cell.step.source_url)
            for key, cell in sorted(turn.cells.items()) if key in rows and cell.step.html_before
        ]  # fmt: skip
        ended = [each.after for each in passes.values() if each.after is not None]
        return self._rules.turning(target, turned, ended)

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
        self, loop: AlignedLoop, body: list[AlignedPosition], rows: Iterable[RowKey], units: list[Unit]
    ) -> dict[RowKey, Pass]:
        passes = {}
        words = self._words(body)
        for row in sorted(rows):
            count = loop.rounds.get(row, 0)
            keys = [(row[0], (*row[1], number)) for number in range(count)]
            firsts = tuple(step for key in keys if (step := first_step(body, key)) is not None)
            said = tuple(words[key] for key in keys if key in words)
            trace = self._aligned.traces.get(row[0])
            after = self._after(row, loop, units)
            passes[row] = Pass(firsts, after, said, None if trace is None else trace.input_data)
        return passes

    def _words(self, body: list[AlignedPosition]) -> dict[RowKey, str]:
        """What each round is about: the words of the row that its first step acts on."""
        if not body or not targets_vary([cell.step for cell in body[0].cells.values()]):
            return {}
        found = lift(list(body[0].cells.values()), self._pages)
        return {} if found is None else dict(found.words)

    def _after(self, row: RowKey, loop: AlignedLoop, units: list[Unit]) -> Sight | None:
        """The page behind a row's last round."""
        inside = [
            cell.step_index
            for index in range(loop.start, loop.last + 1)
            for key, cell in self._aligned.positions[index].cells.items()
            if key[0] == row[0] and key[1][: len(row[1])] == row[1]
        ]
        if not inside:
            later = [unit for unit in units if unit.indices[0] > loop.last]
            return self._moments.sights(later, units, frozenset({row})).get(row)
        return self._moments.page_after(row[0], max(inside))

    # -- small things

    def _positions(self, part: Iterable[Unit], rows: frozenset[RowKey]) -> Iterable[AlignedPosition]:
        for unit in part:
            for index in unit.indices:
                position = self._aligned.positions[index]
                yield position if unit.loop is not None else within(position, rows)

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
        return refusal_at("branch: nothing that was seen tells which way is taken", cells)
