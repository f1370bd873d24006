"""Where spans go (OpenTelemetry). What is a span is `agent/telemetry.py`, and the MCP library's own.

The standard variables decide: with `OTEL_EXPORTER_OTLP_ENDPOINT` (or `OTEL_EXPORTER_OTLP_TRACES_ENDPOINT`)
spans are sent there, over HTTP; LangSmith takes them too (docs/observability.md). Without, nothing is
imported and nothing is paid.
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


def wanted(environment: Mapping[str, str] | None = None) -> str | None:
    """The variable that asks for spans to be sent; None: nobody does."""
    given = os.environ if environment is None else environment
    if given.get(OFF, "").lower() == "true":
        return None
    return next((name for name in ENDPOINTS if given.get(name)), None)


def set_up(exporter: SpanExporter | None = None) -> bool:
    """Have spans sent from now on, where somebody asks for it; whether somebody does.

    `exporter` instead of the one of the environment. What is left is sent when the process ends. Raises
    `UserError` where the extra is not installed.
    """
    asked = wanted()
    if asked is None and exporter is None:
        return False
    if importlib.util.find_spec("opentelemetry.sdk") is None:
        raise UserError(
            f"{asked} asks for spans, and the OpenTelemetry SDK is not installed",
            fix="pip install 'periplus[otel]', or unset it",
        )
    from opentelemetry import trace  # noqa: PLC0415 - nothing of it is paid where nobody asks
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
