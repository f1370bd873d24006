"""The sources of input values, one registered function each (KS 2.5, 4.3, 9.2), for tasks and flows.

A source returns a value or `MISSING`. `agent.execution.values.input_resolution` decides which sources are
tried and what is cached.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from agent.errors import AgentError, PersonNeeded
from agent.execution.values.value_generators import GENERATORS, generate_value
from agent.page.errors import PageError, PageGone
from agent.run_context import RunContext, TimestampedValues
from kb_schema.io_specs import InputMapping, InputSpec, ValueRule, ValueSource
from kb_schema.templates import MissingVariable, fill

MISSING: Any = object()
"""Stands for "no value", because None is a value."""

Scraper = Callable[[ValueRule, Mapping[str, Any]], Awaitable[Any]]
"""Reads a value from the website; returns `MISSING` if it is not there."""


@dataclass(frozen=True, slots=True)
class ValueRequest:
    """One requested value and the rule that says where it comes from."""

    name: str
    rule: ValueRule
    question: str
    """The question for a person."""
    asked: bool
    """Whether a person may be asked."""
    secret: bool = False
    task_id: str | None = None
    """The task whose output it is."""
    output: str | None = None
    longest: float | None = None
    """Seconds for which a value is valid (KS 9.12); None: without limit."""

    @property
    def key(self) -> str:
        """The name under which the value is looked up."""
        return self.rule.key or self.name


def build_task_value_request(spec: InputSpec) -> ValueRequest:
    """Return the request for a task's input. A person is asked if the input is required without a default,
    or has a prompt.
    """
    return ValueRequest(
        name=spec.name,
        rule=spec,
        question=spec.prompt or spec.description or spec.name,
        asked=spec.prompt is not None or (spec.required and spec.default is None),
        secret=spec.secret,
        task_id=spec.from_task,
        output=spec.from_output,
        longest=spec.ttl_seconds if spec.volatility == "medium" else None,
    )


def build_flow_value_request(name: str, rule: InputMapping, spec: InputSpec | None = None) -> ValueRequest:
    """Return the request for an input of a segment or workflow node. `spec`: the task's own input, if there is one."""
    longest = spec.ttl_seconds if spec is not None and spec.volatility == "medium" else None
    return ValueRequest(
        name, rule, question=rule.prompt or name, asked=True, task_id=rule.task_id, longest=longest
    )


@dataclass(frozen=True, slots=True)
class ValueSourceContext:
    """What sources may use."""

    context: RunContext
    scrape: Scraper
    values: Mapping[str, Any] = field(default_factory=dict)
    """Built-ins and inputs that are resolved already."""


Fetch = Callable[[ValueRequest, ValueSourceContext], Awaitable[Any]]

SOURCES: dict[ValueSource, Fetch] = {}

FETCHED: frozenset[ValueSource] = frozenset({"scraped", "user_input"})
"""Sources whose values are cached: asking again costs a page load or a question to a person."""

STORED: frozenset[ValueSource] = frozenset({"session_context", "global_context"})
"""Sources of values that were kept: none for an input that is always fetched fresh."""


def register_value_source(*names: ValueSource) -> Callable[[Fetch], Fetch]:
    """Register a source under the names that the knowledge base uses."""

    def register(function: Fetch) -> Fetch:
        for name in names:
            if name in SOURCES:
                raise ValueError(f"two sources {name!r}")
            SOURCES[name] = function
        return function

    return register


async def fetch_value(name: ValueSource, wanted: ValueRequest, around: ValueSourceContext) -> Any:
    """Return the value from one source, or `MISSING`."""
    return await SOURCES[name](wanted, around)


@register_value_source("task_context", "task_output")
async def _task_output(wanted: ValueRequest, around: ValueSourceContext) -> Any:
    """The output of the named task, else of the latest task that has such an output."""
    name, outputs = wanted.output or wanted.key, around.context.outputs
    if wanted.task_id is not None:
        return _read_fresh_value(outputs.get(wanted.task_id, {}), name, wanted)
    shelves = (_read_fresh_value(each, name, wanted) for each in reversed(outputs.values()))
    return next((value for value in shelves if value is not MISSING), MISSING)


@register_value_source("session_context")
async def _session(wanted: ValueRequest, around: ValueSourceContext) -> Any:
    return _read_fresh_value(around.context.session, wanted.key, wanted)


@register_value_source("global_context")
async def _global(wanted: ValueRequest, around: ValueSourceContext) -> Any:
    return _read_fresh_value(around.context.global_values, wanted.key, wanted)


@register_value_source("context")
async def _any_context(wanted: ValueRequest, around: ValueSourceContext) -> Any:
    """Task, session, then global values (KS 10.2)."""
    for look in (_task_output, _session, _global):
        value = await look(wanted, around)
        if value is not MISSING:
            return value
    return MISSING


@register_value_source("template")
async def _template(wanted: ValueRequest, around: ValueSourceContext) -> Any:
    """The input's template, filled once; without one, the template that a flow's mapping stored in the
    session.
    """
    if wanted.rule.template is None:
        return await _session(wanted, around)
    context = around.context
    outputs = {name: value for each in context.outputs.values() for name, value in each.items()}
    known = {**context.global_values, **outputs, **context.session, **around.values}
    try:
        return fill(wanted.rule.template, known)
    except MissingVariable:
        return MISSING


@register_value_source("hardcoded")
async def _hardcoded(wanted: ValueRequest, around: ValueSourceContext) -> Any:  # noqa: ARG001 - one signature for all
    return MISSING if wanted.rule.value is None else wanted.rule.value


@register_value_source("generated_value")
async def _generated(wanted: ValueRequest, around: ValueSourceContext) -> Any:
    """A generated value; if the author gave a `value`, that one, because demos mention it."""
    rule = wanted.rule
    if rule.value is not None:
        return rule.value
    if rule.generator is None:
        return MISSING
    try:
        return generate_value(rule.generator, around.context.rng)
    except KeyError as exc:
        raise PersonNeeded(
            f"input {wanted.name!r}: unknown generator {rule.generator!r}",
            hint=f"use one of: {', '.join(sorted(GENERATORS))}",
        ) from exc


@register_value_source("user_input")
async def _user_input(wanted: ValueRequest, around: ValueSourceContext) -> Any:
    """A value a person gave in advance, else the answer to a question."""
    context = around.context
    if wanted.key in context.said:
        return context.said[wanted.key]
    if not wanted.asked or context.asker is None:
        return MISSING
    answer = await context.asker.ask(wanted.name, wanted.question, secret=wanted.secret)
    return MISSING if answer is None else answer


@register_value_source("scraped")
async def _scraped(wanted: ValueRequest, around: ValueSourceContext) -> Any:
    """A value read from the website; `MISSING` if its page cannot be reached."""
    if wanted.rule.extraction is None:
        return MISSING
    try:
        return await around.scrape(wanted.rule, around.values)
    except PageGone:
        raise
    except (AgentError, PageError):
        return MISSING


def _read_fresh_value(stored: Mapping[str, Any], name: str, wanted: ValueRequest) -> Any:
    """A stored value, unless it has expired."""
    if name not in stored:
        return MISSING
    too_old = (
        wanted.longest is not None
        and isinstance(stored, TimestampedValues)
        and stored.age(name) > wanted.longest
    )
    return MISSING if too_old else stored[name]
