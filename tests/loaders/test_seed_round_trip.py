"""Every seed goes through files, store and files again without a difference."""

from __future__ import annotations

from pathlib import Path

import pytest

from kb_store import load_knowledge, open_stores, read_knowledge
from loaders import read_knowledge_folder, write_folder
from loaders.diffs.knowledge_diff import diff_knowledge

SEEDS = sorted((Path(__file__).parents[2] / "seeds").glob("*/kb/website.yaml"))


@pytest.mark.parametrize("website", SEEDS, ids=lambda path: path.parents[1].name)
async def test_a_seed_is_exported_as_it_was_loaded(tmp_path, website):
    knowledge, warnings = read_knowledge_folder(website.parent)
    assert warnings == ()
    async with open_stores(tmp_path / "data") as stores:
        await load_knowledge(stores.documents, stores.graph, knowledge)
        stored, _ = await read_knowledge(stores.documents, stores.graph, knowledge.website.website_id)
    write_folder(stored, tmp_path / "export")
    exported, _ = read_knowledge_folder(tmp_path / "export")
    assert not diff_knowledge(knowledge, exported)
    assert exported.by_kind == knowledge.by_kind
