"""`periplus run "a sentence" --model`: a job that no task does, by single acts that the sentence implies, with evidence."""

from __future__ import annotations

import asyncio
import json
import random
import re
import shutil
from pathlib import Path

import pytest

from agent.execution.replanning.model_replanner import choose_page_text
from agent.execution.task_runner import TaskRunner
from agent.inferencer import ModelInferencer
from agent.language_models import metered_model
from agent.language_models.model_budget import ModelBudget, ModelMeter
from agent.sentence_runs.act_permissions import ActPermissions
from agent.sentence_runs.sentence_run import SentenceBudget, SentenceRun
from kb_schema.run_records import RunStatus
from kb_schema.sentence_plans import SentencePlan
from tests.support import warm
from tests.support.model_policies import follow, page_of, then, wants_plan
from tests.support.model_server import Answer, Asked, serve_model

pytestmark = pytest.mark.sampled(0.5)

HARBOUR = Path(__file__).parent.parent / "data" / "harbour"
SENTENCE = "Moor the vessel Skua at the quay, 12 m long"
PLAN = {
    "start_screen": "quay",
    "steps": ["Open the form", "Enter the name", "Choose the length", "Moor"],
    "controls": ["Register a boat", "Moor"],
    "entered": ["Skua", "12 m"],
    "shown_when_done": ["Skua"],
}
MOOR = [
    {"on": "Register a boat", "action": "click"},
    {"on": "Boat name", "action": "fill", "value": "Skua"},
    {"on": "Length", "action": "select_option", "value": "12 m"},
    {"on": "Moor", "action": "click"},
]


@pytest.fixture
def kb(tmp_path):
    """The harbour's screens and paths, without its tasks."""
    folder = tmp_path / "kb"
    shutil.copytree(HARBOUR / "kb", folder)
    for each in ("tasks", "flows"):
        shutil.rmtree(folder / each)
    loaded = warm.run("periplus", "kb", "load", str(folder), cwd=tmp_path)
    assert loaded.returncode == 0, loaded.stdout + loaded.stderr
    return folder


def run(site, cwd, sentence, *more, env=None, timeout=110):
    return warm.run(
        "periplus", "run", sentence, "--base-url", site.url, "--headless", *more,
        cwd=cwd, env={"COLUMNS": "200", **(env or {})}, timeout=timeout,
    )  # fmt: skip


def test_a_job_that_no_task_does_is_done_within_its_plan_and_shown_by_evidence(site, tmp_path, kb):
    with serve_model(follow(PLAN, MOOR)) as server:
        done = run(site, tmp_path, SENTENCE, "--model", server.openai, "--yes", "--json", "--out", "a")
        calls = len(server.requests)
        planned = server.requests[0].prompt
    assert done.returncode == 0, done.stdout + done.stderr
    result = json.loads(done.stdout)
    assert (result["status"], result["evidence"]) == ("success", "verified")
    assert site.state()["boats"] == [{"name": "Skua", "length": "12"}]
    assert result["model_use"]["calls"] == calls == 6
    assert result["model_use"]["cost_usd"] > 0
    assert "when the page was opened again: 'Skua' appears" in result["steps"][-1]["evidence"][0]
    assert "boats moored" not in planned  # the plan is made before any page is seen
    kept = [json.loads(line) for line in (tmp_path / "a" / "model_calls.jsonl").read_text().splitlines()]
    assert [each["prompt"] for each in kept] == ["plan_sentence/3", *["next_act/1"] * 5]
    listed = warm.run("periplus", "runs", "list", cwd=tmp_path, env={"COLUMNS": "200"}).stdout
    assert "sentence" in listed
    trace = (tmp_path / "a" / "session" / "turn_001" / "session.jsonl").read_text().splitlines()
    acts = [json.loads(line)["action_type"] for line in trace]
    assert acts == ["navigate", "click", "fill", "select_option", "click"]  # the look for evidence is no step


