"""Opens the audit log of the data directory (`kb_store.audit`)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from periplus.settings import load_settings

if TYPE_CHECKING:
    from kb_store.audit.audit_log import AuditLog

AUDIT = "audit"
"""The subfolder of the data directory."""


def open_audit_log(data_dir: Path | None = None) -> AuditLog:
    """Return the audit log of a data directory; None: of the configured one. Raises `UserError`."""
    from kb_store.audit.audit_log import AuditLog  # noqa: PLC0415 - decision 0140

    return AuditLog((data_dir or load_settings().data_dir) / AUDIT)


def start_audit_log(data_dir: Path | None = None) -> AuditLog:
    """Record what this process does in that audit log, without secrets. Raises `UserError`."""
    log = open_audit_log(data_dir)
    from agent.redaction import redact_known  # noqa: PLC0415 - decision 0140
    from kb_store.audit.audit_recorder import use_audit_log  # noqa: PLC0415

    use_audit_log(log, redact_known, _report)
    return log


def _report(text: str) -> None:
    """Log a text where this process logs, else print it as an error."""
    import structlog  # noqa: PLC0415 - decision 0140

    if structlog.is_configured():
        structlog.get_logger(__name__).error("audit_not_written", reason=text)
    else:
        typer.echo(text, err=True)
