"""Log lines: one JSON object each, on standard error. Standard output is for results and protocols.

Every line of a run carries its `run_id`, and the ids of trace and span where spans are made.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields

import structlog
from opentelemetry import trace

from agent.events import ActionDone, Event
from periplus.settings import load_settings

log = structlog.get_logger("periplus")


def to_stderr() -> None:
    """Have everything that is logged from now on written there (`PERIPLUS_LOG_LEVEL` and above)."""
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            _with_span,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso"),
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer(),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(
            logging.getLevelNamesMapping()[load_settings().log_level]
        ),
        logger_factory=lambda *_: structlog.PrintLogger(sys.stderr),  # whatever that is at the time
    )


@contextmanager
def of_run(run_id: str, **more: str) -> Iterator[None]:
    """Everything that is logged inside belongs to that run."""
    with structlog.contextvars.bound_contextvars(run_id=run_id, **more):
        yield


def asked_for() -> tuple[Callable[[Event], None], ...]:
    """What listens to a bus because `PERIPLUS_STRUCTURED_LOGS` says so; logs go to standard error then."""
    if not load_settings().structured_logs:
        return ()
    to_stderr()
    return (log_event,)


def log_event(event: Event) -> None:
    """A listener for a session's bus: what happens, without pages. Secrets are taken out by the bus."""
    if isinstance(event, ActionDone):
        told = {"action_type": event.action_type, "url_after": event.url_after, "error": event.error}
        log.info("ActionDone", duration_ms=round(event.duration_ms, 1), **told)
        return
    log.info(type(event).__name__, **{each.name: getattr(event, each.name) for each in fields(event)})


def _with_span(_logger: object, _method: str, line: structlog.typing.EventDict) -> structlog.typing.EventDict:
    context = trace.get_current_span().get_span_context()
    if context.is_valid:
        line["trace_id"], line["span_id"] = f"{context.trace_id:032x}", f"{context.span_id:016x}"
    return line
