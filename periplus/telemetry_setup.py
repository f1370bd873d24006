"""Exports OpenTelemetry spans. `agent/telemetry.py` and the MCP library create them.

With `OTEL_EXPORTER_OTLP_ENDPOINT` (or `OTEL_EXPORTER_OTLP_TRACES_ENDPOINT`), spans are sent there over HTTP; LangSmith
accepts them, too (docs/observability.md). Without these variables nothing is imported.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from periplus import __version__
from periplus.errors import UserError

if TYPE_CHECKING:
    from opentelemetry.sdk.trace.export import SpanExporter

ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
OFF = "OTEL_SDK_DISABLED"
SERVICE = "OTEL_SERVICE_NAME"


def requested_exporter(environment: Mapping[str, str] | None = None) -> str | None:
    """Return the variable that enables the export; None if none is set."""
    given = os.environ if environment is None else environment
    if given.get(OFF, "").lower() == "true":
        return None
    return next((name for name in ENDPOINTS if given.get(name)), None)


def set_up_telemetry(exporter: SpanExporter | None = None) -> bool:
    """Enable the export of spans if the environment asks for it; return whether it is enabled.

    `exporter` replaces the one of the environment. Remaining spans are sent when the process ends. Raises
    `UserError` if the extra is not installed.
    """
    asked = requested_exporter()
    if asked is None and exporter is None:
        return False
    if importlib.util.find_spec("opentelemetry.sdk") is None:
        raise UserError(
            f"{asked} is set, but the OpenTelemetry SDK is not installed",
            fix="pip install 'periplus[otel]', or unset the variable",
        )
    from opentelemetry import trace  # noqa: PLC0415 - only imported if enabled
    from opentelemetry.sdk.resources import Resource  # noqa: PLC0415 - as above
    from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415 - as above
    from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415 - as above

    if exporter is None:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import (  # noqa: PLC0415 - as above
            OTLPSpanExporter,
        )

        exporter = OTLPSpanExporter()
    attributes = {"service.name": os.environ.get(SERVICE) or "periplus", "service.version": __version__}
    provider = TracerProvider(resource=Resource.create(attributes))
    provider.add_span_processor(BatchSpanProcessor(exporter))
    trace.set_tracer_provider(provider)
    return True
