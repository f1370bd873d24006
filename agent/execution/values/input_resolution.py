"""Context-First (KS 10.2): every input of a task has its value before step 1.

A value from the caller comes first, then a cached one that has not expired. A secret comes from the vault.
Then the sources are tried in order, then the default. The sources are in
`agent.execution.values.value_sources`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from agent.errors import InputMissing, PersonNeeded
from agent.execution.declared_types import parse_typed_value
from agent.execution.values.one_time_codes import ONE_TIME_CODE
from agent.execution.values.secret_vaults import secret_variable_name
from agent.execution.values.value_sources import (
    FETCHED,
    MISSING,
    STORED,
    Scraper,
    ValueRequest,
    ValueSourceContext,
    build_flow_value_request,
    build_task_value_request,
    fetch_value,
)
from agent.redaction import SHORTEST
from agent.run_context import CachedValue, RunContext
from kb_schema.io_specs import InputMapping, InputSpec, IoSpec, ValueSource
from kb_schema.tasks import Task
from kb_schema.transforms import TransformError, apply_all

__all__ = [
    "MISSING",
    "Scraper",
    "check_required_inputs",
    "map_inputs",
    "parse_typed_value",
    "refresh_inputs",
    "resolve_inputs",
    "transform_value",
]

ReportSource = Callable[[str, str], None]
NOWHERE = "nothing"
"""The source name of an input that stays empty."""


async def resolve_inputs(
    task: Task,
    given: Mapping[str, Any],
    context: RunContext,
    *,
    scrape: Scraper,
    tell: ReportSource = lambda _name, _source: None,
    known: Mapping[str, Any] | None = None,
    built_ins: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the value of every input of `task` by name.

    `tell(name, source)` is called with the source of each. `known` are values of a resumed run, which stay
    as they are. `built_ins` are available to templates.

    Raises `InputMissing` with all required inputs that have no value, and `PersonNeeded` for a value that a
    transform does not accept.
    """
    values: dict[str, Any] = {}
    missing: list[InputSpec] = []
    for spec in task.io_spec.inputs:
        if known is not None and spec.name in known:
            values[spec.name] = known[spec.name]
            continue
        around = ValueSourceContext(context, scrape, {**(built_ins or {}), **values})
        value, source = await _resolve_input(task, spec, given, around, ask=not missing)
        if value is MISSING:
            if spec.required:
                missing.append(spec)
                continue
            values[spec.name], source = "", NOWHERE
        else:
            values[spec.name] = _finish_value(spec, value, context)
        tell(spec.name, source)
    if missing:
        raise _build_input_missing(task.task_id, missing)
    return values


async def check_required_inputs(
    task_id: str, io_spec: IoSpec, given: Mapping[str, Any], context: RunContext
) -> None:
    """Raise `InputMissing` for the required inputs that certainly have no value, before a page is open.

    Inputs that are read from a page, or computed from other values, are left to the run.
    """
    missing = [
        spec
        for spec in io_spec.inputs
        if spec.required and spec.name not in given and not await _may_have_value(io_spec, spec, context)
    ]
    if missing:
        raise _build_input_missing(task_id, missing)


async def _may_have_value(io_spec: IoSpec, spec: InputSpec, context: RunContext) -> bool:
    """Return whether an input has a value without a page, or may get one during the run."""
    if spec.default is not None or spec.template or spec.extraction or spec.from_task:
        return True
    wanted, around = build_task_value_request(spec), ValueSourceContext(context, _scrape_nothing)
    try:
        if spec.secret and context.vault is not None and await context.vault.secret(wanted.key):
            return True
        return (await _fetch_from_sources(wanted, _list_sources(io_spec, spec), around))[0] is not MISSING
    except PersonNeeded:
        return True  # the run says what the person must do


async def _scrape_nothing(*_request: object) -> Any:
    return MISSING


async def refresh_inputs(
    task: Task,
    names: Collection[str],
    given: Collection[str],
    values: Mapping[str, Any],
    context: RunContext,
    *,
    scrape: Scraper,
) -> dict[str, Any]:
    """Return the named inputs that are always fetched fresh, resolved again (KS 9.12), one-time codes among them.

    Values from the caller stay, a person is not asked twice, and a value that is no longer available stays
    as it was.
    """
    fresh: dict[str, Any] = {}
    for spec in task.io_spec.inputs:
        if spec.name not in names or spec.name in given:
            continue
        if (task.task_id, spec.name) in context.one_time_inputs and context.vault is not None:
            code = await context.vault.secret(build_task_value_request(spec).key)
            if code is not None:
                fresh[spec.name] = _finish_value(spec, code[0], context)
            continue
        if not spec.always_fresh:
            continue
        order = [source for source in _list_sources(task.io_spec, spec) if source != "user_input"]
        around = ValueSourceContext(context, scrape, values)
        value, _ = await _fetch_from_sources(build_task_value_request(spec), order, around)
        if value is not MISSING:
            fresh[spec.name] = _finish_value(spec, value, context)
    return fresh


