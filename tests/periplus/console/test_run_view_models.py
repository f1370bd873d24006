"""What the console's pages about runs, proposals, reports and health show, from records alone."""

from __future__ import annotations

import hashlib
from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.run_records.run_log import compute_digest
from agent.verification.reports.verdict_files import write_verdict
from kb_schema.execution_traces import ExecutionTrace, TraceActionResult, TraceStep
from kb_schema.proposals import Proposal, ScreenChange, SelectorChange, StepTargetChange, Support
from kb_schema.run_records import Artifact, RunStatus, StoredRun, StoredStep
from kb_schema.run_storage import StoredEvent
from kb_schema.screens import Screen
from kb_schema.selectors import Selector
from kb_schema.tool_answers import FailureCause, FailureExplanation
from kb_schema.verification import ExecutedStep, HealEvent, RootCause, VerdictReport, VerificationSummary
from periplus.console import proposal_view_models, report_view_models, run_artifacts
from periplus.console.health_page import read_disk_usage
from periplus.console.run_explanation import RunExplanation, explain_run
from periplus.console.run_labels import format_error_line, format_size, format_when, shorten_value
from periplus.console.run_list import PER_PAGE, RunFilter, build_run_list_page, filter_runs
from periplus.console.run_view_models import RunRecords, build_run_page, selector_text

NOON = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)
TODAY = NOON.date()
JPEG = b"\xff\xd8\xff\xe0 a picture"


def _run(run_id="r1", **more):
    said = {"url": "http://x/", "started_at": NOON, "website_id": "shop", "kind": "task", "subject": "buy"}
    return StoredRun(run_id=run_id, **{**said, **more})


def _step(index, step_id, *, at=0.0, status="success", **more):
    said = {"action": "click", "task_id": "buy", "duration_ms": 5, "run_id": "r1"}
    return StoredStep(
        step_idx=index,
        step_id=step_id,
        status=status,
        executed_at=NOON + timedelta(seconds=at),
        **{**said, **more},
    )


def _event(seq, kind, **data):
    return StoredEvent(run_id="r1", seq=seq, type=kind, data=data, at=NOON)


# -- lists -----------------------------------------------------------------------------------------


def _many():
    return [
        _run(
            f"r{number}", started_at=NOON - timedelta(hours=number), website_id="shop" if number % 2 else "bank",
            kind="demo" if number % 5 == 0 else "task", status=RunStatus.FAILURE if number % 3 == 0 else RunStatus.SUCCESS,
        )
        for number in range(90)
    ]  # fmt: skip


def _listed(choice, runs=None):
    runs = _many() if runs is None else runs
    fitting = filter_runs(runs, choice, TODAY)
    return build_run_list_page(
        fitting, choice, today=TODAY, steps={}, looked_at=len(runs), sites=["bank", "shop"]
    )


def test_runs_are_chosen_by_everything_that_is_asked_for_at_once():
    page = _listed(RunFilter("shop", "task", "failed", "yesterday"))
    assert page.rows
    for row in page.rows:
        assert (row.site, row.kind, row.outcome) == ("shop", "task", "failed")
        assert row.began.text.startswith("yesterday")


def test_pages_of_the_list_have_each_run_once_and_their_links_lead_on():
    seen, choice = [], RunFilter(outcome="worked")
    while True:
        page = _listed(choice)
        seen += [row.run_id for row in page.rows]
        assert len(page.rows) <= PER_PAGE
        assert page.last - page.first + 1 == len(page.rows)
        if page.next is None:
            break
        assert f"page={choice.page + 1}" in page.next
        assert "outcome=worked" in page.next
        choice = RunFilter(outcome="worked", page=choice.page + 1)
    assert len(seen) == len(set(seen)) == page.found == 60
    assert _listed(RunFilter(page=99)).rows == ()


