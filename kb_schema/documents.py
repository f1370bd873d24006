"""Parses JSON into document models: decides the kind, normalises aliases and locates every problem."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, get_args

from pydantic import BaseModel, TypeAdapter, ValidationError

from kb_schema.action_documents import Action
from kb_schema.base import Document, split_reference
from kb_schema.error_handling import ErrorRecovery
from kb_schema.errors import KnowledgeError, Problem
from kb_schema.graph_documents import (
    ActionTrigger,
    GlobalRecovery,
    GroupMembership,
    ScreenGroup,
    TaskDependency,
    Transition,
)
from kb_schema.presentation_flows import PresentationFlow
from kb_schema.screens import Screen, StateSignature
from kb_schema.tasks import NO_GRAPH_LOOPS, Task
from kb_schema.websites import Website
from kb_schema.workflows import Workflow

MODELS: dict[str, type[Document]] = {
    "website": Website,
    "screen": Screen,
    "state_signature": StateSignature,
    "action": Action,
    "task": Task,
    "presentation_flow": PresentationFlow,
    "error_recovery": ErrorRecovery,
    "workflow": Workflow,
    "screen_group": ScreenGroup,
    "transition": Transition,
    "group_membership": GroupMembership,
    "global_recovery": GlobalRecovery,
    "task_dependency": TaskDependency,
    "action_trigger": ActionTrigger,
}
"""Every document and edge kind with its model. Kinds that others refer to come first."""

EDGE_KINDS = frozenset(
    {"transition", "group_membership", "global_recovery", "task_dependency", "action_trigger"}
)

_KIND_OF_TYPE = {
    **{kind: kind for kind in MODELS},
    "presentation": "presentation_flow",
    "belongs_to": "group_membership",
    "composes": "task_dependency",
    "depends_on": "task_dependency",
    "triggers": "action_trigger",
}

_KIND_OF_ENDS = {
    ("screen", "screen"): "transition",
    ("screen", "screen_group"): "group_membership",
    ("screen_group", "screen"): "global_recovery",
    ("action", "transition"): "action_trigger",
}

_KIND_OF_ID_FIELD = (
    ("recovery_id", "error_recovery"),
    ("workflow_id", "workflow"),
    ("flow_id", "presentation_flow"),
    ("task_id", "task"),
    ("action_id", "action"),
    ("group_id", "screen_group"),
    ("base_url", "website"),
    ("indicators", "state_signature"),
    ("screen_id", "screen"),
    ("steps", "task"),
)


def kind_of(data: Mapping[str, Any]) -> str | None:
    """Return the kind of a document: from `type`, an edge's ends, `_id`, or its id field."""
    stated = data.get("type")
    if isinstance(stated, str) and stated in _KIND_OF_TYPE:
        return _KIND_OF_TYPE[stated]
    if stated is not None:
        return None
    if "_from" in data and "_to" in data:
        ends = tuple(split_reference(str(data[end]))[0] for end in ("_from", "_to"))
        return _KIND_OF_ENDS.get(ends)  # type: ignore[arg-type]
    if isinstance(data.get("_id"), str):
        kind, _ = split_reference(data["_id"])
        if kind is not None:
            return kind
    return next((kind for field, kind in _KIND_OF_ID_FIELD if field in data), None)


def parse_document(data: Mapping[str, Any], *, source: str | None = None) -> Document:
    """Parse any document or edge in the form of the source documents.

    Raises `KnowledgeError` with every problem of the document, each with its JSON path.
    """
    if not isinstance(data, Mapping):
        raise KnowledgeError([Problem(f"expected an object, got {_json_type(data)}", source=source)])
    kind = kind_of(data)
    if kind is None:
        raise KnowledgeError([_unknown_kind(data, source)])
    model = MODELS[kind]
    body = {key: value for key, value in data.items() if key not in ("_id", "_key", "_rev")}
    if kind == "screen_group" and "group_id" not in body:
        body["group_id"] = split_reference(str(data.get("_id", "")))[1]
    if "type" not in body and kind != "task_dependency":
        body["type"] = model.model_fields["type"].default
    elif kind == "presentation_flow":
        body["type"] = "presentation_flow"
    try:
        document = model.model_validate(body)
    except ValidationError as exc:
        name = f"{kind}:{_local_name(data)}"
        raise KnowledgeError(problems_of(exc, body, document=name, source=source)) from exc
    stated = data.get("_id")
    if isinstance(stated, str) and split_reference(stated)[1] != document.local_id and kind not in EDGE_KINDS:
        raise KnowledgeError(
            [
                Problem(
                    f"_id is {stated!r} but the document's id is {document.local_id!r}",
                    path="$._id",
                    document=f"{kind}:{document.local_id}",
                    source=source,
                    fix="drop `_id`: it is derived",
                )
            ]
        )
    return document


