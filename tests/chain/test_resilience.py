"""Steps that do not come off: other approaches within limits, going on without, all data in the result."""

from __future__ import annotations

import asyncio

import pytest

from agent.events import ActionDone, Replanned, StepEnded
from agent.execution import step_runner
from agent.execution.persistence.checkpoint_state import CheckpointState
from agent.execution.task_runner import TaskRunner
from agent.healing.healer import HealPolicy
from kb_schema import parse_document
from kb_schema.action_calls import ActionCall
from kb_schema.resilience_policy import ResiliencePolicy, ResilienceRules
from kb_schema.run_records import EvidenceLevel, RunStatus, StepStatus
from kb_schema.tool_answers import TaskSummary
from kb_store.store_factory import open_runs
from periplus.run_store_adapters import RunStoreKeeping, _RunStoreLessons
from tests.support.lives import another_life, kept_state
from tests.support.small_sites import WEBSITE, Answered, running_site, visiting

pytestmark = pytest.mark.sampled(0.4)

TO_QUAY = {
    "step_id": "go",
    "action": {"action_type": "navigate", "target_screen": "quay"},
    "postconditions": [{"type": "on_screen", "screen_id": "quay"}],
}


def text_of(selector):
    return {"method": "dom_extraction", "selector": selector}


def reading(step_id, selector="#add", **more):
    """A step that only reads."""
    return {"step_id": step_id, "action": {"action_type": "get_screen_content", "target": selector}, **more}


def clicking(step_id, target, **more):
    return {"step_id": step_id, "action": {"action_type": "click", "target": target}, **more}


def knows(session, *steps, **more):
    """A task of the test's own, `t` unless it is named."""
    task = parse_document({"type": "task", "task_id": "t", "steps": list(steps), **more})
    session.knowledge.know(task)
    return task


@pytest.fixture
def quick(session, impatient):
    """What is not there is given up at once."""
    session.healing = HealPolicy(max_rounds=0, gate_s=0.3)
    return session


@pytest.fixture
async def runs(tmp_path):
    async with open_runs(tmp_path / "runs") as store:
        yield store


def assert_within_limits(result, per_step=3, total=10):
    """Nothing was tried twice, and no more than the limits allow."""
    failed = [each for each in result.tried if each.outcome == "failed"]
    assert len({each.fingerprint for each in result.tried}) == len(result.tried)
    assert [each.failures for each in failed] == [1] * len(failed)
    assert result.replans <= total
    places = {(each.task_id, each.step_id, each.item) for each in failed}
    for place in places:
        replanned = [
            e for e in failed if (e.task_id, e.step_id, e.item) == place and e.approach != "authored"
        ]
        assert len(replanned) <= per_step


async def test_a_task_that_can_never_succeed_ends_with_its_data_and_the_list_of_what_was_tried(quick, site):
    site.moor("Gannet")
    knows(
        quick,
        {**TO_QUAY},
        clicking("cast", "#nothere"),
        reading("look"),
        io_spec={"outputs": [{"name": "first", "after_step": "go", "extraction": text_of("td.name")}]},
    )
    replanned = []
    quick.bus.listen(lambda e: replanned.append(e) if isinstance(e, Replanned) else None)
    result = await TaskRunner(quick).run_task("t")
    assert result.status is RunStatus.FAILURE
    assert result.critical_missing == ("cast",)
    assert 0 < result.completion_percentage < 100
    assert result.outputs == {"first": "Gannet"}
    assert result.best_effort_data == {"first": "Gannet"}
    assert "#nothere" in (result.error or "")
    assert next(each.approach for each in result.tried) == "authored"
    assert len(replanned) == result.replans > 0
    assert_within_limits(result)


