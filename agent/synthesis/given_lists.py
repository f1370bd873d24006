"""Loops over what a person has and no page shows: each round takes values of its own, so that there are as
many rounds as there are values. They become one input, a list.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from agent.synthesis.alignment import RowKey
from agent.synthesis.patterns import (
    Binding,
    BranchPattern,
    ExtractedPatterns,
    LoopRule,
    ParameterizableInfo,
    TargetParameter,
)
from kb_schema.selectors import Selector, TemplateStrategy

Values = dict[RowKey, Any]
SEVERAL = "items"
"""What a list is called whose items have several fields."""


def over_given_values(
    body: ExtractedPatterns, rounds: Collection[RowKey], names: Mapping[str, str]
) -> tuple[LoopRule, ExtractedPatterns] | None:
    """The rule of a loop whose every round takes values that nothing but a person has, and its body with
    those bound to the item of the round; None where that is not so. `names`: variables that are taken.
    """
    fields = dict(_given_in_each(body, rounds))
    if not fields or any(fields.keys() & _used(loop.body) for loop in body.loop_patterns):
        return None
    single = len(fields) == 1
    name = next(iter(fields)) if single else _free(SEVERAL, names)
    items = {field: ("item", "") if single else (f"item_{field}", field) for field in fields}
    told = ", ".join(sorted(fields))
    evidence = f"each of {len(rounds)} rounds takes {told} from a person: as many rounds as there are values"
    rule = LoopRule("list", evidence, items=name, given=_lists(fields, single=single))
    return rule, _bound_to_items(body, items)


def _given_in_each(body: ExtractedPatterns, rounds: Collection[RowKey]) -> Iterator[tuple[str, Values]]:
    """Variables with a value of every round, other ones in other rounds of one pass."""
    for position, info in body.parameterizable_steps:
        for key, binding in info.bindings.items():
            values = {row: (cell.step.args or {}).get(key) for row, cell in position.cells.items()}
            whole = binding.template == f"{{{binding.name}}}"
            if (
                binding.source == "user_input" and not binding.secret and whole
                and values.keys() >= set(rounds) and _change(values, rounds)
            ):  # fmt: skip
                yield binding.name, values


def _change(values: Values, rounds: Collection[RowKey]) -> bool:
    passes: dict[tuple[str, tuple[int, ...]], set[str]] = defaultdict(set)
    for trace, numbers in rounds:
        passes[trace, numbers[:-1]].add(repr(values[trace, numbers]))
    return any(len(each) > 1 for each in passes.values())


def _lists(fields: Mapping[str, Values], *, single: bool) -> dict[str, tuple[Any, ...]]:
    """Trace -> its items, in order."""
    found: dict[str, list[Any]] = defaultdict(list)
    for row in sorted(next(iter(fields.values()))):
        item = {field: values[row] for field, values in fields.items()}
        found[row[0]].append(next(iter(item.values())) if single else item)
    return {trace: tuple(items) for trace, items in found.items()}


def _free(name: str, taken: Mapping[str, str]) -> str:
    number = 1
    while (name if number == 1 else f"{name}_{number}") in taken:
        number += 1
    return name if number == 1 else f"{name}_{number}"


def _used(patterns: ExtractedPatterns) -> set[str]:
    """Variables of all steps."""
    return {
        binding.name
        for each in patterns.walk()
        for _, info in each.parameterizable_steps
        for binding in (*info.bindings.values(), *([] if info.target is None else [info.target.binding]))
    }


# -- the body with its items


def _bound_to_items(body: ExtractedPatterns, items: Mapping[str, tuple[str, str]]) -> ExtractedPatterns:
    steps = tuple((position, _of_item(info, items)) for position, info in body.parameterizable_steps)
    return replace(
        body,
        parameterizable_steps=steps,
        branch_patterns=tuple(_branch(each, items) for each in body.branch_patterns),
    )


def _branch(branch: BranchPattern, items: Mapping[str, tuple[str, str]]) -> BranchPattern:
    bodies = {label: _bound_to_items(body, items) for label, body in branch.bodies.items()}
    return replace(branch, bodies=bodies)


def _of_item(info: ParameterizableInfo, items: Mapping[str, tuple[str, str]]) -> ParameterizableInfo:
    return replace(
        info,
        variable_args={key: items.get(name, (name, ""))[0] for key, name in info.variable_args.items()},
        bindings={key: _binding(each, items) for key, each in info.bindings.items()},
        target=None if info.target is None else _target(info.target, items),
    )


def _binding(binding: Binding, items: Mapping[str, tuple[str, str]]) -> Binding:
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
        each.model_copy(update={
            "template": each.template.replace(f"{{{{{old}}}}}", f"{{{{{new}}}}}"),
            "parameters": (new,), "required_context": (new,),
        })
        if isinstance(each, TemplateStrategy) and each.parameters == (old,)
        else each
        for each in selector.strategies
    ]  # fmt: skip
    return selector.model_copy(update={"strategies": tuple(made)})
