"""Chooses sample values for the inputs of a task that a drafted flow shows."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import JsonValue

from kb_schema import KnowledgeBase
from kb_schema.io_specs import InputMapping, InputSpec
from kb_schema.screens import Option
from kb_schema.tasks import Task
from kb_schema.workflows import TaskNode, Workflow, walk

GENERATORS: tuple[tuple[tuple[str, ...], str], ...] = (
    (("email", "mail"), "email"),
    (("phone", "telephone", "mobile"), "phone"),
    (("company", "organisation", "organization"), "company_name"),
    (("first_name", "firstname"), "first_name"),
    (("full_name", "person", "contact"), "human_name"),
)
"""Words in the name of an input -> the generator of its value."""
VALUES: Mapping[str, JsonValue] = {"number": 3, "integer": 3, "boolean": True, "date": "2030-06-14"}
"""Values by the type of an input."""

MADE_UP = "Sample "
"""The beginning of a value that says nothing of the website."""


def choose_inputs(knowledge: KnowledgeBase, work: Task | Workflow) -> dict[str, InputMapping]:
    """Return where each required input without a default gets its value; secrets are left to the person."""
    return {
        spec.name: _mapping(knowledge, work, spec)
        for spec in work.io_spec.inputs
        if spec.required and spec.default is None and not spec.secret and spec.type != "file"
    }


def list_made_up(mapping: Mapping[str, InputMapping]) -> list[str]:
    """Return the inputs whose values are made up: what must be there already, such as the row of a list, is not there."""
    return [name for name, each in mapping.items() if str(each.value or "").startswith(MADE_UP)]


def list_missing_inputs(work: Task | Workflow) -> list[str]:
    """Return the inputs that a person must give: secrets and files."""
    return [
        spec.name
        for spec in work.io_spec.inputs
        if spec.required and spec.default is None and (spec.secret or spec.type == "file")
    ]


def _mapping(knowledge: KnowledgeBase, work: Task | Workflow, spec: InputSpec) -> InputMapping:
    options = [option.value for option in _find_options(knowledge, work, spec.name) if option.value]
    if options:
        return InputMapping(source=("hardcoded",), value=options[-1])
    if spec.type in VALUES:
        return InputMapping(source=("hardcoded",), value=VALUES[spec.type])
    words = spec.name.casefold()
    for named, generator in GENERATORS:
        if any(each in words for each in named):
            return InputMapping(source=("generated_value",), generator=generator)
    return InputMapping(source=("hardcoded",), value=f"{MADE_UP}{spec.name.replace('_', ' ')}")


def _find_options(knowledge: KnowledgeBase, work: Task | Workflow, name: str) -> list[Option]:
    """Return the options of the field into which the input goes."""
    targets = {
        step.action.target
        for task in _tasks_of(knowledge, work)
        for step in task.steps
        if step.action.value == f"{{{name}}}" and isinstance(step.action.target, str)
    }
    return [
        option
        for screen in knowledge.screens
        for key, element in knowledge.elements(screen).items()
        if key in targets
        for each in element.affordances
        for option in each.options
    ]


def _tasks_of(knowledge: KnowledgeBase, work: Task | Workflow) -> list[Task]:
    if isinstance(work, Task):
        return [work]
    ids = [node.task_id for node in walk(work.nodes) if isinstance(node, TaskNode)]
    return [knowledge.tasks[each] for each in ids if each in knowledge.tasks]
