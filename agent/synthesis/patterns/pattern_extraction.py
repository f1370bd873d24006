"""Stage 5: extracts the patterns of aligned traces (MA 5).

Works recursively: on the whole sequence, then on the body of each loop with its rounds as rows, then on each
branch with the rows that take it. Every position is in exactly one result field (MA Property 11).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from agent.synthesis.alignment.aligned_traces import (
    AlignedCell,
    AlignedLoop,
    AlignedPosition,
    AlignedTraceSet,
    AlignmentType,
    RowKey,
)
from agent.synthesis.alignment.loop_detection import find_remaining_loops
from agent.synthesis.alignment.trace_alignment import classify_position, group_connected_columns
from agent.synthesis.errors import PatternExtractionError
from agent.synthesis.patterns.aligned_rows import (
    AlignedUnit,
    build_branch_label,
    build_refusal,
    find_page_turn,
    first_step,
    has_queryable_target,
    list_indices,
    merge_strategies,
    restrict_to_rows,
    select_round,
    targets_vary,
)
from agent.synthesis.patterns.asked_boxes import TICKING, is_only_difference
from agent.synthesis.patterns.branch_conditions import BranchConditionFinder, DecisionPage, InferredCondition
from agent.synthesis.patterns.control_states import find_control_states
from agent.synthesis.patterns.counted_rows import COUNT
from agent.synthesis.patterns.decision_pages import DecisionPages
from agent.synthesis.patterns.detour_evidence import find_thin_evidence
from agent.synthesis.patterns.extracted_patterns import (
    UNKNOWN_CONDITION,
    BranchPattern,
    ExtractedPatterns,
    LoopPattern,
    LoopRule,
    OptionalInfo,
    PatternRefusal,
)
from agent.synthesis.patterns.input_list_loops import find_untold_values, infer_input_list_loop
from agent.synthesis.patterns.interruptions import is_interruption
from agent.synthesis.patterns.loop_conditions import LoopConditionFinder, LoopPass, list_typed_texts
from agent.synthesis.patterns.optional_fields import infer_given_condition, is_optional_field
from agent.synthesis.patterns.position_patterns import PatternCollector, PositionClassifier
from agent.synthesis.patterns.row_loop_bindings import (
    RowLoopBinder,
    find_untold_rows,
    press_placed_row,
    select_first_equal_row,
)
from agent.synthesis.patterns.row_templates import find_row_template
from agent.synthesis.patterns.said_steps import find_said_word
from agent.synthesis.patterns.search_conditions import SearchConditionFinder
from agent.synthesis.patterns.step_conditions import infer_postconditions
from agent.synthesis.patterns.success_conditions import infer_read_back, infer_success_condition
from agent.synthesis.patterns.target_agreement import find_agreed_target
from agent.synthesis.patterns.target_templates import TargetTemplate, find_target_template
from agent.synthesis.patterns.value_bindings import ValueBinder
from agent.synthesis.traces.element_fingerprints import merge_step_fingerprints
from agent.synthesis.traces.trace_pages import TracePages
from agent.synthesis.utterances.part_openers import OPENS_PART
from kb_schema.conditions import ContextEquals, ElementHidden
from kb_schema.selectors import Selector, ValueStrategy
from kb_schema.templates import xpath_literal

FEW = 1 / 3
"""Maximum share of traces for a step to be omitted, if all traces could have performed it."""
ABSENT = "none"
"""Label of the branch without steps."""


class PatternExtractor:
    """Finds constant, varying and optional steps, loops and branches."""

    def __init__(self, pages: TracePages | None = None) -> None:
        self._pages = pages or TracePages()

    def extract(self, aligned_set: AlignedTraceSet) -> ExtractedPatterns:
        """Return the patterns of an alignment. Raises `PatternExtractionError` if it is inconsistent."""
        numbers = [position.index for position in aligned_set.positions]
        if numbers != list(range(len(numbers))):
            raise PatternExtractionError("expected positions numbered from 0 in order")
        loops = aligned_set.loops or tuple(find_remaining_loops(aligned_set))
        aligned = replace(aligned_set, loops=loops)
        whole = _Stretch(aligned, self._pages, ValueBinder(aligned, self._pages), depth=0)
        rows = frozenset(aligned.rows(None))
        decisive = frozenset((trace, ()) for trace in aligned.distinct_ids)
        found = whole.patterns(numbers, rows, decisive)
        found = replace(found, control_states=find_control_states(aligned, found, self._pages))
        return replace(
            found,
            postconditions=infer_postconditions(aligned, found),
            success=infer_success_condition(aligned, found, self._pages),
            read_back=infer_read_back(aligned, found, self._pages),
            trace_ids=aligned.trace_ids,
            alignment_score=aligned.alignment_score,
        )


class _Stretch:
    """Extraction at one loop depth."""

    def __init__(
        self, aligned: AlignedTraceSet, pages: TracePages, binder: ValueBinder, *, depth: int
    ) -> None:
        self._aligned, self._pages, self._binder, self._depth = aligned, pages, binder, depth
        self._deciding, self._rules = BranchConditionFinder(pages), LoopConditionFinder(pages)
        self._moments = DecisionPages(aligned, pages)
        self._settler = PositionClassifier(pages, self._moments, binder)
        self._needs = SearchConditionFinder(aligned, self._moments, pages, binder)

    def patterns(
        self, indices: Sequence[int], rows: frozenset[RowKey], decisive: frozenset[RowKey]
    ) -> ExtractedPatterns:
        """Return the patterns of these positions for these rows; `decisive` are the rows that are no copies."""
        made = PatternCollector(rows)
        units = self._units(indices, rows)
        region: list[AlignedUnit] = []
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

    def _units(self, indices: Sequence[int], rows: frozenset[RowKey]) -> list[AlignedUnit]:
        inner = [loop for loop in self._aligned.loops if self._depth_of(loop) == self._depth]
        units: list[AlignedUnit] = []
        taken: set[int] = set()
        for index in indices:
            if index in taken:
                continue
            loop = next((each for each in inner if each.start == index), None)
            if loop is None:
                here = frozenset(self._aligned.positions[index].cells) & rows
                units.append(AlignedUnit((index,), here))
                continue
            members = tuple(range(loop.start, loop.last + 1))
            taken.update(members)
            going = frozenset(row for row, count in loop.rounds.items() if count) & rows
            units.append(AlignedUnit(members, going, loop))
        return [unit for unit in units if unit.rows]

    def _depth_of(self, loop: AlignedLoop) -> int:
        return sum(
            other is not loop
            and other.start <= loop.start
            and loop.last <= other.last
            and (other.start, other.last) != (loop.start, loop.last)
            for other in self._aligned.loops
        )

    def _is_alone(self, units: Sequence[AlignedUnit], number: int) -> bool:
        """Whether a loop that some rows did not enter has no alternative: these rows needed no round."""
        if units[number].loop is None:
            return False
        around = [units[each] for each in (number - 1, number + 1) if 0 <= each < len(units)]
        everyone = frozenset().union(*(unit.rows for unit in units))
        return all(unit.rows == everyone for unit in around)

    # -- positions and loops that all rows have

    def _whole(
        self,
        made: PatternCollector,
        unit: AlignedUnit,
        rows: frozenset[RowKey],
        decisive: frozenset[RowKey],
        units: list[AlignedUnit],
    ) -> None:
        if unit.loop is not None:
            made.loops.append(self._loop(unit.loop, rows, decisive, units))
            return
        position = restrict_to_rows(self._aligned.positions[unit.indices[0]], rows)
        self._settler.settle(made, position, decisive)

    # -- sequences that only some rows have

    def _region(
        self,
        made: PatternCollector,
        region: list[AlignedUnit],
        units: list[AlignedUnit],
        rows: frozenset[RowKey],
        decisive: frozenset[RowKey],
    ) -> None:
        region = [unit for unit in region if not self._left_open(made, unit, units, rows, decisive)]
        if not region:
            return
        parts = [
            [region[each] for each in part]
            for part in group_connected_columns([set(unit.rows) for unit in region])
        ]
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
        self,
        made: PatternCollector,
        unit: AlignedUnit,
        units: list[AlignedUnit],
        rows: frozenset[RowKey],
        decisive: frozenset[RowKey],
    ) -> bool:
        """Handle a field that only some traces filled in; return whether it is one."""
        takers, others = unit.rows & decisive, (rows - unit.rows) & decisive
        if unit.loop is not None or not others:
            return False
        sights = self._moments.sights([unit], units, others)
        cells = self._cells_of(self._aligned.positions[unit.indices[0]], takers)
        if not is_optional_field(cells, list(sights.values()), self._deciding):
            return False
        body = self.patterns(unit.indices, unit.rows, takers)
        decision = infer_given_condition(body, len(takers), len(others))
        if decision is not None:
            made.branches.append(self._detour([unit], unit.rows, decision, body))
        return decision is not None

    def _branch(
        self,
        parts: list[list[AlignedUnit]],
        sights: Mapping[RowKey, DecisionPage],
        rows: frozenset[RowKey],
        decisive: frozenset[RowKey],
    ) -> BranchPattern | None:
        """Return a branch; None if there is no evidence for one."""
        ways = {build_branch_label(number): part for number, part in enumerate(parts)}
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
            label: self.patterns(list_indices(part), takers[label], takers[label] & decisive)
            for label, part in ways.items()
        }
        branches = {label: tuple(self._positions(part, takers[label])) for label, part in ways.items()}
        if idle:
            branches[ABSENT] = ()
        return BranchPattern(
            branch_point_index=min(list_indices(region_unit for part in parts for region_unit in part)),
            branches=branches,
            condition_description=told if known and told else UNKNOWN_CONDITION,
            condition_source=", ".join(sources) if known else None,
            conditions=conditions,
            bodies=bodies,
        )

    def _part(
        self,
        made: PatternCollector,
        part: list[AlignedUnit],
        sights: Mapping[RowKey, DecisionPage],
        rows: frozenset[RowKey],
        decisive: frozenset[RowKey],
    ) -> None:
        """Handle steps that only some rows have."""
        takers = frozenset().union(*(unit.rows for unit in part))
        decision = self._decided(part, takers & decisive, (rows - takers) & decisive, sights)
        positions = list(self._positions(part, rows))
        opens = any(OPENS_PART in each.metadata for each in positions[0].observed)
        single = len(part) == 1 and part[0].loop is None and not opens
        if single and positions[0].alignment_type is AlignmentType.OPTIONAL:
            self._settler.settle(made, positions[0], decisive)
            info = self._optional(positions[0], decision, takers, rows, decisive, sights)
            self._note_optional(made, positions[0], info, takers, rows, decisive)
            return
        if decision is not None:
            body = self.patterns(list_indices(part), takers, takers & decisive)
            made.branches.append(self._detour(part, takers, decision, body))
            done = [cell for each in positions for cell in self._cells_of(each, takers & decisive)]
            thin = find_thin_evidence(done)
            if thin is not None:
                made.refusals.append(build_refusal(f"branch: {thin}", done))
            return
        for unit in part:
            if unit.loop is not None:
                made.loops.append(self._loop(unit.loop, rows, decisive, [unit]))
                continue
            position = restrict_to_rows(self._aligned.positions[unit.indices[0]], rows)
            self._settler.settle(made, position, decisive)
            if position.alignment_type is AlignmentType.OPTIONAL:
                needed = self._needs.of_step(unit, part, rows & decisive)
                info = self._optional(position, needed, unit.rows, rows, decisive, sights)
                self._note_optional(made, position, info, unit.rows, rows, decisive)

    def _detour(
        self,
        part: list[AlignedUnit],
        takers: frozenset[RowKey],
        decision: InferredCondition,
        body: ExtractedPatterns,
    ) -> BranchPattern:
        """Handle several steps that are performed together or not at all."""
        label = build_branch_label(0)
        return BranchPattern(
            branch_point_index=min(list_indices(part)),
            branches={label: tuple(self._positions(part, takers)), ABSENT: ()},
            condition_description=decision.evidence,
            condition_source=decision.source,
            conditions={label: decision.condition},
            bodies={label: body},
        )

    def _optional(
        self,
        position: AlignedPosition,
        decision: InferredCondition | None,
        takers: frozenset[RowKey],
        rows: frozenset[RowKey],
        decisive: frozenset[RowKey],
        sights: Mapping[RowKey, DecisionPage],
    ) -> OptionalInfo:
        others = [sights[row] for row in (rows - takers) & decisive if row in sights]
        if decision is not None:
            answers = decision.source == "target" and is_interruption(
                self._cells_of(position, takers & decisive), others, self._aligned, self._pages
            )
            return OptionalInfo(decision.condition, decision.evidence, interrupts=answers)
        step = position.observed[0]
        ignored = isinstance(step.target, Selector) and self._deciding.ignored(step.target, others)
        if ignored and is_only_difference(
            position, self._aligned, takers & decisive, (rows - takers) & decisive
        ):
            return self._asked_box(position)
        few = len(takers & decisive) <= FEW * len(rows & decisive)
        if ignored and few:
            told = f"{len(takers & decisive)} of {len(rows & decisive)} traces performed it; all others had its element too"
            return OptionalInfo(None, told, left_out=told)
        if ignored:
            return OptionalInfo(
                None,
                "its element was also present in traces without the step: no condition was found",
                unknown=True,
            )
        return OptionalInfo(
            None,
            "performed if its element is present" if has_queryable_target(step) else "no condition was found",
        )

    def _asked_box(self, position: AlignedPosition) -> OptionalInfo:
        asked = self._binder.ask_box(position)
        value = position.observed[0].action_type == "check"
        condition = ContextEquals(type="context_equals", name=asked.name, value=value)
        told = f"{asked.evidence}: performed if {asked.name} is {str(value).lower()}"
        return OptionalInfo(condition, told, asked=asked)

    def _note_optional(
        self,
        made: PatternCollector,
        position: AlignedPosition,
        info: OptionalInfo,
        takers: frozenset[RowKey],
        rows: frozenset[RowKey],
        decisive: frozenset[RowKey],
    ) -> None:
        """Keep when an optional step is performed. One that would be left out, or only done if a further input asks for it, is refused
        if the sentences ask for it; and so is a box that only some traces ticked, if nothing tells when.
        """
        made.info[position.index] = info
        if info.unknown and position.observed[0].action_type in TICKING:
            count = f"{len(takers & decisive)} of {len(rows & decisive)}"
            reason = (
                f"optional: only {count} traces did it, all had its element, and nothing shows when it is to be done; "
                "do it in each demonstration or in none, or do one with the same values once with and once without it"
            )
            made.refusals.append(build_refusal(reason, self._cells_of(position, takers & decisive)))
        if info.left_out is None and info.asked is None:
            return
        traces = self._aligned.traces
        sentences = [
            traces[row[0]].task_description or "" for row in sorted(rows & decisive) if row[0] in traces
        ]
        steady = [
            each.observed[0]
            for each in self._aligned.positions
            if rows <= each.cells.keys() and each.observed
        ]
        word = find_said_word(position.observed[0], sentences, steady)
        if word is not None:
            cells = self._cells_of(position, takers & decisive)
            reason = f"optional: all sentences say {word!r}, and only some of the traces did it"
            made.refusals.append(build_refusal(reason, cells))

    def _decided(
        self,
        part: list[AlignedUnit],
        taken: frozenset[RowKey],
        other: frozenset[RowKey],
        sights: Mapping[RowKey, DecisionPage],
    ) -> InferredCondition | None:
        here = [sights[row] for row in sorted(taken) if row in sights]
        there = [sights[row] for row in sorted(other) if row in sights]
        first = self._first_target(part, taken)
        if any(OPENS_PART in each.metadata for each in self._aligned.positions[part[0].indices[0]].observed):
            first = None
        elif first is not None and self._is_about_values(first, taken, other):
            return None
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

    def _is_about_values(self, target: Selector, taken: frozenset[RowKey], other: frozenset[RowKey]) -> bool:
        """Whether a selector has the value of an input that differs in the other traces: it is no branch of its own.

        With a further value, one of the ways would be gone that belongs to another value.
        """
        traces = self._aligned.traces
        own, others = (
            {
                each
                for row in rows
                if row[0] in traces
                for each in (traces[row[0]].input_data or {}).values()
                if isinstance(each, str) and any(map(str.isalpha, each))
            }
            for rows in (taken, other)
        )
        told = [each.value for each in target.strategies if isinstance(each, ValueStrategy)]
        return any(xpath_literal(value) in each for value in own - others for each in told)

    def _first_target(self, part: list[AlignedUnit], taken: frozenset[RowKey]) -> Selector | None:
        """Return the target of the first step that all rows of this branch have."""
        for unit in part:
            position = self._aligned.positions[unit.indices[0]]
            cells = self._cells_of(position, taken)
            if unit.rows >= taken and cells:
                return merge_strategies(cells)
        return None

    # -- loops

    def _loop(
        self,
        loop: AlignedLoop,
        rows: frozenset[RowKey],
        decisive: frozenset[RowKey],
        units: list[AlignedUnit],
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
        targets = [merge_strategies(list(position.cells.values())) for position in body]
        constant = [
            target if position.alignment_type is not AlignmentType.VARIABLE else None
            for position, target in zip(body, targets, strict=True)
        ]
        turn = find_page_turn(body, rounds, self._aligned.loops)
        if turn is None:
            rule = self._needs.of_loop(loop.last, passes, self._rules) or self._rules.rule(passes, constant)
            rule = self._with_binding(rule)
        else:
            agreed = find_agreed_target(list(turn.cells.values()), self._pages)
            rule = self._turning(turn, agreed.selector, passes, deciding_rows)
        inner = _Stretch(
            aligned,
            self._pages,
            RowLoopBinder(aligned, self._pages, self._binder.names, rule, passes),
            depth=self._depth + 1,
        )
        numbers = [position.index for position in body if position is not turn]
        each: tuple[ExtractedPatterns, ...] = ()
        if rule.kind == "fixed":
            each = tuple(
                inner.patterns(numbers, select_round(inner_rows, number), select_round(deciding_rows, number))
                for number in range(rule.times or 0)
            )
        found = each[0] if each else inner.patterns(numbers, inner_rows, deciding_rows)
        if rule.is_placed and isinstance(rule.collection, str):
            found = press_placed_row(found, body[0], rule.collection, self._pages)
        elif rule.kind == "collection":
            found = select_first_equal_row(found, body[0].index, passes, self._pages)
        listed = (
            infer_input_list_loop(found, deciding_rows, self._binder.names)
            if rule.kind == "unknown"
            else None
        )
        if listed is not None and turn is None:
            rule, found = listed
        untold = find_untold_rows(found, deciding_rows) if rule.kind not in ("fixed", "unknown") else []
        if untold:
            rule = LoopRule("unknown", "each round acts on another row, and nothing tells which one is next")
        elif rule.kind in ("collection", "pages", "until"):
            untold = find_untold_values(found, deciding_rows)
            if untold:
                rule = LoopRule("unknown", "each round enters another value, and nothing tells which one")
        if rule.kind == "unknown":
            cells = untold or [
                cell for position in body[:1] for cell in position.cells.values() if cell.row in deciding_rows
            ]
            found = replace(found, refusals=(*found.refusals, build_refusal(f"loop: {rule.evidence}", cells)))
        counts = list(rounds.values()) or [0]
        return LoopPattern(
            loop.start, loop.end, min(counts), max(counts), tuple(body), rule, found, loop.last, each
        )

    def _with_binding(self, rule: LoopRule) -> LoopRule:
        """Return the rule with its collection, if an input tells which rows belong to it."""
        if rule.told is None:
            return rule
        binding = self._binder.bind_filter(rule.told.words, rule.told.label)
        counted = self._binder.known(rule.told.counts) if rule.told.count else None
        rows = TargetTemplate(rule.told.template, rule.told.words, (COUNT,) if counted else ()).selector(
            binding.name, {COUNT: counted.name} if counted else {}
        )
        over = ElementHidden(type="element_disappears", element=rows) if rule.shrinking else None
        return replace(rule, collection=rows, condition=over, binding=binding, counted=counted)

    def _turning(
        self,
        turn: AlignedPosition,
        target: Selector | None,
        passes: Mapping[RowKey, LoopPass],
        rows: frozenset[RowKey],
    ) -> LoopRule:
        turned = [
            DecisionPage(cell.step.html_before, cell.step.source_url)
            for key, cell in sorted(turn.cells.items())
            if key in rows and cell.step.html_before
        ]
        ended = [each.after for each in passes.values() if each.after is not None]
        rule = self._rules.turning(target, turned, ended)
        known = merge_step_fingerprints([cell.step for cell in turn.cells.values()])
        if rule.turn is None or known is None:
            return rule
        # Its address is that of the next page: on another page, a link with the same address is another control.
        lasting = {name: value for name, value in known.attributes.items() if name != "href"}
        return replace(rule, turn_fingerprint=known.model_copy(update={"attributes": lasting}))

    def _body_positions(self, loop: AlignedLoop) -> list[AlignedPosition]:
        """Return the positions of the body, merged with the positions of later rounds."""
        positions = self._aligned.positions
        if loop.span_end is None:
            return [positions[index] for index in range(loop.start, loop.end + 1)]
        length = loop.end - loop.start + 1
        body = []
        for offset in range(length):
            cells = [
                AlignedCell((trace, (*rounds, number)), cell.step_index, cell.step)
                for number, index in enumerate(range(loop.start + offset, loop.span_end + 1, length))
                for (trace, rounds), cell in positions[index].cells.items()
            ]
            first = positions[loop.start + offset]
            kind = classify_position({cell.row: cell.step for cell in cells})
            body.append(replace(first, alignment_type=kind, more=tuple(cells)))
        return body

    def _passes(
        self, loop: AlignedLoop, body: list[AlignedPosition], rows: Iterable[RowKey], units: list[AlignedUnit]
    ) -> dict[RowKey, LoopPass]:
        passes = {}
        words = self._words(body)
        for row in sorted(rows):
            count = loop.rounds.get(row, 0)
            keys = [(row[0], (*row[1], number)) for number in range(count)]
            firsts = tuple(step for key in keys if (step := first_step(body, key)) is not None)
            said = tuple(words[key] for key in keys if key in words)
            trace = self._aligned.traces.get(row[0])
            after = self._after(row, loop, units)
            inputs = None if trace is None else trace.input_data
            passes[row] = LoopPass(firsts, after, said, inputs, list_typed_texts(trace, firsts))
        return passes

    def _words(self, body: list[AlignedPosition]) -> dict[RowKey, str]:
        """Return for each round the text of the row that its first step acts on."""
        if not body or not targets_vary([cell.step for cell in body[0].cells.values()]):
            return {}
        cells = list(body[0].cells.values())
        found = find_target_template(cells, self._pages) or find_row_template(cells, self._pages, {})
        return {} if found is None else dict(found.words)

    def _after(self, row: RowKey, loop: AlignedLoop, units: list[AlignedUnit]) -> DecisionPage | None:
        """Return the page after a row's last round."""
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

    # -- helpers

    def _positions(self, part: Iterable[AlignedUnit], rows: frozenset[RowKey]) -> Iterable[AlignedPosition]:
        for unit in part:
            for index in unit.indices:
                position = self._aligned.positions[index]
                yield position if unit.loop is not None else restrict_to_rows(position, rows)

    def _cells_of(self, position: AlignedPosition, rows: frozenset[RowKey]) -> list[AlignedCell]:
        return [
            cell
            for key, cell in sorted(position.cells.items())
            if any(key[0] == row[0] and key[1][: len(row[1])] == row[1] for row in rows)
        ]

    def _undecided(self, branch: BranchPattern, decisive: frozenset[RowKey]) -> PatternRefusal:
        cells = [
            cell
            for positions in branch.branches.values()
            for position in positions
            for cell in self._cells_of(position, decisive)
        ]
        return build_refusal("branch: no condition was found that determines which branch is taken", cells)
