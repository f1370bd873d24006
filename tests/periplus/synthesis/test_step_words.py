"""The steps of a workflow in words, one line each."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from agent.synthesis.graph.action_graph import GraphBuilder
from loaders.recordings.formats import read_recording
from periplus.synthesis.step_words import list_step_lines
from periplus.synthesis.workflow_synthesis import induce_workflow

if TYPE_CHECKING:
    from pathlib import Path


def _command(command: str, target: str = "", value: str = "") -> dict[str, Any]:
    return {"command": command, "target": target, "value": value, "targets": []}


def _side(folder: Path, name: str, who: str, goods: list[str]) -> Path:
    commands = [
        _command("open", "/new"),
        _command("store", who, "title"),
        _command("storeJson", json.dumps(goods), "goods"),
        _command("type", "id=title", "${title}"),
        _command("forEach", "goods", "one"),
        _command("type", "id=good", "${one}"),
        _command("click", "id=add"),
        _command("end"),
        _command("type", "name=senha", "x1x2x3"),
        _command("sendKeys", "name=senha", "${KEY_ENTER}"),
        _command("click", "linkText=Save"),
        _command("assertText", "css=h1", "Done"),
    ]
    file = folder / f"{name}.side"
    project = {"name": name, "url": "http://a.test", "tests": [{"name": "t", "commands": commands}]}
    file.write_text(json.dumps(project))
    return file


async def test_each_step_of_an_imported_workflow_is_a_line_in_words(tmp_path):
    files = [_side(tmp_path, "a", "Ann", ["tea", "milk"]), _side(tmp_path, "b", "Bob", ["rye", "oil", "ale"])]
    traces = [read_recording(file)[0].trace for file in files]
    result = await induce_workflow(traces, "Buy", "")
    told = [" ".join(line.split()) for line in list_step_lines(result.graph)]
    assert told[:2] == ["1 open /new", "2 type {title} into 'title'"]
    assert told[2].startswith("repeat (")
    assert told[3:] == [
        "3 type {item} into 'good'",
        "4 press 'add'",
        "5 type the secret {senha} into 'senha'",
        "6 press the key Enter",
        "7 press link 'Save'",
    ]
    inputs = {each.name: each.secret for each in result.graph.parameters}
    assert inputs == {"title": False, "item": False, "senha": True}


async def test_checks_that_all_recordings_make_at_their_end_are_success_criteria(tmp_path):
    files = [_side(tmp_path, "a", "Ann", ["tea"]), _side(tmp_path, "b", "Bob", ["rye"])]
    traces = [read_recording(file)[0].trace for file in files]
    result = await induce_workflow(traces, "Buy", "")
    assert (result.graph.success.type, result.graph.success.value) == ("dom_contains", "Done")
    other = traces[1].model_copy(update={"metadata": {**traces[1].metadata, "expected": []}})
    result = await induce_workflow([traces[0], other], "Buy", "")
    assert result.graph.success is None


def _flow(folder: Path, name: str, who: str) -> Path:
    steps = [
        {"type": "navigate", "url": "http://a.test/new"},
        {"type": "change", "value": who, "selectors": [["aria/Full name"], ["#x1"]]},
        {"type": "change", "value": f"{who}@a.test", "selectors": [['[name="mail_address"]']]},
        {"type": "change", "value": "zq1", "selectors": [["aria/Mot de passe"], ["#x2"]]},
    ]
    file = folder / f"{name}.json"
    file.write_text(json.dumps({"title": "Add", "steps": steps}))
    return file


async def test_inputs_are_named_after_the_labels_in_a_recording(tmp_path):
    traces = [read_recording(_flow(tmp_path, who, who))[0].trace for who in ("ann", "bob")]
    result = await induce_workflow(traces, "Add", "")
    assert {each.name: each.secret for each in result.graph.parameters} == {
        "full_name": False,
        "mail_address": False,
        "mot_de_passe": True,
    }


def test_a_wait_for_a_person_says_its_prompt():
    graph = GraphBuilder().action("wait", True, {"message": "Check the word"}).action("wait", True).build()
    assert [line.split("  ", 1)[1] for line in list_step_lines(graph)] == [
        "wait for a person: Check the word",
        "wait for a person",
    ]
