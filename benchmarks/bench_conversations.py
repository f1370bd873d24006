"""What one conversation costs: a job on the sample site with Playwright's MCP server and with Periplus.

`python -m benchmarks.conversations` measures more jobs, applications and arms.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from benchmarks import tokens
from benchmarks.conversations.__main__ import converse
from benchmarks.conversations.applications import SAMPLE, make_knowledge
from benchmarks.conversations.conversation import Cost
from benchmarks.conversations.conversation_jobs import JOBS

pytestmark = pytest.mark.bench


async def _measure(folder: Path) -> dict[str, Cost]:
    job = next(each for each in JOBS if each.application == SAMPLE)
    await make_knowledge(SAMPLE, (), folder)
    costs = {}
    for arm in ("alone", "unknown pages", "known pages", "known task"):
        talk, wrong = await converse(arm, job, folder)
        assert not wrong, f"{arm}: {wrong}"
        costs[arm] = talk.cost()
    return costs


def test_conversations_cost_less_than_with_playwright_mcp(tmp_path: Path) -> None:
    try:
        costs = asyncio.run(_measure(tmp_path))
    except tokens.NoTokenizer as exc:
        pytest.skip(exc.reason)
    base = costs["alone"]
    assert costs["known task"].sent * 10 < base.sent
    assert costs["known pages"].sent * 5 < base.sent
    assert costs["unknown pages"].sent * 2 < base.sent
