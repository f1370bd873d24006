"""Expressions as Python source: see `kb_schema.playwright_source`, which exports of the knowledge use too."""

from __future__ import annotations

from kb_schema.playwright_source import (
    PROPERTIES,
    WriteText,
    escaped,
    python_regex,
    python_string,
    to_source,
)

__all__ = ["PROPERTIES", "WriteText", "escaped", "python_regex", "python_string", "to_source"]
