"""Visits the models inside a document: all of them, with their JSON paths, or those of some types; changes the texts of a model.

Only fields whose types may hold a model are looked at: most values of a large website are texts and numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from enum import Enum
from functools import cache
from types import NoneType
from typing import Annotated, Any, Literal, TypeVar, get_args, get_origin, get_type_hints

from pydantic import BaseModel, JsonValue

_LEAVES = frozenset({str, int, float, bool, NoneType})
"""Types of values that contain no model."""
_LEAF_BASES = (str, int, float, bytes, date, datetime, Enum, NoneType)
"""Types whose instances contain no model, as annotations name them."""


M = TypeVar("M", bound=BaseModel)


def change_texts(model: M, change: Callable[[str], str]) -> M:
    """Return a model with each of its texts changed, also below lists and objects; the model itself if none is. Names of fields stay."""
    said = model.model_dump(mode="json")
    changed = _change_texts(said, change)
    return model if changed == said else type(model).model_validate(changed)


def _change_texts(data: Any, change: Callable[[str], str]) -> Any:
    if isinstance(data, str):
        return change(data)
    if isinstance(data, dict):
        return {name: _change_texts(value, change) for name, value in data.items()}
    return [_change_texts(each, change) for each in data] if isinstance(data, list) else data


def walk(node: Any, path: str = "$") -> Sequence[tuple[str, BaseModel]]:
    """Return every model inside a document with its JSON path, outer models before inner ones."""
    found: list[tuple[str, BaseModel]] = []
    _collect(node, path, found)
    return found


class ModelFinder:
    """Finds the models of some types, and of their subclasses, inside documents.

    For each type of model it keeps the fields in which one of them may be, so that nothing else is looked at.
    """

    def __init__(self, *wanted: type[BaseModel]) -> None:
        self._wanted = wanted
        self._plans: dict[type[BaseModel], tuple[bool, tuple[str, ...]]] = {}

    def find(self, document: BaseModel) -> list[BaseModel]:
        """Return them, the document itself included, outer ones before inner ones."""
        found: list[BaseModel] = []
        waiting = [document]
        plans = self._plans
        for node in waiting:  # grows meanwhile
            wanted, fields = plans.get(type(node)) or self._plan_of(type(node))
            if wanted:
                found.append(node)
            if fields:
                values = node.__dict__
                for name in fields:
                    if value := values.get(name):
                        if type(value) in plans:  # by far the most: a model, or models in a tuple
                            waiting.append(value)
                        elif type(value) is tuple:
                            for item in value:
                                if type(item) in plans:
                                    waiting.append(item)
                                elif type(item) not in _LEAVES:
                                    _put_models(item, waiting)
                        elif type(value) not in _LEAVES:
                            _put_models(value, waiting)
        return found

    def _plan_of(self, model: type[BaseModel]) -> tuple[bool, tuple[str, ...]]:
        plan = self._plans[model] = self._make_plan(model)
        return plan

    def _make_plan(self, model: type[BaseModel]) -> tuple[bool, tuple[str, ...]]:
        """Return whether a type is wanted, and its fields in which there may be a wanted model, at any depth."""
        fields = tuple(name for name, held in _models_by_field(model).items() if self._leads_to_wanted(held))
        return issubclass(model, self._wanted), fields

    def _leads_to_wanted(self, held: frozenset[type[BaseModel]]) -> bool:
        return any(issubclass(each, self._wanted) for each in _reachable(held))


def list_models(document: BaseModel) -> list[BaseModel]:
    """Return the document and every model inside it, without paths: much faster than `walk`."""
    return _ALL.find(document)


_ALL = ModelFinder(BaseModel)


def _put_models(value: Any, waiting: list[BaseModel]) -> None:
    if isinstance(value, BaseModel):
        waiting.append(value)
    elif isinstance(value, list | tuple | dict):
        for item in value.values() if isinstance(value, dict) else value:
            if type(item) not in _LEAVES:
                _put_models(item, waiting)


def _collect(node: Any, path: str, found: list[tuple[str, BaseModel]]) -> None:
    """Append the models to `found`: one list, because this runs for every value of every document."""
    if isinstance(node, BaseModel):
        found.append((path, node))
        values = node.__dict__
        for name, json_name in _fields_with_models(type(node)):
            if value := values.get(name):
                _collect(value, f"{path}.{json_name}", found)
    elif isinstance(node, Mapping):
        for key, item in node.items():
            if type(item) not in _LEAVES:
                _collect(item, f"{path}.{key}", found)
    elif isinstance(node, list | tuple):
        for index, item in enumerate(node):
            if type(item) not in _LEAVES:
                _collect(item, f"{path}[{index}]", found)


@cache
def json_names(model: type[BaseModel]) -> tuple[tuple[str, str], ...]:
    """Return a model's fields, each with its name in JSON."""
    return tuple((name, field.alias or name) for name, field in model.model_fields.items())


@cache
def _fields_with_models(model: type[BaseModel]) -> tuple[tuple[str, str], ...]:
    """Return those of `json_names` that may hold a model."""
    held = _models_by_field(model)
    return tuple((name, json_name) for name, json_name in json_names(model) if held[name])


def _reachable(models: frozenset[type[BaseModel]]) -> set[type[BaseModel]]:
    """Return the models, their subclasses, and all that may be inside, at any depth."""
    found: set[type[BaseModel]] = set()
    waiting = [*models]
    while waiting:
        model = waiting.pop()
        if model not in found:
            found.add(model)
            waiting += model.__subclasses__()
            for held in _models_by_field(model).values():
                waiting += held
    return found


@cache
def _models_by_field(model: type[BaseModel]) -> Mapping[str, frozenset[type[BaseModel]]]:
    """Return for each field the models that its type names; any model (`BaseModel`) if the type tells nothing."""
    fields = {name: field.annotation for name, field in model.model_fields.items()}
    try:
        resolved = get_type_hints(model)  # a model that is named before it is defined
    except NameError:
        resolved = {}
    return {
        name: frozenset(_models_in(resolved.get(name, annotation))) for name, annotation in fields.items()
    }


def _models_in(annotation: Any) -> set[type[BaseModel]]:
    origin, args = get_origin(annotation), get_args(annotation)
    if annotation in (JsonValue, None, Ellipsis) or origin is Literal:
        return set()
    if args:
        return set().union(*map(_models_in, args[:1] if origin is Annotated else args))
    if isinstance(annotation, type) and issubclass(annotation, _LEAF_BASES):
        return set()
    return {annotation if isinstance(annotation, type) and issubclass(annotation, BaseModel) else BaseModel}
