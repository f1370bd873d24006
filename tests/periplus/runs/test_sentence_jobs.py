"""A known task that a model chooses for a sentence: its values stand in the sentence."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.inferencer import ModelInferencer
from agent.sentences.sentence_binding import BoundTask
from loaders.files.folder_reader import read_knowledge_folder
from periplus.errors import UserError
from periplus.runs.sentence_jobs import plan_known_job
from tests.support.model_server import Answer, serve_model

HARBOUR = Path(__file__).parents[2] / "data" / "harbour" / "kb"


async def _plan(name: str) -> object:
    knowledge, _ = read_knowledge_folder(HARBOUR)
    answer = Answer(tool={"task_id": "register_boat", "task_values": {"boat_name": name}})
    with serve_model([answer]) as server:
        return await plan_known_job("Berth the vessel Skuas", knowledge, ModelInferencer(server.openai), {})


async def test_a_value_that_stands_in_the_sentence_is_taken():
    found = await _plan("Skuas")
    assert isinstance(found, BoundTask)
    assert found.values == {"boat_name": "Skuas"}


@pytest.mark.parametrize("name", ["Skua", "kuas", "", " ", "Gull"])
async def test_a_part_of_a_word_and_no_value_at_all_are_not(name: str):
    with pytest.raises(UserError, match="does not stand in the sentence"):
        await _plan(name)