async def test_a_step_that_only_reads_is_gone_without_and_what_was_read_is_partial(quick, site):
    site.moor("Gannet")
    outputs = [
        {"name": "name", "after_step": "a", "extraction": text_of("td.name")},
        {"name": "rating", "after_step": "b", "extraction": text_of("td.rating")},
        {"name": "length", "after_step": "c", "extraction": text_of("td.length")},
    ]
    knows(quick, TO_QUAY, reading("a"), reading("b", "#nothere"), reading("c"), io_spec={"outputs": outputs})
    result = await TaskRunner(quick).run_task("t")
    assert result.outputs == {"name": "Gannet", "length": "6"}
    assert result.degraded_steps == ("b",)
    assert result.completion_percentage == pytest.approx(100 * 2.25 / 3.25, abs=0.1)
    assert result.status is RunStatus.DEGRADED
    assert [step.status for step in result.steps][-1] is StepStatus.DONE
    assert "#nothere" in (result.error or "")
    assert_within_limits(result)
    quick.resilience = ResiliencePolicy(enable_degradation=False, enable_replanning=False)
    result = await TaskRunner(quick).run_task("t")
    assert (result.outputs, result.degraded_steps) == ({"name": "Gannet"}, ())
    assert result.replans == 0


async def test_a_result_states_the_goal_and_all_errors_in_their_order(quick, site):
    site.moor("Gannet")
    knows(
        quick,
        TO_QUAY,
        reading("a", "#first"),
        reading("b", "#second"),
        reading("c"),
        description="Read the quay",
    )
    result = await TaskRunner(quick).run_task("t")
    assert result.goal == "Read the quay"
    first, *later = result.errors
    assert first == result.error
    assert [each.partition(":")[0] for each in later] == ["step t.b"]
    assert ("#first" in first, "#second" in later[0]) == (True, True)
    knows(quick, TO_QUAY, name="Go there")
    result = await TaskRunner(quick).run_task("t")
    assert (result.goal, result.errors) == ("Go there", ())


async def test_nothing_is_changed_on_the_site_after_a_step_that_was_gone_without(quick, site):
    form = {"action_type": "navigate", "target_screen": "boat_new"}
    name = {"action_type": "fill", "target": "#nothere", "value": "Nameless"}
    steps = [
        {"step_id": "open", "action": form},
        {"step_id": "name", "action": name},
        clicking("moor", "moor"),
    ]
    knows(quick, *steps)
    result = await TaskRunner(quick).run_task("t")
    assert result.status is RunStatus.FAILURE
    assert [step.step_id for step in result.steps if step.step_id == "moor"] == []
    assert site.state()["boats"] == []
    assert_within_limits(result)


async def test_an_acceptable_outcome_is_a_partial_success_and_told_as_one(quick, site):
    alternative = {"type": "dom_contains", "value": "boats moored"}
    wanted = {"type": "dom_contains", "value": "4.5 stars", "timeout": 0.3}
    filtering = reading("filter", postconditions=[wanted], acceptable_outcomes=[alternative])
    knows(quick, TO_QUAY, filtering)
    result = await TaskRunner(quick).run_task("t")
    assert result.status is RunStatus.PARTIAL
    last = result.steps[-1]
    assert (last.status, last.outcome, last.confidence) == (StepStatus.DONE, "alternative", 0.65)
    assert result.degraded_steps == ("filter",)
    assert [each.degraded for each in result.steps] == [each is last for each in result.steps]
    assert result.confidence_score > 0.5  # no criteria of the task are stated: they say nothing
    knows(quick, TO_QUAY, {**filtering, "min_success_confidence": 0.6})
    assert (await TaskRunner(quick).run_task("t")).complete
    knows(quick, TO_QUAY, {**filtering, "required_evidence": [{"type": "dom_contains", "value": "anchor"}]})
    assert (await TaskRunner(quick).run_task("t")).status is not RunStatus.SUCCESS


async def test_a_step_may_succeed_in_part_if_it_says_so(quick, monkeypatch):
    monkeypatch.setattr(step_runner, "CONFIRM_S", 0.2)
    quick.resilience = ResiliencePolicy(max_retries=0, enable_replanning=False, enable_degradation=False)
    held = [{"type": "dom_contains", "value": value} for value in ("boats", "moored", "boats moored")]
    missing = {"type": "dom_contains", "value": "4.5 stars", "timeout": 0.3}
    step = reading("look", postconditions=[*held, missing])
    for allowed, outcome in ((True, "partial"), (False, None)):
        knows(quick, TO_QUAY, {**step, "allow_partial_success": allowed}, reading("after"))
        result = await TaskRunner(quick).run_task("t")
        record = [each for each in result.steps if each.step_id == "look"][-1]
        assert (record.status is StepStatus.DONE, record.outcome) == (allowed, outcome)
        assert (result.steps[-1].step_id == "after") is allowed


