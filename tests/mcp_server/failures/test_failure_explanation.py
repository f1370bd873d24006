"""Why did it fail? The likeliest cause, what speaks for it, and what to call next."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from mcp import Client

from kb_schema.run_records import EvidenceLevel, RunEnding, RunStatus, StoredRun, StoredStep
from kb_schema.tool_answers import FailureExplanation
from kb_store.sqlite import SqliteDatabase
from kb_store.sqlite.run_store import SqliteRunStore
from mcp_server.failures import error_names
from mcp_server.failures.failure_case import FailureCase, ReportedFailure
from mcp_server.failures.failure_explanation import explain
from mcp_server.identification.screen_identification import identify
from mcp_server.knowledge.compiled_view import compile_view
from mcp_server.knowledge.knowledge_sources import MemorySource
from mcp_server.server import create_server
from tests.mcp_server import pantry
from web_pages.stored_pages import StoredPage, answer_probes

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
CAREFUL = {
    "type": "task",
    "task_id": "throw_away",
    "steps": [
        {
            "step_id": "press_delete",
            "action": {"action_type": "click", "target": "delete"},
            "preconditions": [
                {"type": "authenticated"},
                {"type": "dom_contains", "value": "Label of the jar"},
                {"type": "element_visible", "element": "#armed", "hard_dependency": False, "auto_remediate": True,
                 "remediation_task_id": "sign_in"},
            ],
            "error_handling": [{"condition": "timeout", "recovery": "verify_current_state"}],
        }
    ],
    "already_done_when": [{"type": "dom_contains", "value": "The jar is gone"}],
}  # fmt: skip
DELETE = {"task_id": "throw_away", "step_id": "press_delete"}


@pytest.fixture(scope="module")
def view():
    return compile_view(pantry.knowledge(also=(CAREFUL,)), "1")


def explained(view, page=None, **told):
    stored = None if page is None else StoredPage(page)
    found = None if stored is None else identify(view, stored, answer_probes)
    return explain(FailureCase(view, ReportedFailure(**told), stored, found, answer_probes))


def calls(cause):
    return [(call.tool, call.arguments) for call in cause.next]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("timeout", "timeout"),
        ("Locator.click: Timeout 5000ms exceeded.\nwaiting for locator('#save')", "element_not_found"),
        ("Error: strict mode violation: locator resolved to 2 elements", "element_not_unique"),
        ("<div class=veil> intercepts pointer events", "element_covered"),
        ("Timeout 30000ms exceeded", "timeout"),
        ("element is not enabled", "element_disabled"),
        ("net::ERR_CONNECTION_REFUSED at http://x", "network_error"),
        ("HTTP 503", "server_error"),
        ("your session has expired", "session_expired"),
        ("it was a_name_the_knowledge_has that did it", "a_name_the_knowledge_has"),
        ("", "unknown"),
        ("🙈" * 5_000, "unknown"),
    ],
)
def test_an_error_is_named_by_its_words(text, name):
    assert error_names.classify_error(text, {"a_name_the_knowledge_has", "timeout"}) == name


def test_signed_out_on_the_way_is_told_before_anything_else(view):
    answer = explained(view, pantry.SIGN_IN_PAGE, error="waiting for locator", **DELETE)
    first, second = answer.causes[:2]
    assert (first.cause, calls(first)) == ("signed_out", [("get_task_definition", {"task_id": "sign_in"})])
    assert second.cause == "wrong_screen"
    assert calls(second) == [("find_path", {"from_screen": "sign_in_page", "to_screen": "jar_edit"})]


def test_another_screen_is_told_with_the_way_back(view):
    answer = explained(view, pantry.NEW, element_id="delete")
    assert answer.causes[0].cause == "wrong_screen"
    assert answer.screen_id == "jar_new"


def test_no_known_screen_is_told_with_the_ways_out(view):
    answer = explained(view, pantry.LOST, screen_id="jar_edit", error="x")
    assert calls(answer.causes[0]) == [("find_global_recovery_paths", {"screen_id": "jar_edit"})]


def test_what_must_hold_first_and_does_not_is_named_with_what_makes_it_hold(view):
    (cause,) = [c for c in explained(view, pantry.EDIT, **DELETE).causes if c.cause == "precondition"]
    assert "#armed" in cause.message
    assert calls(cause) == [("get_task_definition", {"task_id": "sign_in"})]


def test_what_was_done_already_is_not_to_be_repeated(view):
    page = pantry.page("/jars/7/edit", f"{pantry.SIGN_OUT}Label of the jar The jar is gone<button id=delete>")
    answer = explained(view, page, error="timeout", **DELETE)
    assert answer.causes[0].cause == "already_done"
    assert not answer.may_have_happened
    assert calls(answer.causes[0]) == [
        ("get_next_step", {"task_id": "throw_away", "after_step": "press_delete"})
    ]


@pytest.mark.parametrize(
    ("button", "cause"),
    [
        ("", "element_missing"),
        ("<button id=save disabled>Save</button>", "element_disabled"),
        ("<button id=save hidden>Save</button>", "element_hidden"),
        ("<button id=save>Save</button><button id=save>Save</button>", "element_not_unique"),
    ],
)
def test_the_page_tells_what_is_the_matter_with_an_element(view, button, cause):
    page = pantry.page("/jars/new", f"{pantry.SIGN_OUT}Label of the jar <input id=label value=Plum>{button}")
    answer = explained(view, page, task_id="add_jar", step_id="keep_it", error="something else")
    assert answer.causes[0].cause == cause
    assert answer.causes[0].confidence >= 0.85


def test_what_the_page_does_not_accept_is_told_field_by_field(view):
    page = pantry.page(
        "/jars/new",
        f"{pantry.SIGN_OUT}<label>Label of the jar <input id=label required></label><div role=alert>Give it a label"
        "</div><button id=save>Save</button>",
    )
    answer = explained(view, page, task_id="add_jar", step_id="keep_it", error="validation_error")
    first = answer.causes[0]
    assert first.cause == "validation"
    assert "the page says: Give it a label" in first.evidence
    assert "'label' is required and empty" in first.evidence
    assert answer.strategy["strategies"][0]["recovery"] == "fix_validation_errors"


def test_the_steps_own_rule_comes_before_the_websites(view):
    answer = explained(view, error="timeout", **DELETE)
    assert answer.strategy["recovery_id"] == "throw_away.press_delete.timeout"
    assert explained(view, error="timeout", screen_id="shelf").strategy["recovery_id"] == "slow_shelf"


def test_a_click_that_timed_out_may_have_happened_a_fill_does_not_matter(view):
    assert explained(view, error="timeout", **DELETE).may_have_happened
    assert not explained(view, error="timeout", task_id="add_jar", step_id="name_it").may_have_happened


def test_nothing_known_is_said_so_with_what_would_tell_more(view):
    (cause,) = explained(view, error="the stars are wrong").causes
    assert cause.cause == "unknown"
    assert "the page would tell more" in cause.message
    assert cause.next


def test_text_of_a_page_is_evidence_too(view):
    page = pantry.SHELF.model_copy(
        update={"html": "", "text": "Sign in to your pantry", "url": f"{pantry.BASE}/sign-in"}
    )
    assert explained(view, page, error="x", **DELETE).causes[0].cause in ("signed_out", "wrong_screen")


# -- recorded runs ---------------------------------------------------------------------------------


@pytest.fixture
async def runs(tmp_path):
    store = SqliteRunStore(SqliteDatabase(tmp_path / "runs.sqlite3"))
    await store.prepare()
    for name, website in (("bad", "pantry"), ("good", "pantry"), ("other", "elsewhere"), ("open", "pantry")):
        await store.begin_run(StoredRun(run_id=name, url="https://x", started_at=NOW, website_id=website,
                                        kind="task", subject="add_jar"))  # fmt: skip
    step = {
        "run_id": "bad",
        "executed_at": NOW,
        "duration_ms": 5,
        "task_id": "add_jar",
        "screen_id": "jar_new",
    }
    await store.append_step(
        StoredStep(step_idx=0, step_id="name_it", action="fill", status="success", **step)
    )
    await store.append_step(
        StoredStep(step_idx=1, step_id="keep_it", action="click", status="failed", element="save",
                   error_message="strict mode violation", **step)
    )  # fmt: skip
    ending = {"finished_at": NOW, "duration_ms": 5.0, "evidence": EvidenceLevel.UNVERIFIED}
    await store.finish_run(
        "bad",
        RunEnding(status=RunStatus.FAILURE, error="StepFailed", workflow_version="0123456789ab", **ending),
    )
    await store.finish_run("good", RunEnding(status=RunStatus.SUCCESS, **ending))
    yield store
    await store.close()


async def asked(runs, **arguments):
    async with Client(create_server(MemorySource(pantry.knowledge()), runs=runs)) as client:
        return await client.call_tool("explain_failure", {"website_id": "pantry", **arguments})


@pytest.mark.parametrize("name", ["bad", "latest"])
async def test_a_recorded_run_is_explained_by_its_failed_step(runs, name):
    answer = FailureExplanation.model_validate((await asked(runs, run_id=name)).structured_content)
    assert (answer.run_id, answer.task_id, answer.step_id, answer.screen_id) == (
        "bad",
        "add_jar",
        "keep_it",
        "jar_new",
    )
    assert answer.error == "element_not_unique"
    assert answer.workflow_version == "0123456789ab"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"run_id": "good"}, "succeeded"),
        ({"run_id": "open"}, "has not ended"),
        ({"run_id": "other"}, "no run 'other'"),
        ({"run_id": "bda"}, 'did you mean "bad"'),
        ({}, "no argument describes"),
        ({"step_id": "x"}, "give task_id"),
        ({"task_id": "add_jar", "step_id": "kep_it"}, 'did you mean "keep_it"'),
    ],
)
async def test_what_cannot_be_explained_is_refused_with_what_to_do(runs, arguments, said):
    result = await asked(runs, **arguments)
    assert result.is_error
    assert said in result.content[0].text


async def test_a_server_without_recorded_runs_says_so():
    result = await asked(None, run_id="latest")
    assert "no recorded runs" in result.content[0].text