async def map_inputs(
    mapping: Mapping[str, InputMapping],
    context: RunContext,
    *,
    scrape: Scraper,
    built_ins: Mapping[str, Any] | None = None,
    inputs: Collection[InputSpec] = (),
) -> dict[str, Any]:
    """Return the values of a presentation segment's `input_mapping` (KS 9.2), without those that have none.

    `inputs`: those of the task. Their volatility holds for mapped values, too (KS 9.12): one that is older than its
    `ttl_seconds` is not taken, and for an input that is always fetched fresh none of the session is; the task resolves it
    itself, and again when it is used. `persist_as` stores the transformed value in the session. Raises `PersonNeeded` for a value that a
    transform does not accept.
    """
    values: dict[str, Any] = {}
    specs = {spec.name: spec for spec in inputs}
    for name, rule in mapping.items():
        spec = specs.get(name)
        stale = STORED if spec is not None and spec.always_fresh else frozenset[str]()
        sources = [source for source in rule.source if source not in stale]
        around = ValueSourceContext(context, scrape, {**(built_ins or {}), **values})
        value, _ = await _fetch_from_sources(build_flow_value_request(name, rule, spec), sources, around)
        if value is MISSING:
            if rule.default is None:
                continue
            value = rule.default
        values[name] = transform_value(name, value, rule.transforms)
        _check_recognised(name, value, values[name], context)
        if rule.persist_as:
            context.session[rule.persist_as] = values[name]
    return values


def transform_value(name: str, value: Any, transforms: tuple[Any, ...]) -> Any:
    """Return the value after its transforms. Raises `PersonNeeded` naming the input."""
    try:
        return apply_all(value, transforms)
    except TransformError as exc:
        raise PersonNeeded(f"input {name!r}: {exc}", hint="correct the value or its transforms") from exc


async def _resolve_input(
    task: Task, spec: InputSpec, given: Mapping[str, Any], around: ValueSourceContext, *, ask: bool
) -> tuple[Any, str]:
    """Return the value and its source; `MISSING` if no source has one. Without `ask` neither a person nor a
    page is asked.
    """
    if spec.name in given:
        return given[spec.name], "given"
    context, wanted = around.context, build_task_value_request(spec)
    stores = task.io_spec.variable_resolution.runtime_context_store
    cached = _read_cached_value(task, spec, context) if stores else MISSING
    if cached is not MISSING:
        return cached, "cache"
    if spec.secret and context.vault is not None:
        found = await context.vault.secret(wanted.key)
        if found is not None:
            if found[1] == ONE_TIME_CODE:
                context.one_time_inputs.add((task.task_id, spec.name))
            return found
    order = [source for source in _list_sources(task.io_spec, spec) if ask or source not in FETCHED]
    value, source = await _fetch_from_sources(wanted, order, around)
    if value is MISSING:
        return (MISSING, NOWHERE) if spec.default is None else (spec.default, "default")
    if stores and (source in FETCHED or (spec.volatility == "medium" and source == "generated_value")):
        context.cache[task.task_id, spec.name] = CachedValue(value, context.clock())
    return value, source


def _build_input_missing(task_id: str, specs: Sequence[InputSpec]) -> InputMissing:
    """The error for inputs that a person must give; inputs computed from others are not listed."""
    wanted = [spec for spec in specs if spec.template is None] or specs[:1]
    error = InputMissing(task_id, {spec.name: spec.description for spec in wanted})
    secret = [secret_variable_name(spec.key or spec.name) for spec in wanted if spec.secret]
    if secret:
        error.hint = f"set {' and '.join(secret)} in the environment (docs/inputs.md), or {error.hint}"
    return error


def _list_sources(io_spec: IoSpec, spec: InputSpec) -> Sequence[ValueSource]:
    return spec.source or io_spec.variable_resolution.resolution_order


async def _fetch_from_sources(
    wanted: ValueRequest, order: Sequence[ValueSource], around: ValueSourceContext
) -> tuple[Any, ValueSource]:
    """Return the first value that a source has, and the source."""
    for source in order:
        value = await fetch_value(source, wanted, around)
        if value is not MISSING:
            return value, source
    return MISSING, "context"


def _finish_value(spec: InputSpec, value: Any, context: RunContext) -> Any:
    """Return the value typed and transformed; a secret is registered first, before an error could quote it."""
    if spec.secret:
        context.keep_secret(value)
    made = transform_value(spec.name, parse_typed_value(spec, value), spec.transforms)
    if spec.secret:
        context.keep_secret(made)
    _check_recognised(spec.name, value, made, context)
    return made


def _check_recognised(name: str, value: Any, made: Any, context: RunContext) -> None:
    """Raise `PersonNeeded` if a transform made something of a secret that would not be recognised as secret."""
    if made in (value, "", None) or context.redact(value) == value or context.redact(made) != made:
        return
    raise PersonNeeded(
        f"input {name!r} is a part of a secret",
        hint=f"declare it with `secret: true`, and let its transforms leave {SHORTEST} characters or more",
    )


def _read_cached_value(task: Task, spec: InputSpec, context: RunContext) -> Any:
    """Low volatility: for the session; medium: `ttl_seconds`; high or `refresh_on_use`: never."""
    if spec.always_fresh:
        return MISSING
    found = context.cache.get((task.task_id, spec.name))
    if found is None:
        return MISSING
    if spec.volatility == "medium" and context.clock() - found.at > (spec.ttl_seconds or 0):
        return MISSING
    return found.value
