"""Everything that is wrong is told at once, with its place and its fix; nothing is guessed."""

from __future__ import annotations

import json

import pytest

from agent.verification.planning import RequirementsInvalid, read_requirements
from agent.verification.planning.requirement_composer import unknown_action_problem
from agent.verification.planning.requirement_drafts import LocatedText
from kb_schema.verification import SourceLocation
from tests.support.requirement_files import read

BAD = """\
URL: www.x.example/a
Element | Action | Value | Expected
Save | clik
Save | double_click
Save | enter | x
Save | verify
Name | fill
Save | click | x
| click
Save@ | click
Save |  |  | vsible; it works
Save
| navigate | not an address
Name | fill | {secret}
 |  | | visible
Save | | |
User {secret:X} | click
User {Unique} | click
"""


async def problems(path, text, **options):
    with pytest.raises(RequirementsInvalid) as told:
        await read(path, text, **options)
    return [(each.place.line, each.message, each.fix) for each in told.value.problems]


async def test_all_bad_rows_are_told_at_once(tmp_path):
    found = await problems(tmp_path / "a.pipe", BAD)
    assert [(line, message) for line, message, _ in found] == [
        (1, "'www.x.example/a' is no URL"),
        (3, "unknown action 'clik'"),
        (4, "unknown action 'double_click'"),
        (5, "unknown action 'enter'"),
        (6, "unknown action 'verify'"),
        (7, "fill needs a value"),
        (8, "click takes no value"),
        (9, "the element is missing"),
        (10, "the region after 'Save@' is missing"),
        (11, "unknown expected outcome 'vsible'"),
        (11, "'it works' is not an expected outcome"),
        (12, "'Save' is no step here"),
        (13, "'not an address' is no URL"),
        (14, "'{secret}' is not a placeholder"),
        (15, "'visible' is about an element, and the step has none"),
        (16, "nothing to do and nothing to expect"),
        (17, "an element's name contains the secret X"),
        (18, "'{Unique}' is not a placeholder"),
    ]
    fixes = {line: fix for line, _, fix in found}
    assert (fixes[1], fixes[3], fixes[5]) == (
        "write https://www.x.example/a", 'did you mean "click"?', 'did you mean "fill"?',
    )  # fmt: skip
    assert 'did you mean "click"?' in fixes[4]
    assert "expected outcome" in fixes[6]
    assert fixes[15] == "name it: visible:Element"


async def test_a_missing_url_and_a_repeated_req_id_are_told(tmp_path):
    found = await problems(
        tmp_path / "a.txt", "# A-1: x\nSave | click\n# A-1: y\nSave | click\n# a_1: z\nSave | click\n"
    )
    assert [message for _, message, _ in found] == [
        "it has no URL to begin at",
        "Req ID A-1 is used twice",
        "it has no URL to begin at",
        "Req ID a_1 is too similar to A-1: their tests would have the same name",
        "it has no URL to begin at",
    ]
    (tmp_path / "b.txt").write_text("# A-1: x\nSave | click\n")
    (tmp_path / "c.txt").write_text("# A-1: x\nSave | click\n")
    with pytest.raises(
        RequirementsInvalid, match=r"c\.txt, line 1: Req ID A-1 is used twice .*b\.txt, line 1"
    ):
        await read_requirements([tmp_path / "b.txt", tmp_path / "c.txt"], default_url="/")


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("a.txt", b"", "empty"),
        ("a.csv", b"  \n ", "empty"),
        ("a.csv", b"Elemnt,Acton,Value\nSave,clck,\n", "no header row"),
        ("a.csv", b"one,two\n1,2\n", "no header row"),
        ("a.csv", b"Element,Action\nSav\xe9,click\n", "not UTF-8 text"),
        ("a.csv", b'Element,Action\n"Save"x,click\n', "not CSV"),
        ("a.csv", b"Element,Action,Expectd\nSave,click,visible\n", "unknown column 'Expectd'"),
        ("a.csv", b"Element,Action,Intent\nSave,click,x\n", "a second column 'element'"),
        ("a.csv", b"PK\x03\x04", "an Excel workbook named .csv"),
        ("a.docx", b"x", "unknown extension '.docx'"),
        ("a.xls", b"x", "the old .xls format"),
        ("a.xlsx", b"x", "no Excel workbook"),
        ("a.json", b"{", "not JSON"),
        ("a.json", b"[" * 100_000, "not JSON"),
        ("a.json", b'{"url": "/", "url": "/x"}', "an object has the key 'url' twice"),
        ("a.json", b"9" * 5_000, "expected a requirement, found"),
        ("a.json", b"3", "expected a requirement, found 3"),
        ("a.json", b'{"url": "/", "steps": "x"}', "expected a list of steps, found a text"),
        ("a.json", b'{"url": "/", "stps": []}', "unknown key 'stps'"),
        ("a.json", b'{"url": "/", "steps": []}', "a has no steps"),
        ("a.txt", b"\x00\x01binary", "not a text file"),
        ("a.pipe", b"URL: /\nclick the button\nSave | click\n", "'click the button' is no step"),
        ("a.pipe", b"URL: /\nA | fill | x | visible | y\n", "stands beyond the last column"),
        ("a.feature", b"Feature: x\n", "no scenario"),
    ],
)
async def test_files_that_are_no_requirements_are_told_by_name(tmp_path, name, content, told):
    with pytest.raises(RequirementsInvalid) as raised:
        await read(tmp_path / name, content, default_url="/")
    assert any(told in each.message for each in raised.value.problems), str(raised.value)
    assert all(name in each.place.file and each.fix for each in raised.value.problems)


