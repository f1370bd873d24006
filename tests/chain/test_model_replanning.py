"""`periplus run --model`: a step that fails after all else is replaced by what a model suggests, within its bounds."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from agent.execution.replanning.model_replanner import ModelReplanner
from agent.execution.task_runner import TaskRunner
from agent.healing.healer import HealPolicy
from agent.inferencer import ModelInferencer
from agent.language_models.model_budget import ModelBudget, ModelMeter
from kb_schema.run_records import RunStatus
from tests.chain.test_resilience import TO_QUAY, clicking, knows, text_of
from tests.support import warm
from tests.support.model_server import Answer, serve_model

pytestmark = pytest.mark.sampled(0.5)

HARBOUR = Path(__file__).parent.parent / "data" / "harbour"


@pytest.fixture
def broken_kb(tmp_path):
    """The harbour's knowledge, of a time when the button for the last step had other words and another id."""
    kb = tmp_path / "kb"
    shutil.copytree(HARBOUR / "kb", kb)
    for file in (
        kb / "screens" / "boat_new.yaml",
        kb / "tasks" / "register_boat.yaml",
        kb / "transitions" / "ways.yaml",
    ):
        text = file.read_text().replace("text_contains: Moor}", "text_contains: Qwxyz}")
        file.write_text(
            text.replace("element_id: moor", "element_id: qq").replace(
                "element_selector: moor", "element_selector: qq"
            )
        )
    return kb


def press(words, action="click"):
    """A model that acts on the button with these words."""

    def policy(asked):
        found = re.search(rf'(e\d+) button \\?"?{words}', asked.prompt)
        return Answer(tool={"steps": [{"action": action, "element": found[1] if found else "e999"}]})

    return policy


def run(site, cwd, *more, env=None, boat="Skua"):
    base = ("--base-url", site.url, "--headless", "-i", f"boat_name={boat}", "--json", "--step-timeout", "2")
    return warm.run(
        "periplus",
        "run",
        "register_boat",
        *base,
        *more,
        cwd=cwd,
        env={"COLUMNS": "200", **(env or {})},
        timeout=110,
    )


def test_a_model_finds_what_replaced_a_button_and_the_result_states_calls_and_cost(site, tmp_path, broken_kb):
    assert warm.run("periplus", "kb", "load", str(broken_kb), cwd=tmp_path).returncode == 0
    without = run(site, tmp_path, "--out", "a")
    assert without.returncode == 1, without.stdout + without.stderr
    assert json.loads(without.stdout)["model_use"] == {
        "calls": 0,
        "input_tokens": 0,
        "output_tokens": 0,
        "cost_usd": 0.0,
    }
    assert site.state()["boats"] == []
    with serve_model(press("Moor")) as server:
        helped = run(site, tmp_path, "--out", "b", "--model", server.openai)
    result = json.loads(helped.stdout)
    assert helped.returncode == 0, helped.stdout + helped.stderr
    assert (result["status"], result["evidence"]) == ("success", "verified")
    assert [boat["name"] for boat in site.state()["boats"]] == ["Skua"]
    assert result["steps"][-1]["approach"] == "inferred"
    assert result["model_use"]["calls"] == len(server.requests) == 1
    assert result["model_use"]["cost_usd"] > 0
    (asked,) = server.requests
    for said in ("Register a boat", "open_form, fill_name, choose_length", "Qwxyz", "<page-text>", "Attempt"):
        assert said in asked.prompt, said
    kept = [json.loads(line) for line in (tmp_path / "b" / "model_calls.jsonl").read_text().splitlines()]
    assert [each["prompt"] for each in kept] == ["replan/1"]

    listed = warm.run("periplus", "kb", "proposals", "list", "--json", cwd=tmp_path)
    (proposal,) = json.loads(listed.stdout)
    assert proposal["about"] == "selector of boat_new.qq", listed.stdout
    proposal_id = proposal["proposal_id"]
    assert (
        "language model" in warm.run("periplus", "kb", "proposals", "show", proposal_id, cwd=tmp_path).stdout
    )
    accepted = warm.run("periplus", "kb", "proposals", "accept", proposal_id, cwd=tmp_path)
    assert accepted.returncode == 0, accepted.stdout + accepted.stderr
    again = run(site, tmp_path, "--out", "c", boat="Tern")
    assert again.returncode == 0, again.stdout + again.stderr
    assert json.loads(again.stdout)["model_use"]["calls"] == 0
    assert [boat["name"] for boat in site.state()["boats"]] == ["Skua", "Tern"]


def test_a_model_that_cannot_be_reached_or_is_named_wrongly(site, tmp_path):
    assert warm.run("periplus", "kb", "load", str(HARBOUR / "kb"), cwd=tmp_path).returncode == 0
    wrong = run(site, tmp_path, "--model", "nobody:x")
    assert wrong.returncode == 2
    assert "nobody" in wrong.stderr
    away = run(site, tmp_path, "--model", "openai:x@http://127.0.0.1:9/v1")
    assert away.returncode == 0, away.stderr  # nothing failed: the model is not asked
    assert json.loads(away.stdout)["model_use"]["calls"] == 0


