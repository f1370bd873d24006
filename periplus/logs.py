"""Where log lines go: to standard error, as one JSON object each. Standard output is for results and protocols."""

from __future__ import annotations

import sys

import structlog


def to_stderr() -> None:
    """Have everything that is logged from now on written there."""
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso"),
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer(),
        ],
        logger_factory=structlog.PrintLoggerFactory(file=sys.stderr),
    )