def parse_fragment(kind: str | type[BaseModel], data: Mapping[str, Any]) -> dict[str, Any]:
    """Validate part of a document: each given field as that field of its model.

    For documentation that shows only an excerpt: required fields may be missing, unknown fields may not be
    present. Raises `KnowledgeError`.
    """
    model = MODELS[kind] if isinstance(kind, str) else kind
    by_alias = {(field.alias or name): name for name, field in model.model_fields.items()}
    values: dict[str, Any] = {}
    problems: list[Problem] = []
    for key, value in data.items():
        name = by_alias.get(key, key)
        field = model.model_fields.get(name)
        if field is None:
            problems.append(
                Problem(f"unknown field {key!r}", path=f"$.{key}", fix=did_you_mean(key, by_alias))
            )
            continue
        try:
            values[name] = TypeAdapter(field.rebuild_annotation()).validate_python(value)
        except ValidationError as exc:
            problems += [_prefixed(problem, key) for problem in problems_of(exc, value)]
    if problems:
        raise KnowledgeError(problems)
    return values


def problems_of(
    error: ValidationError, data: Any, *, document: str | None = None, source: str | None = None
) -> list[Problem]:
    """Return a validation error as problems with JSON paths, expectations and suggestions."""
    problems = []
    items = error.errors(include_url=False)
    for item in items:
        if item["type"] == "too_short" and any(_inside(other["loc"], item["loc"]) for other in items):
            continue  # this item was counted after its bad items were dropped: those are the real problem
        path = json_path(item["loc"], data, keep_last=item["type"] in ("missing", "extra_forbidden"))
        rule = item["type"] if item["type"] == NO_GRAPH_LOOPS else "schema"
        if rule == NO_GRAPH_LOOPS:
            path = f"$.steps[{item['ctx']['step_index']}].action"
        problems.append(
            Problem(
                message=_message(item),
                path=path,
                document=document,
                source=source,
                fix=_fix(item, data),
                rule=rule.replace("_", "-"),
            )
        )
    return problems


def _inside(location: Sequence[str | int], outer: Sequence[str | int]) -> bool:
    return len(location) > len(outer) and tuple(location[: len(outer)]) == tuple(outer)


def json_path(location: Sequence[str | int], data: Any, *, keep_last: bool = False) -> str:
    """Return a pydantic location as a JSON path, without the names of union members."""
    path, node = "$", data
    for index, part in enumerate(location):
        last = index == len(location) - 1
        if isinstance(part, int):
            inside = isinstance(node, list | tuple) and part < len(node)
            node = node[part] if inside else None
            path += f"[{part}]"
        elif isinstance(node, Mapping) and part in node:
            node = node[part]
            path += f".{part}"
        elif last and keep_last:
            path += f".{part}"
    return path


_CLOSE = 60
"""The similarity (0-100) from which a known word is suggested for an unknown one."""


_SAME = 85
"""The same for a word of another place."""


def did_you_mean(
    word: str, known: Iterator[str] | Sequence[str] | Mapping[str, Any], *, close: float = _CLOSE
) -> str | None:
    """Return `did you mean "x"?`, or None if no known word is as similar as `close` (0-100)."""
    from rapidfuzz import fuzz, process  # noqa: PLC0415 - decision 0140

    found = process.extractOne(word, list(known), scorer=fuzz.ratio, score_cutoff=close)
    return f'did you mean "{found[0]}"?' if found else None


_NUMBER_KINDS = frozenset({"int_parsing", "float_parsing", "int_type", "float_type", "decimal_parsing"})
_ID_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9_.\-]*$"


def describe_invalid_value(item: Any) -> str:
    """Return what is wrong with a value, from one entry of `ValidationError.errors()`, without the value."""
    kind, context = item["type"], item.get("ctx", {})
    if kind in _NUMBER_KINDS:
        return "expected a number"
    if kind in ("bool_parsing", "bool_type"):
        return "expected true or false"
    if kind != "string_pattern_mismatch":
        return str(item["msg"]).removeprefix("Value error, ")
    if context.get("pattern") == _ID_PATTERN:
        return "expected letters, digits, `_`, `.` and `-`, beginning with a letter or digit"
    return f"expected the form {context.get('pattern')}"


def _message(item: Any) -> str:
    kind, context = item["type"], item.get("ctx", {})
    if kind == "missing":
        return f"required field {item['loc'][-1]!r} is missing"
    if kind == "extra_forbidden":
        return f"unknown field {item['loc'][-1]!r}"
    if kind == "union_tag_invalid":
        return f"unknown {context['discriminator'].strip(chr(39))} {context['tag']!r}"
    if kind == "union_tag_not_found":
        return f"needs a {context['discriminator']}, which selects its form"
    message = describe_invalid_value(item)
    given = item.get("input")
    if kind != NO_GRAPH_LOOPS and isinstance(given, str | int | float | bool) and len(str(given)) < 80:
        message += f" (got {given!r})"
    return message


