"""Shown a few times on the pages of MiniWoB++, by people and by the scripted person, done on goals that nobody showed."""

from __future__ import annotations

import random
from argparse import Namespace
from pathlib import Path

import pytest
from rich.console import Console

from benchmarks import miniwob
from benchmarks.miniwob_arena import Ending, arena, drawn, learn, measured
from benchmarks.miniwob_figures import (
    BEGIN,
    END,
    GOOD,
    Draw,
    keep_draw,
    make_scores,
    put_into,
    read_draws,
    write_markdown,
)
from benchmarks.miniwob_pages import set_goal
from benchmarks.miniwob_person import OTHERS, find_wrong_values, read_forms
from benchmarks.miniwob_recordings import record, sessions
from benchmarks.miniwob_ways import can_do, states_of
from tests.support.drift import BENCH
from tests.support.foreign_sites import MINIWOB_PAGES, miniwob_pages  # noqa: F401 - fixture
from tests.support.rotation import dice

DEMOS = BENCH / "miniwob_demos"
TASKS = ("click-option", "login-user", "click-tab-2")
"""One each of: a thing that is named, fields that are filled in, a search."""
SURE = ("choose-list", "enter-time", "email-inbox-reply", "form-sequence-2")
"""Tasks of the scripted person that three demonstrations were always enough for."""
LEAST_OTHERS = 20
GOALS, DRAWS = 6, 5
"""Of each task and k in the nightly: 30 goals over five draws."""
HOURS = 3600
LEARNED_OF_16 = 10
"""Tasks of which more than nine tenths of the goals were solved when this was written, with a margin."""


def _demos() -> Path:
    if not DEMOS.is_dir():
        pytest.skip(f"no demonstrations of MiniWoB++ in {DEMOS}: PERIPLUS_BENCH_DATA names their folder")
    return DEMOS


async def test_three_demonstrations_are_enough_for_goals_nobody_showed(browser, miniwob_pages):  # noqa: F811
    demos = _demos()
    async with arena(browser, MINIWOB_PAGES.parent) as place:
        for task in TASKS:
            endings = await measured(place, task, demos, k=3, draw=0, seeds=1)
            assert [each.how for each in endings] == ["solved"], (task, endings)


async def test_a_drawn_task_is_shown_by_the_scripted_person_and_done(browser, miniwob_pages, tmp_path):  # noqa: F811
    task = dice("miniwob").choice(SURE)
    async with arena(browser, MINIWOB_PAGES.parent) as place:
        left_out = await record(browser, place.website.base_url, task, tmp_path, count=3)
        assert len([*sessions(tmp_path / task)]) == 3, left_out
        endings = await measured(place, task, tmp_path, k=3, draw=0, seeds=1)
    assert [each.how for each in endings] == ["solved"], (task, endings)


async def test_a_form_in_a_frame_of_another_folder_gets_its_goal_as_json(browser, miniwob_pages):  # noqa: F811
    async with arena(browser, MINIWOB_PAGES.parent) as place:
        await place.open("flight/AA")
        goal = await place.goal("any")
        assert goal.startswith('{"Departure City":')
        assert any(name.startswith("frame segments0.origin") for name in await read_forms(place.page))


async def test_a_value_that_the_person_never_has_there_is_wrong_and_one_that_is_half_typed_is_not(
    browser,
    miniwob_pages,  # noqa: F811
):
    async with arena(browser, MINIWOB_PAGES.parent) as place:
        await place.open("login-user")
        goal = await place.goal("any")
        passed = await states_of("login-user", goal, place.page)
        assert passed is not None
        assert await set_goal(place.page, "any") == goal
        user = next(state["username"] for state in passed if state["username"])
        await place.page.fill("#username", user[:2])
        assert find_wrong_values(await read_forms(place.page), passed) == []
        await place.page.fill("#password", "of another")
        assert find_wrong_values(await read_forms(place.page), passed) == ["password is 'of another'"]


def test_the_scripted_person_knows_enough_tasks_and_each_has_a_page(miniwob_pages):  # noqa: F811
    assert len(OTHERS) >= LEAST_OTHERS
    assert all(map(can_do, OTHERS))
    assert all((MINIWOB_PAGES.parent / miniwob.path_of(task)).is_file() for task in OTHERS)


def test_draws_are_read_as_they_were_kept_and_stand_between_the_marks_of_a_page(tmp_path):
    file, page = tmp_path / "draws.jsonl", tmp_path / "page.md"
    draw = Draw("choose-list", 3, 0, (Ending("solved", "a"), Ending("wrong", "b", "field is 'x'")))
    keep_draw(file, draw)
    assert read_draws(file) == {draw.key: draw}
    page.write_text(f"before\n{BEGIN}\nold\n{END}\nafter\n", encoding="utf-8")
    put_into(page, write_markdown(make_scores([draw]), [3]))
    told = page.read_text(encoding="utf-8")
    assert "| choose-list | 50% (50% wrong) | field is 'x' |" in " ".join(told.split()).replace("|  ", "| ")
    assert "**wrong** | 1 of 2 goals" in told
    assert "old" not in told
    assert told.startswith("before")
    assert told.endswith("after\n")
    with pytest.raises(ValueError, match="has no line"):
        put_into(file, "")


async def test_a_goal_that_is_told_otherwise_is_refused_and_nothing_is_clicked(browser, miniwob_pages):  # noqa: F811
    learned = await learn(drawn(_demos() / "click-link", 3, random.Random(1)), "it")
    assert not isinstance(learned, str), learned
    async with arena(browser, MINIWOB_PAGES.parent) as place:
        await place.open("click-link")
        await place.goal("any")
        ending = await place.run(learned, "Do something nice.")
        assert ending.how == "refused"
        assert "'Do something nice.' does not fit" in ending.why
        assert await place.page.evaluate("() => WOB_DONE_GLOBAL") is False


@pytest.mark.nightly
@pytest.mark.timeout(3 * HOURS)
async def test_the_whole_table(miniwob_pages, capsys, tmp_path):  # noqa: F811
    demos = _demos()
    options = Namespace(
        demos=demos, pages=MINIWOB_PAGES.parent, tasks=miniwob.tasks_in(demos), k=list(miniwob.KS),
        seeds=GOALS, draws=DRAWS, out=tmp_path, again=False, write=None, series="",
    )  # fmt: skip
    with capsys.disabled():
        scores = await miniwob.main(options, Console(width=120))
    of_five = [score for score in scores if score.k == 5]
    assert sum(score.share("solved") > GOOD for score in of_five) >= LEARNED_OF_16 * len(of_five) // 16
    assert [score.task for score in scores if score.share("wrong")] == []


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--demos", "nowhere"], "there is no folder nowhere"),
        (["--demos", "{demos}", "--k", "1,x"], "are no numbers with commas between"),
        (["--demos", "{demos}", "--k", "99"], "--k: from 1 to"),
        (["--demos", "{demos}", "--tasks", "fly"], "there are no demonstrations of 'fly'"),
        (["--demos", "{demos}", "--pages", "{demos}"], "`make setup-miniwob` gets the pages"),
    ],
)
def test_what_cannot_be_measured_is_said_and_ends_with_two(arguments, told, tmp_path, miniwob_pages, capsys):  # noqa: F811
    (tmp_path / "click-link").mkdir()
    (tmp_path / "click-link" / "000.json").write_text("{}")
    with pytest.raises(SystemExit) as ended:
        miniwob._options([each.format(demos=tmp_path) for each in arguments])
    assert ended.value.code == 2
    assert told in capsys.readouterr().err