async def test_an_acceptable_outcome_of_a_task_is_a_partial_success(quick, site):
    goal = {"success_criteria": [{"type": "dom_contains", "value": "4.5 stars", "timeout": 0.3}]}
    knows(quick, TO_QUAY, **goal)
    assert (await TaskRunner(quick).run_task("t")).status is RunStatus.FAILURE
    goal["acceptable_outcomes"] = [{"type": "dom_contains", "value": "boats moored"}]
    knows(quick, TO_QUAY, **goal)
    assert (await TaskRunner(quick).run_task("t")).status is RunStatus.PARTIAL
    goal["required_evidence"] = [{"type": "dom_contains", "value": "anchor", "timeout": 0.3}]
    knows(quick, TO_QUAY, **goal)
    assert (await TaskRunner(quick).run_task("t")).status is RunStatus.FAILURE


async def test_a_way_that_is_closed_is_gone_around(quick, site):
    await quick.page.add_init_script(
        "addEventListener('DOMContentLoaded', () => document.querySelector('#add')?.remove())"
    )
    result = await TaskRunner(quick).run_task("register_boat", {"boat_name": "Gannet"})
    assert result.complete, result.error
    worked = [each for each in result.tried if each.outcome == "worked"]
    assert [(each.step_id, each.approach, each.detail) for each in worked] == [
        ("open_form", "other_path", "direct_url")
    ]
    assert [boat["name"] for boat in site.state()["boats"]] == ["Gannet"]


async def test_a_later_strategy_of_the_selector_is_used_where_the_first_does_nothing(quick):
    twin = {"strategies": [{"type": "css", "value": "h1"}, {"type": "css", "value": "#add"}]}
    step = clicking(
        "open", twin, postconditions=[{"type": "on_screen", "screen_id": "boat_new"}], repeatable=True
    )
    knows(quick, TO_QUAY, step)
    result = await TaskRunner(quick).run_task("t")
    assert result.complete, result.error
    assert result.steps[-1].approach == "other_selector"
    assert_within_limits(result)


async def test_a_fallback_action_that_the_step_tried_itself_is_no_other_approach(quick):
    opening = {"action_type": "navigate", "target_screen": "boat_new", "method": "direct_url"}
    fallbacks = [{"action_type": "no_op"}, opening]
    there = {"type": "on_screen", "screen_id": "boat_new", "timeout": 0.3}
    step = clicking("open", "#nothere", postconditions=[there], repeatable=True)
    step["action"]["fallback_actions"] = fallbacks
    knows(quick, TO_QUAY, step)
    result = await TaskRunner(quick).run_task("t")
    assert result.complete, result.error
    assert [(each.approach, each.detail, each.outcome) for each in result.tried] == [
        ("authored", "", "failed"),
        ("other_selector", "fallback action 1", "failed"),
        ("other_selector", "fallback action 2", "worked"),
    ]
    error = result.tried[0].error or ""
    assert "on_screen" in error
    assert "fallback action 1 was done because the step's own action failed: not_found" in error
    assert result.replans == 1
    assert_within_limits(result)


async def test_what_an_element_says_of_repeating_holds_for_all_its_strategies(browser, tmp_path, impatient):
    element = {
        "element_id": "title", "type": "button", "affordances": [{"action_type": "click", "idempotent": True}],
        "selector": {"strategies": [{"type": "css", "value": "h1"}, {"type": "css", "value": "p"}]},
    }  # fmt: skip
    home = {
        "type": "screen", "screen_id": "home", "name": "Home", "url": "/", "url_patterns": ["^/$"],
        "state_signature": {"required_indicators": [{"type": "dom_element", "selector": "h1"}]}, "ui_elements": [element],
    }  # fmt: skip
    press = clicking(
        "press", "title", postconditions=[{"type": "dom_contains", "value": "Pressed", "timeout": 0.3}]
    )
    go = {"step_id": "go", "action": {"action_type": "navigate", "target_screen": "home"}}
    task = {"type": "task", "task_id": "t", "steps": [go, press]}
    documents = [parse_document({"website_id": WEBSITE, **each}) for each in (home, task)]
    with running_site(lambda _: Answered("<title>Home</title><h1>Home</h1><p>Text</p>")) as site:
        async with visiting(browser, site, tmp_path, *documents) as session:
            session.healing = HealPolicy(max_rounds=0, gate_s=0.3)
            result = await TaskRunner(session).run_task("t")
    assert {each.approach for each in result.tried} == {"authored", "other_selector"}
    assert result.status is RunStatus.FAILURE, result.error


