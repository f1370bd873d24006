"""The website on which recordings were made: selected by their address, and added where the store does not have it."""

from __future__ import annotations

from collections.abc import Collection
from urllib.parse import urlsplit

from agent.knowledge_client import KnowledgeClient
from kb_schema import SourcedDocument, assemble, parse_document
from kb_schema.url_patterns import origin_of
from kb_store import Stores, load_knowledge
from loaders.screen_learner.screen_names import choose_free_id
from periplus.errors import UserError
from periplus.knowledge_server import connect_knowledge_client
from periplus.website_selection import list_websites, select_website, suggest_website_id


async def select_recorded_website(
    stores: Stores, wanted: str | None, origins: Collection[str], base_url: str | None = None
) -> tuple[str, bool]:
    """Return the id of the website on which recordings were made, and whether it was added to the store.

    `origins` are those of the recordings, the most frequent one first. A `wanted` website is taken as it is. Else it is
    the one with such an origin; with `base_url`, the only one of the store. A website is added if the store is empty,
    or if `wanted` names a new one. Raises `UserError` if it must be named.
    """
    known = await list_websites(stores)
    if wanted in known:
        return wanted, False
    own = await find_websites_at(stores, origins)
    if wanted is None and len(own) == 1:
        return own[0], False
    if wanted is None and known and (own or base_url is not None):
        return select_website(None, own or known), False
    address = base_url or next(iter(origins), None)
    if address is None:
        return select_website(wanted, known), False
    if wanted is None and known:
        raise UserError(
            f"the store has no website at {address}",
            fix=f"add it with --website {choose_free_id(suggest_website_id(address), known)},"
            f" or say at which it was recorded with --website {' or '.join(known)}",
        )
    if own:
        raise UserError(
            f"no website {wanted!r} in the store; at {address} it has {' and '.join(own)}",
            fix=f"give --website {own[0]}",
        )
    return await add_website(stores, address, wanted), True


async def ensure_website(stores: Stores, url: str, wanted: str | None = None) -> tuple[str, bool]:
    """Return the id of the website at a URL, and whether it was added. Raises as `select_recorded_website`."""
    origin = origin_of(url)
    own = [] if wanted is not None else await find_websites_at(stores, [origin])
    if own:
        return own[0], False
    if wanted is None:
        wanted = choose_free_id(suggest_website_id(url), await list_websites(stores))
    return await select_recorded_website(stores, wanted, [origin])


async def find_websites_at(stores: Stores, origins: Collection[str]) -> list[str]:
    """Return the ids of the websites whose base URL, or a further origin, is one of these."""
    found = []
    async with connect_knowledge_client(stores) as client:
        for each in await list_websites(stores):
            website = await KnowledgeClient(client, each).website()
            if {origin_of(url) for url in (website.base_url, *website.allowed_origins)} & set(origins):
                found.append(each)
    return found


async def add_website(stores: Stores, base_url: str, website_id: str | None = None) -> str:
    """Add a website of which only the address is known; return its id. Raises `KnowledgeError` for an invalid id."""
    website_id = website_id or suggest_website_id(base_url)
    website = parse_document(
        {"type": "website", "website_id": website_id, "name": urlsplit(base_url).netloc, "base_url": base_url}
    )
    knowledge, _ = assemble([SourcedDocument(website)])
    await load_knowledge(stores.documents, stores.graph, knowledge)
    return website_id
