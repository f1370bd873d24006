"""OpenTelemetry spans of what the agent does: agents, steps, healing rounds, calls to the knowledge server.

Only the API is used: without an SDK (`periplus/telemetry_setup.py` sets one up) spans cost nothing.
Attributes are plain values from which the caller has removed secrets.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import wraps
from typing import ParamSpec, TypeVar

from opentelemetry import trace
from opentelemetry.trace import Span, Status, StatusCode

Value = str | bool | int | float
P = ParamSpec("P")
R = TypeVar("R")

_TRACER = trace.get_tracer("periplus")


@contextmanager
def span(
    name: str, named: Mapping[str, Value] | None = None, /, **attributes: Value | None
) -> Iterator[Span]:
    """A span around a piece of work. An error that leaves it is recorded by type, never by message.

    `named`: attributes with their full names, as a convention has them (`gen_ai.request.model`).
    """
    own = {f"periplus.{key}": value for key, value in attributes.items() if value is not None}
    with _TRACER.start_as_current_span(
        name, attributes={**(named or {}), **own}, record_exception=False, set_status_on_exception=False
    ) as opened:
        try:
            yield opened
        except BaseException as exc:
            opened.set_status(Status(StatusCode.ERROR, type(exc).__name__))
            raise


def traced(name: str) -> Callable[[Callable[P, Awaitable[R]]], Callable[P, Awaitable[R]]]:
    """Decorate a coroutine function so that every call is a span (PACTS 4)."""

    def wrap(function: Callable[P, Awaitable[R]]) -> Callable[P, Awaitable[R]]:
        @wraps(function)
        async def wrapped(*args: P.args, **kwargs: P.kwargs) -> R:
            with span(name):
                return await function(*args, **kwargs)

        return wrapped

    return wrap