async def test_another_task_with_the_same_postcondition_takes_the_steps_place(quick, monkeypatch):
    there = [{"type": "on_screen", "screen_id": "boat_new"}]
    knows(
        quick,
        {"step_id": "walk", "action": {"action_type": "navigate", "target_screen": "boat_new"}},
        task_id="walk_there",
        success_criteria=there,
    )
    knows(
        quick,
        clicking("moor", "moor", repeatable=False),
        task_id="moor_there",
        success_criteria=there,
    )

    async def known(_screen_id):
        return tuple(TaskSummary(task_id=name, name=name) for name in ("moor_there", "walk_there"))

    monkeypatch.setattr(quick.knowledge, "tasks_for_screen", known)
    gone = {"action_type": "focus", "target": "#nothere"}
    knows(quick, TO_QUAY, {"step_id": "open", "action": gone, "postconditions": there})
    result = await TaskRunner(quick).run_task("t")
    assert result.complete, result.error
    assert (result.steps[-1].approach, quick.screen_id) == ("other_task", "boat_new")
    assert [each.detail for each in result.tried if each.outcome == "worked"] == ["walk_there"]


async def test_a_recovery_edge_of_the_screen_leads_back_to_a_page_on_which_the_step_works(quick):
    lacking = [True]
    quick.bus.listen(
        lambda e: lacking.clear() if isinstance(e, Replanned) and e.approach == "recovery_edge" else None
    )

    async def without_link(route):
        answer = await route.fetch()
        text = await answer.text()
        await route.fulfill(response=answer, body=text.replace("id=add", "id=gone") if lacking else text)

    await quick.page.route("**/*", without_link)
    knows(quick, TO_QUAY, {"step_id": "point", "action": {"action_type": "hover", "target": "#add"}})
    result = await TaskRunner(quick).run_task("t")
    assert result.complete, result.error
    worked = [each for each in result.tried if each.outcome == "worked"]
    assert [(each.step_id, each.approach, each.detail) for each in worked] == [
        ("point", "recovery_edge", "back_to_quay")
    ]
    assert_within_limits(result)


async def test_the_replans_of_a_sub_task_count_for_the_run(quick, monkeypatch):
    """The sub-task uses both replans of the run; the requested task has none left for its own step."""
    monkeypatch.setattr(step_runner, "CONFIRM_S", 0.2)
    quick.resilience = ResiliencePolicy(max_total_replans=2, max_replans_per_step=999)
    many = {"strategies": [{"type": "css", "value": value} for value in ("h1", "#add", "#home", "#fog")]}
    never = {
        "postconditions": [{"type": "dom_contains", "value": "never", "timeout": 0.1}],
        "critical": False,
    }
    replanned = []
    quick.bus.listen(lambda e: replanned.append(e.task_id) if isinstance(e, Replanned) else None)
    knows(quick, TO_QUAY, reading("lost", many, **never), reading("look"), task_id="part")
    part = {"step_id": "part", "action": {"action_type": "run_task", "task_id": "part"}}
    knows(quick, part, reading("own", many, **never), reading("last"))
    result = await TaskRunner(quick).run_task("t")
    assert (replanned, result.replans) == (["part", "part"], 2)
    assert [each.step_id for each in result.tried if each.approach == "authored"] == ["lost", "part", "own"]
    assert not result.complete


