"""Context-First (KS 10.2): every input of a task has its value before step 1.

A value the caller gives wins. Else the sources are tried in order, a person last; then the
default. One function per source; adding a source is adding a function.
"""

from __future__ import annotations

import json
import math
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from agent.context import Cached, Context
from agent.errors import InputMissing, PersonNeeded
from agent.generators import generate
from kb_schema.tasks import Task
from kb_schema.transforms import TransformError, apply_all
from kb_schema.values import InputMapping, InputSpec, Source

MISSING: Any = object()
"""No value: None is one."""

Scraper = Callable[[InputSpec], Awaitable[Any]]
"""Reads an input off the site; `MISSING` where it is not there."""

Resolve = Callable[[InputSpec, Context], Any]

_SOURCES: dict[Source, Resolve] = {}


def _source(name: Source) -> Callable[[Resolve], Resolve]:
    def register(function: Resolve) -> Resolve:
        _SOURCES[name] = function
        return function

    return register


async def resolve_inputs(
    task: Task,
    given: Mapping[str, Any],
    context: Context,
    *,
    scrape: Scraper,
    tell: Callable[[str, str], None] = lambda _name, _source: None,
    known: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Every input of `task` by name. `tell(name, source)` hears where each came from.

    `known` are values that were resolved before, in a run that is carried on: they stay as they are.

    Raises `InputMissing` for a required input without a value, `PersonNeeded` for a value that a
    transform cannot take.
    """
    values: dict[str, Any] = {}
    for spec in task.io_spec.inputs:
        if known is not None and spec.name in known:
            values[spec.name] = known[spec.name]
            continue
        value, source = await _one(task, spec, given, context, scrape)
        if value is MISSING:
            if spec.required:
                raise InputMissing(task.task_id, spec.name, spec.description)
            value, source = "", "nothing"
        if spec.secret:
            context.keep_secret(value)  # before anything can fail and tell of it
        if source != "nothing":
            value = transformed(spec.name, typed(spec, value), spec.transforms)
        if spec.secret:
            context.keep_secret(value)
        values[spec.name] = value
        tell(spec.name, source)
    return values


async def _one(
    task: Task, spec: InputSpec, given: Mapping[str, Any], context: Context, scrape: Scraper
) -> tuple[Any, str]:
    if spec.name in given:
        return given[spec.name], "given"
    cached = _cached(task, spec, context)
    if cached is not MISSING:
        return cached, "cache"
    order = spec.source or task.io_spec.variable_resolution.resolution_order
    for source in order:
        if source == "user_input":
            continue
        value = await scrape(spec) if source == "scraped" else _SOURCES[source](spec, context)
        if value is not MISSING:
            if not spec.secret and source == "scraped":
                context.cache[task.task_id, spec.name] = Cached(value, context.clock())
            return value, source
    if spec.default is not None:
        return spec.default, "default"
    if "user_input" in order and spec.required and context.asker is not None:
        answer = await context.asker.ask(spec.name, spec.description or spec.name, secret=spec.secret)
        if answer is not None:
            return answer, "user_input"
    return MISSING, "nothing"


def typed(spec: InputSpec, value: Any) -> Any:
    """A text as the type its input declares: what people type and pages show is always text.

    Raises `PersonNeeded` for a text that is no such value.
    """
    if not isinstance(value, str) or spec.type not in _FROM_TEXT:
        return value
    try:
        return _FROM_TEXT[spec.type](value.strip())
    except (ValueError, KeyError) as exc:
        raise PersonNeeded(
            f"input {spec.name!r} is {value!r}, which is no {spec.type}", hint=_EXAMPLES[spec.type]
        ) from exc


def _json_of(kind: type) -> Callable[[str], Any]:
    def parse(text: str) -> Any:
        value = json.loads(text)
        if not isinstance(value, kind):
            raise ValueError(text)  # noqa: TRY004 - told apart from bugs by the caller
        return value

    return parse


def _list(text: str) -> list[Any]:
    """A JSON list, or names between commas."""
    if text.startswith("["):
        return list(_json_of(list)(text))
    return [part.strip() for part in text.split(",") if part.strip()]


def _number(text: str) -> int | float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(text)
    return int(number) if number == int(number) else number


_TRUTH = {
    "true": True,
    "yes": True,
    "1": True,
    "on": True,
    "false": False,
    "no": False,
    "0": False,
    "off": False,
}
_FROM_TEXT: dict[str, Callable[[str], Any]] = {
    "number": _number,
    "integer": int,
    "boolean": lambda text: _TRUTH[text.lower()],
    "array": _list,
    "object": _json_of(dict),
}
_EXAMPLES = {
    "number": "give a number, e.g. 12.5",
    "integer": "give a whole number, e.g. 12",
    "boolean": "give true or false",
    "array": "give values between commas, or a JSON list",
    "object": 'give a JSON object, e.g. {"key": "value"}',
}


def map_inputs(mapping: Mapping[str, InputMapping], context: Context) -> dict[str, Any]:
    """A presentation segment's `input_mapping` as values (KS 9.2); what is not there is left out.

    `persist_as` puts the transformed value into the session. Raises `PersonNeeded` for a value
    that a transform cannot take.
    """
    values: dict[str, Any] = {}
    for name, rule in mapping.items():
        value = _mapped(name, rule, context)
        if value is MISSING:
            if rule.default is None:
                continue
            value = rule.default
        values[name] = transformed(name, value, rule.transforms)
        if rule.persist_as:
            context.session[rule.persist_as] = values[name]
    return values


def transformed(name: str, value: Any, transforms: tuple[Any, ...]) -> Any:
    """The value after the pipeline. Raises `PersonNeeded` naming the input."""
    try:
        return apply_all(value, transforms)
    except TransformError as exc:
        raise PersonNeeded(f"input {name!r}: {exc}", hint="correct the value or its transforms") from exc


def _mapped(name: str, rule: InputMapping, context: Context) -> Any:  # noqa: PLR0911 - one per source
    key = rule.key or name
    match rule.source:
        case "hardcoded":
            return rule.value
        case "generated_value":
            # An authored `value` is the example the generator stands for: demos say it by name.
            if rule.value is not None:
                return rule.value
            return generate(rule.generator or "", context.rng)
        case "task_output" | "task_context":
            return _output(context, rule.task_id, key)
        case "session_context":
            return context.session.get(key, MISSING)
        case "global_context":
            return context.global_values.get(key, MISSING)
        case _:
            return context.session.get(key, MISSING)


def _cached(task: Task, spec: InputSpec, context: Context) -> Any:
    """Low: as long as the session; medium: `ttl_seconds`; high or `refresh_on_use`: never."""
    if spec.volatility == "high" or spec.refresh_on_use:
        return MISSING
    found = context.cache.get((task.task_id, spec.name))
    if found is None:
        return MISSING
    if spec.volatility == "medium" and context.clock() - found.at > (spec.ttl_seconds or 0):
        return MISSING
    return found.value


def _output(context: Context, task_id: str | None, name: str) -> Any:
    if task_id is not None:
        return context.outputs.get(task_id, {}).get(name, MISSING)
    for outputs in reversed(context.outputs.values()):
        if name in outputs:
            return outputs[name]
    return MISSING


@_source("task_context")
def _task_context(spec: InputSpec, context: Context) -> Any:
    return _output(context, spec.from_task, spec.from_output or spec.key or spec.name)


_SOURCES["task_output"] = _task_context


@_source("session_context")
def _session_context(spec: InputSpec, context: Context) -> Any:
    return context.session.get(spec.key or spec.name, MISSING)


@_source("global_context")
def _global_context(spec: InputSpec, context: Context) -> Any:
    return context.global_values.get(spec.key or spec.name, MISSING)


@_source("context")
def _any_context(spec: InputSpec, context: Context) -> Any:
    for look in (_task_context, _session_context, _global_context):
        value = look(spec, context)
        if value is not MISSING:
            return value
    return MISSING


@_source("template")
def _template(spec: InputSpec, context: Context) -> Any:
    """Parameters of a template are session values."""
    return _session_context(spec, context)


@_source("hardcoded")
def _hardcoded(spec: InputSpec, _context: Context) -> Any:
    return MISSING if spec.value is None else spec.value


@_source("generated_value")
def _generated(spec: InputSpec, context: Context) -> Any:
    if spec.generator is None:
        return MISSING
    try:
        return generate(spec.generator, context.rng)
    except KeyError as exc:
        raise PersonNeeded(
            f"input {spec.name!r} wants the generator {spec.generator!r}, which does not exist"
        ) from exc
