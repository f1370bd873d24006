"""Selects addresses of a sitemap that can be opened without changing data."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from agent.dangers.danger_rules import judge_request
from agent.exploration.pages.page_addresses import build_place
from kb_schema.url_patterns import origin_of
from loaders.bridges.knowledge_drafts import UnreadableSource
from loaders.bridges.sitemaps import read_addresses
from periplus.errors import UserError

MOST = 200
"""Maximum number of addresses, one per place."""


def select_sitemap_addresses(sitemap: Path, origins: Collection[str]) -> tuple[tuple[str, ...], list[str]]:
    """Return one address per place of a sitemap, in order, and notes on omitted addresses.

    Raises `UserError` if the file is no sitemap or contains no address of these origins.
    """
    notes: list[str] = []
    try:
        named = read_addresses(sitemap, notes)
    except UnreadableSource as exc:
        raise UserError(str(exc), fix="--sitemap expects a sitemap file: XML, text or gzip") from exc
    own = [address for address in named if origin_of(address) in origins]
    if not own:
        raise UserError(
            f"{sitemap} contains no address of {', '.join(origins)}",
            fix="use the sitemap of this website, or add --origin URL",
        )
    safe = [address for address in own if judge_request("GET", address, allowed=False).danger is None]
    one_each = {build_place(address): address for address in reversed(safe)}
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
