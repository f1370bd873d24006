"""Sixty-nine questions that were written after the sixty, and asked once before anything was answered better: wrong none.

They are asked without a page: figures that a page shows are no answers here.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

from agent.events import EventBus
from agent.knowledge_client import KnowledgeClient
from agent.run_context import RunContext
from kb_store import load_knowledge, open_stores
from loaders.files.folder_reader import read_knowledge_folder
from periplus.knowledge_server import connect_knowledge_client
from tests.chain.test_sixty_questions import ask

ROOT = Path(__file__).parents[2]
TABLE = yaml.safe_load((ROOT / "tests/data/visitor/later_questions.yaml").read_text(encoding="utf-8"))
SITES = {"harbour_tour": ("harbour", ROOT / "tests/data/harbour/kb")}
SPADEWORKS = ("spadeworks", ROOT / "seeds/spadeworks/kb")
pytestmark = pytest.mark.timeout(300)

LEAST_RIGHT = 0.75
"""Share of the questions that the knowledge answers, and that are answered right. The others are an offer or a no."""


@asynccontextmanager
async def _knowing(website: str, folder: Path, data: Path) -> AsyncIterator[Any]:
    async with open_stores(data) as stores:
        await load_knowledge(stores.documents, stores.graph, read_knowledge_folder(folder)[0])
        async with connect_knowledge_client(stores, {}) as client:
            knowledge = KnowledgeClient(client, website)
            context = RunContext()
            yield SimpleNamespace(
                knowledge=knowledge,
                context=context,
                website=await knowledge.website(),
                bus=EventBus(context.redact),
            )


@pytest.mark.parametrize("demo", TABLE, ids=[each["flow"] for each in TABLE])
async def test_no_answer_is_beside_the_point(demo, tmp_path):
    async with _knowing(*SITES.get(demo["flow"], SPADEWORKS), tmp_path) as session:
        verdicts = [(row, *await ask(session, demo["flow"], row)) for row in demo["questions"]]
    assert [(row["ask"], said) for row, verdict, said in verdicts if verdict == "wrong"] == []
    known = [verdict for row, verdict, _ in verdicts if row["says"] is not None]
    assert known.count("right") >= LEAST_RIGHT * len(known)