async def test_what_an_inferencer_suggests_is_tried_after_all_else_and_only_what_is_safe(quick):
    asked = []

    class Clever:
        async def suggest(self, context):
            asked.append(context)
            return [
                ActionCall(action_type="click", target="#fog"),  # may not be repeated: the step may
                ActionCall(action_type="hover", target="#add"),
            ]

    quick.inferencer = Clever()
    quick.resilience = ResiliencePolicy(max_replans_per_step=999, max_total_replans=15)
    knows(quick, TO_QUAY, {"step_id": "point", "action": {"action_type": "hover", "target": "#nothere"}})
    result = await TaskRunner(quick).run_task("t")
    assert result.complete, result.error
    assert result.steps[-1].approach == "inferred"
    assert asked[0].failed_step["step_id"] == "point"
    assert "#nothere" in asked[0].failure_reason
    assert all("#fog" not in each.detail for each in result.tried)
    assert_within_limits(result, per_step=15, total=15)


async def test_what_worked_last_time_is_tried_first(quick, runs):
    quick.lessons = _RunStoreLessons(runs)
    twins = {"strategies": [{"type": "css", "value": f"#{name}"} for name in ("boats + p", "nothere", "add")]}
    step = clicking(
        "open", twins, postconditions=[{"type": "on_screen", "screen_id": "boat_new"}], repeatable=True
    )
    knows(quick, TO_QUAY, step)
    first = await TaskRunner(quick).run_task("t")
    second = await TaskRunner(quick).run_task("t")
    assert first.complete, first.error
    assert second.complete, second.error
    details = [[each.detail for each in run.tried if each.approach != "authored"] for run in (first, second)]
    assert len(details[0]) == 2
    assert details[1] == details[0][-1:]
    kept = await runs.memory.lessons("harbour", "quay", "t")
    assert {(each.approach, each.worked, each.failed) for each in kept} >= {("authored", 0, 2)}


async def test_a_page_that_goes_in_the_middle_leaves_a_result_with_all_data(quick, site):
    site.moor("Gannet")

    def close(event):
        if isinstance(event, StepEnded) and event.step_id == "go":
            task = asyncio.ensure_future(quick.page.close())
            task.add_done_callback(lambda _: closed.set())

    closed = asyncio.Event()
    quick.bus.listen(close)
    outputs = [{"name": "first", "after_step": "go", "extraction": text_of("td.name")}]
    knows(quick, TO_QUAY, reading("a"), reading("b"), reading("c"), io_spec={"outputs": outputs})
    result = await TaskRunner(quick).run_task("t")
    await closed.wait()
    assert result.status in (RunStatus.FAILURE, RunStatus.DEGRADED)
    assert result.error
    assert result.best_effort_data == {"first": "Gannet"}


async def test_a_site_that_goes_away_in_the_middle_leaves_a_result_with_all_data(quick, site):
    site.moor("Gannet")

    async def cut(route):
        await route.abort("connectionrefused")

    await quick.page.context.route("**/boats/new", cut)
    outputs = [{"name": "first", "after_step": "go", "extraction": text_of("td.name")}]
    gone = {
        "step_id": "gone",
        "action": {"action_type": "navigate", "target_screen": "boat_new", "method": "direct_url"},
    }
    knows(quick, TO_QUAY, gone, io_spec={"outputs": outputs})
    result = await TaskRunner(quick).run_task("t")
    assert not result.succeeded
    assert result.outputs == {"first": "Gannet"}


async def test_what_failed_before_a_crash_is_not_tried_again_after_it(quick, runs, browser):
    kept = RunStoreKeeping(runs)
    knows(
        quick,
        TO_QUAY,
        {"step_id": "point", "action": {"action_type": "hover", "target": "#nothere"}},
        reading("c"),
    )
    engine = TaskRunner(quick, keeping=kept)
    ended = await engine.run_task("t")
    state = await kept_state(kept, quick)
    state.ledger.over = False  # cut off before its end
    del state.frames["t"].done["point"]
    failed = set(state.ledger.failed)
    assert failed
    async with another_life(quick, browser, CheckpointState.model_validate(state.model_dump())) as later:
        later.healing = quick.healing
        again = await TaskRunner(later, keeping=kept, resume=state).run_task("t")
    assert [each.fingerprint for each in again.tried] == [each.fingerprint for each in ended.tried]
    assert all(each.failures == 1 for each in again.tried if each.outcome == "failed")
    assert again.replans == ended.replans


