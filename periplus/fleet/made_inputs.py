"""Makes the inputs of a collection: values for each input of a task, by its type, its name, its description and its field."""

from __future__ import annotations

import json
import zlib
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from agent.synthesis.traces.input_data_generation import GENERATORS, SyntheticDataProvider
from kb_schema.documents import did_you_mean
from kb_schema.io_specs import InputSpec
from kb_schema.knowledge_base import KnowledgeBase
from kb_schema.screens import UIElement
from kb_schema.secret_fields import names_a_secret
from kb_schema.tasks import Task
from kb_schema.text_similarity import words
from kb_schema.workflows import TaskNode, Workflow
from periplus.errors import UserError
from periplus.fleet.input_rows import InputRow

USUAL_RUNS = 5
"""Runs if nothing else is said (MA `PipelineConfig.run_count`)."""
MADE = "inputs.jsonl"
_TYPES = {"integer": "integer", "number": "number", "boolean": "boolean", "date": "date"}
_BY_WORD = {
    "email": "email", "mail": "email", "phone": "phone", "telephone": "phone", "mobile": "phone", "url": "url",
    "website": "url", "link": "url", "date": "date", "day": "date", "birthday": "date", "deadline": "date",
    "amount": "number", "price": "number", "quantity": "integer", "count": "integer", "age": "integer",
    "name": "name",
}  # fmt: skip
"""A word of an input's name, description or field -> the kind of its value."""

Kinds = dict[str, str | tuple[str, ...]]
"""By input: a kind of `GENERATORS`, or the values to choose from."""


def parse_kinds(texts: Sequence[str]) -> Kinds:
    """Parse `NAME=KIND` and `NAME=ONE|OTHER`. Raises `UserError`."""
    found: Kinds = {}
    for text in texts:
        name, sign, kind = text.partition("=")
        choices = tuple(each for each in kind.split("|") if each)
        if not sign or not name or not choices or (len(choices) == 1 and kind not in GENERATORS):
            near = did_you_mean(kind, GENERATORS) if sign else None
            raise UserError(
                f"--make {text!r}: expected NAME=KIND or NAME=ONE|OTHER",
                fix=near or f"kinds: {', '.join(sorted(GENERATORS))}",
            )
        found[name] = kind if len(choices) == 1 else choices
    return found


def choose_kinds(knowledge: KnowledgeBase, task_id: str, given: Collection[str], wanted: Kinds) -> Kinds:
    """Return the kind of each input that a collection must make.

    `given`: inputs that have a value in every run. Secrets are never made; optional inputs only if `wanted` names them.
    Raises `UserError` for an unknown task, an input that it has not, an unknown kind, and a missing secret.
    """
    work = knowledge.workflows.get(task_id) or knowledge.tasks.get(task_id)
    if work is None:
        names = [*knowledge.tasks, *knowledge.workflows]
        raise UserError(
            f"no task or workflow {task_id!r}",
            fix=did_you_mean(task_id, names) or "`periplus kb show` lists what there is",
        )
    specs = {spec.name: spec for spec in work.io_spec.inputs}
    for name in wanted:
        if name not in specs:
            raise UserError(
                f"--make {name}: {task_id} has no input {name!r}",
                fix=did_you_mean(name, specs) or f"its inputs: {', '.join(specs) or 'none'}",
            )
        kind = wanted[name]
        if isinstance(kind, str) and kind not in GENERATORS:
            raise UserError(
                f"--make {name}: there is no kind {kind!r}",
                fix=did_you_mean(kind, GENERATORS) or f"kinds: {', '.join(sorted(GENERATORS))}",
            )
    fields = _find_fields(knowledge, work)
    kinds: Kinds = {}
    for spec in specs.values():
        if spec.name in wanted:
            kinds[spec.name] = wanted[spec.name]
        elif spec.name not in given and spec.required and spec.default is None and spec.value is None:
            if spec.secret or names_a_secret([spec.name]):
                continue  # from a vault, or the run asks
            kinds[spec.name] = _choose_kind(spec, fields.get(spec.name, ()))
    return kinds


def make_input_rows(kinds: Kinds, count: int, seed: str) -> list[InputRow]:
    """Return `count` rows of values. Equal seeds give equal rows."""
    number = zlib.crc32(seed.encode())
    schema = {name: kind for name, kind in kinds.items() if isinstance(kind, str)}
    rows = (
        [dict(each) for each in SyntheticDataProvider(schema, seed=number).generate(count)]
        if schema
        else None
    )
    made: list[InputRow] = rows or [{} for _ in range(count)]
    for at, (name, choices) in enumerate(kinds.items()):
        if not isinstance(choices, str):
            for index, row in enumerate(made):
                row[name] = choices[(index + number + at) % len(choices)]
    return [{name: row[name] for name in kinds} for row in made]


def write_input_rows(rows: Sequence[InputRow], folder: Path) -> Path:
    """Write the rows into the collection's folder, from which it can be resumed; return the file."""
    path = folder / MADE
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path


def _choose_kind(spec: InputSpec, fields: Sequence[UIElement]) -> str | tuple[str, ...]:
    choices = tuple(
        dict.fromkeys(
            each.value for field in fields for way in field.affordances for each in way.options if each.value
        )
    )
    if len(choices) > 1:
        return choices
    if spec.type in _TYPES:
        return _TYPES[spec.type]
    labels = [str(field.metadata.get("label") or "") for field in fields]
    for text in (spec.name.replace("_", " "), *labels, spec.description):
        said = [word.casefold() for word in words(text)]
        found = next((_BY_WORD[word] for word in said if word in _BY_WORD), None)
        if found is not None:
            return found
    return "string"


def _find_fields(knowledge: KnowledgeBase, work: Task | Workflow) -> Mapping[str, list[UIElement]]:
    """Return the elements into which a task enters each of its inputs, of any screen that has one of that id."""
    elements: dict[str, list[UIElement]] = {}
    for screen in knowledge.screens.values():
        for element in screen.ui_elements:
            elements.setdefault(element.element_id, []).append(element)
    tasks = [work] if isinstance(work, Task) else _list_tasks(knowledge, work)
    found: dict[str, list[UIElement]] = {}
    for task in tasks:
        for step in task.steps:
            value, target = step.action.value, step.action.target
            if (
                isinstance(value, str)
                and value.startswith("{")
                and value.endswith("}")
                and isinstance(target, str)
            ):
                found.setdefault(value[1:-1], []).extend(elements.get(target, ()))
    return found


def _list_tasks(knowledge: KnowledgeBase, workflow: Workflow) -> list[Task]:
    ids = [node.task_id for node in workflow.nodes if isinstance(node, TaskNode)]
    return [knowledge.tasks[each] for each in ids if each in knowledge.tasks]