@pytest.mark.parametrize(
    ("day", "meant"),
    [
        ("today", TODAY),
        ("yesterday", TODAY - timedelta(days=1)),
        ("2026-11-03", date(2026, 11, 3)),
        ("x", None),
        ("", None),
    ],
)
def test_a_day_is_a_word_or_a_date_and_else_any(day, meant):
    assert RunFilter(day=day).on(TODAY) == meant


@given(st.text(max_size=30))
def test_whatever_is_asked_for_as_a_day_is_answered(day):
    assert _listed(RunFilter(day=day)).looked_at == 90


@given(st.text(max_size=60), st.integers(1, 50))
def test_a_shortened_text_is_never_longer_than_it_may_be(text, longest):
    assert len(shorten_value(text, longest)) <= longest
    assert shorten_value(text, 60) == text


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1_000, "1.0 kB"),
        (1_500_000, "1.5 MB"),
        (2_000_000_000, "2.0 GB"),
        (5 * 10**12, "5.0 TB"),
    ],
)
def test_sizes_are_said_as_file_managers_do(number, said):
    assert format_size(number) == said


def test_moments_are_said_from_today_and_in_utc():
    zone = datetime(2026, 11, 22, 1, 30, tzinfo=UTC).astimezone()
    assert format_when(zone, TODAY).text == "today 01:30 UTC"
    assert format_when(NOON - timedelta(days=1), TODAY).text == "yesterday 12:00 UTC"
    assert format_when(NOON - timedelta(days=2), TODAY).text == "2026-11-20 12:00 UTC"


# -- a run -----------------------------------------------------------------------------------------


def test_what_was_done_on_the_page_stands_at_the_step_that_did_it():
    # A line of a trace is written when the action after it is over.
    actions = [("fill", "name", 2.5), ("click", "menu", 3.5), ("click", "save", 9.0)]
    trace = ExecutionTrace(
        trace_id="t",
        steps=tuple(
            TraceStep(
                action_type=kind, metadata={"element_id": element}, timestamp=NOON + timedelta(seconds=at),
                html_before="<p>", args={"value": "Ada"} if kind == "fill" else None,
                result=TraceActionResult(error="covered" if element == "save" else None),
            )
            for kind, element, at in actions
        ),
    )  # fmt: skip
    steps = [
        _step(0, "fill_name", at=1),
        _step(1, "open_menu", at=3),
        _step(2, "save", at=4, status="failed"),
    ]
    page = build_run_page(RunRecords(_run(), steps, trace=trace), TODAY)
    assert [[each.said for each in step.done] for step in page.steps] == [
        ["fill name"],
        ["click menu"],
        ["click save"],
    ]
    assert page.steps[0].done[0].value == "Ada"
    assert page.steps[2].done[0].error == "covered"
    assert page.steps[2].done[0].before == 2
    assert page.steps[2].done[0].after is None
    assert page.failed_step is page.steps[2]


def test_what_was_told_on_the_way_stands_at_its_step_and_tries_are_counted():
    events = [
        _event(0, "input_resolved", task_id="buy", name="password", source="given"),
        _event(1, "replanned", task_id="buy", step_id="pay", approach="other_path", detail="by the menu", attempt=1),
        _event(2, "step_ended", task_id="buy", step_id="pay", status="failed"),
        _event(3, "overlay_dismissed", overlay_id="cookie_banner"),
        _event(4, "element_used", element_id="pay_button", healed_selector={"strategies": [{"type": "id", "value": "p"}]},
               score=0.8, succeeded=True),
        _event(5, "step_ended", task_id="buy", step_id="pay", status="done"),
        _event(6, "said.words", of=1, text="what a visitor said"),
    ]  # fmt: skip
    page = build_run_page(
        RunRecords(_run(), [_step(0, "pay", status="failed"), _step(1, "pay")], events), TODAY
    )
    assert page.steps[0].instead == ("other path: by the menu",)
    assert page.steps[1].notes == ("cookie banner covered the page and was closed",)
    assert page.steps[1].mended[0].after == "id p"
    assert [step.attempt for step in page.steps] == [1, 2]
    assert page.inputs == (("password", "given"),)
    assert "visitor" not in repr(page)