def test_without_a_model_the_sentence_is_refused_and_with_one_the_plan_is_shown_and_asked_about(
    site, tmp_path, kb
):
    refused = run(site, tmp_path, SENTENCE)
    assert refused.returncode == 2
    assert "no task does what the sentence says" in refused.stderr
    assert "--model" in refused.stderr
    with serve_model(follow(PLAN, MOOR)) as server:
        asked = run(site, tmp_path, SENTENCE, "--model", server.openai)
        assert len(server.requests) == 1
        only = run(site, tmp_path, SENTENCE, "--model", server.openai, "--plan")
    assert asked.returncode == 2
    assert "presses: Register a boat, Moor" in asked.stdout
    assert "add --yes" in asked.stderr
    assert only.returncode == 0
    assert site.state()["boats"] == []


def test_without_page_texts_only_controls_are_sent(site, tmp_path, kb):
    site.moor("Gannet")
    with serve_model(follow(PLAN, MOOR)) as server:
        done = run(site, tmp_path, SENTENCE, "--model", server.openai, "--yes", "--no-page-text")
        sent = [asked.text for asked in server.requests]
    assert done.returncode == 0, done.stdout + done.stderr
    assert all("boats moored" not in each and "Gannet" not in each for each in sent)
    assert "Register a boat" in sent[1]


# -- in this process ----------------------------------------------------------------------------------


async def test_what_is_gone_is_evidence_too(session, site):
    site.moor("Skua", "Gannet")
    plan = {"start_screen": "quay", "controls": ["Cast off"], "gone_when_done": ["Skua"]}
    done = await do(
        session, "Cast off the boat Skua", plan, [{"on": "Cast off", "action": "click"}], allowed=["deletes"]
    )
    assert (done.status, done.evidence) == (RunStatus.SUCCESS, "verified")
    assert [each["name"] for each in site.state()["boats"]] == ["Gannet"]


HORN = """<label><input type=checkbox id=horn %s> Fog horn</label>
<script>document.getElementById('horn').onchange = (event) => fetch('/horn?on=' + event.target.checked, {method: 'POST'});</script>"""


@pytest.mark.parametrize("action", ["check", "click"])
@pytest.mark.parametrize("keeps", [True, False])
async def test_a_box_that_stands_otherwise_when_the_page_is_opened_again_is_evidence(
    session, site, action, keeps
):
    """`keeps`: the application stores what it accepted."""
    told = []

    async def horn(route):
        told.append("true" in route.request.url)
        await route.fulfill(status=200, body="")

    async def quay(route):
        answer = await route.fetch()
        on = "checked" if keeps and told and told[-1] else ""
        await route.fulfill(response=answer, body=await answer.text() + HORN % on)

    await session.page.route("**/quay**", quay)
    await session.page.route("**/horn**", horn)
    plan = {"start_screen": "quay", "controls": ["Fog horn"], "on_when_done": ["Fog horn"]}
    done = await do(session, "Turn on the Fog horn", plan, [{"on": "Fog horn", "action": action}])
    assert told == [True]
    assert done.status is (RunStatus.SUCCESS if keeps else RunStatus.UNVERIFIED), done.hint
    if not keeps:
        assert "shows it otherwise" in done.hint


async def test_a_box_that_stood_so_before_is_no_evidence(session, site):
    async def quay(route):
        answer = await route.fetch()
        await route.fulfill(response=answer, body=await answer.text() + HORN % "checked")

    await session.page.route("**/quay**", quay)
    await session.page.route("**/horn**", lambda route: route.fulfill(status=200, body=""))
    plan = {"start_screen": "quay", "controls": ["Fog horn"], "on_when_done": ["Fog horn"]}
    twice = [{"on": "Fog horn", "action": "uncheck"}, {"on": "Fog horn", "action": "check"}]
    done = await do(session, "Turn on the Fog horn", plan, twice)
    assert done.status is RunStatus.UNVERIFIED
    assert "no page showed it otherwise before" in done.hint


CREW = """<div class=crew>{cards}</div><script>for (const each of document.querySelectorAll('.crew button'))
  each.onclick = () => fetch('/follow?' + each.dataset.name, {{method: 'POST'}}).then(() => {{ each.textContent = 'Following'; }});</script>"""
