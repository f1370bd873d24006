"""The seed's requirements: the same six in every format, repeatable, and without secrets."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.verification.planning import read_requirements
from kb_schema.placeholders import secret_names
from tests.support.requirement_files import said

FOLDER = Path(__file__).parents[4] / "seeds" / "spadeworks" / "requirements"
IDS = [
    "sign_in",
    "create_agent",
    "validation_error",
    "delete_agent",
    "campaign_three_steps",
    "import_contacts",
]


@pytest.mark.parametrize("extension", ["xlsx", "csv", "json", "feature"])
async def test_every_format_of_the_seed_says_the_same(extension):
    found = await read_requirements([FOLDER / f"spadeworks.{extension}"])
    assert [each.req_id for each in found] == IDS
    assert said(found) == said(await read_requirements([FOLDER / "spadeworks.json"]))


async def test_the_seed_signs_in_by_task_and_keeps_its_password_in_the_environment():
    found = {each.req_id: each for each in await read_requirements([FOLDER / "spadeworks.xlsx"])}
    assert {each.login for name, each in found.items() if name != "sign_in"} == {"login"}
    assert found["sign_in"].login is None
    values = [step.value for each in found.values() for step in each.steps]
    assert secret_names(*values) == ("SPADEWORKS_PASSWORD",)
    assert "spadeworks-demo" not in "".join(path.read_text() for path in FOLDER.glob("*.[cjf]*"))
    assert all(any(step.expected for step in each.steps) for each in found.values())
    assert all(step.expected for each in found.values() for step in each.steps)
