"""Finds the website of the knowledge base that runs at an origin, and the address of the only one."""

from __future__ import annotations

from collections.abc import Mapping

from kb_schema.url_patterns import origin_of
from mcp_server.knowledge.view_cache import ViewCache


async def find_website(views: ViewCache, base_urls: Mapping[str, str], origin: str) -> str | None:
    """Return the website that runs at this origin; None if none does. `base_urls`: website id -> current base URL."""
    for website_id in await views.websites():
        website = (await views.current(website_id)).view.knowledge.website
        base_url = base_urls.get(website_id, website.base_url)
        if origin in {origin_of(base_url), *map(origin_of, website.allowed_origins)}:
            return website_id
    return None


async def find_only_address(views: ViewCache, base_urls: Mapping[str, str]) -> str | None:
    """Return the current base URL of the only website; None if there is none or several."""
    known = list(await views.websites())
    if len(known) != 1:
        return None
    website = (await views.current(known[0])).view.knowledge.website
    return base_urls.get(known[0], website.base_url)
