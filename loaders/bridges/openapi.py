"""Reads API descriptions (OpenAPI 3, Swagger 2) as hints about forms: fields, accepted values, effects.

An API is not a page: its fields are matched by name with elements of known screens, and only what the screens
do not state is added. References are followed within the file only.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from pydantic import ValidationError

from kb_schema import KnowledgeBase, KnowledgeError
from kb_schema.proposals import ScreenChange
from kb_schema.screens import Affordance, FieldValidation, Option, Screen, UIElement
from kb_schema.selectors import NameStrategy, Selector
from kb_schema.websites import Website
from loaders.bridges.knowledge_drafts import (
    KnowledgeDraft,
    UnreadableSource,
    build_draft,
    make_local_id,
    web_address,
)
from loaders.files.yaml_files import read_file
from loaders.markup_escapes import one_line

MOST_OPERATIONS = 5_000
MOST_FIELDS = 300
MOST_OPTIONS = 200
_DEEPEST = 12
_MOST_PARTS = 50
_JOINING = frozenset({"allOf", "anyOf", "oneOf"})
_CHANGING = ("post", "put", "patch", "delete")
_FORMS = ("application/json", "application/x-www-form-urlencoded", "multipart/form-data")
_FORMATS = {
    "email": r"^[^@\s]+@[^@\s]+$",
    "uri": r"^[A-Za-z][A-Za-z0-9+.-]*:\S+$",
    "uuid": r"^[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$",
    "date": r"^\d{4}-\d{2}-\d{2}$",
}
_SUFFIXES = frozenset({"input", "field", "dropdown", "select", "checkbox", "textarea", "text", "box", "list"})
_TYPING = frozenset({"type", "type_text", "fill", "append_text"})


@dataclass(frozen=True, slots=True)
class ApiField:
    """A field of a request."""

    name: str
    title: str
    kind: str
    required: bool = False
    validation: FieldValidation | None = None
    options: tuple[Option, ...] = ()


@dataclass(frozen=True, slots=True)
class ApiForm:
    """The input of one operation that changes data."""

    resource: str
    method: str
    path: str
    title: str
    fields: tuple[ApiField, ...]

    @property
    def destructive(self) -> bool:
        """Whether it deletes data."""
        return self.method == "delete"


@dataclass(frozen=True, slots=True)
class ApiHints:
    """All forms of a description."""

    title: str
    server: str | None
    forms: tuple[ApiForm, ...]


def looks_like_openapi(data: Any) -> bool:
    """Return whether data is an API description."""
    return isinstance(data, Mapping) and ("openapi" in data or "swagger" in data) and "paths" in data


def read_openapi(file: Path) -> ApiHints:
    """Return the hints in a file. Raises `UnreadableSource`."""
    try:
        data = read_file(file, file.name)
    except KnowledgeError as exc:
        raise UnreadableSource(file, "; ".join(each.message for each in exc.problems[:2])) from exc
    if not looks_like_openapi(data):
        raise UnreadableSource(file, "is not an API description: it has no `openapi` and `paths`")
    info = data.get("info")
    title = info.get("title") if isinstance(info, Mapping) else None
    return ApiHints(one_line(str(title or "API")), _server(data), tuple(_forms(data)))


def draft_from_hints(hints: ApiHints, website_id: str, base_url: str | None = None) -> KnowledgeDraft:
    """Return a draft with a screen for each form, its fields found by their labels; it has no addresses."""
    screens: list[Screen] = []
    taken: set[str] = set()
    notes = ["the addresses of the forms are unknown: add them, or run `periplus map`"]
    for form in hints.forms:
        if not form.fields:
            continue
        name = make_local_id(f"{form.resource} {_VERBS[form.method]}", "form", taken)
        taken.add(name)
        screens.append(
            Screen(
                screen_id=name,
                name=one_line(form.title) or name,
                ui_elements=_elements(form),
                website_id=website_id,
                metadata={"from": "openapi", "operation": f"{form.method.upper()} {form.path}"[:500]},
            )
        )
    base = base_url or hints.server
    if base is None:
        base = "https://example.com"
        notes.append("it states no server: correct `base_url` in website.yaml")
    return build_draft([Website(website_id=website_id, name=hints.title, base_url=base), *screens], notes)


_VERBS = {"post": "create", "put": "edit", "patch": "edit", "delete": "delete"}


def apply_hints(knowledge: KnowledgeBase, hints: ApiHints) -> list[ScreenChange]:
    """Return screens with hints added to their elements; nothing is overwritten.

    A form belongs to a screen if at least two of its fields, or its only one, have the names of elements
    there.
    """
    changes = []
    takes_away = {_plain(name) for form in hints.forms if form.destructive for name in _names_of(form)}
    for _, screen in sorted(knowledge.screens.items()):
        best: dict[str, ApiField] = {}
        for form in hints.forms:
            found = _matches(screen, form)
            if len(found) > len(best) and len(found) >= min(2, len(form.fields)):
                best = found
        elements = tuple(
            _with_hint(each, best[each.element_id]) if each.element_id in best else each
            for each in screen.ui_elements
        )
        elements = tuple(
            _destructive(each) if _plain(each.label) in takes_away else each for each in elements
        )
        if elements != screen.ui_elements:
            changes.append(
                ScreenChange(type="screen", screen=screen.model_copy(update={"ui_elements": elements}))
            )
    return changes


# -- parsing -------------------------------------------------------------------------------------------


def _server(data: Mapping[str, Any]) -> str | None:
    servers = data.get("servers")
    first = servers[0] if isinstance(servers, list) and servers else None
    url = first.get("url") if isinstance(first, Mapping) else None
    if url is None and isinstance(data.get("host"), str):
        url = f"https://{data['host']}"
    return web_address(url) if isinstance(url, str) and "{" not in url else None


def _forms(data: Mapping[str, Any]) -> Iterator[ApiForm]:
    description = _ApiDescription(data)
    paths = data["paths"] if isinstance(data["paths"], Mapping) else {}
    number = 0
    for path, item in paths.items():
        for method in _CHANGING:
            operation = item.get(method) if isinstance(item, Mapping) else None
            if not isinstance(operation, Mapping):
                continue
            number += 1
            if number > MOST_OPERATIONS:
                return
            resource = _resource(str(path))
            title = operation.get("summary") or operation.get("operationId") or f"{_VERBS[method]} {resource}"
            fields = tuple(_fields(description, operation))[:MOST_FIELDS]
            yield ApiForm(resource, method, str(path), one_line(str(title)), fields)


def _resource(path: str) -> str:
    """Return the last part of a path that is not a parameter."""
    parts = [part for part in path.split("/") if part and "{" not in part]
    return parts[-1] if parts else "root"


def _fields(description: _ApiDescription, operation: Mapping[str, Any]) -> Iterator[ApiField]:
    schema = _body(description, operation)
    required = schema.get("required")
    names = set(map(str, required)) if isinstance(required, list) else set()
    properties = schema.get("properties")
    for name, raw in properties.items() if isinstance(properties, Mapping) else ():
        field = description.followed(raw)
        if field.get("readOnly") is not True and _type(field) != "object" and not field.get("properties"):
            yield _field(str(name), field, required=str(name) in names)


def _body(description: _ApiDescription, operation: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the schema of an operation's request."""
    content = description.followed(operation.get("requestBody")).get("content")
    if isinstance(content, Mapping):
        plain = {str(kind).partition(";")[0].strip().lower(): each for kind, each in content.items()}
        others = [kind for kind in plain if kind.endswith("json")]
        media = next((plain[kind] for kind in (*_FORMS, *others) if kind in plain), None)
        return description.followed(media.get("schema") if isinstance(media, Mapping) else None)
    parameters = operation.get("parameters")
    given = [description.followed(each) for each in parameters] if isinstance(parameters, list) else []
    for each in given:
        if each.get("in") == "body":
            return description.followed(each.get("schema"))
    forms = [each for each in given if each.get("in") == "formData"]
    return {
        "properties": {str(each.get("name")): each for each in forms},
        "required": [str(each.get("name")) for each in forms if each.get("required") is True],
    }