def test_a_model_that_refuses_is_told_and_the_run_ends_as_without_it(site, tmp_path, broken_kb):
    assert warm.run("periplus", "kb", "load", str(broken_kb), cwd=tmp_path).returncode == 0
    with serve_model([Answer(status=401)]) as server:
        failed = run(site, tmp_path, "--model", server.openai)
    assert failed.returncode == 1
    assert "the language model did not answer 1 of 1 calls: HTTP 401" in failed.stderr
    assert json.loads(failed.stdout)["model_use"]["calls"] == len(server.requests) == 1
    assert site.state()["boats"] == []


@pytest.fixture
async def quick(session, impatient):
    session.healing = HealPolicy(max_rounds=0, gate_s=0.3)
    return session


async def _at_quay_with_button(session, words):
    """Every page has the button, also after it is loaded again; the presses are counted in the browser."""
    script = """words => addEventListener("DOMContentLoaded", () => {
      const button = document.createElement("button");
      button.textContent = words;
      button.type = "button";
      button.onclick = () => { localStorage.pressed = Number(localStorage.pressed || 0) + 1; };
      document.body.append(button);
    })"""
    await session.page.add_init_script(f"({script})({json.dumps(words)})")
    knows(session, TO_QUAY, task_id="there")
    await TaskRunner(session).run_task("there")
    await session.page.evaluate("localStorage.pressed = 0")


async def _pressed(session):
    return int(await session.page.evaluate("localStorage.pressed"))


async def _ask_with(session, server, **budget):
    model = ModelInferencer(server.openai, meter=ModelMeter(ModelBudget(**budget)))
    session.inferencer = ModelReplanner(model)
    knows(session, clicking("press", "#nothere"))
    return await TaskRunner(session).run_task("t"), model


@pytest.mark.parametrize("words", ["Delete account", "Pay now", "Konto löschen"])
async def test_what_does_harm_is_never_pressed_on_a_models_word(quick, site, words):
    await _at_quay_with_button(quick, words)
    with serve_model(press(words)) as server:
        result, _ = await _ask_with(quick, server)
        assert len(server.requests) >= 1
        assert re.search(rf"e\d+ button .*{words}", server.requests[0].prompt)
    assert result.status is RunStatus.FAILURE
    assert await _pressed(quick) == 0


async def test_a_button_without_harm_is_pressed_but_that_alone_is_no_success(quick, site):
    await _at_quay_with_button(quick, "Ahoy")
    with serve_model(press("Ahoy")) as server:
        result, _ = await _ask_with(quick, server)
    assert await _pressed(quick) == 1
    assert result.status is RunStatus.UNVERIFIED


async def test_without_budget_a_model_is_not_asked(quick, site):
    await _at_quay_with_button(quick, "Ahoy")
    with serve_model(press("Ahoy")) as server:
        result, model = await _ask_with(quick, server, calls=0)
        assert server.requests == []
    assert model.meter.use.calls == 0
    assert result.status is RunStatus.FAILURE
    assert await _pressed(quick) == 0


async def test_a_model_gets_the_goal_the_steps_the_data_and_what_failed_and_is_asked_a_bounded_number_of_times(
    quick, site
):
    site.moor("Gannet")
    await _at_quay_with_button(quick, "Ahoy")
    knows(
        quick,
        TO_QUAY,
        {
            "step_id": "point",
            "action": {"action_type": "hover", "target": "#nothere"},
            "postconditions": [{"type": "dom_contains", "value": "Qwxyz"}],
        },
        name="Point at it",
        io_spec={"outputs": [{"name": "first", "after_step": "go", "extraction": text_of("td.name")}]},
    )
    with serve_model(press("Ahoy", "hover")) as server:
        quick.inferencer = ModelReplanner(ModelInferencer(server.openai))
        result = await TaskRunner(quick).run_task("t")
        first, second, *more = [asked.prompt for asked in server.requests]
    assert result.status is RunStatus.FAILURE
    assert result.outputs == {"first": "Gannet"}
    said = (
        "The person's goal: Point at it",
        "Done so far: go",
        '"step_id": "point"',
        "#nothere",
        '"first": "Gannet"',
    )
    assert [each for each in said if each not in first] == []
    assert "inferred hover" not in first
    assert "inferred hover" in second
    numbers = [int(re.search(r"Attempt (\d) of 3", prompt)[1]) for prompt in (first, second, *more)]
    assert numbers == sorted(set(numbers))


async def test_a_model_is_not_asked_while_another_approach_works(quick, site):
    """The second strategy of the selector works."""
    await _at_quay_with_button(quick, "Ahoy")
    twins = {"strategies": [{"type": "css", "value": "#nothere"}, {"type": "css", "value": "#add"}]}
    step = clicking("open", twins, postconditions=[{"type": "on_screen", "screen_id": "boat_new"}])
    knows(quick, step)
    with serve_model(press("Ahoy")) as server:
        quick.inferencer = ModelReplanner(ModelInferencer(server.openai))
        result = await TaskRunner(quick).run_task("t")
        assert server.requests == []
    assert result.complete, result.error
