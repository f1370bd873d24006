"""Records Playwright's own trace of a run, for its trace viewer, without secrets.

The driver writes what it did and the page's DOM around each call. Before the archive is kept, secrets are removed from every
text in it; typed parts of a secret are, too, because keys are typed one by one. Its pictures are covered by the session's mask.
"""

from __future__ import annotations

import asyncio
import json
import zipfile
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from playwright.async_api import BrowserContext
from playwright.async_api import Error as PlaywrightError

from agent.redaction import REDACTED
from agent.run_context import RunContext

TRACE_ZIP = "trace.zip"
TYPED = frozenset({"text", "key", "value", "__playwright_value_"})
"""Keys and attributes that hold what is typed, also one key of it."""
MOST_TEXT = 50_000_000
"""Bytes of an entry that is searched; a larger one is left out."""


class PlaywrightTraceRecorder:
    """Records the trace of one context."""

    def __init__(self, browser: BrowserContext, folder: Path, context: RunContext) -> None:
        self._browser, self._context = browser, context
        self._raw, self.path = folder / f".{TRACE_ZIP}", folder / TRACE_ZIP

    async def start(self) -> None:
        """Begin. Raises `PlaywrightError` if the context records a trace already."""
        await self._browser.tracing.start(screenshots=True, snapshots=True)

    async def stop(self) -> bool:
        """Write the trace; return False if there is none, for instance because the browser crashed."""
        try:
            with suppress(PlaywrightError):
                await self._browser.tracing.stop(path=self._raw)
            if not self._raw.is_file():
                return False
            await asyncio.to_thread(self._write_clean)
            return True
        finally:
            self._raw.unlink(missing_ok=True)

    def _write_clean(self) -> None:
        secrets = [each for each in self._context.secrets.values if each]
        with (
            zipfile.ZipFile(self._raw) as raw,
            zipfile.ZipFile(self.path, "w", zipfile.ZIP_DEFLATED) as clean,
        ):
            for entry in raw.infolist():
                if entry.file_size > MOST_TEXT:
                    continue
                content = raw.read(entry)
                clean.writestr(entry.filename, _clean(content, self._context, secrets))


def _clean(content: bytes, context: RunContext, secrets: Iterable[str]) -> bytes:
    """Return an entry without secrets; one that is no text as it is."""
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        return content
    lines = text.split("\n")
    try:
        parsed = [json.loads(line) if line.strip() else None for line in lines]
    except ValueError:
        return str(context.redact(text)).encode()
    kept = [
        "" if each is None else json.dumps(context.redact(_hide_typed(each, secrets)), ensure_ascii=False)
        for each in parsed
    ]
    return "\n".join(kept).encode()


def _hide_typed(data: Any, secrets: Iterable[str]) -> Any:
    """Return JSON without typed texts that are a part of a secret."""
    if isinstance(data, dict):
        return {
            key: REDACTED if key in TYPED and _is_part(value, secrets) else _hide_typed(value, secrets)
            for key, value in data.items()
        }
    if isinstance(data, list):
        return [_hide_typed(each, secrets) for each in data]
    return data


def _is_part(value: Any, secrets: Iterable[str]) -> bool:
    return isinstance(value, str) and bool(value) and any(value in secret for secret in secrets)
