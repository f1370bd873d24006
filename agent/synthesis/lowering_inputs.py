"""What a lowered workflow asks for: its inputs, and which of them every run needs.

What only some runs come to use (on one way of a fork, in a step that may be skipped) is not asked for
beforehand: a one-time code is of no use before somebody wants it. The task that uses it asks when it begins.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from agent.synthesis.graph import GraphParameter
from kb_schema.conditions import BaseCondition, Combined, ContextEquals
from kb_schema.iterators import ListIterator, NoIterator
from kb_schema.templates import strings, variables
from kb_schema.values import InputSpec, Source, ValueType
from kb_schema.workflows import AnyNode, GroupNode, TaskNode, walk

ASKED: tuple[Source, ...] = ("task_context", "session_context", "user_input")
"""Where an input comes from, a person last."""


def inputs_of(
    nodes: Sequence[AnyNode], parameters: Mapping[str, GraphParameter], lists: Mapping[str, str]
) -> Iterator[InputSpec]:
    """The inputs of a workflow, by name. `lists`: what is gone through -> its variable."""
    always = set(_always(nodes)) | set(lists.values())
    decides = dict(_decides(nodes))
    for name in sorted(parameters):
        parameter = parameters[name]
        if parameter.source in ("input", "user_input"):
            yield InputSpec(
                name=name,
                type=_type_of(decides.get(name)),
                description=parameter.description or parameter.key,
                source=ASKED,
                secret=parameter.secret,
                required=name in always,
            )
    for key, name in sorted(lists.items()):
        if name not in parameters:
            fields = sorted(_fields(nodes, f"{{{name}}}"))
            told = f"what {key} was in the recordings: one round for each item"
            told += f", which has {', '.join(fields)}" if fields else ""
            yield InputSpec(name=name, type="array", description=told, source=("task_context", "user_input"))
    for name in sorted(decides.keys() - parameters.keys() - set(lists.values())):
        yield InputSpec(
            name=name, type=_type_of(decides[name]), description="it tells which way is taken", source=ASKED,
            required=name in always,
        )  # fmt: skip


def _always(nodes: Iterable[AnyNode]) -> Iterator[str]:
    """Names that every run uses, whatever way it takes. Which way is taken is asked on the way there."""
    for node in nodes:
        yield from (name for name, value in _decides((node,)) if value is not None)
        if node.when or node.can_skip:
            continue
        if isinstance(node, TaskNode):
            yield from _used(node)
        elif isinstance(node, GroupNode):
            yield from _always(node.nodes)


def _fields(nodes: Iterable[AnyNode], items: str) -> set[str]:
    """Fields of a list's items that its rounds use."""
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


def _used(node: TaskNode) -> Iterator[str]:
    for name, mapping in node.inputs.items():
        yield mapping.key or name
    if not isinstance(node.iterator_spec, NoIterator):
        yield from (name for _, text in strings(node.iterator_spec.to_json()) for name in variables(text))


def _decides(nodes: Iterable[AnyNode]) -> Iterator[tuple[str, Any]]:
    """Inputs that conditions ask for, and a value that is compared with; None: whether there is any."""
    for node in walk(tuple(nodes)):
        conditions = (*node.when, *(() if node.skip_unless is None else (node.skip_unless,)))
        for condition in conditions:
            yield from _asks(condition)


def _asks(condition: BaseCondition) -> Iterator[tuple[str, Any]]:
    if isinstance(condition, ContextEquals):
        yield condition.name, condition.value
    elif isinstance(condition, Combined):
        for part in condition.conditions:
            yield from _asks(part)


def _type_of(value: Any) -> ValueType:
    if isinstance(value, bool):
        return "boolean"
    return "number" if isinstance(value, int | float) else "string"
