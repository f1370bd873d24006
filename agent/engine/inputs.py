"""Context-First (KS 10.2): every input of a task has its value before step 1.

A value the caller gives wins, then what is still good of an earlier look; a secret comes from where
secrets are kept; else the sources are tried in their order, then the default. What a source is, is
`agent.inputs.sources`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from agent.context import Cached, Context
from agent.errors import InputMissing, PersonNeeded
from agent.inputs.sources import (
    FETCHED,
    MISSING,
    Around,
    Scraper,
    Wanted,
    fetch,
    wanted_by_flow,
    wanted_by_task,
)
from agent.inputs.types import typed
from agent.inputs.vaults import variable
from kb_schema.tasks import Task
from kb_schema.transforms import TransformError, apply_all
from kb_schema.values import InputMapping, InputSpec, Source

__all__ = ["MISSING", "Scraper", "map_inputs", "refresh_inputs", "resolve_inputs", "transformed", "typed"]

Tell = Callable[[str, str], None]
NOWHERE = "nothing"
"""The source of an input that is left empty."""


async def resolve_inputs(
    task: Task,
    given: Mapping[str, Any],
    context: Context,
    *,
    scrape: Scraper,
    tell: Tell = lambda _name, _source: None,
    known: Mapping[str, Any] | None = None,
    built_ins: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Every input of `task` by name. `tell(name, source)` hears where each came from.

    `known` are values that were resolved before, in a run that is carried on: they stay as they are.
    `built_ins` are there for templates.

    Raises `InputMissing` for required inputs without a value, all of them at once, `PersonNeeded` for a
    value that a transform cannot take.
    """
    values: dict[str, Any] = {}
    missing: list[InputSpec] = []
    for spec in task.io_spec.inputs:
        if known is not None and spec.name in known:
            values[spec.name] = known[spec.name]
            continue
        around = Around(context, scrape, {**(built_ins or {}), **values})
        value, source = await _one(task, spec, given, around, ask=not missing)
        if value is MISSING:
            if spec.required:
                missing.append(spec)
                continue
            values[spec.name], source = "", NOWHERE
        else:
            values[spec.name] = _finished(spec, value, context)
        tell(spec.name, source)
    if missing:
        raise _missing(task, missing)
    return values


async def refresh_inputs(
    task: Task,
    names: Collection[str],
    given: Collection[str],
    values: Mapping[str, Any],
    context: Context,
    *,
    scrape: Scraper,
) -> dict[str, Any]:
    """Those of the named inputs that are never good for long, got once more at the moment of use
    (KS 9.12, DESIGN 6). What the caller gave stays, nobody is asked twice, and what is not to be had
    any more stays as it was.
    """
    fresh: dict[str, Any] = {}
    for spec in task.io_spec.inputs:
        if spec.name not in names or not spec.always_fresh or spec.name in given:
            continue
        order = [source for source in _order(task, spec) if source != "user_input"]
        around = Around(context, scrape, values)
        value, _ = await _from_sources(wanted_by_task(spec), order, around)
        if value is not MISSING:
            fresh[spec.name] = _finished(spec, value, context)
    return fresh


async def map_inputs(
    mapping: Mapping[str, InputMapping],
    context: Context,
    *,
    scrape: Scraper,
    built_ins: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """A presentation segment's `input_mapping` as values (KS 9.2); what is not there is left out.

    `persist_as` puts the transformed value into the session. Raises `PersonNeeded` for a value
    that a transform cannot take.
    """
    values: dict[str, Any] = {}
    for name, rule in mapping.items():
        around = Around(context, scrape, {**(built_ins or {}), **values})
        value, _ = await _from_sources(wanted_by_flow(name, rule), rule.source, around)
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


async def _one(
    task: Task, spec: InputSpec, given: Mapping[str, Any], around: Around, *, ask: bool
) -> tuple[Any, str]:
    """The value as it was found, and where; `MISSING` where nobody has one. Without `ask` neither a person
    nor a page is asked.
    """
    if spec.name in given:
        return given[spec.name], "given"
    context, wanted = around.context, wanted_by_task(spec)
    cached = _cached(task, spec, context)
    if cached is not MISSING:
        return cached, "cache"
    if spec.secret and context.vault is not None:
        found = await context.vault.secret(wanted.key)
        if found is not None:
            return found
    order = [source for source in _order(task, spec) if ask or source not in FETCHED]
    value, source = await _from_sources(wanted, order, around)
    if value is MISSING:
        return (MISSING, NOWHERE) if spec.default is None else (spec.default, "default")
    if source in FETCHED or (spec.volatility == "medium" and source == "generated_value"):
        context.cache[task.task_id, spec.name] = Cached(value, context.clock())
    return value, source


def _missing(task: Task, specs: Sequence[InputSpec]) -> InputMissing:
    """All that a person has to give; what is made of other inputs comes with them."""
    wanted = [spec for spec in specs if spec.template is None] or specs[:1]
    error = InputMissing(task.task_id, {spec.name: spec.description for spec in wanted})
    secret = [variable(spec.key or spec.name) for spec in wanted if spec.secret]
    if secret:
        error.hint = f"set {' and '.join(secret)} in the environment (docs/inputs.md), or {error.hint}"
    return error


def _order(task: Task, spec: InputSpec) -> Sequence[Source]:
    return spec.source or task.io_spec.variable_resolution.resolution_order


async def _from_sources(wanted: Wanted, order: Sequence[Source], around: Around) -> tuple[Any, Source]:
    """The first value that a source has."""
    for source in order:
        value = await fetch(source, wanted, around)
        if value is not MISSING:
            return value, source
    return MISSING, "context"


def _finished(spec: InputSpec, value: Any, context: Context) -> Any:
    """Typed and transformed; a secret is kept as one before anything can fail and tell of it."""
    if spec.secret:
        context.keep_secret(value)
    value = transformed(spec.name, typed(spec, value), spec.transforms)
    if spec.secret:
        context.keep_secret(value)
    return value


def _cached(task: Task, spec: InputSpec, context: Context) -> Any:
    """Low: as long as the session; medium: `ttl_seconds`; high or `refresh_on_use`: never."""
    if spec.always_fresh:
        return MISSING
    found = context.cache.get((task.task_id, spec.name))
    if found is None:
        return MISSING
    if spec.volatility == "medium" and context.clock() - found.at > (spec.ttl_seconds or 0):
        return MISSING
    return found.value