MATE = "<div class=mate><b>{name}</b><p>Sails</p><button data-name={name}>{follow}</button></div>"


@pytest.mark.parametrize(
    ("beside", "pressed", "keeps", "status"),
    [
        ("Bo", "Bo", True, RunStatus.SUCCESS),
        ("Bo", "Bo", False, RunStatus.UNVERIFIED),
        ("Bo", "Ada", True, RunStatus.NEEDS_PERSON),
        ("Cy", "Bo", True, RunStatus.UNVERIFIED),
    ],
)
async def test_a_button_that_says_itself_that_it_was_pressed_is_evidence(
    session, site, beside, pressed, keeps, status
):
    """`keeps`: the application stores what it accepted."""
    told: list[str] = []

    async def follow_mate(route):
        told.append(route.request.url.partition("?")[2])
        await route.fulfill(status=200, body="")

    async def quay(route):
        answer = await route.fetch()
        kept = told if keeps else []
        cards = "".join(
            MATE.format(name=name, follow="Following" if name in kept else "Follow") for name in ("Ada", "Bo")
        )
        await route.fulfill(response=answer, body=await answer.text() + CREW.format(cards=cards))

    await session.page.route("**/quay**", quay)
    await session.page.route("**/follow**", follow_mate)
    plan = {"start_screen": "quay", "controls": ["Follow"]}
    plan["changed_when_done"] = [{"control": "Follow", "beside": [beside]}]

    def policy(asked):
        if wants_plan(asked) or told:
            return Answer(tool={"kind": "done"})
        line = next(each for each in page_of(asked).splitlines() if f'"Follow" @ after {pressed}' in each)
        return Answer(tool={"kind": "act", "element": line.split()[0], "action": "click"})

    done = await do(session, f"Follow {beside}", plan, policy)
    assert done.status is status, (done.hint, done.error)
    assert told == (["Bo"] if pressed == "Bo" else [])  # beside Ada it needs a yes
    if not keeps:
        assert "does not show it: 'Follow' beside 'Bo'" in done.hint
    if beside == "Cy":
        assert "no accepted press of such a control where the sentence says" in done.hint


INBOX = """<button data-name=Skua>Delete message: Skua</button> <button data-name=Gannet>Delete message: Gannet</button>
<script>for (const each of document.querySelectorAll('[data-name]'))
  each.onclick = () => fetch('/messages/' + each.dataset.name, {method: 'DELETE'}).then(() => each.remove());</script>"""


@pytest.mark.parametrize("pressed", ["Skua", "Gannet"])
async def test_a_control_that_deletes_another_thing_than_the_sentence_names_is_not_pressed_though_deleting_is_allowed(
    session, site, pressed
):
    """The plan names no control, so only the names of the page tell which one is meant."""
    gone: list[str] = []

    async def delete(route):
        gone.append(route.request.url.rpartition("/")[2])
        await route.fulfill(status=200, body="")

    async def quay(route):
        answer = await route.fetch()
        left = INBOX
        for name in gone:
            left = re.sub(rf"<button data-name={name}>.*?</button>", "", left)
        await route.fulfill(response=answer, body=await answer.text() + left)

    await session.page.route("**/quay**", quay)
    await session.page.route("**/messages/**", delete)
    plan = {"start_screen": "quay", "controls": [], "gone_when_done": ["Skua"]}
    acts = [{"on": f"Delete message: {pressed}", "action": "click"}] * (1 if pressed == "Skua" else 3)
    done = await do(session, 'Delete the message "Skua"', plan, acts, allowed=["deletes"])
    if pressed == "Skua":
        assert (done.status, gone) == (RunStatus.SUCCESS, ["Skua"]), done.hint
    else:
        assert (done.status, gone) == (RunStatus.NEEDS_PERSON, []), done.hint
        assert "'Delete message: Gannet', though another one is called by 'skua'" in done.error