class _ApiDescription:
    """The file's data with references between its parts; each is resolved once."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        self._data = data
        self._found: dict[str, Mapping[str, Any]] = {}

    def followed(self, node: Any, depth: int = 0) -> Mapping[str, Any]:
        """Return a part with references within the file, `allOf` and optional null resolved."""
        if not isinstance(node, Mapping) or depth > _DEEPEST:
            return {}
        reference = node.get("$ref")
        if isinstance(reference, str):
            return self._referred(reference, depth) | {
                key: node[key] for key in ("title", "readOnly") if key in node
            }
        parts = [*_listed(node, "allOf"), *_only(node)]
        if not parts:
            return node
        merged: dict[str, Any] = {"properties": {}, "required": []}
        for part in (*parts[:_MOST_PARTS], {key: node[key] for key in node if key not in _JOINING}):
            own = self.followed(part, depth + 1)
            properties = merged["properties"] | (_mapping(own.get("properties")))
            required = [*merged["required"], *_listed(own, "required")]
            merged |= {**own, "properties": properties, "required": required}
        return merged

    def _referred(self, reference: str, depth: int) -> dict[str, Any]:
        if reference not in self._found:
            self._found[reference] = {}  # the value while it is being resolved
            target: Any = self._data if reference.startswith("#/") else None
            for part in reference.removeprefix("#/").split("/"):
                name = unquote(part).replace("~1", "/").replace("~0", "~")
                target = target.get(name) if isinstance(target, Mapping) else None
            self._found[reference] = self.followed(target, depth + 1)
        return dict(self._found[reference])


def _only(node: Mapping[str, Any]) -> list[Any]:
    """Return the one alternative besides null, as optional fields are written; else nothing."""
    for key in ("anyOf", "oneOf"):
        real = [
            each
            for each in _listed(node, key)
            if not (isinstance(each, Mapping) and each.get("type") == "null")
        ]
        if len(real) == 1:
            return real
    return []


def _listed(node: Mapping[str, Any], key: str) -> list[Any]:
    value = node.get(key)
    return value if isinstance(value, list) else []


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _type(schema: Mapping[str, Any]) -> Any:
    """Return the type; OpenAPI 3.1 may list `null` beside it."""
    stated = schema.get("type")
    real = [each for each in stated if each != "null"] if isinstance(stated, list) else [stated]
    return real[0] if len(real) == 1 else None


def _field(name: str, schema: Mapping[str, Any], *, required: bool) -> ApiField:
    choices = schema.get("enum")
    options = tuple(
        Option(value=one_line(str(each)))
        for each in (choices if isinstance(choices, list) else ())[:MOST_OPTIONS]
        if each is not None
    )
    title = schema.get("title")
    label = (
        title
        if isinstance(title, str) and title.strip()
        else re.sub(r"[_-]+", " ", name).strip().capitalize()
    )
    kind = "checkbox" if _type(schema) == "boolean" else "dropdown" if options else "input"
    return ApiField(name, one_line(label) or name, kind, required, _validation(schema), options)


def _validation(schema: Mapping[str, Any]) -> FieldValidation | None:
    rules: dict[str, Any] = {
        "min_length": schema.get("minLength"),
        "max_length": schema.get("maxLength"),
        "min": schema.get("minimum"),
        "max": schema.get("maximum"),
        "pattern": schema.get("pattern") or _FORMATS.get(str(schema.get("format"))),
    }
    rules = {name: value for name, value in rules.items() if value is not None}
    while rules:
        try:
            return FieldValidation.model_validate(rules)
        except ValidationError as exc:  # what RE2 does not accept, and non-numbers
            wrong = {str(each["loc"][0]) for each in exc.errors() if each["loc"]} or {"pattern"}
            rules = {name: value for name, value in rules.items() if name not in wrong}
    return None


# -- elements ------------------------------------------------------------------------------------------


def _elements(form: ApiForm) -> tuple[UIElement, ...]:
    taken: set[str] = set()
    made = []
    for field in form.fields:
        name = make_local_id(f"{field.name} {field.kind}", "field", taken)
        taken.add(name)
        action = {"checkbox": "check", "dropdown": "select_option"}.get(field.kind, "fill")
        made.append(
            UIElement(
                element_id=name,
                type=field.kind,
                selector=Selector(strategies=(NameStrategy(type="label", name=field.title),)),
                affordances=(
                    Affordance(
                        action_type=action,
                        required=field.required,
                        validation=field.validation,
                        options=field.options,
                    ),
                ),
                metadata={"label": field.title},
            )
        )
    return tuple(made)


def _matches(screen: Screen, form: ApiForm) -> dict[str, ApiField]:
    """Return element id -> field, for fields with the name of an element."""
    called = {_plain(name): field for field in form.fields for name in (field.name, field.title)}
    found = {}
    for element in screen.ui_elements:
        field = called.get(_plain(element.label)) or called.get(_plain(element.element_id))
        if field is not None:
            found[element.element_id] = field
    return found


def _names_of(form: ApiForm) -> tuple[str, ...]:
    """Return the possible labels of a button for it."""
    one = form.resource.removesuffix("s")
    return (form.title, *(f"{verb} {one}" for verb in ("delete", "remove")))


def _destructive(element: UIElement) -> UIElement:
    """Return an element whose click deletes data."""
    affordances = tuple(
        each.model_copy(update={"destructive": True}) if each.action_type == "click" else each
        for each in element.affordances
    )
    return element.model_copy(update={"affordances": affordances})


def _plain(name: str) -> str:
    words = make_local_id(name, "").split("_")
    while len(words) > 1 and words[-1] in _SUFFIXES:
        words.pop()
    return "_".join(words)


def _with_hint(element: UIElement, field: ApiField) -> UIElement:
    """Add to the main affordance what the element does not state."""
    affordances = list(element.affordances)
    for number, each in enumerate(affordances):
        kind = each.action_type
        if kind in _TYPING or kind in ("select_option", "check"):
            update: dict[str, Any] = {}
            if field.required and not each.required:
                update["required"] = True
            if each.validation is None and field.validation is not None and kind in _TYPING:
                update["validation"] = field.validation
            if not each.options and field.options and kind == "select_option":
                update["options"] = field.options
            affordances[number] = each.model_copy(update=update)
            break
    return element.model_copy(update={"affordances": tuple(affordances)})