def test_a_run_and_the_proposal_itself_name_the_step_whose_selector_would_change():
    change = StepTargetChange(
        type="step_target", task_id="pay", step_id="s2",
        selector=Selector.model_validate({"strategies": [{"type": "id", "value": "pay-now"}]}),
    )  # fmt: skip
    proposal = Proposal(
        proposal_id="abc", website_id="shop", change=change, proposed_at=NOON,
        before={"strategies": [{"type": "id", "value": "pay"}]},
        supports=(Support(run_id="r1", at=NOON, score=0.9),),
    )  # fmt: skip
    ((mended),) = build_run_page(RunRecords(_run(), [_step(0, "pay")], proposals=[proposal]), TODAY).mended
    assert (mended.element, mended.before, mended.after) == ("pay.s2", "id pay", "id pay-now")
    shown = proposal_view_models.build_proposal_page(proposal, TODAY)
    assert shown.row.title == "Selector of step “s2” of “pay”"
    assert (shown.before, shown.after) == ("id pay", "id pay-now")


def test_a_run_whose_events_are_forgotten_still_tells_what_was_mended_by_its_proposal():
    change = SelectorChange(
        type="selector", screen_id="cart", element_id="pay_button",
        selector=Selector.model_validate({"strategies": [{"type": "id", "value": "pay-now"}]}),
    )  # fmt: skip
    said = {"proposal_id": "abc", "website_id": "shop", "change": change, "proposed_at": NOON}
    mine = Proposal(
        before={"strategies": [{"type": "id", "value": "pay"}]},
        supports=(Support(run_id="r1", at=NOON, score=0.9),),
        **said,
    )
    others = Proposal(**{**said, "proposal_id": "def"}, supports=(Support(run_id="r2", at=NOON),))
    page = build_run_page(RunRecords(_run(), [_step(0, "pay")], proposals=[mine, others]), TODAY)
    ((mended),) = page.mended
    assert (mended.before, mended.after, mended.proposal_id, mended.how) == (
        "id pay",
        "id pay-now",
        "abc",
        "90% similar",
    )


@pytest.mark.parametrize(
    ("selector", "said"),
    [
        ("#a", "#a"),
        (None, ""),
        ({"strategies": [{"type": "css", "value": "#a"}, {"type": "id", "value": "b"}]}, "css #a"),
        ({"strategies": [{"type": "role", "role": "button", "name": "Pay"}]}, "role role button, name Pay"),
        ({"strategies": []}, ""),
        ([1], ""),
    ],
)
def test_a_selector_is_said_by_its_first_strategy(selector, said):
    assert selector_text(selector) == said


def test_of_several_ways_to_find_an_element_each_is_said_in_short():
    kept = '[{"type": "data-testid", "value": "pay"}, {"type": "id", "value": "p"}]'
    steps = [_step(0, "a", selector=kept), _step(1, "b", selector="[{cut…"), _step(2, "c", selector="#p")]
    page = build_run_page(RunRecords(_run(), steps), TODAY)
    assert [step.selector for step in page.steps] == ["data-testid pay, else id p", "[{cut…", "#p"]


# -- why -------------------------------------------------------------------------------------------


def _why(run, steps=(), **more):
    page = build_run_page(RunRecords(run, steps), TODAY)
    return explain_run(page, run, **more)