async def test_a_run_may_stop_early_when_enough_is_done(quick):
    quick.resilience = ResiliencePolicy(allow_early_exit=True, min_acceptable_completion=60)
    knows(quick, *[reading(name) for name in "abcde"])
    result = await TaskRunner(quick).run_task("t")
    assert (result.completion_percentage, result.status) == (60, RunStatus.PARTIAL)
    assert result.early_exit
    assert len(result.steps) == 3
    knows(quick, *[reading(name) for name in "abcd"], reading("e", critical=True))
    assert (await TaskRunner(quick).run_task("t")).complete


async def test_retries_of_one_approach_are_bounded_by_the_policy(quick, monkeypatch):
    monkeypatch.setattr(step_runner, "CONFIRM_S", 0.2)
    quick.resilience = ResiliencePolicy(max_retries=0, enable_replanning=False)
    done = []
    quick.bus.listen(lambda e: done.append(e) if isinstance(e, ActionDone) else None)
    wanted = {"type": "dom_contains", "value": "no such thing"}
    rules = {"postcondition": {"recovery": "retry", "retry": True, "max_retries": 3}}
    for retries, times in ((0, 1), (2, 3)):
        done.clear()
        quick.resilience = quick.resilience.model_copy(update={"max_retries": retries})
        knows(quick, reading("a", postconditions=[wanted], error_handling=rules))
        assert not (await TaskRunner(quick).run_task("t")).complete
        assert len(done) == times


async def test_no_step_begins_after_the_time_of_a_run_is_over(quick):
    knows(quick, TO_QUAY, reading("a"), resilience={"timeout_s": 0})
    result = await TaskRunner(quick).run_task("t")
    assert "exceeded its `timeout_s`" in (result.error or "")
    assert result.evidence is EvidenceLevel.UNVERIFIED
    assert result.steps == ()


async def test_a_step_that_is_under_way_is_cut_off_at_the_end_of_the_run_with_the_data_so_far(quick, site):
    """The step would take ten minutes; the run may take four seconds. The result names the goal and every error."""
    site.moor("Gannet")
    pause = {"step_id": "b", "action": {"action_type": "wait", "duration": 600}}
    output = {"name": "first", "after_step": "a", "extraction": text_of("td.name")}
    lost = reading("lost", "#nothere", required=False)
    knows(
        quick, TO_QUAY, lost, reading("a"), pause, description="Read the first boat",
        io_spec={"outputs": [output]}, resilience={"timeout_s": 4, "enable_replanning": False},
    )  # fmt: skip
    result = await TaskRunner(quick).run_task("t")
    assert "exceeded its `timeout_s` in step 'b', which was cut off" in (result.error or "")
    assert result.outputs == {"first": "Gannet"}
    assert (result.steps[-1].step_id, result.steps[-1].error) == ("b", "cut off (CancelledError)")
    assert not result.complete
    assert result.goal == "Read the first boat"
    assert [each.partition(":")[0] for each in result.errors][:2] == ["step t.lost", "step t.b"]
    assert "#nothere" in result.errors[0]


@pytest.mark.parametrize(
    ("given", "step", "task", "website", "waited"),
    [
        (None, None, None, None, 10.0),
        (None, None, None, 6.0, 6.0),
        (None, None, 4.0, 6.0, 4.0),
        (None, 2.0, 4.0, 6.0, 2.0),
        (1.0, 2.0, 4.0, 6.0, 1.0),
    ],
    ids=["nothing said", "the website", "the task", "the step", "the command line"],
)
async def test_who_says_how_long_a_step_waits_for_its_element(quick, given, step, task, website, waited):
    quick.step_timeout_s = given
    quick.website = quick.website.model_copy(update={"resilience": ResilienceRules(step_timeout_s=website)})
    knows(quick, TO_QUAY, reading("a", timeout_s=step), resilience={"step_timeout_s": task})
    await TaskRunner(quick).run_task("t")
    assert quick.element_wait.limit_s == waited
