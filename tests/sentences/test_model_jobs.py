"""A sample of the jobs in words with scripted models (`make word-jobs`), and how they are judged."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace

import pytest
from rich.console import Console

from tests.sentences.model_job_figures import JobRun, format_costs, read_runs, summarize
from tests.sentences.model_jobs import (
    WordJobMeasurement,
    judge_doings,
    judge_run,
    measure_jobs,
    read_word_jobs,
)
from tests.support.demonstrated_models import ShownStep, find_control
from tests.support.rotation import rotating

TAUGHT = ("create_agent", "greet_callers", "delete_agent", "rename_company", "delete_message")
PAGE = """# Issues
e1 textbox "Search"
e2 link "Paper jam" @ row Paper jam
e3 button "retire" @ row pavel
e4 button "retire" @ row oscar
e5 combobox "Status" @ row Priority
e6 textbox (no name) @ row Change Note
e14 spinbutton (no name, amount)
e7 link "A title that is very long and was therefore cut o\N{HORIZONTAL ELLIPSIS}"
e8 clickable "AB Write something here..."
e9 button "like post" shows 5 @ after Ada
e10 button "like post" shows 5 @ after Bo
e13 clickable "All" @ after Ada
e11 clickable "All" @ after All
e12 clickable "Friends" checked
e15 clickable "G Engineering Intern Google Mountain View, CA"
e16 button "save job" @ after Engineering Intern Google
e17 clickable "LC Lisa Chang Class of 2026 How do you negotiate salary for a\N{HORIZONTAL ELLIPSIS}" @ after All"""


@pytest.mark.parametrize(
    ("step", "found"),
    [
        (ShownStep("click", "button", ("retire",), ("oscar", "Oscar Lindqvist")), "e4"),
        (ShownStep("click", "link", ("Paper jam",)), "e2"),
        (ShownStep("select_option", "combobox", ("Status",), ("Priority", "Status")), "e5"),
        (ShownStep("fill", "textbox", (), ("Change Note",)), "e6"),
        (ShownStep("fill", "spinbutton", ()), "e14"),
        (ShownStep("click", "link", ("A title that is very long and was therefore cut off here",)), "e7"),
        (ShownStep("click", "", ("Write something here...",)), "e8"),
        (ShownStep("click", "button", ("like post", "5"), ("Bo",)), "e10"),
        (ShownStep("click", "", ("Friends",), ("All",)), "e12"),
        (ShownStep("click", "", ("All",), ("All",)), "e11"),
        (ShownStep("click", "button", ("Save",)), None),
        (ShownStep("click", "", ("How do you negotiate salary for a new grad offer?",)), "e17"),
        (ShownStep("click", "", ("How do you become a teacher?",)), None),
    ],
    ids=lambda each: each.name if isinstance(each, ShownStep) else str(each),
)
def test_a_scripted_model_finds_a_control_by_what_the_outline_says(step, found):
    assert find_control(PAGE, step) == found


def test_of_two_buttons_that_are_called_alike_it_takes_the_one_behind_the_field_that_it_filled():
    page = (
        'e1 textbox "Find"\ne2 button "Search"\ne3 searchbox "Books"\ne4 button "Search"\ne5 button "Search"'
    )
    step = ShownStep("click", "button", ("Search",))
    assert find_control(page, step) == "e2"
    assert find_control(page, step, last="e1") == "e2"
    assert find_control(page, step, last="e3") == "e4"
    assert find_control(page, step, last="e5") == "e2"


def test_a_number_of_a_reference_is_no_value_of_the_sentence():
    page = 'e27 textbox "Publisher" @ after Publisher\ne28 combobox "Publisher"'
    assert find_control(page, ShownStep("fill", "combobox", ("Publisher",)), ("7", "Old Mill")) == "e28"


def test_a_button_beside_a_title_is_not_that_title():
    assert (
        find_control(PAGE, ShownStep("click", "", ("Engineering Intern",)), ("Engineering Intern",)) == "e15"
    )


def test_of_controls_that_are_called_alike_it_takes_the_one_beside_a_text_or_most_plain_words_of_the_sentence():
    page = """e1 button "open comments" @ after G Google Join our internship program
