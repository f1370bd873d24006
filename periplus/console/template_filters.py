"""Template filters: times, percentages, counts and status marks. Filters that return markup escape their input."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from markupsafe import Markup, escape

_KINDS = {
    "good": (
        "pass",
        "success",
        "healthy",
        "ok",
        "up",
        "ready",
        "completed",
        "accepted",
        "done",
        "held",
        "verified",
        "confirmed",
    ),
    "warn": (
        "partial",
        "degraded",
        "draining",
        "cancelled",
        "cancelling",
        "stale",
        "skipped",
        "unknown",
        "unverified",
        "needs_person",
        "replaced",
        "fair",
    ),
    "bad": (
        "fail",
        "failure",
        "failed",
        "error",
        "down",
        "rejected",
        "contradicted",
        "refused",
        "not_held",
        "weak",
    ),
    "busy": ("running", "queued", "waiting", "playing", "starting", "proposed", "open"),
}
_KIND_OF = {word: kind for kind, words in _KINDS.items() for word in words}
_SHAPES = {"good": "✓", "warn": "▲", "bad": "✕", "busy": "◐", "idle": "○"}


def status_kind(status: object) -> str:
    """Return the kind of a status: `good`, `warn`, `bad`, `busy` or `idle`."""
    return _KIND_OF.get(str(status).lower(), "idle")


def format_status(status: object, words: str | None = None, kind: str | None = None) -> Markup:
    """Return a status mark with shape, text and colour. `words` and `kind` replace those of the status."""
    found = kind or status_kind(status)
    said = str(status).replace("_", " ") if words is None else words
    return Markup('<span class="mark {}"><span aria-hidden="true">{}</span> {}</span>').format(
        found, _SHAPES.get(found, _SHAPES["idle"]), said
    )


def format_duration(ms: float | None) -> str:
    """Return a duration such as `350 ms`, `1.2 s`, `2 min 5 s` or `3 h 2 min`."""
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


def format_percentage(value: float | None) -> str:
    """Return a percentage such as `93 %`; empty for None."""
    return "" if value is None else f"{value * 100:.0f} %"


def format_moment(at: datetime | None) -> Markup:
    """Return a time in UTC as a `<time>` element."""
    if at is None:
        return Markup()
    at = at.astimezone(UTC)
    return Markup('<time datetime="{}">{} UTC</time>').format(at.isoformat(), f"{at:%Y-%m-%d %H:%M:%S}")


def format_age(at: datetime | None, now: datetime | None = None) -> Markup:
    """Return an age such as `5 min ago`, with the time as a tooltip."""
    if at is None:
        return Markup()
    at = at.astimezone(UTC)
    seconds = max(0.0, ((now or datetime.now(UTC)) - at).total_seconds())
    said = next((f"{seconds / size:.0f} {unit} ago" for size, unit in _UNITS if seconds >= size), "just now")
    return Markup('<time datetime="{}" title="{} UTC">{}</time>').format(
        at.isoformat(), f"{at:%Y-%m-%d %H:%M:%S}", said
    )


_UNITS = ((86_400 * 2, "d"), (86_400, "d"), (3_600, "h"), (60, "min"), (10, "s"))


def format_count(count: int, one: str, many: str | None = None) -> str:
    """Return a count such as `1 screen` or `2 screens`."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def format_id(name: object) -> str:
    """Return an id with spaces instead of underscores."""
    return str(escape(name)).replace("_", " ") if isinstance(name, Markup) else str(name).replace("_", " ")


def format_sentence(text: object) -> str:
    """Return a message with a capital letter at the start and a full stop at the end."""
    said = str(text).strip()
    return f"{said[:1].upper()}{said[1:]}{'' if said.endswith(('.', '?', '!')) else '.'}" if said else ""


def format_commands(text: object) -> Markup:
    """Return a message with its backquoted parts as `<code>` elements."""
    parts = str(text).split("`")
    if len(parts) % 2 == 0:  # an unmatched backquote
        return escape(text)
    return Markup().join(
        Markup("<code>{}</code>").format(part) if number % 2 else escape(part)
        for number, part in enumerate(parts)
    )


FILTERS: dict[str, Callable[..., Any]] = {
    "ago": format_age,
    "coded": format_commands,
    "duration": format_duration,
    "kind_of": status_kind,
    "mark": format_status,
    "moment": format_moment,
    "plural": format_count,
    "sentence": format_sentence,
    "share": format_percentage,
    "spaced": format_id,
}
