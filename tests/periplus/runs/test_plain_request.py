"""What is foreseen to be accepted is accepted; what is not, waits for the check and opens no browser before it."""

from itertools import product

import pytest

from kb_store import load_knowledge, open_stores
from loaders.files.folder_reader import read_knowledge_folder
from periplus.errors import UserError
from periplus.runs.plain_request import is_plain_request
from periplus.runs.run_checks import check_run_request
from periplus.runs.task_runs import TaskRunRequest
from tests.support.live_spadeworks import SEED

SIGN_IN = {"email": "a@b.example", "password": "x"}


@pytest.fixture
async def stores(tmp_path):
    async with open_stores(tmp_path) as opened:
        knowledge, _ = read_knowledge_folder(SEED / "kb")
        await load_knowledge(opened.documents, opened.graph, knowledge)
        yield opened


@pytest.mark.parametrize(
    ("task", "values", "plain"),
    [
        ("create_agent", {"agent_name": "Ada", **SIGN_IN}, True),
        ("create_agent", {"agent_name": "Ada", "voice": "Calm", **SIGN_IN}, True),
        ("login", SIGN_IN, True),
        ("no_such_task", {}, False),
        ("create_agent", SIGN_IN, False),
        ("create_agent", {"agent_name": "Ada"}, False),
        ("create_agent", {"agent_nmae": "Ada", "agent_name": "Ada", **SIGN_IN}, False),
        ("create_agent", {"agent_name": "{secret:PIN}", **SIGN_IN}, False),
        ("create_agent", {"agent_name": "Ada", "{secret:PIN}": "x", **SIGN_IN}, False),
    ],
)
async def test_only_a_task_that_is_there_with_every_input_and_no_other_is_plain(stores, task, values, plain):
    assert await is_plain_request(stores, "spadeworks", task, values) is plain


async def test_a_website_that_is_not_there_is_not_plain(stores):
    assert not await is_plain_request(stores, "elsewhere", "create_agent", {"agent_name": "Ada", **SIGN_IN})


async def test_whatever_is_plain_is_accepted(stores):
    """Of every task, with all of its inputs and with some others."""
    knowledge, _ = read_knowledge_folder(SEED / "kb")
    plain = 0
    for (name, task), more in product(knowledge.tasks.items(), ({}, SIGN_IN, {"agent_nmae": "x"})):
        values = {**dict.fromkeys((spec.name for spec in task.io_spec.inputs), "x"), **more}
        if await is_plain_request(stores, "spadeworks", name, values):
            plain += 1
            await check_run_request(TaskRunRequest("spadeworks", name, values=values), stores)
    assert plain >= len(knowledge.tasks) / 2


async def test_what_was_edited_by_hand_is_left_to_the_check(stores):
    database = stores.documents._database
    body = '{"type":"task","schema_version":2,"website_id":"spadeworks","task_id":"login","steps":[3]}'
    await database.execute(
        "UPDATE documents SET body = ? WHERE kind = 'task' AND local_id = 'login'", (body,)
    )
    assert not await is_plain_request(stores, "spadeworks", "login", {})
    with pytest.raises(UserError):
        await check_run_request(TaskRunRequest("spadeworks", "login"), stores)
