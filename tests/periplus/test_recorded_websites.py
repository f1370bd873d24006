"""Which website of a store recordings belong to, and when one is added."""

from __future__ import annotations

import pytest

from kb_schema import KnowledgeError
from kb_store import open_stores, read_knowledge
from periplus.errors import UserError
from periplus.recorded_websites import add_website, ensure_website, select_recorded_website
from periplus.website_selection import list_websites

SHOP, WIKI = "https://shop.com", "https://wiki.com"


@pytest.fixture
async def stores(tmp_path):
    async with open_stores(tmp_path) as opened:
        yield opened


async def test_a_recording_of_an_unknown_site_adds_its_website_once(stores):
    assert await ensure_website(stores, f"{SHOP}/login?next=1") == ("shop", True)
    assert await ensure_website(stores, f"{SHOP}/basket") == ("shop", False)
    assert await ensure_website(stores, WIKI, "handbook") == ("handbook", True)
    knowledge, _ = await read_knowledge(stores.documents, stores.graph, "shop")
    assert knowledge.website is not None
    assert knowledge.website.base_url == SHOP
    assert await ensure_website(stores, "https://admin.shop.com") == ("shop_2", True)
    assert await list_websites(stores) == ["handbook", "shop", "shop_2"]


async def test_recordings_belong_to_the_website_at_their_origin(stores):
    await add_website(stores, SHOP)
    await add_website(stores, WIKI)
    assert await select_recorded_website(stores, None, [WIKI]) == ("wiki", False)
    with pytest.raises(UserError, match=r"the store has no website at https://new\.com"):
        await select_recorded_website(stores, None, ["https://new.com"])


async def test_a_mistyped_website_is_not_added_beside_the_one_at_this_address(stores):
    await add_website(stores, SHOP)
    with pytest.raises(UserError, match="it has shop"):
        await select_recorded_website(stores, "shpo", [SHOP])
    with pytest.raises(KnowledgeError):
        await select_recorded_website(stores, "no id", [WIKI])
    assert await list_websites(stores) == ["shop"]


async def test_with_a_base_url_recordings_of_another_host_belong_to_the_only_website(stores):
    await add_website(stores, SHOP)
    assert await select_recorded_website(stores, None, ["https://staging.com"], SHOP) == (
        "shop",
        False,
    )
