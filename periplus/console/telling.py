"""How the console says things: times, shares, and how something came out, by word, shape and colour.

Filters of the templates. Everything they are given is escaped.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from markupsafe import Markup, escape

_KINDS = {
    "good": ("pass", "success", "healthy", "ok", "up", "ready", "completed", "accepted", "done", "held", "verified", "confirmed"),
    "warn": (
        "partial", "degraded", "draining", "cancelled", "cancelling", "stale", "skipped", "unknown", "unverified",
        "needs_person", "replaced", "fair",
    ),
    "bad": ("fail", "failure", "failed", "error", "down", "rejected", "contradicted", "refused", "not_held", "weak"),
    "busy": ("running", "queued", "waiting", "playing", "starting", "proposed", "open"),
}  # fmt: skip
_KIND_OF = {word: kind for kind, words in _KINDS.items() for word in words}
_SHAPES = {"good": "✓", "warn": "▲", "bad": "✕", "busy": "◐", "idle": "○"}


def kind_of(status: object) -> str:
    """`good`, `warn`, `bad`, `busy` or `idle`: what a status word comes to."""
    return _KIND_OF.get(str(status).lower(), "idle")


def mark(status: object, words: str | None = None, kind: str | None = None) -> Markup:
    """A status: shape, word and colour. `words` instead of the status's own, `kind` instead of what it comes to."""
    found = kind or kind_of(status)
    said = str(status).replace("_", " ") if words is None else words
    return Markup('<span class="mark {}"><span aria-hidden="true">{}</span> {}</span>').format(
        found, _SHAPES.get(found, _SHAPES["idle"]), said
    )


def duration(ms: float | None) -> str:
    """`350 ms`, `1.2 s`, `2 min 5 s`, `3 h 2 min`."""
    if ms is None:
        return ""
    if ms < 1_000:
        return f"{ms:.0f} ms"
    seconds = ms / 1_000
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if minutes else f"{hours} h"


def share(value: float | None) -> str:
    """`93 %`; nothing for None."""
    return "" if value is None else f"{value * 100:.0f} %"


def moment(at: datetime | None) -> Markup:
    """A time in UTC, which a script may not change: everybody reads the same."""
    if at is None:
        return Markup()
    at = at.astimezone(UTC)
    return Markup('<time datetime="{}">{} UTC</time>').format(at.isoformat(), f"{at:%Y-%m-%d %H:%M:%S}")


def ago(at: datetime | None, now: datetime | None = None) -> Markup:
    """`5 min ago`, with the time itself to read on hovering."""
    if at is None:
        return Markup()
    at = at.astimezone(UTC)
    seconds = max(0.0, ((now or datetime.now(UTC)) - at).total_seconds())
    said = next((f"{seconds / size:.0f} {unit} ago" for size, unit in _UNITS if seconds >= size), "just now")
    return Markup('<time datetime="{}" title="{} UTC">{}</time>').format(
        at.isoformat(), f"{at:%Y-%m-%d %H:%M:%S}", said
    )


_UNITS = ((86_400 * 2, "d"), (86_400, "d"), (3_600, "h"), (60, "min"), (10, "s"))


def plural(count: int, one: str, many: str | None = None) -> str:
    """`1 screen`, `2 screens`."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def spaced(name: object) -> str:
    """An id as people read it."""
    return str(escape(name)).replace("_", " ") if isinstance(name, Markup) else str(name).replace("_", " ")


def sentence(text: object) -> str:
    """A message as a sentence: a capital at its beginning, a stop at its end."""
    said = str(text).strip()
    return f"{said[:1].upper()}{said[1:]}{'' if said.endswith(('.', '?', '!')) else '.'}" if said else ""


def coded(text: object) -> Markup:
    """A message whose `commands` are set as code."""
    parts = str(text).split("`")
    if len(parts) % 2 == 0:  # one is left over
        return escape(text)
    return Markup().join(
        Markup("<code>{}</code>").format(part) if number % 2 else escape(part)
        for number, part in enumerate(parts)
    )


FILTERS: dict[str, Callable[..., Any]] = {
    "ago": ago, "coded": coded, "duration": duration, "kind_of": kind_of, "mark": mark, "moment": moment, "plural": plural, "sentence": sentence,
    "share": share, "spaced": spaced,
}  # fmt: skip