def _fix(item: Any, data: Any) -> str | None:
    kind, context = item["type"], item.get("ctx", {})
    if kind == "extra_forbidden":
        given = str(item["loc"][-1])
        return _suggest_field(given, _models_like(_node_at(item["loc"][:-1], data), given))
    if kind == "union_tag_invalid":
        tags = [tag.strip(" '") for tag in context["expected_tags"].split(",")]
        return did_you_mean(context["tag"], tags) or f"one of {', '.join(tags)}"
    return None


def _suggest_field(given: str, models: Sequence[type[BaseModel]]) -> str:
    """Return what to do with an unknown field of one of the models.

    A near field of its place comes first: by letters, then the only one that has its words (`elements`: `ui_elements`). Then
    come the parts of the place that have it (`inputs`: `io_spec`).
    """
    known = set().union(*(_field_names(each) for each in _knowledge_models()))
    beside = set().union(*(_field_names(each) for each in models)) - {given}
    if near := did_you_mean(given, sorted(beside), close=_SAME if given in known else _CLOSE):
        return near
    words = set(given.split("_"))
    longer = [each for each in beside if words < set(each.split("_"))]
    if len(longer) == 1:
        return f'did you mean "{longer[0]}"?'
    if given not in known:
        return did_you_mean(given, sorted(known), close=_SAME) or "remove it"
    parts = sorted({f"`{part}`" for model in models for part in _parts_with(model, given)})
    return f"it is a field of {' and of '.join(parts) or 'another place'}: move it there, or remove it"


def _node_at(location: Sequence[str | int], data: Any) -> Any:
    node = data
    for part in location:
        if isinstance(node, Mapping) and part in node:
            node = node[part]
        elif isinstance(node, list | tuple) and isinstance(part, int) and part < len(node):
            node = node[part]  # other parts are names of union members
    return node


def _models_like(node: Any, unknown: str) -> list[type[BaseModel]]:
    """Return the models that have most of the fields of an object, and not the unknown one; a union has several."""
    given = set(node) if isinstance(node, Mapping) else set()
    names = {model: _field_names(model) for model in _knowledge_models()}
    shared = {model: len(given & each) for model, each in names.items() if unknown not in each}
    most = max(shared.values(), default=0)
    return [model for model, count in shared.items() if count == most]


def _knowledge_models() -> list[type[BaseModel]]:
    found: list[type[BaseModel]] = []
    todo: list[type[BaseModel]] = list(BaseModel.__subclasses__())
    while todo:
        model = todo.pop()
        todo += model.__subclasses__()
        if model.__module__.startswith("kb_schema."):
            found.append(model)
    return found


def _field_names(model: type[BaseModel]) -> set[str]:
    return {field.alias or name for name, field in model.model_fields.items()}


def _parts_with(model: type[BaseModel], field_name: str) -> Iterator[str]:
    """Yield the fields of a model that hold one object, not a list, with a field of this name."""
    for name, field in model.model_fields.items():
        parts = [each for each in (field.annotation, *get_args(field.annotation)) if isinstance(each, type)]
        if any(issubclass(each, BaseModel) and field_name in _field_names(each) for each in parts):
            yield field.alias or name


def _unknown_kind(data: Mapping[str, Any], source: str | None) -> Problem:
    stated = data.get("type")
    known = sorted(_KIND_OF_TYPE)
    if stated is None:
        message, path = "unknown kind of document", "$"
        fix = f"add a `type`: one of {', '.join(known)}"
    else:
        message, path = f"unknown type {stated!r}", "$.type"
        fix = did_you_mean(str(stated), known) or f"one of {', '.join(known)}"
    return Problem(message, path=path, source=source, fix=fix)


def _local_name(data: Mapping[str, Any]) -> str:
    for field, _ in _KIND_OF_ID_FIELD:
        if isinstance(data.get(field), str):
            return str(data[field])
    for field in ("transition_id", "website_id", "_id"):
        if isinstance(data.get(field), str):
            return str(data[field])
    return f"{data['_from']}->{data['_to']}" if "_from" in data and "_to" in data else "?"


def _prefixed(problem: Problem, key: str) -> Problem:
    return Problem(
        problem.message,
        path=f"$.{key}{problem.path[1:]}",
        fix=problem.fix,
        rule=problem.rule,
        severity=problem.severity,
    )


def _json_type(value: Any) -> str:
    names = {list: "a list", str: "a string", int: "a number", float: "a number", bool: "a boolean"}
    return names.get(type(value), "nothing" if value is None else type(value).__name__)