async def test_a_message_that_names_what_was_deleted_does_not_hide_that_it_is_gone(session, site):
    site.moor("Skua", "Gannet")
    await session.page.add_init_script(
        """addEventListener("DOMContentLoaded", () => {
          if (sessionStorage.pressed) document.body.append("Skua was cast off");
          sessionStorage.removeItem("pressed");
          document.addEventListener("click", (event) => { if (event.target.closest("form")) sessionStorage.pressed = 1; });
        })"""
    )
    plan = {"start_screen": "quay", "controls": ["Cast off"], "gone_when_done": ["Skua"]}
    done = await do(
        session, "Cast off the boat Skua", plan, [{"on": "Cast off", "action": "click"}], allowed=["deletes"]
    )
    assert (done.status, done.evidence) == (RunStatus.SUCCESS, "verified"), done.hint


async def test_what_is_still_there_when_the_page_is_opened_again_is_not_gone(session, site):
    site.moor("Skua", "Skua")
    plan = {"start_screen": "quay", "controls": ["Cast off"], "gone_when_done": ["Skua"]}
    done = await do(
        session, "Cast off the boat Skua", plan, [{"on": "Cast off", "action": "click"}], allowed=["deletes"]
    )
    assert done.status is RunStatus.UNVERIFIED
    assert "it is still on a page that was opened again: 'Skua' is gone" in done.hint


async def test_a_button_whose_form_deletes_by_its_address_needs_a_yes(session, site):
    site.moor("Skua", "Skua")
    plan = {"start_screen": "quay", "controls": ["Cast off"], "gone_when_done": ["Skua"]}
    done = await do(session, "Cast off the boat Skua", plan, [{"on": "Cast off", "action": "click"}])
    assert done.status is not RunStatus.SUCCESS
    assert [each["name"] for each in site.state()["boats"]] == ["Skua", "Skua"]


@pytest.mark.parametrize("sent", [True, False])
async def test_a_value_that_the_application_sent_for_a_field_shows_it_and_a_typed_one_does_not(
    session, site, sent
):
    async def names_in_fields(route):
        answer = await route.fetch()
        field = r"<td><input name=named value='\1'></td>" if sent else "<td></td>"
        body = re.sub(r"<td class=name>(.*?)</td>", field, await answer.text())
        await route.fulfill(response=answer, body=body)

    await session.page.route("**/quay**", names_in_fields)
    done = await do(session, SENTENCE, PLAN, MOOR)
    assert [boat["name"] for boat in site.state()["boats"]] == ["Skua"]
    assert done.status is (RunStatus.SUCCESS if sent else RunStatus.UNVERIFIED), done.hint


@pytest.mark.parametrize(
    ("typed", "shown", "seen"),
    [
        ("Skua, Gull, Tern", "Gull, Tern, Skua", True),
        ("Skua, Gull, Tern", "Tern,Skua,Gull", True),
        ("Skua, Gull, Tern", "Gull, Skua", False),
        ("Skua, Gull, Tern", "Gull, Skua, Gull", False),
        ("Skua, Gull, Tern", "Gull and the Skua. Tern", False),
        ("Gull, Tern, Skua", "Gull, Tern, Skua", False),
    ],
)
async def test_an_enumeration_that_was_typed_as_the_sentence_has_it_may_be_shown_in_another_order(
    session, site, typed, shown, seen
):
    async def sorted_names(route):
        answer = await route.fetch()
        names = f"<td class=name>{shown}</td>"
        await route.fulfill(
            response=answer, body=re.sub(r"<td class=name>.*?</td>", names, await answer.text())
        )

    await session.page.route("**/quay**", sorted_names)
    listed = "Skua, Gull, Tern"
    plan = {**PLAN, "entered": [listed, typed, "12 m"], "shown_when_done": [listed]}
    acts = [MOOR[0], {**MOOR[1], "value": typed}, *MOOR[2:]]
    done = await do(session, SENTENCE.replace("Skua", f'"{listed}"'), plan, acts)
    assert [boat["name"] for boat in site.state()["boats"]] == [typed]
    assert done.status is (RunStatus.SUCCESS if seen else RunStatus.UNVERIFIED), done.hint


