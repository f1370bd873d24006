"""Derives the inputs of a workflow, and which of them are required.

An input that only some runs use (on one branch, or in a step that may be skipped) is not required at the start:
a one-time code, for example, does not exist yet. The task that uses it requests it when it begins.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from agent.synthesis.graph.action_graph import GraphParameter
from kb_schema.conditions import BaseCondition, Combined, ContextEquals
from kb_schema.io_specs import InputSpec, ValueSource, ValueType
from kb_schema.iterators import ListIterator, NoIterator
from kb_schema.templates import selector_parameters, strings, variables
from kb_schema.transforms import UngroupNumber
from kb_schema.workflows import AnyNode, GroupNode, TaskNode, walk

ASKED: tuple[ValueSource, ...] = ("task_context", "session_context", "user_input")
"""Sources of an input, in order; a person is the last one."""


def list_workflow_inputs(
    nodes: Sequence[AnyNode], parameters: Mapping[str, GraphParameter], lists: Mapping[str, str]
) -> Iterator[InputSpec]:
    """Yield the inputs of a workflow, by name. `lists` maps iterated list inputs to their variables."""
    always = set(_list_required_names(nodes)) | set(lists.values())
    decides = dict(_list_condition_inputs(nodes))
    for name in sorted(parameters):
        parameter = parameters[name]
        if parameter.source in ("input", "user_input"):
            yield InputSpec(
                name=name,
                type=_type_of(decides.get(name)),
                description=parameter.description
                or (parameter.key if parameter.key != parameter.name else ""),
                source=ASKED,
                secret=parameter.secret,
                required=name in always and not parameter.optional,
                transforms=(UngroupNumber(type="ungroup_number"),) if parameter.plain_number else (),
            )
    for key, name in sorted(lists.items()):
        if name not in parameters:
            fields = sorted(_fields(nodes, f"{{{name}}}"))
            told = f"the items of {key}: one iteration for each item"
            told += f" with the fields {', '.join(fields)}" if fields else ""
            yield InputSpec(name=name, type="array", description=told, source=("task_context", "user_input"))
    for name in sorted(decides.keys() - parameters.keys() - set(lists.values())):
        yield InputSpec(
            name=name,
            type=_type_of(decides[name]),
            description="determines which branch is taken",
            source=ASKED,
            required=name in always,
        )


def _list_required_names(nodes: Iterable[AnyNode]) -> Iterator[str]:
    """Yield the names that every run uses, on any branch, including those in branch conditions."""
    for node in nodes:
        yield from (name for name, value in _list_condition_inputs((node,)) if value is not None)
        if node.when or node.can_skip:
            continue
        if isinstance(node, TaskNode):
            yield from _list_used_names(node)
        elif isinstance(node, GroupNode):
            yield from _list_required_names(node.nodes)


def _fields(nodes: Iterable[AnyNode], items: str) -> set[str]:
    """Return the fields of a list's items that its iterations use."""
    found: set[str] = set()
    for node in walk(tuple(nodes)):
        spec = node.iterator_spec if isinstance(node, TaskNode | GroupNode) else None
        if not isinstance(spec, ListIterator) or spec.items != items:
            continue
        found |= {name for text in spec.item_action.inputs.values() for name in variables(text)}
        inner = walk(node.nodes) if isinstance(node, GroupNode) else ()
        mappings = [
            mapping for each in inner if isinstance(each, TaskNode) for mapping in each.inputs.values()
        ]
        found |= {mapping.key for mapping in mappings if mapping.key}
    return {name.removeprefix("item.") for name in found if name.startswith("item.")}


def _list_used_names(node: TaskNode) -> Iterator[str]:
    for name, mapping in node.inputs.items():
        yield mapping.key or name
    if not isinstance(node.iterator_spec, NoIterator):
        for _, text in strings(node.iterator_spec.to_json()):
            yield from variables(text) | selector_parameters(text)


def _list_condition_inputs(nodes: Iterable[AnyNode]) -> Iterator[tuple[str, Any]]:
    """Yield the inputs in conditions with the value they are compared with; None if only presence is checked."""
    for node in walk(tuple(nodes)):
        conditions = (*node.when, *(() if node.skip_unless is None else (node.skip_unless,)))
        for condition in conditions:
            yield from _list_input_comparisons(condition)


def _list_input_comparisons(condition: BaseCondition) -> Iterator[tuple[str, Any]]:
    if isinstance(condition, ContextEquals):
        yield condition.name, condition.value
    elif isinstance(condition, Combined):
        for part in condition.conditions:
            yield from _list_input_comparisons(part)


def _type_of(value: Any) -> ValueType:
    if isinstance(value, bool):
        return "boolean"
    return "number" if isinstance(value, int | float) else "string"
