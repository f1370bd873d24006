"""The zoo: jobs in applications that are not ours. One job of each half is measured here, all of them by `make zoo`."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from dataclasses import replace

import pytest

from agent.events import Event
from kb_schema.page_snapshots import PageSnapshot
from tests.support.foreign_sites import TOOLS
from tests.support.needs import lacking
from tests.support.rotation import SEED, dice
from tests.zoo.applications import APPLICATIONS
from tests.zoo.induction_share import list_shares
from tests.zoo.map_drafts import judge_draft
from tests.zoo.map_measurement import read_map_truths
from tests.zoo.map_tasks import is_same_control, list_row_texts
from tests.zoo.map_views import ListedView, read_listed_views
from tests.zoo.published_runs import end_when_idle
from tests.zoo.registry.roundup import ROUNDUP
from tests.zoo.single_page import benchmark
from tests.zoo.zoo_figures import COLUMNS, list_rows, write_markdown
from tests.zoo.zoo_jobs import SHOWN, Application, Job
from tests.zoo.zoo_measurement import JobFigures, find_differences, judge_state, open_measurement
from web_pages.stored_pages import StoredPage

SINGLE_PAGE = sorted(name for name, each in APPLICATIONS.items() if each.make == benchmark.MAKE)
TASKS = 372
NEVER = {"false_success", "beside"}
"""What no run may be."""
WHOLE = {"create_issue", "edit_issue", "rename_issue"}
"""Jobs of Roundup of which a workflow was made without gaps when this was written."""


def _need_archive() -> None:
    if not benchmark.ARCHIVE.is_file():
        pytest.skip(f"there is no {benchmark.ARCHIVE}: PERIPLUS_BENCH_DATA names its folder")


def test_every_task_of_the_benchmark_is_under_exactly_one_template():
    _need_archive()
    listed: Counter[tuple[str, str]] = Counter()
    for application, templates in benchmark.read_templates().items():
        for tasks in templates.values():
            listed.update((application, task) for task in tasks)
    wanted = {
        (folder.name, task["id"])
        for folder in benchmark.unpack_archive().iterdir()
        if (folder / "function-tasks.json").is_file()
        for task in json.loads((folder / "function-tasks.json").read_text(encoding="utf-8"))
    }
    assert len(wanted) == TASKS
    assert listed == Counter(dict.fromkeys(wanted, 1))


@pytest.mark.parametrize("name", SINGLE_PAGE)
def test_every_job_has_enough_demonstrations_and_different_names(name):
    _need_archive()
    application = APPLICATIONS[name]
    names = [job.name for job in application.jobs]
    assert len(names) == len(set(names))
    for job in application.jobs:
        instances = [each.name for each in job.instances]
        assert len(instances) == len(set(instances)), job.name
        assert len(job.demonstrations) in (2, SHOWN), job.name


def test_differences_name_the_place():
    assert find_differences({"a": [1, {"b": 2}]}, {"a": [1, {"b": 3}]}) == [".a[1].b: 2 | 3"]
    assert find_differences([1, 2], [1]) == ["+: 2 | "]
    assert find_differences({"a": 1}, {"a": 1}) == []


def test_a_table_keeps_the_rows_that_were_not_measured_again():
    def measure(application: str, jobs: int, day: str) -> list[dict[str, object]]:
        common = {
            "application": application,
            "naming": "values",
            "setting": "same",
            "whole": True,
            "question": "",
        }
        ending = {"feasible": True, "outcome": "right", "claim": "success", "seconds": 2.0, "said": ""}
        return [common | {"job": str(each), "endings": [ending], "measured": day} for each in range(jobs)]

    former = write_markdown(measure("wiki", 2, "2026-01-01") + measure("shop", 3, "2026-01-01"), "")
    renewed = write_markdown(measure("wiki", 2, "2026-02-02") + measure("shop", 1, "2026-02-02"), former)
    rows = [[cell.strip() for cell in line.split("|")] for line in renewed.splitlines()[2:]]
    assert [(row[1], row[4], row[-2]) for row in rows] == [
        ("wiki", "2", "2026-02-02"),
        ("shop", "3", "2026-01-01"),
    ]


def test_a_table_takes_the_rows_of_one_that_has_fewer_columns():
    row = "| wiki | values | same | 2 | 2026-01-01 |"
    former = f"| application | naming | setting | jobs | measured |\n|---|---|---|---|---|\n{row}\n"
    (kept,) = write_markdown([], former).splitlines()[2:]
    assert [cell.strip() for cell in kept.split("|") if cell.strip()] == [
        "wiki",
        "values",
        "same",
        "2",
        "2026-01-01",
    ]


def test_a_run_that_could_be_done_and_blames_the_application_is_counted():
    def end(said: str, *, feasible: bool) -> dict[str, object]:
        return {"feasible": feasible, "outcome": "refused", "claim": "failure", "seconds": 2.0, "said": said}

    blame = "the application refused step 's3' (HTTP 400)"
    endings = [end(blame, feasible=True), end("not found", feasible=True), end(blame, feasible=False)]
    figures = {
        "application": "wiki",
        "naming": "values",
        "setting": "same",
        "job": "create",
        "whole": True,
        "question": "",
        "endings": endings,
        "measured": "2026-01-01",
    }
    (row,) = list_rows([figures])
    assert row[COLUMNS.index("blamed")] == "1"


@pytest.mark.timeout(600)
async def test_a_job_in_a_single_page_application_never_claims_what_is_not_so(browser, tmp_path):
    _need_archive()
    drawn = dice("zoo/single page")
    application = APPLICATIONS[drawn.choice(SINGLE_PAGE)]
    await _measured(browser, application, drawn.choice(list(application.jobs)), tmp_path)


@pytest.mark.timeout(600)
async def test_a_job_in_an_application_from_the_registries_never_claims_what_is_not_so(browser, tmp_path):
    if not any((TOOLS / "zoo").glob("roundup-*/.installed")):
        lacking("no application of the zoo is there; `scripts/setup.sh zoo roundup-2.6.0` installs one")
    job = dice("zoo/registry").choice(list(ROUNDUP.jobs))
    figures = await _measured(browser, ROUNDUP, job, tmp_path, most=3)
    assert figures.whole or job.name not in WHOLE, figures.reason


async def _measured(browser, application: Application, job: Job, folder, *, most: int = 2) -> JobFigures:
    """The figures of one job, of which at most so many instances of each kind are run."""
    drawn = dice(f"zoo/{job.name}")
    unseen = drawn.sample(job.unseen, min(most, len(job.unseen)))
    job = replace(job, instances=[*job.demonstrations, *unseen])
    async with open_measurement(browser, application, folder, SEED) as measurement:
        figures = await measurement.measure(job, "values")
    said = [(each.instance, each.outcome, each.claim, each.said, each.changes) for each in figures.endings]
    assert not NEVER & {each.outcome for each in figures.endings}, (application.name, job.name, said)
    return figures


def test_the_share_of_whole_jobs_is_by_naming_and_number_and_the_last_measurement_counts():
    def line(job: str, shown: list[int], reason: str) -> dict[str, object]:
        return {"application": "wiki", "job": job, "naming": "values", "shown": shown, "reason": reason}

    figures = [
        line("add", [0, 1, 2], "a branch"),
        line("add", [0, 1], ""),
        line("drop", [0, 1, 2], ""),
        line("add", [0, 1, 2], ""),
        line("drop", [0, 1], "a loop"),
    ]
    rows = [["values", "2", "2", "1", "50.0%"], ["values", "3", "2", "2", "100.0%"]]
    assert list_shares(figures) == [[name, *row] for name in ("wiki", "all") for row in rows]


def test_a_success_that_the_benchmark_denies_is_a_false_one():
    seen = {"claim": "success/verified", "success": True, "feasible": True}
    assert judge_state({}, {"a": 1}, {"a": 1}, **seen, verified=None) == "right"
    assert judge_state({}, {"a": 1}, {"a": 1}, **seen, verified=True) == "right"
    assert judge_state({}, {"a": 1}, {"a": 1}, **seen, verified=False) == "false_success"
    assert judge_state({}, {"a": 1}, {}, **(seen | {"success": False}), verified=False) == "refused"


def test_an_address_is_read_as_the_screen_that_was_written_down_before_an_application_was_mapped():
    truths = read_map_truths()
    assert set(truths) <= set(APPLICATIONS)
    assert all(len(set(truth.screens)) == len(truth.screens) for truth in truths.values())
    read = {
        ("roundup", "/issue12?@sort=id"): "/issue#",
        ("roundup", "/issue?%40columns=id&%40template=index&%40sort=activity"): "/issue",
        ("trac", "/ticket/7?action=view"): "/ticket/#",
        ("wagtail", "/admin/pages/12/edit/"): "/admin/pages/#/edit",
        ("pretalx", "/orga/event/compass/submissions/QZQ348/"): "/orga/event/#/submissions/#",
    }
    for (name, path), screen in read.items():
        assert truths[name].screen_of(f"http://a.test{path}") == screen


def test_listed_views_are_of_applications_of_the_zoo_and_each_has_signs():
    for application, listed in read_listed_views().items():
        assert application in APPLICATIONS
        assert len({(each.kind, each.name) for each in listed}) == len(listed) > 0
        assert all(each.signs for each in listed), application


@pytest.mark.parametrize(
    ("signs", "shown"),
    [
        (("h1",), True),
        (("h1 :: Open issues",), True),
        (("h1 :: Open",), False),
        (("h1 :: Open*",), True),
        ((".menu",), False),
        (("h1", ".menu"), False),
        (("h1", ".tab.active :: Mine*"), True),
    ],
)
def test_a_listed_view_is_shown_if_all_its_signs_are_visible_with_their_texts(signs, shown):
    html = "<h1>Open <b>issues</b></h1><div class=menu hidden>Mine</div><p class='tab active'>Mine (3)</p>"
    page = StoredPage(PageSnapshot(url="http://site.example/", html=html))
    assert ListedView("view", "issues", signs).is_shown(page) is shown


def _stored(html: str) -> StoredPage:
    return StoredPage(PageSnapshot(url="http://x.test/", html=html))


def test_a_control_and_the_icon_in_it_are_one_control_and_its_row_is_none():
    page = _stored("<ul><li><b>Ada</b><button><i></i>Edit</button></li></ul>")
    by_tag = {each.tag: each for each in page.roots[0].elements}
    assert is_same_control(by_tag["button"], by_tag["i"])
    assert not is_same_control(by_tag["li"], by_tag["button"])
    assert "Ada" in list_row_texts(by_tag["button"], ())


def test_a_draft_is_judged_by_the_state_and_by_what_it_claims():
    before, wanted = {"name": "A", "mail": "a"}, {"name": "B", "mail": "a"}
    judged = [
        judge_draft(before, wanted, after, success=success, verified=after == wanted)
        for after, success in (
            (wanted, False),
            (before, False),
            (before, True),
            ({"name": "A", "mail": "B"}, False),
        )
    ]
    assert judged == ["done", "nothing", "false_success", "beside"]


async def test_a_run_that_tells_nothing_is_ended():
    with pytest.raises(TimeoutError):
        async with end_when_idle(0.0, 60.0):
            await asyncio.Event().wait()


async def test_each_event_of_a_run_gives_it_more_time_up_to_its_last_moment():
    async with end_when_idle(0.0, 60.0) as limit:
        limit(Event())  # it would be ended at once, as in the test above
        more = replace(limit, idle_s=1e6)
        more(Event())
        assert limit.timeout.when() == limit.last


async def _ends_late() -> None:
    async with end_when_idle(0.0, 60.0) as limit:
        try:
            await asyncio.Event().wait()
        finally:
            limit(Event())


async def test_an_event_of_a_run_that_is_being_ended_changes_nothing():
    with pytest.raises(TimeoutError):
        await _ends_late()
