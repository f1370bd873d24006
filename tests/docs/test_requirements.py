"""docs/requirements.md: every example is read to the same requirement, and nothing the planner knows is left out."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from openpyxl import Workbook

from agent.verification.planning import read_requirements
from agent.verification.planning.requirement_composer import SPOKEN
from agent.verification.planning.requirement_files import EXTENSIONS
from agent.verification.planning.step_phrases import PHRASES
from kb_schema.expected_outcomes import OUTCOMES, parse_outcomes
from kb_schema.verification import Requirement

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "requirements.md").read_text(encoding="utf-8")
NAMES = {"csv": "a.csv", "json": "a.json", "text": "a.txt", "markdown": "a.md", "gherkin": "a.feature"}


def brief(requirement: Requirement) -> list[object]:
    steps = [
        (step.intent, step.action, step.value, [(each.kind, each.value) for each in step.expected])
        for step in requirement.steps
    ]
    return [requirement.req_id, requirement.title, requirement.url, *steps]


EXPECTED = [
    "sign_in", "Sign in", "/login",
    ("Email", "fill", "ada@example.com", [("field_populated", None)]),
    ("Password", "fill", "{secret:PASSWORD}", [("field_populated", None)]),
    ("Sign in@Login form", "click", None, [("navigates_to", "Dashboard"), ("shows", "Hello; Ada")]),
]  # fmt: skip


@pytest.mark.parametrize("language", NAMES)
async def test_the_example_of_each_format_is_the_same_requirement(tmp_path, language):
    (block,) = re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)
    (tmp_path / NAMES[language]).write_text(block, encoding="utf-8")
    (found,) = await read_requirements([tmp_path / NAMES[language]])
    assert brief(found) == EXPECTED


async def test_the_test_cases_and_the_examples_of_a_table_are_read(tmp_path):
    cases, examples = re.findall(r"```table\n(.*?)```", PAGE, re.DOTALL)
    (tmp_path / "a.csv").write_text(cases, encoding="utf-8")
    (tmp_path / "b.csv").write_text(examples, encoding="utf-8")
    first, ann, bob = await read_requirements([tmp_path])
    assert [each.req_id for each in (first, ann, bob)] == ["TC-1", "greet_1", "greet_2"]
    assert brief(first)[2:] == [
        "/agents",
        ("Create Agent", "click", None, []),
        ("Name", "fill", "Ann", [("field_value", "Ann")]),
        ("Save", "click", None, [("message", "Saved")]),
    ]
    assert brief(bob)[3:] == [
        ("Name", "fill", "Bob", [("field_populated", None)]),
        ("Greet", "click", None, [("shows", "Hello Bob")]),
    ]


async def test_the_sheet_that_is_shown_is_the_same_requirement(tmp_path):
    book = Workbook()
    for row in re.findall(r"^\| (\d) \| (.*) \|$", PAGE, re.MULTILINE):
        for column, cell in enumerate(re.split(r"\s*\|\s*", row[1]), 1):
            book.active.cell(int(row[0]), column).value = cell or None
    book.save(tmp_path / "sign_in.xlsx")
    (found,) = await read_requirements([tmp_path / "sign_in.xlsx"])
    assert brief(found) == EXPECTED


def test_every_kind_action_phrase_and_extension_is_told():
    told = dict(re.findall(r"^\| `(\w+)` \| .* \| `(.*)` \|$", PAGE, re.MULTILINE))
    assert list(told) == list(OUTCOMES)
    assert [parse_outcomes(example)[0].kind for example in told.values()] == list(told)
    assert [each.summary for each in OUTCOMES.values() if each.summary not in PAGE] == []
    assert re.findall(r"^- `(.*)`$", PAGE, re.MULTILINE) == [each.example for each in PHRASES.values()]
    assert [name for name in (*SPOKEN, *EXTENSIONS) if f"`{name}`" not in PAGE and name != ".markdown"] == []
