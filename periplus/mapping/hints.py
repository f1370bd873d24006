"""Where else to look on a site: addresses of its sitemap that may be opened without changing anything."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from agent.mapping.dangers import danger_of_request
from agent.mapping.places import place_of
from kb_schema.urls import origin_of
from loaders.bridges.imported import Unreadable
from loaders.bridges.sitemaps import addresses
from periplus.errors import UserError

MOST = 200
"""Addresses that are taken along, one of each place."""


def hints_of(sitemap: Path, origins: Collection[str]) -> tuple[tuple[str, ...], list[str]]:
    """One address of each place that a sitemap names, in its order, and notes on what was left out.

    Raises `UserError` for a file that is none, or that names nothing of these origins.
    """
    notes: list[str] = []
    try:
        named = addresses(sitemap, notes)
    except Unreadable as exc:
        raise UserError(str(exc), fix="--sitemap names a sitemap's file: XML, text or gzip") from exc
    own = [address for address in named if origin_of(address) in origins]
    if not own:
        raise UserError(
            f"{sitemap} names no address of {', '.join(origins)}",
            fix="the site's own sitemap, or --origin URL",
        )
    safe = [address for address in own if danger_of_request("GET", address, allowed=False).danger is None]
    one_each = {place_of(address): address for address in reversed(safe)}
    found = tuple(reversed(one_each.values()))
    for count, what in (
        (len(named) - len(own), "of other origins"),
        (len(own) - len(safe), "that might change something"),
    ):
        if count:
            notes.append(f"left out: {count} {what}")
    if len(found) > MOST:
        notes.append(f"left out: {len(found) - MOST} more places")
    return found[:MOST], notes