async def test_an_answer_that_cannot_be_read_is_one_failed_act_and_three_in_a_row_end_the_run(session, site):
    good, told = follow(PLAN, MOOR), [0]

    def stammers(times):
        def policy(asked):
            told[0] += 1
            return Answer("Let me think.") if told[0] in times else good(asked)

        return policy

    plan = SentencePlan.model_validate(PLAN)
    for times, status in (((3, 4), RunStatus.SUCCESS), (range(1, 20), RunStatus.FAILURE)):
        told[0] = 0
        good(wanted_plan())
        with serve_model(stammers(times)) as server:
            model = ModelInferencer(server.openai, redact=session.context.redact)
            done = await SentenceRun(TaskRunner(session), model, plan, ActPermissions(SENTENCE, plan)).run()
        assert done.status is status, done.error
        told[0] = 0
    assert "no usable answer from the model" in done.error
    assert [boat["name"] for boat in site.state()["boats"]] == ["Skua"]


def wanted_plan():
    """A request for a plan, which makes a following policy begin again."""
    said = "You plan it before you have seen any page"
    return Asked("/v1/chat/completions", {}, {"messages": [{"role": "user", "content": said}]})


async def test_a_fields_row_in_a_table_names_it_and_rows_that_the_sentence_names_are_shown(session):
    """A form laid out as a table, and a list with more rows than are listed."""
    rows = "".join(f"<tr><td>Boat {n}</td><td><button>Show</button></td></tr>" for n in range(40))
    await session.page.goto(f"{session.base_url}/quay")
    await session.page.set_content(
        "<form><table><tr><th>Priority</th><td><select><option>low</select></td>"
        f"<th>Status</th><td><select><option>open</select></td></tr></table></form><table>{rows}</table>"
        "<p>Labels <button>Edit</button></p><p>Weight <button>Edit</button></p><button>Only</button>"
    )
    plan = SentencePlan.model_validate({"entered": ["Boat 37"]})
    with serve_model([Answer(tool={"kind": "give_up"})]) as server:
        run = SentenceRun(
            TaskRunner(session), ModelInferencer(server.openai), plan, ActPermissions("Show Boat 37", plan)
        )
        shown = await run._look()
    assert 'combobox "Priority"' in shown.outline.text
    assert 'combobox "Status"' in shown.outline.text
    assert 'button "Show" @ row Boat 37' in shown.outline.text
    assert "@ row Boat 36" not in shown.outline.text
    assert "more controls in rows like these" in shown.outline.text
    assert 'button "Edit" @ after Labels' in shown.outline.text
    assert 'button "Edit" @ after Weight' in shown.outline.text
    assert 'button "Only"\n' in f"{shown.outline.text}\n"
    bare = choose_page_text(shown.outline.text, page_text=False)
    assert 'button "Edit"' in bare
    assert "Labels" not in bare
    assert "Boat" not in bare


async def test_a_model_that_says_done_without_doing_anything_is_unverified(session, site):
    """An older boat of that name is there, and a link leads to it."""
    site.moor("Skua")
    acts = [{"on": "Register a boat", "action": "click"}, {"on": "Quay", "action": "click"}]
    done = await do(session, SENTENCE, {**PLAN, "controls": ["Register a boat", "Quay"]}, acts)
    assert done.status is RunStatus.UNVERIFIED
    assert "no press sent a change" in done.hint
    assert len(site.state()["boats"]) == 1


async def test_a_refused_form_is_no_evidence_although_an_older_boat_has_that_name(session, site):
    site.moor("Skua")
    done = await do(session, SENTENCE, PLAN, [MOOR[0], MOOR[3], {"kind": "go_to", "screen": "quay"}])
    assert done.status in (RunStatus.UNVERIFIED, RunStatus.FAILURE)
    assert len(site.state()["boats"]) == 1


async def test_the_same_press_is_not_done_twice(session, site):
    done = await do(session, SENTENCE, PLAN, [*MOOR, *MOOR, *MOOR[3:], *MOOR[3:]])
    assert done.status is RunStatus.NEEDS_PERSON
    assert "was pressed here already" in done.error
    assert "--allow 'repeats'" in done.hint
    assert [each["name"] for each in site.state()["boats"]] == ["Skua"]