e2 button "open comments" @ after M& McKinsey & Company Join our campus presentation at Stanford
e3 button "open comments" @ after A Ada Stanford Club, a presentation"""
    step = ShownStep("click", "button", ("open comments",))
    assert find_control(page, step) == "e1"
    assert find_control(page, step, (), ("mckinsey", "campus", "presentation", "stanford")) == "e2"
    assert find_control(page, step, ("Ada",), ("mckinsey", "campus", "presentation", "stanford")) == "e3"


@pytest.mark.parametrize(
    ("after", "claimed", "outcome"),
    [
        (["a", "b"], True, "right"),
        (["a", "b"], False, "unclaimed"),
        (["a"], False, "refused"),
        (["a"], True, "false_success"),
        (["a", "b", "b"], False, "beside"),
        (["a", "b", "b"], True, "false_success"),
        (["a", "c"], False, "beside"),
    ],
)
def test_a_run_is_judged_by_the_applications_state(after, claimed, outcome):
    states = [{"names": names} for names in (["a"], ["a", "b"], after)]
    assert judge_run(*states, claimed=claimed) == outcome


def test_each_doing_is_judged_where_the_last_state_says_nothing_of_those_before():
    """The application begins each doing with its seed; the first comment stood below another post, and nothing saw it."""
    seed, states = ["a"], [["a"], ["a", "b"], ["a", "c"], ["a", "d"]]
    claims = [True, True, True]
    assert judge_doings(states, [["a", "b"], None, ["a", "d"]], claims, from_seed=True) is None
    assert (
        judge_doings(states, [["a", "x"], ["a", "c"], ["a", "d"]], claims, from_seed=True) == "false_success"
    )
    assert judge_doings(states, [["a", "x"], seed, seed], [False] * 3, from_seed=True) == "beside"
    grown = [["a"], ["a", "b"], ["a", "b", "c"]]
    assert judge_doings(grown, grown[1:], [True, True], from_seed=False) is None


def test_there_are_twenty_jobs_on_three_applications_and_five_on_a_fourth():
    words = read_word_jobs()
    assert len(words) == 25
    assert len({each.application.name for each in words}) == 4


async def test_a_run_is_kept_when_the_job_is_cut_off_after_it_and_is_not_repeated(tmp_path, monkeypatch):
    word = next(each for each in read_word_jobs() if each.job.name == "create_agent")
    word = replace(word, application=replace(word.application, start=lambda _folder: nullcontext(None)))
    file, begun = tmp_path / "jobs.jsonl", []

    async def show(*_args):
        return [], [None]

    async def teach(*_args):
        begun.append("taught")
        return JobRun("spadeworks", "create_agent", "taught", "right", 0)

    async def run_once(*args):
        begun.append(args[-1])
        raise InterruptedError

    for name, stub in (("_show", show), ("_teach", teach), ("_run_once", run_once)):
        monkeypatch.setattr(WordJobMeasurement, name, stub)
    for _ in range(2):
        with pytest.raises(InterruptedError):
            await measure_jobs([word], ("taught", "again", "mediocre"), file, Console(quiet=True))
    assert [each.kind for each in read_runs(file)] == ["taught"]
    assert begun == ["taught", "mediocre", "mediocre"]


@pytest.mark.sampled(0.3)
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", rotating("word jobs", TAUGHT, 1))
async def test_a_job_is_taught_and_then_done_without_a_model_and_no_model_is_wrong_unsaid(tmp_path, name):
    words = [
        each for each in read_word_jobs() if (each.application.name, each.job.name) == ("spadeworks", name)
    ]
    file = tmp_path / "jobs.jsonl"
    await measure_jobs(
        words, ("taught", "again", "mediocre", "bad"), file, Console(quiet=True), keep=tmp_path
    )
    runs = {each.kind: each for each in read_runs(file)}
    assert (runs["taught"].outcome, runs["taught"].published) == ("right", True), runs["taught"]
    assert (runs["again"].outcome, runs["again"].calls) == ("right", 0), runs["again"]
    for kind in ("mediocre", "bad"):
        assert runs[kind].outcome not in ("false_success", "beside"), runs[kind]
        assert runs[kind].calls <= 100
    assert "without the model, 1 jobs" in summarize(list(runs.values()))


def test_costs_are_those_of_the_first_doing_and_of_teaching():
    runs = [
        JobRun("a", "b", "taught", "right", 0, 30, 9_000, 0.03, 10.0, published=True, first_calls=8, first_tokens=2_500, first_usd=0.01),
        JobRun("a", "b", "again", "right", 0, first_s=5.0),
    ]  # fmt: skip
    table = format_costs(runs)
    assert "| 100 times, with the model each time | 800 | 250,000 | 1.0000 | 1,000 | 2,600 |" in table
    assert "| 100 times, taught with 3 of them, then without | 30 | 9,000 | 0.0300 | 515 | 575 |" in table
    assert "| 100 times, as known tasks | 0 | 0 | 0.0000 | 500 | 500 |" in table