async def test_files_that_are_not_there_are_told(tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(RequirementsInvalid) as told:
        await read_requirements([tmp_path / "gone.xlsx", tmp_path / "empty"])
    assert [each.message for each in told.value.problems] == [
        "there is no such file",
        "no requirements in this folder",
    ]
    with pytest.raises(RequirementsInvalid, match="no requirements"):
        await read_requirements([])


async def test_two_values_for_one_requirement_are_told(tmp_path):
    text = (
        "Req ID,URL,Element,Action\nA-1,/a,Save,click\n,/b,Save,click\nA-2,/a,Save,click\nA-1,/a,Save,click\n"
    )
    found = await problems(tmp_path / "a.csv", text)
    assert [(line, message) for line, message, _ in found] == [
        (3, "'/b', and '/a' above: a requirement has one url"),
        (5, "Req ID A-1 is used twice"),
    ]


async def test_many_problems_are_told_shortly_and_kept_whole(tmp_path):
    text = json.dumps({"url": "/", "steps": [{"element": "A", "action": "clik"}] * 80})
    with pytest.raises(RequirementsInvalid, match=r"80 problems[\s\S]*and 30 more") as told:
        await read(tmp_path / "a.json", text)
    assert len(told.value.problems) == 80


async def test_values_that_nobody_would_type_are_bounded(tmp_path):
    found = await problems(
        tmp_path / "a.txt", f"URL: /\nA | fill | {'x' * 10_001}\nA | hover | | shows:{'x' * 10_001}\n"
    )
    assert [message for _, message, _ in found] == [
        "a value of 10,001 characters",
        "expected outcomes of 10,007 characters",
    ]
    rows = "Save | click\n" * 10_001
    assert (await problems(tmp_path / "a.txt", rows))[0][1] == "10,001 lines"
    found = await problems(tmp_path / "a.csv", "Element,Action\n" + "Save,click\n" * 10_001, default_url="/")
    assert "more than 10,000 rows" in found[0][1]


async def test_a_first_step_that_only_looks_is_a_step(tmp_path):
    file = tmp_path / "looks.txt"
    file.write_text(
        "# looks: Agents\nURL: /agent\n\nAgents | | | heading:Agents\nSave | click | | shows:Saved\n"
    )
    (found,) = await read_requirements([file])
    assert [step.expected[0].kind for step in found.steps] == ["heading", "shows"]


TYPO_FIRST = (
    "Security & Access | clikc | | heading:No such heading\nPreferences | click | | heading:Preferences\n"
)


async def test_a_first_step_with_a_misspelt_action_is_not_taken_for_a_header(tmp_path):
    assert await problems(tmp_path / "a.txt", TYPO_FIRST, default_url="/") == [
        (1, "unknown action 'clikc'", 'did you mean "click"?')
    ]
    only = TYPO_FIRST.splitlines()[0]
    assert await problems(tmp_path / "b.txt", only, default_url="/") == [
        (1, "unknown action 'clikc'", 'did you mean "click"?')
    ]


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        ("a.csv", "Security,clikc,,heading:No such\nPreferences,click,,heading:Preferences\n", 1),
        ("a.csv", "Security,clikc,,heading:No such\nElement,Action\nPreferences,click\n", 1),
        ("a.txt", "# A\nSecurity | clikc\n# B\nElement | Action\nPreferences | click\n", 2),
        ("a.md", "| Security | clikc |\n| Preferences | click |\n", 1),
        ("a.md", "| Security | clikc |\n|---|---|\n| Preferences | click |\n", 1),
        ("a.csv", "Security,clikc,,heading:No such\n", 1),
        ("a.csv", "Security,,,heading:No such\nPreferences,click,,heading:Preferences\n", 1),
        ("a.txt", "Elemnt | Acton | Value\nSave | click\n", 1),
        ("a.csv", "Elemnt,Acton,Value\nSave,click,\n", 1),
    ],
)
async def test_no_row_above_the_first_step_is_dropped_silently(tmp_path, name, text, line):
    found = await problems(tmp_path / name, text, default_url="/")
    assert [each[0] for each in found] == [line]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.csv", "Test plan,,\nAuthor,Ada,\nElement,Action,Value\nSave,click,\n"),
        ("a.md", "| Version | Author |\n|---|---|\n| 1 | Ada |\n\n| Element | Action |\n|---|---|\n| Save | click |\n"),
        ("a.csv", "Test plan\nSave,click\n"),
    ],
)  # fmt: skip
async def test_notes_above_the_steps_are_ignored(tmp_path, name, text):
    file = tmp_path / name
    file.write_text(text)
    (found,) = await read_requirements([file], default_url="/")
    assert [step.element for step in found.steps] == ["Save"]


@pytest.mark.parametrize("said", ["drag", "Drag to", "drag-and-drop"])
def test_a_drag_is_no_step_of_a_requirement_and_the_fix_says_what_to_do(said):
    problem = unknown_action_problem(LocatedText(said, SourceLocation()))
    assert "a requirement cannot drag" in str(problem)
    assert "periplus record" in str(problem)