async def test_a_value_that_the_sentence_does_not_have_is_not_entered_without_a_yes(session, site):
    acts = [MOOR[0], *[{**MOOR[1], "value": "Gannet"}] * 3]
    done = await do(session, SENTENCE, PLAN, acts)
    assert done.status is RunStatus.NEEDS_PERSON
    assert "does not imply to enter 'Gannet'" in done.error
    allowed = await do(session, SENTENCE, PLAN, [MOOR[0], acts[1], MOOR[3]], allowed={"values"})
    assert allowed.status is RunStatus.UNVERIFIED  # "Skua" is nowhere
    assert [each["name"] for each in site.state()["boats"]] == ["Gannet"]


async def test_what_does_harm_needs_a_yes_also_if_the_plan_names_it_and_a_person_may_give_it(session, site):
    await add_button(session, "Delete account")
    plan = {**PLAN, "controls": ["Delete account"]}
    press = [{"on": "Delete account", "action": "click"}] * 3
    refused = await do(session, "Delete account of Skua", plan, press)
    assert refused.status is RunStatus.NEEDS_PERSON
    assert "deletes (delete)" in refused.error
    assert await pressed(session) == 0

    asked = []

    class Person:
        async def ask(self, name, prompt, *, secret):
            asked.append(prompt)
            return "yes"

    session.context.asker = Person()
    await do(session, "Delete account of Skua", plan, press[:1])
    assert await pressed(session) == 1
    assert "deletes (delete)" in asked[0]


async def test_a_run_ends_when_its_acts_or_its_time_are_spent(session):
    acts = [{"on": "Fog", "action": "hover"}] * 50
    done = await do(session, SENTENCE, PLAN, acts, budget=SentenceBudget(acts=4))
    assert done.status is RunStatus.FAILURE
    assert "the budget of the run is spent: 4 acts" in done.error
    late = await do(session, SENTENCE, PLAN, acts, budget=SentenceBudget(seconds=0.001))
    assert "0.001 seconds" in late.error


async def test_a_model_whose_budget_is_spent_ends_the_run_with_the_reason(session, site):
    done = await do(session, SENTENCE, PLAN, MOOR, calls=2)
    assert done.status is RunStatus.FAILURE
    assert "the budget for the language model is spent: calls 2" in done.error
    assert site.state()["boats"] == []


ACTS = ("click", "fill", "select_option", "check", "hover", "press", "nothing")
VALUES = ("Skua", "12 m", "6", "Gannet", "'; --", "")


@pytest.mark.parametrize("seed", range(10))
async def test_whatever_a_model_answers_the_run_is_bounded_and_does_nothing_twice(
    session, site, seed, monkeypatch
):
    """A random policy: references, actions, values and screens by chance, among them those of the plan.

    The budget is drawn, too.
    """
    site.moor("Gannet")
    monkeypatch.setattr(metered_model, "USUAL_WAIT_S", 0.0)
    drawn = random.Random(seed)
    budget = ModelBudget(
        calls=drawn.choice([3, 9, 25]),
        tokens=drawn.choice([6_000, 20_000, 60_000]),
        cost_usd=drawn.choice([0.003, 0.01, 0.02]),
    )
    most_acts = drawn.choice([4, 12])

    def policy(asked):
        if drawn.random() < 0.1:
            return drawn.choice(
                [Answer(status=500), Answer("no form"), Answer(raw=b"{"), Answer(tool={"kind": "no"})]
            )
        kind = drawn.choice(["act"] * 8 + ["go_to", "done"])
        refs = re.findall(r"^\s*(e\d+) ", page_of(asked), re.MULTILINE)
        element = drawn.choice([*refs, "e999", "no"])
        act = {"kind": kind, "element": element, "action": drawn.choice(ACTS), "value": drawn.choice(VALUES)}
        return Answer(tool={**act, "screen": drawn.choice(["quay", "boat_new", "nowhere"])})

    plan = {**PLAN, "controls": [*PLAN["controls"], "Quay", "Fog"], "screens": ["quay", "boat_new"]}
    with serve_model(policy) as server:
        meter = ModelMeter(budget)
        model = ModelInferencer(server.openai, meter=meter)
        done = await SentenceRun(
            TaskRunner(session),
            model,
            SentencePlan.model_validate(plan),
            ActPermissions(SENTENCE, SentencePlan.model_validate(plan)),
            SentenceBudget(acts=most_acts),
        ).run()
        assert len(server.requests) == meter.use.calls <= budget.calls
        assert sum(map(sum, server.billed)) <= meter.use.tokens <= budget.tokens
    assert meter.use.cost_usd <= budget.cost_usd + 1e-12
    assert len(done.steps) <= most_acts + 1
    boats = [each["name"] for each in site.state()["boats"]]
    assert boats in (["Gannet"], ["Gannet", "Skua"], ["Gannet", "6"], ["Gannet", "12 m"]), boats
    assert done.status is not RunStatus.SUCCESS or boats == ["Gannet", "Skua"]


