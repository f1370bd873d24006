"""The four walks of first users (`walks.yaml`) come to an own result in under ten minutes, nightly."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.interface_changes.site_models import SITES
from tests.interface_changes.site_server import is_installed, serve_site
from tests.support.needs import lacking
from tests.walks.walk_runner import LONGEST_S, read_walks, walk

ROOT = Path(__file__).parents[2]
WALKS = {each["walk"]: each for each in read_walks()}


def test_there_are_four_walks_on_four_sites_and_each_has_a_goal():
    assert len(WALKS) == len({each["site"] for each in WALKS.values()}) == 4
    assert all(sum("goal" in step for step in each["steps"]) == 1 for each in WALKS.values())
    assert all(
        step.get("sees") or step.get("calls") or "write" in step
        for each in WALKS.values()
        for step in each["steps"]
    )


@pytest.mark.nightly
@pytest.mark.timeout(2 * LONGEST_S)
@pytest.mark.parametrize("name", WALKS)
async def test_a_first_user_comes_to_an_own_result(tmp_path, monkeypatch, name):
    model = SITES[WALKS[name]["site"]]
    if not is_installed(model.make):
        lacking(f"the libraries of {model.make} are not installed")
    monkeypatch.setenv("WALKED_PYTHONPATH", str(ROOT))
    with serve_site() as shown:
        shown.show(model)
        done = await walk(WALKS[name], shown.base, tmp_path, [sys.executable, "-m", "periplus"])
    assert done.complete, [(step.what, step.missing, step.output) for step in done.steps if step.missing]
    assert done.goal_s is not None
    assert done.goal_s < LONGEST_S
