"""Interface changes and application bugs: a small drawn sample; `make changes` measures all of them."""

from __future__ import annotations

import dataclasses
import json

import pytest

from kb_schema.verification import PlanCheck, PlanStep, VerificationPlan
from tests.interface_changes.__main__ import draw_pairs
from tests.interface_changes.change_figures import count_calibration
from tests.interface_changes.generated_assertions import GeneratedStatement, find_end, read_statements
from tests.interface_changes.generated_suites import (
    BrokenAssertion,
    SuiteFigures,
    judge_end,
    read_figures,
    write_figures,
)
from tests.interface_changes.measurement import (
    Measured,
    build_requirements,
    open_bench,
    read_record,
    read_requirement,
    to_record,
)
from tests.interface_changes.operators import (
    CHANGES,
    apply_operators,
    list_broken_outcomes,
    list_operators,
)
from tests.interface_changes.server_pages import build_page
from tests.interface_changes.site_models import SITES
from tests.interface_changes.site_server import is_installed
from tests.support.needs import lacking
from tests.support.rotation import dice

LEAST_CHANGES = 25
LEAST_PAIRS = 5
STATE = {"rows": [{"id": 1, "name": "One", "kind": "x"}], "message": "", "refused": ""}
SAMPLE = 3
"""Changes, and as many bugs, of one site in a normal run."""


def test_every_listed_change_is_made_by_code_and_every_site_has_enough_of_them():
    listed = {name for name, each in list_operators().items() if not each.is_bug}
    assert listed == set(CHANGES)
    for site in SITES:
        applied = [each for each in listed if apply_operators(site, (each,)) is not None]
        assert len(applied) >= LEAST_CHANGES, site
        assert len(draw_pairs(site)) >= LEAST_PAIRS, site


@pytest.mark.parametrize("site", SITES)
def test_every_change_and_bug_changes_what_a_site_shows_or_does(site):
    plain = SITES[site].to_json()
    for name in list_operators():
        changed = apply_operators(site, (name,))
        assert changed is None or changed.to_json() != plain, name
    assert SITES[site].to_json() == plain, "the site itself is as it was"


def test_the_pages_of_a_site_have_the_words_of_its_requirements():
    model = SITES["library"]
    pages = build_page(model, "/", "", STATE, []) + build_page(model, "/new", "", STATE, [])
    for part in model.parts.values():
        assert part.words in pages
    assert model.parts["save"].words in build_requirements(model)["add"]


def test_a_result_is_read_as_it_was_kept():
    kept = read_record(
        json.loads(json.dumps({"site": "library", "operators": ["wrap"], "result": "green", "told": "x"}))
    )
    assert read_record(json.loads(json.dumps(to_record(kept)))) == kept
    assert dataclasses.replace(kept, result="wrong") != kept


def test_the_calibration_counts_what_was_said_and_what_of_it_was_right():
    said = [
        Measured("library", ("dead_save",), "right", "app_defect", 0.93),
        Measured("library", ("rename_save",), "blamed", "app_defect", 0.93),
        Measured("library", ("rename_act",), "offered", "healing_declined", 0.88),
        Measured("library", ("option_removed",), "other", "selector_drift", 0.55),
        Measured("library", ("wrap",), "green", "success", 1.0),
        Measured("library", ("stale_list",), "masked", "success", 1.0),
    ]
    counted = count_calibration(said)
    assert counted == {
        (0.95, 1.01): (0, 0),
        (0.9, 0.95): (2, 1),
        (0.8, 0.9): (1, 1),
        (0.6, 0.8): (0, 0),
        (0.0, 0.6): (1, 0),
    }


async def test_every_expected_outcome_of_the_requirements_has_one_bug_that_breaks_it():
    listed = [(each.requirement, each.step, each.kind) for each in list_broken_outcomes()]
    expected = [
        (name, number, outcome.kind)
        for name, text in build_requirements(SITES["library"]).items()
        for number, step in enumerate((await read_requirement(text)).steps, 1)
        for outcome in step.expected
    ]
    assert sorted(listed) == sorted(expected)
    for each in list_broken_outcomes():
        changed = apply_operators("library", (each.by,))
        assert changed is not None
        assert changed.to_json() != SITES["library"].to_json(), each.by