async def do(
    session, sentence, plan, acts, *, allowed=(), calls=100, budget=None, looks_on=lambda _asked: None
):
    """Run a job in this process with a model that follows the acts, or with that policy. `looks_on` gets what the model is asked before it
    answers.
    """
    parsed = SentencePlan.model_validate(plan)
    policy = then(acts if callable(acts) else follow(plan, acts), looks_on)
    with serve_model(policy) as server:
        model = ModelInferencer(
            server.openai, meter=ModelMeter(ModelBudget(calls=calls)), redact=session.context.redact
        )
        permissions = ActPermissions(sentence, parsed, {}, frozenset(allowed))
        run = SentenceRun(TaskRunner(session), model, parsed, permissions, budget or SentenceBudget())
        return await run.run()


SENDS = {
    "by its method": "fetch('/boats/3', {method: 'DELETE'})",
    "by its address": "fetch('/boats/3/delete', {method: 'POST'})",
    "by leaving the page": "location.href = '/boats/3/delete'",
    "by a form made by the script": "(() => { const f = document.createElement('form'); f.method = 'post'; f.action = '/boats/3/delete'; document.body.append(f); f.submit() })()",
    "by a mutation": "fetch('/graphql', {method: 'POST', body: JSON.stringify({query: 'mutation RemoveBoat { removeBoat(id: 3) { id } }'})})",
}


@pytest.mark.parametrize("script", SENDS.values(), ids=SENDS)
async def test_what_a_press_sends_that_does_harm_is_held_back_whatever_the_control_is_called(session, script):
    sent = []

    async def answer(route):
        sent.append(route.request.url)
        await route.fulfill(body="<title>Done</title>", content_type="text/html")

    for address in ("**/boats/**", "**/graphql"):
        await session.page.context.route(address, answer)
    await add_button(session, "Next", script)
    press = [{"on": "Next", "action": "click"}] * 3
    refused = await do(session, SENTENCE, PLAN, press)
    assert refused.status is RunStatus.NEEDS_PERSON
    assert "'Next' would send what deletes" in refused.error
    assert "--allow 'deletes'" in refused.hint
    assert sent == []
    await do(session, SENTENCE, PLAN, press[:1], allowed={"deletes"})
    assert len(sent) == 1


async def test_what_was_held_back_is_nothing_that_the_application_accepted_and_the_end_says_what_needs_a_yes(
    session,
):
    await add_button(session, "Next", SENDS["by a form made by the script"])
    done = await do(session, SENTENCE, PLAN, [{"on": "Next", "action": "click"}])
    assert done.status is RunStatus.UNVERIFIED
    assert done.hint.startswith("a yes is needed: 'Next' would send what deletes")
    assert session.presses.accepted == []


async def test_what_a_press_sends_seconds_later_is_held_back_and_told_before_the_run_is_over(session):
    sent, loop, page = [], asyncio.get_running_loop(), session.page
    await page.context.route(
        "**/boats/**", lambda route: (sent.append(route.request.method), route.fulfill())[1]
    )
    await add_button(
        session, "Next", "window.later = () => fetch('/boats/3', {method: 'DELETE'}).then(() => 1, () => 0)"
    )
    asked_for = []

    def late(asked):
        """The page sends it while the model thinks about what comes after the press."""
        asked_for.append(asked.prompt)
        if len(asked_for) == 2:
            assert asyncio.run_coroutine_threadsafe(page.evaluate("later()"), loop).result() == 0

    press = [{"on": "Next", "action": "click"}]
    done = await do(session, SENTENCE, PLAN, press, looks_on=late)
    assert done.status is RunStatus.UNVERIFIED
    assert sent == []
    assert "'Next' would send what deletes" in asked_for[2]


