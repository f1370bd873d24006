"""Classifies a single position: its kind, its varying values and their sources."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from agent.synthesis.alignment.aligned_traces import AlignedCell, AlignedPosition, AlignmentType, RowKey
from agent.synthesis.alignment.step_equivalence import is_done_alike
from agent.synthesis.patterns.aligned_rows import (
    build_branch_label,
    build_refusal,
    has_gaps,
    have_common_strategy,
    restrict_to_rows,
)
from agent.synthesis.patterns.decision_pages import DecisionPages
from agent.synthesis.patterns.extracted_patterns import (
    BranchPattern,
    ExtractedPatterns,
    LoopPattern,
    OptionalInfo,
    ParameterizableInfo,
    PatternRefusal,
    TargetParameter,
)
from agent.synthesis.patterns.nested_rows import find_nested_template
from agent.synthesis.patterns.ordinal_targets import find_ordinal_target, find_paged_target
from agent.synthesis.patterns.ranked_rows import find_ranked_target
from agent.synthesis.patterns.row_columns import add_column_template, name_by_column, take_other_words
from agent.synthesis.patterns.row_templates import find_first_by_words, find_row_template
from agent.synthesis.patterns.target_agreement import AgreedTarget, find_agreed_target, find_words_target
from agent.synthesis.patterns.target_templates import (
    OTHER_WORDS,
    PARAMETER,
    TargetTemplate,
    find_constant_target,
    find_data_template,
    find_marked_target,
    find_target_template,
)
from agent.synthesis.patterns.value_bindings import ValueBinder
from agent.synthesis.traces.trace_pages import TracePages
from agent.synthesis.utterances.utterance_mentions import MENTION, NAME, ONLY_FOR
from kb_schema.conditions import Condition, ContextEquals
from kb_schema.selectors import Selector, ValueStrategy
from web_pages.page_texts import squeeze, text_of

_OTHER_GESTURE = (
    "it is dragged to different places, or pressed at different places or with different keys held down"
)
UNTOLD = "the task descriptions "
"""With which the reasons begin for which descriptions tell too little, or too much."""
_EARLIER_ROW = "earlier_row"
_IDS = frozenset({"id", "data-testid"})
"""Strategies by which an element is known wherever it stands."""


class PatternCollector:
    """Collects the patterns of a sequence."""

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
        self.refusals: list[PatternRefusal] = []

    def patterns(self, indices: Sequence[int]) -> ExtractedPatterns:
        """Return the collected patterns for these positions."""
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


class PositionClassifier:
    """Adds positions to the pattern lists to which they belong."""

    def __init__(self, pages: TracePages, moments: DecisionPages, binder: ValueBinder) -> None:
        self._pages, self._moments, self._binder = pages, moments, binder

    def settle(self, made: PatternCollector, position: AlignedPosition, decisive: frozenset[RowKey]) -> None:
        """Add a position to the pattern list to which it belongs."""
        if any(ONLY_FOR in cell.step.metadata for cell in position.cells.values()):
            made.branches.append(self._by_words(position, decisive))
            return
        self._settle(made, position, decisive)

    def _by_words(self, position: AlignedPosition, decisive: frozenset[RowKey]) -> BranchPattern:
        """Return a branch on a mention: words that do not name an element have their own branch."""
        ways: dict[str, set[RowKey]] = {}
        key = ""
        for row, cell in position.cells.items():
            ways.setdefault(cell.step.metadata.get(ONLY_FOR, ""), set()).add(row)
            key = cell.step.metadata.get(MENTION, key)
        branches: dict[str, tuple[AlignedPosition, ...]] = {}
        conditions: dict[str, Condition | None] = {}
        bodies: dict[str, ExtractedPatterns] = {}
        for number, (words, rows) in enumerate(sorted(ways.items(), reverse=True)):
            label, mine = build_branch_label(number), restrict_to_rows(position, frozenset(rows))
            inner = PatternCollector(frozenset(rows))
            self._settle(inner, mine, decisive & frozenset(rows))
            branches[label], bodies[label] = (mine,), inner.patterns([position.index])
            conditions[label] = ContextEquals(type="context_equals", name=key, value=words) if words else None
        told = ", ".join(repr(words) for words in sorted(ways) if words)
        return BranchPattern(
            branch_point_index=position.index,
            branches=branches,
            bodies=bodies,
            conditions=conditions,
            condition_description=f"{told} of {key} does not name an element: performed as in the traces",
            condition_source="input",
        )

    def _settle(self, made: PatternCollector, position: AlignedPosition, decisive: frozenset[RowKey]) -> None:
        cells = [cell for row, cell in position.cells.items() if row in decisive] or list(
            position.cells.values()
        )
        if any(cell.step.target is True for cell in cells):
            made.boundaries.append(position.index)
        same_action = len({cell.step.action_type for cell in cells}) == 1
        if same_action and not all(is_done_alike(cells[0].step, each.step) for each in cells[1:]):
            made.variable.append(position)
            made.refusals.append(build_refusal(_OTHER_GESTURE, cells))
            return
        agreed = self._agreed(cells)
        if agreed.selector is not None:
            made.targets[position.index] = agreed.selector
        waited = self._moments.awaited(cells)
        if waited is not None:
            made.waits[position.index] = waited
        if position.alignment_type is AlignmentType.VARIABLE:
            self._varying(made, position, cells)
            return
        optional = position.alignment_type is AlignmentType.OPTIONAL
        lifted = None if optional else self._lifted(position, cells)
        reason = _find_disagreement(cells, agreed) if lifted is None else self._find_untold(lifted)
        if reason is not None:
            self._disagreeing(made, position, cells, agreed, reason)
        elif optional:
            made.optional.append(position)
        elif lifted is not None:
            made.parameterizable.append((position, lifted))
        elif position.alignment_type is AlignmentType.DETERMINISTIC:
            made.deterministic.append(position)
        else:
            made.parameterizable.append((position, self._parameters(position, cells)))

    def _agreed(self, cells: list[AlignedCell]) -> AgreedTarget:
        """Return the target that all steps agree on."""
        steady = self._steady(cells)
        return find_agreed_target(cells, self._pages) if steady is None else AgreedTarget(steady)

    def _find_untold(self, lifted: ParameterizableInfo) -> str | None:
        """Return why a varying target cannot be found in a run whose task is a sentence; None if it can."""
        asked = lifted.target is not None and lifted.target.binding.only_asked
        return (
            f"{UNTOLD}do not tell which element is meant" if asked and self._binder.sentences_vary else None
        )

    def _disagreeing(
        self,
        made: PatternCollector,
        position: AlignedPosition,
        cells: list[AlignedCell],
        agreed: AgreedTarget,
        reason: str,
    ) -> None:
        """Add a position whose steps act on different elements: the first or last row, or a refusal."""
        placed = self._placed(cells) if not has_gaps(position) else None
        if placed is not None:
            made.targets[position.index] = placed
            made.parameterizable.append((position, self._parameters(position, cells)))
            return
        made.targets.pop(position.index, None)
        made.variable.append(position)
        made.refusals.append(build_refusal(reason, agreed.contradicting or cells))

    def _varying(self, made: PatternCollector, position: AlignedPosition, cells: list[AlignedCell]) -> None:
        whole = len(cells) == len(position.steps) or not has_gaps(position)
        placed = self._placed(cells) if whole else None
        if placed is not None:
            made.targets[position.index] = placed
            made.parameterizable.append((position, self._parameters(position, cells)))
            return
        lifted = self._lifted(position, cells) if whole else None
        by_words = find_words_target(cells, self._pages) if whole and lifted is None else None
        if by_words is not None:
            made.targets[position.index] = by_words
            made.parameterizable.append((position, self._parameters(position, cells)))
            return
        reason = "the traces have different steps here" if lifted is None else self._find_untold(lifted)
        if reason is not None:
            made.variable.append(position)
            made.refusals.append(build_refusal(reason, cells))
        elif lifted is not None:
            made.parameterizable.append((position, lifted))

    def _placed(self, cells: list[AlignedCell]) -> Selector | None:
        """Return the first or last row of a list if all steps chose it, whatever its text. It is chosen for its text if
        that is a value that was given before.
        """
        if any(cell.row[1] for cell in cells) or have_common_strategy(cells):
            return None
        found = find_target_template(cells, self._pages)
        if found is not None and self._binder.known(found.words) is not None:
            return None
        placed = find_constant_target(cells, self._pages)
        if placed is None or not self._binder.may_be_known(cells):
            return placed
        told = self._list_told(cells)
        by_inputs = find_row_template(cells, self._pages, told, one_of_many=True) if told else None
        return placed if by_inputs is None else None

    def _list_told(self, cells: list[AlignedCell]) -> dict[str, Mapping[RowKey, str]]:
        """Return the texts with which the inputs may name a part of the pages, by input.

        An input that is called as the parameter of templates has another key here.
        """
        rows = [cell.row for cell in cells]
        told = {**self._binder.list_asked(rows), **self._binder.list_texts(rows)}
        return {_EARLIER_ROW if key == PARAMETER else key: each for key, each in told.items()}

    def _steady(self, cells: list[AlignedCell]) -> Selector | None:
        """Return a selector by row text for a field whose value the task description mentions, in any place."""
        if not all(MENTION in cell.step.metadata for cell in cells):
            return None
        found = find_target_template(cells, self._pages)
        words = set() if found is None else set(found.words.values())
        return found.filled(words.pop()) if found is not None and len(words) == 1 else None

    def _lifted(self, position: AlignedPosition, cells: list[AlignedCell]) -> ParameterizableInfo | None:
        """Return a target that varies with a list row as a parameter; None if it does not vary."""
        named = all(NAME in cell.step.metadata for cell in cells)
        steady = have_common_strategy(cells) and not named
        if steady and not self._binder.may_be_known(cells):
            return None
        many = steady and (self._was_one_of_many(cells) or self._says_an_input(cells))
        alone = steady and not many
        found = self._find_around(cells) if alone else self._find_varying(cells, many=many)
        ranked = None if steady else self._find_ranked(position, cells, found)
        if ranked is not None:
            return replace(self._parameters(position, cells), target=ranked)
        if found is None or (len(set(found.words.values())) < 2 and not named):
            return None
        binding = (
            self._binder.known(found.words) if steady else self._binder.bind(found.words, position, "row")
        )
        if binding is None:
            return None
        info = self._parameters(position, cells)
        told = self._list_told(cells)
        also = {key: self._binder.known(told[key]) for key in found.also}
        more = tuple(each for each in also.values() if each is not None)
        names = {key: each.name for key, each in also.items() if each is not None}
        seen = {cell.row: each for cell in cells if (each := self._pages.find_target(cell.step)) is not None}
        values = {
            row: {PARAMETER: found.words[row], **{key: told[key][row] for key in found.also}} for row in seen
        }
        found = add_column_template(found, seen, values)
        if not any(cell.row[1] for cell in cells):
            found = take_other_words(found, seen, values)
        if found.other_words:
            further = self._binder.other_words(binding)
            more, names = (*more, further), names | {OTHER_WORDS: further.name}
        if any("'" in text or "{" in text for text in binding.around):  # it cannot stand in a quoted text
            return None
        target = TargetParameter(
            found.selector(binding.name, names, binding.around), binding, found.words, more
        )
        return replace(info, target=target)

    def _find_ranked(
        self, position: AlignedPosition, cells: list[AlignedCell], found: TargetTemplate | None
    ) -> TargetParameter | None:
        """Return the target in the row with the extreme value of a column, if no input names the row."""
        if found is not None and (found.also or self._binder.known(found.words) is not None):
            return None
        told = self._binder.list_texts([cell.row for cell in cells])
        ranked = find_ranked_target(cells, self._pages, told, self._binder.find_shared_words(cells))
        if ranked is None:
            return None
        named_by = self._binder.known(told[ranked.key]) if ranked.key else None
        binding = self._binder.bind_ranked(ranked, position, named_by)
        return TargetParameter(ranked.template.selector(binding.name), binding, ranked.template.words)

    def _was_one_of_many(self, cells: list[AlignedCell]) -> bool:
        """Whether what finds the target of all steps finds several elements on the page on which their traces began.

        A search has left one row, for instance.
        """
        targets = [cell.step.target for cell in cells if isinstance(cell.step.target, Selector)]
        if len(targets) != len(cells):
            return False
        first, *others = targets
        common = [each for each in first.strategies if all(each in one.strategies for one in others)]
        return bool(common) and all(self._binder.was_ambiguous(cell.row, common) for cell in cells)

    def _says_an_input(self, cells: list[AlignedCell]) -> bool:
        """Whether the words of the target have the value of one input in every trace: the only result of a search.

        In a run there may be more results, or one that is about something else.
        """
        seen = {cell.row: self._pages.find_target(cell.step) for cell in cells}
        words = {row: squeeze(text_of(each[1], everything=True)) for row, each in seen.items() if each}
        if len(words) != len(cells):
            return False
        told = self._binder.list_asked(words) | self._binder.list_texts(words)
        return any(
            len(set(each.values())) > 1
            and all(
                any(map(str.isalpha, each[row])) and f" {each[row]} " in f" {words[row]} " for row in words
            )
            for each in told.values()
        )

    def _find_around(self, cells: list[AlignedCell]) -> TargetTemplate | None:
        """Return the template of a target that is alone on its pages, if it stands in a row that an input names.

        A menu that opens in a row, for instance: in a run it must not be that of another row.
        """
        told = self._list_told(cells)
        about = find_data_template(cells, self._pages, told) if told else None
        if about is not None:
            return about
        near = None if _have_common_id(cells) else find_target_template(cells, self._pages)
        if near is not None and self._binder.known(near.words) is not None:
            return near
        return find_row_template(cells, self._pages, {}, marked_only=True)

    def _find_varying(self, cells: list[AlignedCell], *, many: bool) -> TargetTemplate | None:
        """Return the template of a target that varies: by the texts that the inputs have, if there are any."""
        paged = find_paged_target(cells)
        if paged is not None:
            return paged
        found = find_target_template(cells, self._pages)
        told = self._list_told(cells)
        by_inputs = find_row_template(cells, self._pages, told, one_of_many=True) if told else None
        if found is not None and self._binder.known(found.words) is not None:
            return by_inputs if by_inputs is not None and by_inputs.also else found
        return (
            by_inputs
            or find_ordinal_target(cells, self._pages, told)
            or (found if found is not None and found.also else None)
            or find_marked_target(cells, self._pages)
            or (find_first_by_words(cells, self._pages, told) if told else None)
            or self._find_opened(cells)
            or found
            or (None if many else find_row_template(cells, self._pages, {}))
            or (find_nested_template(cells, self._pages, told) if told else None)
        )

    def _find_opened(self, cells: list[AlignedCell]) -> TargetTemplate | None:
        """Return the template of a place in a row by the row's name, if the page that it opened tells it."""
        names = self._binder.list_opened(cells)
        found = None if names is None else find_row_template(cells, self._pages, {PARAMETER: names})
        if found is None:
            return None
        seen = {cell.row: each for cell in cells if (each := self._pages.find_target(cell.step)) is not None}
        # The same text in another column is no name: "Letters" may be the kind of another book.
        return name_by_column(found, seen, {row: {PARAMETER: said} for row, said in found.words.items()})

    def _parameters(self, position: AlignedPosition, cells: Sequence[AlignedCell]) -> ParameterizableInfo:
        """Return which arguments vary, and their sources."""
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


def _have_common_id(cells: Sequence[AlignedCell]) -> bool:
    """Whether the target of all steps has the same id."""
    ids = [
        {
            each.value
            for each in cell.step.target.strategies
            if isinstance(each, ValueStrategy) and each.type in _IDS
        }
        for cell in cells
        if isinstance(cell.step.target, Selector)
    ]
    return len(ids) == len(cells) and bool(set.intersection(*ids))


def _find_disagreement(cells: Sequence[AlignedCell], agreed: AgreedTarget) -> str | None:
    """Return why the steps have no common target; None if they have one, or need none."""
    if agreed.contradicting:
        return (
            "the traces contradict each other: what finds the element of one is another element in the other"
        )
    names = {cell.step.metadata.get(NAME) for cell in cells}
    if len(names) > 1:
        return f"{UNTOLD}name different elements here, and none is found by its name alone"
    return None
