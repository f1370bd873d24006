"""Context-First (KS 10.2): every `{variable}` of a task can be resolved before step 1.

A variable is an input, an earlier output, an iterator's item, or a built-in.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from kb_schema.base import Model
from kb_schema.documents import did_you_mean
from kb_schema.errors import Problem
from kb_schema.knowledge_base import KnowledgeBase
from kb_schema.presentation_flows import PresentationFlow
from kb_schema.rules.flow_consistency import list_spoken_texts
from kb_schema.screens import UIElement
from kb_schema.tasks import Task
from kb_schema.templates import strings, variables

RULE = "context-first"

BUILT_INS = frozenset(
    {"website_id", "base_url", "current_screen", "current_url", "today", "now", "run_id", "iterator_spec"}
)
"""Variables of every run."""

ITERATOR_VARIABLES = frozenset({"item", "item_index", "item_position"})
"""Variables that a loop gives its item action.

The item, how many were handled before it (from 0), and its position in the current collection (from 1; items
that could not be handled stay there).
"""


def check(knowledge: KnowledgeBase) -> Iterator[Problem]:
    """Yield a problem for each variable that nothing provides."""
    elements: dict[str, UIElement] = {}
    for own in knowledge.elements_by_screen.values():
        elements.update(own)
    for task in knowledge.tasks.values():
        yield from _task_problems(task, elements)
    for flow in knowledge.flows.values():
        yield from _flow_problems(knowledge, flow)


def _task_problems(task: Task, elements: Mapping[str, UIElement]) -> Iterator[Problem]:
    yield from _input_problems(task)
    available = {spec.name for spec in task.io_spec.inputs} | BUILT_INS
    order_of = {step.step_id: step.order for step in task.steps}
    positions = {step.step_id: index for index, step in enumerate(task.steps)}
    for step in task.ordered_steps:
        path = f"$.steps[{positions[step.step_id]}]"
        earlier = {
            output.name
            for output in task.io_spec.outputs
            if output.after_step is not None and order_of.get(output.after_step, 0) < step.order
        }
        here = available | earlier
        for where, text in _texts(step, path):
            yield from _unknown(task, variables(text) - here, where, here)
        target = step.action.target
        element = elements.get(target) if isinstance(target, str) else None
        if element is not None:
            needed = element.selector.required_context - here - set(step.action.parameters)
            yield from _unknown(task, needed, f"{path}.action.target", here)
    outputs = {output.name for output in task.io_spec.outputs}
    for index, output in enumerate(task.io_spec.outputs):
        for where, text in _texts(output.extraction, f"$.io_spec.outputs[{index}].extraction"):
            yield from _unknown(task, variables(text) - available - outputs, where, available | outputs)
    if task.read_back is not None:
        for where, text in _texts(task.read_back, "$.read_back"):
            yield from _unknown(task, variables(text) - available, where, available)
    if task.reversibility is not None:
        given = available | {output.name for output in task.io_spec.outputs}
        given |= {former.name for former in task.reversibility.former}
        for where, text in _texts(task.reversibility, "$.reversibility"):
            yield from _unknown(task, variables(text) - given, where, given)
    inside = available | ITERATOR_VARIABLES
    if task.iterator_spec.type == "list_processing":
        inside |= {task.iterator_spec.item_name}
    for where, text in _texts(task.iterator_spec, "$.iterator_spec"):
        yield from _unknown(task, variables(text) - inside, where, inside)


def _texts(model: Model, path: str) -> Iterator[tuple[str, str]]:
    """Return the strings of a model with their JSON paths; none if no string of it can name a variable."""
    try:
        written = model.model_dump_json(by_alias=True, exclude_defaults=True)
    except ValueError:  # half a character, which JSON in UTF-8 cannot have
        return strings(model.to_json(), path)
    return iter(()) if _NAMED.search(written) is None else strings(model.to_json(), path)


_NAMED = re.compile(r"\{[A-Za-z_]")
"""How a variable begins. In JSON without spaces an object never begins so."""


def _input_problems(task: Task) -> Iterator[Problem]:
    """Check that an input uses only inputs before it: they are resolved in order."""
    before = set(BUILT_INS)
    for index, spec in enumerate(task.io_spec.inputs):
        made_of = {"template": spec.template, "extraction": spec.extraction and spec.extraction.to_json()}
        for where, text in strings(made_of, f"$.io_spec.inputs[{index}]"):
            yield from _unknown(task, variables(text) - before, where, before)
        before.add(spec.name)


def _unknown(task: Task, names: frozenset[str] | set[str], path: str, known: set[str]) -> Iterator[Problem]:
    for name in sorted(names):
        yield Problem(
            f'nothing provides "{{{name}}}"',
            path=path,
            document=f"task:{task.task_id}",
            fix=did_you_mean(name, sorted(known)) or f'add an input "{name}" to io_spec',
            rule=RULE,
        )


def _flow_problems(knowledge: KnowledgeBase, flow: PresentationFlow) -> Iterator[Problem]:
    """Check that narration uses only inputs and outputs that exist by then, and that mapped inputs exist."""
    known: set[str] = {"agent_name", "visitor_name"} | BUILT_INS
    positions = {segment.segment_id: index for index, segment in enumerate(flow.segments)}
    for segment in flow.ordered_segments:
        path = f"$.segments[{positions[segment.segment_id]}]"
        name = segment.task_id or ""
        task = knowledge.tasks.get(name) or knowledge.workflows.get(name)
        inputs = {spec.name for spec in task.io_spec.inputs} if task else set()
        if task is not None:
            for name in sorted(set(segment.input_mapping) - inputs):
                yield Problem(
                    f'{task.kind} "{task.local_id}" has no input "{name}"',
                    path=f"{path}.input_mapping.{name}",
                    document=f"presentation_flow:{flow.flow_id}",
                    fix=did_you_mean(name, sorted(inputs)) or "remove the mapping or add the input",
                    rule=RULE,
                )
        mapped = set(known)
        for name, rule in segment.input_mapping.items():
            for unknown in sorted(variables(rule.template or "") - mapped):
                yield Problem(
                    f'nothing provides "{{{unknown}}}" by then',
                    path=f"{path}.input_mapping.{name}.template",
                    document=f"presentation_flow:{flow.flow_id}",
                    fix=did_you_mean(unknown, sorted(mapped)) or "map it before",
                    rule=RULE,
                )
            mapped |= {name} | ({rule.persist_as} if rule.persist_as else set())
        known |= inputs | {m.persist_as for m in segment.input_mapping.values() if m.persist_as}
        if task is not None:
            known |= {output.name for output in task.io_spec.outputs}
        for place, text in list_spoken_texts(segment):
            where = f"{path}.{place}"
            for name in sorted(variables(text) - known):
                yield Problem(
                    f'nothing provides "{{{name}}}" by then',
                    path=where,
                    document=f"presentation_flow:{flow.flow_id}",
                    fix=did_you_mean(name, sorted(known)) or "map it with persist_as in an earlier segment",
                    rule=RULE,
                )
