"""`periplus draft-flow` writes a file to edit; `periplus demo --website` says why it cannot play."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from pydantic_ai.messages import ModelResponse, TextPart
from pydantic_ai.models.function import FunctionModel

from agent.inferencer import InferenceFailed, ModelInferencer
from loaders import read_knowledge_folder
from loaders.flow_drafts.flow_draft import draft_flow
from periplus.cli import main
from periplus.demos.narration_wording import reword_narration
from periplus.demos.website_demo import read_flow
from periplus.errors import UserError

HARBOUR = Path(__file__).parents[2] / "data" / "harbour" / "kb"


@pytest.fixture
def periplus(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("PERIPLUS_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.chdir(tmp_path)

    def run(*args):
        with pytest.raises(SystemExit) as ended:
            main([str(arg) for arg in args])
        told = capsys.readouterr()
        return ended.value.code or 0, " ".join(told.out.split()), " ".join(told.err.split())

    return run


def test_a_draft_is_a_file_to_edit_that_says_how_to_play_it(periplus, tmp_path):
    code, out, _ = periplus("draft-flow", "--folder", HARBOUR)
    assert code == 0
    assert "play it: periplus demo --website harbour --flow harbour_tour.yaml" in out
    text = (tmp_path / "harbour_tour.yaml").read_text()
    assert text.startswith("# A draft.")
    assert "\n\n- segment_id: close\n" in text
    assert read_flow(tmp_path / "harbour_tour.yaml").flow_id == "harbour_tour"
    code, _, err = periplus("draft-flow", "--folder", HARBOUR)
    assert (code, "already exists -> name another file" in err) == (2, True)


def test_the_task_that_fits_the_goal_is_shown_and_an_unknown_goal_is_said(periplus, tmp_path):
    knowledge = read_knowledge_folder(HARBOUR)[0]
    task = next(each for each in knowledge.tasks.values() if each.task_id != knowledge.website.login_task_id)
    code, out, _ = periplus(
        "draft-flow", "--folder", HARBOUR, "--goal", f"show {task.name}", "--out", "a.yaml"
    )
    assert (code, f"shows {task.task_id}" in out) == (0, True)
    assert read_flow(tmp_path / "a.yaml").segment("task").task_id == task.task_id
    code, out, _ = periplus("draft-flow", "--folder", HARBOUR, "--goal", "xylophone", "--out", "b.yaml")
    assert (code, "no task or workflow fits the goal" in out) == (0, True)
    assert read_flow(tmp_path / "b.yaml").segment("task") is None


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("--website", "nowhere"), "the store has no website 'nowhere' -> load its knowledge base first"),
        (("--website", "harbour", "--flow", "x.yaml"), "--flow: there is no file x.yaml"),
        (("--sign-in-form",), "signing in is only for --website"),
        (("spadeworks", "--website", "harbour"), "both the demo 'spadeworks' and --website are given"),
    ],
)
def test_a_demo_of_a_website_that_cannot_be_given_says_why(periplus, args, message):
    code, _, err = periplus("demo", *args, "--headless", "--speed", "0")
    assert (code, message in err) == (2, True), err


def model(answer):
    return ModelInferencer(FunctionModel(lambda _messages, _info: ModelResponse(parts=[TextPart(answer)])))


async def test_a_model_words_the_narration_and_marks_stay():
    knowledge = read_knowledge_folder(HARBOUR)[0]
    flow = draft_flow(knowledge, "drafted")
    marked = next(each for each in flow.segments if each.highlights)
    better = {flow.segments[-1].segment_id: "Bye for now.", marked.segment_id: "A text without its mark."}
    made = await reword_narration(flow, knowledge.website, model(f"Here you are: {json.dumps(better)}"))
    assert made.segments[-1].narration_template == "Bye for now."
    assert made.segment(marked.segment_id) == marked
    with pytest.raises(InferenceFailed, match="not a JSON object"):
        await reword_narration(flow, knowledge.website, model("I cannot do that."))


def test_a_file_that_is_no_flow_is_refused(tmp_path):
    (tmp_path / "x.yaml").write_text("[]")
    with pytest.raises(UserError, match="is not one presentation flow"):
        read_flow(tmp_path / "x.yaml")


def test_what_deletes_is_shown_only_if_the_goal_says_so(periplus, tmp_path):
    shutil.copytree(HARBOUR, tmp_path / "kb")
    (file,) = (each for each in (tmp_path / "kb").rglob("*.*") if "Cast off every boat" in each.read_text())
    file.write_text(file.read_text().replace("Cast off every boat", "Delete every boat"))
    for goal, shown in (("show how every boat is handled", False), ("show how to delete every boat", True)):
        code, out, _ = periplus(
            "draft-flow", "--folder", tmp_path / "kb", "--goal", goal, "--out", f"{shown}.yaml"
        )
        assert (code, "shows cast_off_all" in out) == (0, shown)


def _with_task(folder: Path, task_id: str, name: str) -> None:
    """Add a task like that of the boats, by another name."""
    file = folder / "tasks" / "register_boat.yaml"
    text = file.read_text().replace("register_boat", task_id)
    lines = [f"name: {name}" if each.startswith("name:") else each for each in text.splitlines()]
    (folder / "tasks" / f"{task_id}.yaml").write_text("\n".join(lines) + "\n")


@pytest.mark.parametrize(
    ("goal", "shown"),
    [
        ("show how a boat is created", "create_boats"),
        ("how to book a charter", "book_a_charter"),
        ("show how charters are booked", "book_a_charter"),
        ("create a charter", None),
        ("show how a boat is painted", None),
    ],
)
def test_the_goals_verb_and_noun_choose_the_task_whatever_else_is_similar(periplus, tmp_path, goal, shown):
    shutil.copytree(HARBOUR, tmp_path / "kb")
    _with_task(tmp_path / "kb", "create_boats", "Create Boats")
    _with_task(tmp_path / "kb", "book_a_charter", "Book a charter")
    code, out, err = periplus("draft-flow", "--folder", tmp_path / "kb", "--goal", goal, "--out", "a.yaml")
    assert code == 0, err
    segment = read_flow(tmp_path / "a.yaml").segment("task")
    assert (None if segment is None else segment.task_id) == shown
    if shown is None:
        assert "there are:" in out
        assert "'Create Boats'" in out


def test_a_goal_that_may_mean_two_tasks_is_refused(periplus, tmp_path):
    shutil.copytree(HARBOUR, tmp_path / "kb")
    _with_task(tmp_path / "kb", "create_boats", "Create Boats")
    _with_task(tmp_path / "kb", "add_boats", "Add Boats")
    code, _, err = periplus("draft-flow", "--folder", tmp_path / "kb", "--goal", "show how a boat is created")
    assert code == 2
    assert "the goal may mean more than one task:" in err
    assert "'Create Boats'" in err
    assert "'Add Boats'" in err