def test_why_a_run_failed_is_one_sentence_with_the_likeliest_cause_and_what_to_do():
    run = _run(status=RunStatus.FAILURE, error="gate: covered")
    steps = [
        _step(0, "pay", status="failed", element="pay_button"),
        _step(1, "pay", status="failed", element="pay_button"),
    ]
    explained = FailureExplanation(
        website_id="shop", error="element_covered",
        causes=(FailureCause(cause="covered_by_overlay", message="'cookies' lies over the page", confidence=0.9),),
    )  # fmt: skip
    told = _why(run, steps, explained=explained)
    assert told.sentence == (
        "Failed at “pay” (step 2, click: pay button, attempt 2): 'cookies' lies over the page."
    )
    assert "overlay" in told.to_do
    assert told.error == "gate: covered"


def test_what_no_cause_explains_is_told_by_its_error_and_the_hint():
    run = _run(
        status=RunStatus.NEEDS_PERSON, error="step 'a': step 'a': no value for boat_name", hint="give it"
    )
    unknown = FailureExplanation(
        website_id="shop",
        error="unknown",
        causes=(FailureCause(cause="unknown", message="-", confidence=0.1),),
    )
    told = _why(run, explained=unknown)
    assert told.sentence == "Stopped because a person is needed: step 'a': no value for boat_name."
    assert told.to_do == "give it"


def test_a_verdicts_root_cause_comes_before_what_else_is_found():
    run = _run(
        kind="verification", req_id="R", status=RunStatus.FAILURE, rca_class="app_defect", rca_message="m"
    )
    root = RootCause(
        class_="app_defect", confidence=0.8, message="the total is wrong", recommendation="tell them"
    )
    told = _why(run, root=root)
    assert told.sentence == "Failed: the total is wrong."
    assert (told.causes[0].kind, told.to_do) == ("app defect", "tell them")


@pytest.mark.parametrize(
    ("status", "evidence", "said"),
    [
        (RunStatus.SUCCESS, "verified", "Verified: the expected result was observed."),
        (
            RunStatus.UNVERIFIED,
            "unverified",
            "Every step was done, but nothing seen in the application shows that it worked.",
        ),
        (
            None,
            None,
            "Interrupted: no process is executing it; the last finished step is 1, “pay”.",
        ),
    ],
)
def test_what_did_not_fail_says_what_it_rests_on(status, evidence, said):
    assert _why(_run(status=status, evidence=evidence), [_step(0, "pay")]).sentence == said


def test_a_run_of_a_workflow_names_its_version_in_the_list_and_on_its_page():
    run = _run(status=RunStatus.SUCCESS, workflow_version="0123456789ab")
    (row,) = _listed(RunFilter(), [run]).rows
    assert row.version == build_run_page(RunRecords(run), TODAY).version == "0123456789ab"
    assert build_run_page(RunRecords(_run()), TODAY).version == ""


def test_a_run_without_an_end_says_where_it_is_and_how_it_is_carried_on():
    assert _why(_run(), standing="running") == RunExplanation("Running.", "")
    assert _why(_run(), standing="queued").sentence == "Queued."
    assert _why(_run()).to_do == "Resume it with `periplus run --resume r1`."
    assert _why(_run(kind="demo")).to_do == "Run it again."


def test_a_verification_is_called_by_its_title_and_what_it_was_given_is_not_told():
    given = {"state": "waiting", "requirement": {"steps": ["Password | fill | hush"]}, "title": "Paying"}
    page = build_run_page(
        RunRecords(_run(kind="verification", req_id="R", subject="R", outputs=given)), TODAY
    )
    assert page.subject_name == "R: Paying"
    assert page.outputs == ()
    assert "hush" not in repr(page)


@given(st.text(max_size=300))
def test_an_error_is_said_in_one_line(text):
    assert "\n" not in format_error_line(text)


# -- what is left ----------------------------------------------------------------------------------


def _verdict(folder, shot):
    step = ExecutedStep(
        step_idx=0, element="e", action="click", status="success", timestamp=NOON, screenshot=shot
    )
    return VerdictReport(
        req_id="R", run_id="r1", verdict="pass", timestamp=NOON, summary=VerificationSummary(), steps=(step,),
        rca=RootCause(class_="success", confidence=1, message="fine"),
        heal_events=(HealEvent(step_idx=0, round=1, success=True, duration_ms=1, before="#a", after="#b"),),
    )  # fmt: skip


