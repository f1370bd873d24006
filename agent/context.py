"""The values a run works with: session, global, outputs of tasks, and which of them are secret.

Resolving a task's inputs before its first step is `agent.engine.inputs`.
"""

from __future__ import annotations

import json
import random
import time
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from html import escape
from typing import Any, Protocol
from urllib.parse import quote, quote_plus

from kb_schema.templates import as_text

REDACTED = "•••"
_SHORTEST_REDACTED = 3  # a shorter secret would blot out ordinary words


class Asker(Protocol):
    """Whoever can give a missing input: a terminal, a visitor, an MCP client."""

    async def ask(self, name: str, prompt: str, *, secret: bool) -> str | None:
        """The value, or None where nobody answers."""


@dataclass(frozen=True, slots=True)
class Cached:
    """A value with the time it was got, for inputs of medium volatility."""

    value: Any
    at: float


@dataclass
class Context:
    """Everything that outlives one task of a session."""

    session: dict[str, Any] = field(default_factory=dict)
    """KS `session_context`: what segments and tasks persist."""
    global_values: dict[str, Any] = field(default_factory=dict)
    """KS `global_context`: defaults of the website and of who runs it."""
    outputs: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Task id -> its last outputs."""
    cache: dict[tuple[str, str], Cached] = field(default_factory=dict)
    """(task id, input) -> value, by volatility."""
    secrets: set[str] = field(default_factory=set)
    rng: random.Random = field(default_factory=random.Random)
    run_id: str = field(default_factory=lambda: uuid.uuid4().hex[:12])
    asker: Asker | None = None

    def keep_secret(self, value: Any) -> None:
        """Remember a value that must never be written anywhere."""
        text = as_text(value)
        if len(text) < _SHORTEST_REDACTED:
            return
        # As it stands, and as it stands in addresses, forms, HTML and JSON.
        self.secrets |= {text, quote(text), quote(text, safe=""), quote_plus(text), escape(text)}
        self.secrets.add(json.dumps(text)[1:-1])

    def redact(self, data: Any) -> Any:
        """JSON data with every secret blotted out."""
        return redact(data, self.secrets)

    def clock(self) -> float:
        """Seconds, monotonic."""
        return time.monotonic()

    def built_ins(self, *, website_id: str, base_url: str, screen_id: str | None, url: str) -> dict[str, Any]:
        """The variables every run has (`kb_schema.rules.context_first.BUILT_INS`)."""
        now = datetime.now(UTC)
        return {
            "website_id": website_id,
            "base_url": base_url,
            "current_screen": screen_id or "",
            "current_url": url,
            "today": now.astimezone().date().isoformat(),
            "now": now.isoformat(timespec="seconds"),
            "run_id": self.run_id,
        }


def redact(data: Any, secrets: Iterable[str]) -> Any:
    """JSON data with every secret blotted out, also inside longer strings."""
    ordered = sorted(secrets, key=len, reverse=True)
    if not ordered:
        return data
    return _redacted(data, ordered)


def _redacted(data: Any, secrets: list[str]) -> Any:
    if isinstance(data, str):
        for secret in secrets:
            data = data.replace(secret, REDACTED)
        return data
    if isinstance(data, Mapping):
        return {key: _redacted(value, secrets) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [_redacted(value, secrets) for value in data]
    if isinstance(data, int | float) and as_text(data) in secrets:
        return REDACTED
    return data
