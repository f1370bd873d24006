"""Shown three times by people on the pages of MiniWoB++, done on goals that nobody showed."""

from __future__ import annotations

import random
from argparse import Namespace
from pathlib import Path

import pytest
from rich.console import Console

from benchmarks import miniwob
from tests.support.drift import BENCH
from tests.support.foreign_sites import MINIWOB_PAGES, miniwob_pages  # noqa: F401 - fixture

DEMOS = BENCH / "miniwob_demos"
TASKS = ("click-option", "login-user", "click-tab-2")
"""One each of: a thing that is named, fields that are filled in, a search."""
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
    async with miniwob.arena(browser, MINIWOB_PAGES.parent) as place:
        for task in TASKS:
            endings = await miniwob.measured(place, task, demos, k=3, draw=0, seeds=1)
            assert [each.how for each in endings] == ["solved"], (task, endings)


async def test_a_goal_that_is_told_otherwise_is_refused_and_nothing_is_clicked(browser, miniwob_pages):  # noqa: F811
    learned = await miniwob.learn(miniwob.drawn(_demos() / "click-link", 3, random.Random(1)), "it")
    assert not isinstance(learned, str), learned
    async with miniwob.arena(browser, MINIWOB_PAGES.parent) as place:
        await place.open("click-link")
        await place.goal("any")
        ending = await place.run(learned, "Do something nice.")
        assert ending.how == "refused"
        assert "'Do something nice.' does not fit" in ending.why
        assert await place.page.evaluate("() => WOB_DONE_GLOBAL") is False


@pytest.mark.nightly
@pytest.mark.timeout(3 * HOURS)
async def test_the_whole_table(miniwob_pages, capsys):  # noqa: F811
    demos = _demos()
    options = Namespace(
        demos=demos, pages=MINIWOB_PAGES.parent, tasks=miniwob.tasks_in(demos), k=list(miniwob.KS),
        seeds=GOALS, draws=DRAWS,
    )  # fmt: skip
    with capsys.disabled():
        scores = await miniwob.main(options, Console(width=120))
    of_five = [score for score in scores if score.k == 5]
    assert (
        sum(score.share("solved") > miniwob.GOOD for score in of_five) >= LEARNED_OF_16 * len(of_five) // 16
    )


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--demos", "nowhere"], "there is no folder nowhere"),
        (["--demos", "{demos}", "--k", "1,x"], "are no numbers with commas between"),
        (["--demos", "{demos}", "--tasks", "fly"], "has no demonstrations of 'fly'"),
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
