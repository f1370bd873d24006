"""What of a model's plan is kept: known ids, and evidence that stands in the sentence."""

from __future__ import annotations

import pytest

from agent.inferencer import InferenceFailed, ModelInferencer
from agent.sentence_runs.sentence_plan import KnownWork, plan_sentence
from agent.sentence_runs.sentence_variants import vary_sentence
from tests.support.model_server import Answer, serve_model

KNOWN = KnownWork("Shop", {"list": "All agents"}, {"make": ["name"]}, {"make": "Make an agent"})


async def plan(answer, sentence="Create an agent named Ada"):
    with serve_model([Answer(tool=answer)]) as server:
        found = await plan_sentence(ModelInferencer(server.openai), sentence, KNOWN, {"team": "Red"})
        (asked,) = server.requests
    for said in (sentence, "team = Red", "list: All agents", "make: Make an agent (name)"):
        assert said in asked.prompt
    return found


async def test_unknown_ids_and_evidence_that_the_sentence_does_not_have_are_dropped():
    found = await plan(
        {
            "task_id": "no_such",
            "start_screen": "nowhere",
            "screens": ["list", "nowhere"],
            "shown_when_done": ["Ada", "Welcome", " ", "red"],
            "gone_when_done": ["Mallory"],
            "on_when_done": ["agent", "Fog horn"],
            "off_when_done": ["Red", ""],
            "controls": ["x" * 2_000],
        }
    )
    assert (found.task_id, found.start_screen, found.named_screens) == (None, None, ("list",))
    assert (found.shown_when_done, found.gone_when_done) == (["Ada", "red"], [])
    assert (found.on_when_done, found.off_when_done) == (["agent"], ["Red"])
    assert len(found.controls[0]) == 300


async def test_a_control_that_is_to_change_is_named_by_sentence_or_plan_and_its_place_by_the_sentence():
    kept = {"control": "Follow", "beside": ["Ada"], "on": True}
    found = await plan(
        {
            "controls": ["Follow"],
            "changed_when_done": [
                kept,
                {"control": "Like", "beside": ["Ada"]},
                {"control": "Follow", "beside": ["Ada", "Mallory"]},
                {"control": "Follow"},
                {"control": "Agent"},
            ],
        }
    )
    assert [each.model_dump() for each in found.changed_when_done] == [
        kept,
        {"control": "Agent", "beside": [], "on": True},
    ]


async def test_a_known_task_is_kept_with_its_values():
    found = await plan({"task_id": "make", "task_values": {"name": "Ada"}})
    assert (found.task_id, found.task_values) == ("make", {"name": "Ada"})


async def test_further_sentences_are_others_and_enough():
    said = [
        "Create an agent named Ada",
        "Create an agent named Bo",
        "create an  agent named bo",
        "Create an agent named Cy",
    ]
    with serve_model([Answer(tool={"sentences": said})]) as server:
        model = ModelInferencer(server.openai)
        assert await vary_sentence(model, said[0], 2) == [said[1], said[3]]
        with pytest.raises(InferenceFailed, match="2 of 3 further sentences"):
            await vary_sentence(model, said[0], 3)


async def test_parts_of_words_and_words_that_say_nothing_are_no_evidence():
    found = await plan(
        {
            "shown_when_done": ["e", "an", "Ad", "an agent", "Ada"],
            "gone_when_done": ["gent"],
            "changed_when_done": [{"control": "Create", "beside": ["da"]}],
        }
    )
    assert (found.shown_when_done, found.gone_when_done) == (["an agent", "Ada"], [])
    assert found.changed_when_done == []


async def test_a_small_word_in_quotes_is_evidence():
    answer = {"shown_when_done": ["On", "a"], "off_when_done": ["to"]}
    found = await plan({**answer, "task_id": None}, 'Create an agent named Ada, set to "On" with a horn')
    assert (found.shown_when_done, found.off_when_done) == (["On"], [])