def _artifact(path, kind="verdict_report"):
    place, file_hash, size_bytes = compute_digest(path)
    return Artifact(
        run_id="r1", name=path.name, artifact_type=kind, file_path=place, file_hash=file_hash, size_bytes=size_bytes,
        created_at=NOON,
    )  # fmt: skip


def test_pictures_of_a_verification_are_found_beneath_its_verdict_and_nowhere_else(tmp_path):
    folder = tmp_path / "out"
    (folder / "screenshots").mkdir(parents=True)
    (folder / "screenshots" / "1.jpg").write_bytes(JPEG)
    (folder / "text.jpg").write_text("no picture")
    (tmp_path / "other.jpg").write_bytes(JPEG)
    (folder / "linked.jpg").symlink_to(tmp_path / "other.jpg")
    path = write_verdict(_verdict(folder, "screenshots/1.jpg"), folder)
    report, where = run_artifacts.read_verdict([_artifact(path)], "r1")
    shot = run_artifacts.picture(where, report.steps[0].screenshot)
    assert (shot.content, shot.media_type) == (JPEG, "image/jpeg")
    for name in (
        "../other.jpg",
        str(tmp_path / "other.jpg"),
        "linked.jpg",
        "text.jpg",
        "none.jpg",
        "a\0b",
        None,
    ):
        assert run_artifacts.picture(where, name) is None
    page = build_run_page(RunRecords(_run(kind="verification"), [_step(0, "s")], verdict=report), TODAY)
    assert page.steps[0].picture
    assert (page.steps[0].mended[0].before, page.steps[0].mended[0].after) == ("#a", "#b")


def test_a_verdict_that_was_written_over_since_is_not_told_as_this_runs(tmp_path):
    path = write_verdict(_verdict(tmp_path, None), tmp_path)
    kept = _artifact(path)
    path.write_text(path.read_text().replace('"pass"', '"fail"'))
    assert run_artifacts.read_verdict([kept], "r1") is None
    assert run_artifacts.find_artifact(kept.model_copy(update={"file_path": str(tmp_path / "gone")})) is None
    other = kept.model_copy(update={"file_path": "/etc/passwd", "file_hash": hashlib.sha256(b"").hexdigest()})
    assert run_artifacts.find_artifact(other) is None


def test_what_is_larger_than_a_record_says_is_not_even_read(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "1.txt").write_text("one")
    kept = _artifact(tmp_path / "a", "trace")
    assert run_artifacts.find_artifact(kept) == (tmp_path / "a").resolve()
    for path in ("/", "/dev/zero", str(tmp_path / "a" / "1.txt"), ""):
        assert (
            run_artifacts.find_artifact(kept.model_copy(update={"file_path": path, "size_bytes": 4})) is None
        )
    (tmp_path / "a" / "2.txt").write_text("two")
    assert run_artifacts.find_artifact(kept) is None


# -- proposals, reports, health --------------------------------------------------------------------


def _proposal(number, **more):
    change = SelectorChange(
        type="selector", screen_id="cart", element_id=f"e{number}",
        selector=Selector.model_validate({"strategies": [{"type": "id", "value": "new"}]}),
    )  # fmt: skip
    said = {"website_id": "shop", "change": change, "proposed_at": NOON + timedelta(minutes=number)}
    return Proposal(proposal_id=f"p{number}", **{**said, **more})