async def test_what_a_press_sends_that_does_no_harm_is_sent(session):
    sent = []
    await session.page.context.route(
        "**/boats**", lambda route: (sent.append(route.request.method), route.fulfill(body="{}"))[1]
    )
    await add_button(
        session, "Next", "fetch('/boats/3', {method: 'PUT'}); fetch('/boats-deleted', {method: 'GET'})"
    )
    await do(session, SENTENCE, PLAN, [{"on": "Next", "action": "click"}])
    assert sorted(sent) == ["GET", "PUT"]


async def add_button(session, words, more="0"):
    """Put a button on every page; its presses are counted in the browser, and do `more`."""
    script = """words => addEventListener("DOMContentLoaded", () => {
      const button = document.createElement("button");
      button.textContent = words;
      button.type = "button";
      button.onclick = () => { localStorage.pressed = Number(localStorage.pressed || 0) + 1; MORE; };
      document.body.append(button);
    })"""
    await session.page.add_init_script(f"({script.replace('MORE', more)})({json.dumps(words)})")


async def pressed(session):
    return int(await session.page.evaluate("localStorage.pressed || 0"))


async def test_a_button_of_a_dialog_that_is_called_like_the_one_that_opened_it_is_pressed_once(session, site):
    await session.page.add_init_script(
        """addEventListener("DOMContentLoaded", () => {
          const form = document.querySelector("form"), button = form?.querySelector("button, [type=submit]");
          if (!button || form.method !== "post") return;
          const over = document.createElement("div");
          over.style = "position: fixed; inset: 0";
          button.addEventListener("click", (event) => {
            if (over.isConnected) return;
            event.preventDefault();
            const own = button.cloneNode(true);
            own.addEventListener("click", () => form.requestSubmit());
            over.append(own);
            document.body.append(over);
          });
        })"""
    )
    acts = [*MOOR, {"on": "Moor", "action": "click"}]
    done = await do(session, SENTENCE, PLAN, acts)
    assert (done.status, done.evidence) == (RunStatus.SUCCESS, "verified"), done
    assert [each["name"] for each in site.state()["boats"]] == ["Skua"]


async def test_what_is_suggested_some_time_after_a_text_was_typed_is_shown_to_the_model(session, site):
    async def berths(route):
        await asyncio.sleep(0.4)
        await route.fulfill(body="North")

    await session.page.route("**/berths", berths)
    await session.page.add_init_script(
        """addEventListener("DOMContentLoaded", () => {
          const form = document.querySelector("form");
          if (!form || form.method !== "post") return;
          form.insertAdjacentHTML("beforebegin", '<label>Berth <input role=combobox></label><div role=listbox></div>');
          const [field, list] = document.querySelectorAll("[role=combobox], [role=listbox]");
          let timer = 0;
          field.addEventListener("input", () => {
            clearTimeout(timer);
            timer = setTimeout(async () => {
              const option = document.createElement("div");
              option.setAttribute("role", "option");
              option.textContent = await (await fetch("/berths")).text();
              option.onclick = () => { localStorage.berth = option.textContent; };
              list.append(option);
            }, 300);
          });
        })"""
    )
    plan = {**PLAN, "controls": [*PLAN["controls"], "Berth"], "entered": [*PLAN["entered"], "North"]}
    choose = [
        {"on": "Berth", "action": "fill", "value": "North"},
        {"on": "North", "action": "click", "role": "option"},
    ]
    done = await do(session, f"{SENTENCE}, berth North", plan, [MOOR[0], *choose, *MOOR[1:]])
    assert (done.status, done.evidence) == (RunStatus.SUCCESS, "verified"), done
    assert await session.page.evaluate("localStorage.berth") == "North"
