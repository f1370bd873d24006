"""Loops over values that only a person provides: each round uses its own values, so these become a list input."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from agent.synthesis.alignment.aligned_traces import AlignedCell, RowKey
from agent.synthesis.patterns.extracted_patterns import (
    BranchPattern,
    ExtractedPatterns,
    LoopRule,
    ParameterizableInfo,
    TargetParameter,
    ValueBinding,
)
from kb_schema.selectors import Selector, TemplateStrategy

RoundValues = dict[RowKey, Any]
SEVERAL = "items"
"""Name of a list whose items have several fields."""


def infer_input_list_loop(
    body: ExtractedPatterns, rounds: Collection[RowKey], names: Mapping[str, str]
) -> tuple[LoopRule, ExtractedPatterns] | None:
    """Return the rule of a loop whose rounds all use values of a person, and its body bound to the round's item.

    Returns None if the loop is of another kind. `names` are the variable names in use.
    """
    fields = dict(_given_in_each(body, rounds))
    if not fields or any(fields.keys() & _list_used_variables(loop.body) for loop in body.loop_patterns):
        return None
    single = len(fields) == 1
    name = next(iter(fields)) if single else _choose_free_name(SEVERAL, names)
    items = {field: ("item", "") if single else (f"item_{field}", field) for field in fields}
    told = ", ".join(sorted(fields))
    evidence = f"each of {len(rounds)} rounds uses {told} of a person: as many rounds as there are values"
    rule = LoopRule("list", evidence, items=name, given=_lists(fields, single=single))
    return rule, _bound_to_items(body, items)


def find_untold_values(body: ExtractedPatterns, rounds: Collection[RowKey]) -> list[AlignedCell]:
    """Return the steps of a loop over rows, in each round of which a person gives another value; empty if there is none.

    No input has these values: the first one would be entered in every row.
    """
    names = dict(_given_in_each(body, rounds))
    return [
        position.cells[row]
        for position, info in body.parameterizable_steps
        if any(each.name in names for each in info.bindings.values())
        for row in sorted(rounds)
        if row in position.cells
    ]


def _given_in_each(body: ExtractedPatterns, rounds: Collection[RowKey]) -> Iterator[tuple[str, RoundValues]]:
    """Yield variables with a value in every round that differs between the rounds of a pass."""
    for position, info in body.parameterizable_steps:
        for key, binding in info.bindings.items():
            values = {row: (cell.step.args or {}).get(key) for row, cell in position.cells.items()}
            whole = binding.template == f"{{{binding.name}}}"
            if (
                binding.source == "user_input"
                and not binding.secret
                and whole
                and values.keys() >= set(rounds)
                and has_changing_values(values, rounds)
            ):
                yield binding.name, values


def has_changing_values(values: Mapping[RowKey, Any], rounds: Collection[RowKey]) -> bool:
    """Whether the values differ between the rounds of a pass."""
    passes: dict[tuple[str, tuple[int, ...]], set[str]] = defaultdict(set)
    for trace, numbers in rounds:
        passes[trace, numbers[:-1]].add(repr(values[trace, numbers]))
    return any(len(each) > 1 for each in passes.values())


def _lists(fields: Mapping[str, RoundValues], *, single: bool) -> dict[str, tuple[Any, ...]]:
    """Map each trace to its items, in order."""
    found: dict[str, list[Any]] = defaultdict(list)
    for row in sorted(next(iter(fields.values()))):
        item = {field: values[row] for field, values in fields.items()}
        found[row[0]].append(next(iter(item.values())) if single else item)
    return {trace: tuple(items) for trace, items in found.items()}


def _choose_free_name(name: str, taken: Mapping[str, str]) -> str:
    number = 1
    while (name if number == 1 else f"{name}_{number}") in taken:
        number += 1
    return name if number == 1 else f"{name}_{number}"


def _list_used_variables(patterns: ExtractedPatterns) -> set[str]:
    """Return the variables of all steps."""
    return {
        binding.name
        for each in patterns.walk()
        for _, info in each.parameterizable_steps
        for binding in (*info.bindings.values(), *([] if info.target is None else [info.target.binding]))
    }


# -- the body with its items


def _bound_to_items(body: ExtractedPatterns, items: Mapping[str, tuple[str, str]]) -> ExtractedPatterns:
    steps = tuple(
        (position, _bind_info_to_item(info, items)) for position, info in body.parameterizable_steps
    )
    return replace(
        body,
        parameterizable_steps=steps,
        branch_patterns=tuple(_branch(each, items) for each in body.branch_patterns),
    )


def _branch(branch: BranchPattern, items: Mapping[str, tuple[str, str]]) -> BranchPattern:
    bodies = {label: _bound_to_items(body, items) for label, body in branch.bodies.items()}
    return replace(branch, bodies=bodies)


def _bind_info_to_item(
    info: ParameterizableInfo, items: Mapping[str, tuple[str, str]]
) -> ParameterizableInfo:
    return replace(
        info,
        variable_args={key: items.get(name, (name, ""))[0] for key, name in info.variable_args.items()},
        bindings={key: _binding(each, items) for key, each in info.bindings.items()},
        target=None if info.target is None else _target(info.target, items),
    )


def _binding(binding: ValueBinding, items: Mapping[str, tuple[str, str]]) -> ValueBinding:
    if binding.name not in items:
        return binding
    name, key = items[binding.name]
    template = binding.template.replace(f"{{{binding.name}}}", f"{{{name}}}")
    return replace(binding, name=name, source="item", template=template, key=key)


def _target(target: TargetParameter, items: Mapping[str, tuple[str, str]]) -> TargetParameter:
    if target.binding.name not in items:
        return target
    old, (new, _) = target.binding.name, items[target.binding.name]
    made = _renamed(target.selector, old, new)
    return replace(target, selector=made, binding=_binding(target.binding, items))


def _renamed(selector: Selector, old: str, new: str) -> Selector:
    made: Sequence[Any] = [
        each.model_copy(
            update={
                "template": each.template.replace(f"{{{{{old}}}}}", f"{{{{{new}}}}}"),
                "parameters": (new,),
                "required_context": (new,),
            }
        )
        if isinstance(each, TemplateStrategy) and each.parameters == (old,)
        else each
        for each in selector.strategies
    ]
    return selector.model_copy(update={"strategies": tuple(made)})
