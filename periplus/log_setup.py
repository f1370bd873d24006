"""Logging: one JSON object per line on standard error; standard output is for results and protocols.

Every line of a run contains its `run_id`, and trace and span ids if tracing is enabled.
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


def log_to_stderr() -> None:
    """Write all log records of level `PERIPLUS_LOG_LEVEL` and above to standard error."""
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            _add_span_ids,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso"),
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer(),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(
            logging.getLevelNamesMapping()[load_settings().log_level]
        ),
        logger_factory=lambda *_: structlog.PrintLogger(
            sys.stderr
        ),  # looked up for each logger, because tests replace it
    )


@contextmanager
def bind_run_id(run_id: str, **more: str) -> Iterator[None]:
    """Add the run id to all log lines inside the context."""
    with structlog.contextvars.bound_contextvars(run_id=run_id, **more):
        yield


def requested_log_listeners() -> tuple[Callable[[Event], None], ...]:
    """Return the event listeners for `PERIPLUS_STRUCTURED_LOGS`; if set, also start logging to standard error."""
    if not load_settings().structured_logs:
        return ()
    log_to_stderr()
    return (log_event,)


def log_event(event: Event) -> None:
    """Log an event of a session, without pages. The event bus has already removed secrets."""
    if isinstance(event, ActionDone):
        told = {"action_type": event.action_type, "url_after": event.url_after, "error": event.error}
        log.info("ActionDone", duration_ms=round(event.duration_ms, 1), **told)
        return
    log.info(type(event).__name__, **{each.name: getattr(event, each.name) for each in fields(event)})


def _add_span_ids(
    _logger: object, _method: str, line: structlog.typing.EventDict
) -> structlog.typing.EventDict:
    context = trace.get_current_span().get_span_context()
    if context.is_valid:
        line["trace_id"], line["span_id"] = f"{context.trace_id:032x}", f"{context.span_id:016x}"
    return line