@pytest.mark.parametrize(
    ("line", "kind", "ended"),
    [
        ("8", "message", "assertion"),
        ("6", "message", "elsewhere"),
        ("6", "checked", "act"),
        ("4", "checked", "elsewhere"),
        ("10", "message", "elsewhere"),
        ("", "message", "green"),
    ],
)
def test_where_a_generated_test_ends_is_told_by_its_traceback(line, kind, ended):
    statements = [
        GeneratedStatement("test_add.py", 4, 4, 1, "visible"),
        GeneratedStatement("test_add.py", 6, 6, 2),
        GeneratedStatement("test_add.py", 7, 9, 2, kind),
        GeneratedStatement("test_add.py", 10, 10, 2, "visible"),
    ]
    problem = f"test_add.py:{line}: in test_add\n    expect(...)\nE   AssertionError" if line else None
    assert judge_end(statements, statements[2], problem) == ended


async def test_an_assertion_over_several_lines_is_one_statement_of_its_step(tmp_path):
    wanted = await read_requirement("# add: Add one\nURL: /\n\nAdd | click | | message:Stored\n")
    file = tmp_path / "test_add.py"
    file.write_text(
        'def test_add(page):\n    page.goto("/")\n\n    # 1. Add (line 4)\n    add.click()\n'
        '    expect(\n        message(page, "Stored")\n    ).to_be_visible()\n'
    )
    step = PlanStep(
        step_idx=0, intent=wanted.steps[0], checks=(PlanCheck(outcome=wanted.steps[0].expected[0]),)
    )
    statements = read_statements(
        file, VerificationPlan(requirement=wanted, base_url="http://127.0.0.1", steps=(step,))
    )
    assert [(each.first, each.last, each.step, each.kind) for each in statements] == [
        (2, 2, 0, ""),
        (5, 5, 1, ""),
        (6, 8, 1, "message"),
    ]
    assert find_end(statements, "test_add.py:8: in test_add\n    ).to_be_visible()") == statements[2]


def test_figures_of_suites_are_read_as_they_were_kept(tmp_path):
    shown = BrokenAssertion("add", 1, "visible", "save_removed", "assertion")
    kept = SuiteFigures("library", "2026-11-29", {"add": True}, {"save_removed": True}, [shown])
    write_figures(kept, tmp_path / "suites" / "library.json")
    assert read_figures(tmp_path / "suites" / "library.json") == kept
    assert kept.right
    assert not dataclasses.replace(kept, assertions=[dataclasses.replace(shown, ended="green")]).right


async def test_a_drawn_site_has_no_wrong_act_and_no_masked_bug(browser):
    drawn = dice("interface changes")
    site = drawn.choice([each for each in SITES if is_installed(SITES[each].make)])
    operators = [each for each in list_operators().values() if apply_operators(site, (each.name,))]
    changes = drawn.sample([each.name for each in operators if not each.is_bug], SAMPLE)
    bugs = drawn.sample([each.name for each in operators if each.is_bug], SAMPLE)
    async with open_bench(browser) as bench:
        measured = [await bench.measure(site, (name,)) for name in (*changes, *bugs)]
    bad = [each for each in measured if each.result in ("wrong", "masked")]
    assert bad == [], "\n".join(each.told for each in bad)


async def test_what_changes_no_word_and_no_place_is_green(browser):
    async with open_bench(browser) as bench:
        measured = [await bench.measure("library", (name,)) for name in ("wrap", "re_class")]
    assert [each.result for each in measured] == ["green", "green"], measured


async def test_a_button_that_another_act_replaced_is_not_pressed(browser):
    async with open_bench(browser) as bench:
        measured = [await bench.measure("library", (name,)) for name in ("save_replaced", "act_replaced")]
    assert [each.result for each in measured] == ["right", "right"], [each.told for each in measured]


def test_libraries_are_installed():
    missing = [each.make for each in SITES.values() if not is_installed(each.make)]
    if missing:
        lacking(f"the libraries of {', '.join(missing)} are not installed: make setup-changes")
