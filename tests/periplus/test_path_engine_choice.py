"""Which engine a command's desk searches paths with, by flag and environment."""

from __future__ import annotations

import pytest

from kb_store import open_stores
from kb_store.store_factory import choose_stores
from periplus.errors import UserError
from periplus.knowledge_server import choose_path_engines


@pytest.fixture(autouse=True)
def _no_settings(monkeypatch):
    for name in ("PERIPLUS_PATHS", "PERIPLUS_PATHS_LIMIT"):
        monkeypatch.delenv(name, raising=False)


async def test_embedded_stores_are_searched_in_memory_and_cannot_be_asked(tmp_path):
    async with open_stores(tmp_path) as stores:
        engines = choose_path_engines(stores)
        assert (engines.mode, engines.queries) == ("auto", None)
        with pytest.raises(UserError, match="PERIPLUS_ARANGODB_URL"):
            choose_path_engines(stores, "store")


async def test_an_arangodb_is_offered_and_the_flag_goes_before_the_environment(tmp_path, monkeypatch):
    stores = choose_stores(tmp_path, arangodb_url="http://root@127.0.0.1:8529/periplus")
    try:
        monkeypatch.setenv("PERIPLUS_PATHS", "store")
        monkeypatch.setenv("PERIPLUS_PATHS_LIMIT", "7")
        engines = choose_path_engines(stores)
        assert (engines.mode, engines.most_compiled, engines.queries) == ("store", 7, stores.queries)
        assert stores.queries is not None
        assert choose_path_engines(stores, "memory").mode == "memory"
    finally:
        await stores.close()


@pytest.mark.parametrize(("name", "value"), [("PERIPLUS_PATHS", "sotre"), ("PERIPLUS_PATHS_LIMIT", "-1")])
async def test_a_wrong_setting_is_named(tmp_path, monkeypatch, name, value):
    monkeypatch.setenv(name, value)
    async with open_stores(tmp_path) as stores:
        with pytest.raises(UserError, match=name):
            choose_path_engines(stores)
