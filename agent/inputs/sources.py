"""The sources of values, one registered function each (KS 2.5, 4.3, 9.2), for tasks and flows alike.

A source gives a value or `MISSING`; which ones are tried, and what is kept, is `agent.engine.inputs`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from agent.context import Context, Shelf
from agent.errors import AgentError, PersonNeeded
from agent.generators import GENERATORS, generate
from agent.page.errors import PageError, PageGone
from kb_schema.templates import MissingVariable, fill
from kb_schema.values import InputMapping, InputSpec, Source, ValueRule

MISSING: Any = object()
"""No value: None is one."""

Scraper = Callable[[ValueRule, Mapping[str, Any]], Awaitable[Any]]
"""Reads a value off the site, with what is known so far; `MISSING` where it is not there."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """One value that is wanted, and the rule that says where from."""

    name: str
    rule: ValueRule
    question: str
    """What a person is asked."""
    asked: bool
    """Whether a person is asked at all."""
    secret: bool = False
    task_id: str | None = None
    """Of an earlier task's output: whose."""
    output: str | None = None
    longest: float | None = None
    """Seconds for which a value is good (KS 9.12); None: for ever."""

    @property
    def key(self) -> str:
        """The name under which it is looked up."""
        return self.rule.key or self.name


def wanted_by_task(spec: InputSpec) -> Wanted:
    """A task's input. A person is asked for what is required and has no default, or where the author
    wrote a question.
    """
    return Wanted(
        name=spec.name,
        rule=spec,
        question=spec.prompt or spec.description or spec.name,
        asked=spec.prompt is not None or (spec.required and spec.default is None),
        secret=spec.secret,
        task_id=spec.from_task,
        output=spec.from_output,
        longest=spec.ttl_seconds if spec.volatility == "medium" else None,
    )


def wanted_by_flow(name: str, rule: InputMapping) -> Wanted:
    """An input as a segment or a node maps it."""
    return Wanted(name, rule, question=rule.prompt or name, asked=True, task_id=rule.task_id)


@dataclass(frozen=True, slots=True)
class Around:
    """What the sources draw from."""

    context: Context
    scrape: Scraper
    values: Mapping[str, Any] = field(default_factory=dict)
    """What is known so far: built-ins, and inputs that were resolved before."""


Fetch = Callable[[Wanted, Around], Awaitable[Any]]

SOURCES: dict[Source, Fetch] = {}

FETCHED: frozenset[Source] = frozenset({"scraped", "user_input"})
"""Sources whose values are kept as long as they are good: asking again costs a page or a person."""


def source(*names: Source) -> Callable[[Fetch], Fetch]:
    """Register a function under the names knowledge calls it by."""

    def register(function: Fetch) -> Fetch:
        for name in names:
            if name in SOURCES:
                raise ValueError(f"two sources {name!r}")
            SOURCES[name] = function
        return function

    return register


async def fetch(name: Source, wanted: Wanted, around: Around) -> Any:
    """The value from one source, or `MISSING`."""
    return await SOURCES[name](wanted, around)


@source("task_context", "task_output")
async def _task_output(wanted: Wanted, around: Around) -> Any:
    """What an earlier task gave: the named one, else the last that has such an output."""
    name, outputs = wanted.output or wanted.key, around.context.outputs
    if wanted.task_id is not None:
        return _on(outputs.get(wanted.task_id, {}), name, wanted)
    shelves = (_on(each, name, wanted) for each in reversed(outputs.values()))
    return next((value for value in shelves if value is not MISSING), MISSING)


@source("session_context")
async def _session(wanted: Wanted, around: Around) -> Any:
    return _on(around.context.session, wanted.key, wanted)


@source("global_context")
async def _global(wanted: Wanted, around: Around) -> Any:
    return _on(around.context.global_values, wanted.key, wanted)


@source("context")
async def _any_context(wanted: Wanted, around: Around) -> Any:
    """KS 10.2: task, session, global."""
    for look in (_task_output, _session, _global):
        value = await look(wanted, around)
        if value is not MISSING:
            return value
    return MISSING


@source("template")
async def _template(wanted: Wanted, around: Around) -> Any:
    """A text with its `{x}` filled, once. Without a text of its own: what the session's own template
    (a flow's mapping) put there.
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


@source("hardcoded")
async def _hardcoded(wanted: Wanted, around: Around) -> Any:  # noqa: ARG001 - one signature for all
    return MISSING if wanted.rule.value is None else wanted.rule.value


@source("generated_value")
async def _generated(wanted: Wanted, around: Around) -> Any:
    """An authored `value` is the example the generator stands for: demos say it by name."""
    rule = wanted.rule
    if rule.value is not None:
        return rule.value
    if rule.generator is None:
        return MISSING
    try:
        return generate(rule.generator, around.context.rng)
    except KeyError as exc:
        raise PersonNeeded(
            f"input {wanted.name!r} wants the generator {rule.generator!r}, which does not exist",
            hint=f"there are: {', '.join(sorted(GENERATORS))}",
        ) from exc


@source("user_input")
async def _user_input(wanted: Wanted, around: Around) -> Any:
    """What a person said already, else what one answers now."""
    context = around.context
    if wanted.key in context.said:
        return context.said[wanted.key]
    if not wanted.asked or context.asker is None:
        return MISSING
    answer = await context.asker.ask(wanted.name, wanted.question, secret=wanted.secret)
    return MISSING if answer is None else answer


@source("scraped")
async def _scraped(wanted: Wanted, around: Around) -> Any:
    """What a page says; a page that cannot be got to says nothing."""
    if wanted.rule.extraction is None:
        return MISSING
    try:
        return await around.scrape(wanted.rule, around.values)
    except PageGone:
        raise
    except (AgentError, PageError):
        return MISSING


def _on(shelf: Mapping[str, Any], name: str, wanted: Wanted) -> Any:
    """A value off a shelf, unless it is older than it is good for."""
    if name not in shelf:
        return MISSING
    too_old = wanted.longest is not None and isinstance(shelf, Shelf) and shelf.age(name) > wanted.longest
    return MISSING if too_old else shelf[name]