def test_proposals_that_can_be_accepted_at_once_come_first_and_decided_ones_last():
    three = tuple(Support(run_id=f"r{number}", at=NOON) for number in range(3))
    ordered = proposal_view_models.sort_proposals(
        [_proposal(1, status="rejected"), _proposal(2), _proposal(3, supports=three), _proposal(4)]
    )
    found = [proposal_view_models.build_proposal_row(each, TODAY) for each in ordered]
    assert [each.proposal_id for each in found] == ["p3", "p4", "p2", "p1"]
    assert [each.status for each in found] == ["confirmed", "proposed", "proposed", "rejected"]
    assert found[1].said == "waiting for a decision; 3 more runs needed to confirm it"


def test_a_proposal_shows_every_value_that_would_change():
    page = proposal_view_models.build_proposal_page(
        _proposal(1, before={"strategies": [{"type": "id", "value": "old"}]}), TODAY
    )
    assert (page.before, page.after) == ("id old", "id new")
    assert [(each.path, each.before, each.after) for each in page.values] == [
        ("strategies[0].value", "old", "new")
    ]
    assert (
        page.sentence
        == "The proposal would change the selector of cart.e1: 0 runs succeeded with it, none failed."
    )
    assert page.row.title == "Selector of “e1” on “cart”"
    added = proposal_view_models.build_proposal_page(_proposal(1), TODAY)
    assert "would add" in added.sentence
    assert [(each.path, each.after) for each in added.values] == [("strategies[0]", "type: id, value: new")]


def test_what_is_proposed_as_a_whole_is_taken_apart_instead_of_being_shown_as_json():
    screen = Screen.model_validate({
        "type": "screen", "screen_id": "history", "name": "Change history", "url_patterns": ["^/history$"],
        "state_signature": {"primary_indicators": [{"type": "title_contains", "value": "History"}]},
        "ui_elements": [{"element_id": "save", "type": "button", "selector": "#save"}],
    })  # fmt: skip
    change = ScreenChange(type="screen", screen=screen)
    page = proposal_view_models.build_proposal_page(_proposal(1, change=change), TODAY)
    assert page.row.title == "New screen “Change history”"
    said = {each.path: each.after for each in page.values}
    assert said["name"] == "Change history"
    assert said["url_patterns"] == "^/history$"
    indicator = said["state_signature.primary_indicators[0]"]
    assert indicator.startswith("type: title_contains, value: History")
    assert not any(each.startswith(("{", "[")) for each in said.values())


def test_requirements_stand_as_their_newest_run_says_and_failing_ones_come_first():
    def verified(run_id, req_id, verdict):
        return _run(
            run_id,
            req_id=req_id,
            kind="verification",
            verdict=verdict,
            rca_message="m",
            rca_class="app_defect",
        )

    found = report_view_models.list_requirement_standings(
        [verified("3", "A", "pass"), verified("2", "B", "fail"), verified("1", "A", "fail"), _run("0")], TODAY
    )
    assert [(each.req_id, each.verdict, each.past, each.why) for each in found] == [
        ("B", "fail", (), "m"), ("A", "pass", ("fail",), ""),
    ]  # fmt: skip
    assert report_view_models.count_verdicts(found) == [("pass", 1), ("fail", 1)]


def test_reports_are_found_in_the_runs_folder_and_links_out_of_it_are_not_followed(tmp_path):
    folder = tmp_path / "runs"
    (folder / "a" / "b").mkdir(parents=True)
    (folder / "a" / "rehearsal.html").write_text("x")
    (folder / "a" / "b" / "report.html").write_text("x")
    (folder / "a" / "other.html").write_text("x")
    (tmp_path / "report.html").write_text("x")
    (folder / "out").symlink_to(tmp_path)
    found = report_view_models.find_reports(folder, TODAY)
    assert {each.path for each in found} == {"a/rehearsal.html", "a/b/report.html"}
    assert report_view_models.find_reports(tmp_path / "none", TODAY) == []


def test_a_disk_says_how_full_it_is(tmp_path):
    disk = read_disk_usage(tmp_path)
    assert 0 <= disk.used <= 1
    assert read_disk_usage(tmp_path / "none") is None
