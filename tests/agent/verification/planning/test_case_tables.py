"""Tables of test cases as testers have them, and rows of examples, in CSV and Excel."""

from __future__ import annotations

import openpyxl
import pytest

from agent.verification.planning import RequirementsInvalid, read_requirements
from agent.verification.planning.plain_sentences import parse_sentence
from agent.verification.planning.step_phrases import PhraseNotUnderstood, parse_phrase

HEADER = ["ID", "Title", "Preconditions", "Steps", "Expected Result", "Priority"]
CASES = [
    [
        "TC-1", "Create an agent", "1. User is on /agents",
        "1. Click the Create Agent button\n2. Enter `Ann` in Name\n3. Select 'Spanish' from the Language list\n4. Click Save.",
        '2. The Name field has the value "Ann"\n4. The message `Saved` appears\nThe Agents page opens', "high",
    ],
    ["TC-2", "Sign out", "", "Open /agents\nClick Sign out\nVerify that the Sign in button is visible", "", "low"],
]  # fmt: skip


def write_csv(folder, rows):
    import csv  # noqa: PLC0415

    path = folder / "cases.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(rows)
    return path


def write_xlsx(folder, rows):
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    book.save(folder / "cases.xlsx")
    return folder / "cases.xlsx"


def show(requirement):
    return [
        (each.element, each.action, each.value, tuple(outcome.said for outcome in each.expected))
        for each in requirement.steps
    ]


@pytest.mark.parametrize("write", [write_csv, write_xlsx])
async def test_a_table_of_test_cases_is_read_from_plain_sentences(tmp_path, write):
    first, second = await read_requirements([write(tmp_path, [HEADER, *CASES])])
    assert (first.req_id, first.title, first.url) == ("TC-1", "Create an agent", "/agents")
    assert show(first) == [
        ("Create Agent", "click", None, ()),
        ("Name", "fill", "Ann", ("field_value:Name=Ann",)),
        ("Language", "select_option", "Spanish", ()),
        ("Save", "click", None, ("message:Saved", "navigates_to:Agents")),
    ]
    assert (second.req_id, second.url) == ("TC-2", "/agents")
    assert show(second) == [("Sign out", "click", None, ("visible:Sign in",))]


async def test_one_step_may_be_in_a_row_of_its_own(tmp_path):
    rows = [
        HEADER[:5], ["TC-1", "Search", "I am on /", "Enter 'boat' into Search", ""],
        ["", "", "", "Press Enter", "The text 'Boat' is shown"],
    ]  # fmt: skip
    (found,) = await read_requirements([write_csv(tmp_path, rows)])
    assert show(found) == [("Search", "fill", "boat", ()), ("", "press", "Enter", ("shows:Boat",))]


@pytest.mark.parametrize(
    ("write", "cells"), [(write_csv, ("line 2",)), (write_xlsx, ("cell C2", "cell D2", "cell E2"))]
)
async def test_what_is_not_plain_is_named_by_its_cell(tmp_path, write, cells):
    rows = [
        HEADER[:5],
        ["TC-1", "Pay", "The user has a basket", "1. Log in with valid credentials\n2. Enter the amount in Amount\n3. Click Pay and wait",
         "The payment works"],
    ]  # fmt: skip
    with pytest.raises(RequirementsInvalid) as refused:
        await read_requirements([write(tmp_path, rows)], default_url="/")
    problems = refused.value.problems
    said = [each.message.partition("'")[2].partition("'")[0] for each in problems]
    for words in (
        "The user has a basket", "Log in with valid credentials", "Enter the amount in Amount", "Click Pay and wait",
        "The payment works",
    ):  # fmt: skip
        assert words in said
    assert all(each.fix for each in problems)
    assert {cell for cell in cells if any(cell in str(each.place) for each in problems)} == set(cells)


@pytest.mark.parametrize(
    ("sentence", "phrase"),
    [
        ("Click Save", 'I click "Save"'),
        ("Click on the Save button", 'I click "Save"'),
        ("Press the Save button", 'I click "Save"'),
        ("Press Enter", 'I press "Enter"'),
        ("Enter `Ann` in Name", 'I enter "Ann" into "Name"'),
        ("Type 'Ann' into the Name field", 'I enter "Ann" into "Name"'),
        ("Fill in Name with “Ann”", 'I fill "Name" with "Ann"'),
        ("Clear the Name field", 'I clear "Name"'),
        ("Select `Spanish` from Language", 'I select "Spanish" from "Language"'),
        ("Check the Terms checkbox", 'I check "Terms"'),
        ("Uncheck Terms", 'I uncheck "Terms"'),
        ("Hover over Help", 'I hover over "Help"'),
        ("Upload 'a.csv' to Choose file", 'I upload "a.csv" to "Choose file"'),
        ("Go to /login", 'I open "/login"'),
        ("The message `Saved` appears", 'the message "Saved" appears'),
        ("A success message 'Saved' is displayed", 'the message "Saved" appears'),
        ("Verify that the text 'Boat' is shown", 'I see "Boat"'),
        ("'Error' is not displayed", 'I do not see "Error"'),
        ("The Dashboard page opens", 'I am taken to "Dashboard"'),
        ("The Delete agent dialog opens", 'the "Delete agent" dialog opens'),
        ("Check that the Save button is disabled", 'the "Save" button is disabled'),
        ("The Name field contains 'Ann'", 'the "Name" field has the value "Ann"'),
    ],
)
def test_a_plain_sentence_is_a_phrase(sentence, phrase):
    assert parse_sentence(sentence) == parse_phrase(phrase)


@pytest.mark.parametrize(
    "sentence",
    [
        "Enter Ann in Name",
        "Click Save and Close",
        "Check that it works",
        "Do something",
        "Click",
        "Press Save",
        "",
    ],
)
def test_nothing_is_guessed(sentence):
    with pytest.raises(PhraseNotUnderstood):
        parse_sentence(sentence)


TIMED = {
    "a.csv": "Req ID,URL,Element,Action,Value,Expected,Timeout\na,/,Go,click,,shows:x,\n,,Stop,click,,shows:y,7.5\n",
    "b.txt": "# b\nURL: /\nTimeout: 20 s\n\nGo | click | | shows:x\n",
    "c.json": '{"req_id": "c", "url": "/", "timeout": 9, "steps": [{"element": "Go", "action": "click", "timeout": 3}, "Go | click"]}',
    "d.feature": '@timeout:12\nFeature: D\n  Scenario: d: D\n    Given I am on "/"\n    When I click "Go"\n',
    "e.csv": 'ID,Title,URL,Steps,Timeout\ne,E,/,"Click Go\nClick Stop",4\n',
}


async def test_a_timeout_is_for_a_step_or_for_all_steps(tmp_path):
    for name, text in TIMED.items():
        (tmp_path / name).write_text(text)
    found = await read_requirements([tmp_path])
    assert {each.req_id: [step.timeout_s for step in each.steps] for each in found} == {
        "a": [None, 7.5], "b": [20.0], "c": [3.0, 9.0], "d": [12.0], "e": [4.0, 4.0],
    }  # fmt: skip


@pytest.mark.parametrize("said", ["soon", "0", "-1", "151", "1e9"])
async def test_a_timeout_that_is_no_time_is_named_once(tmp_path, said):
    (tmp_path / "b.txt").write_text(TIMED["b.txt"].replace("20 s", said) + "Stop | click\n")
    with pytest.raises(RequirementsInvalid) as refused:
        await read_requirements([tmp_path / "b.txt"])
    (problem,) = refused.value.problems
    assert (problem.message, problem.place.line) == (f"'{said}' is no timeout", 3)
    assert "at most 150" in problem.fix


TABLE = [
    ["Req ID", "Title", "URL", "Element@Region", "Action", "Value", "Expected Outcome"],
    ["sign_in", "As <user>", "/login", "Email", "fill", "<mail>", "field_value:<mail>"],
    ["", "", "", "Sign in", "click", "", "shows:<text>"],
    ["Examples"],
    ["user", "mail", "text", "Req ID"],
    ["Ann", "ann@example.com", "Hello Ann", ""],
    ["Bob", "bob@example.com", "Hello Bob", "bob"],
    ["Req ID", "Title", "URL", "Element@Region", "Action", "Value", "Expected Outcome"],
    ["other", "", "/", "Go", "click", "", "heading:Gone"],
]


@pytest.mark.parametrize("write", [write_csv, write_xlsx])
async def test_each_row_of_examples_is_a_requirement(tmp_path, write):
    first, second, other = await read_requirements([write(tmp_path, TABLE)])
    assert [each.req_id for each in (first, second, other)] == ["sign_in_1", "bob", "other"]
    assert (first.title, second.title) == ("As Ann", "As Bob")
    assert show(second) == [
        ("Email", "fill", "bob@example.com", ("field_value:bob@example.com",)),
        ("Sign in", "click", None, ("shows:Hello Bob",)),
    ]
    assert show(other) == [("Go", "click", None, ("heading:Gone",))]


async def test_examples_are_for_test_cases_too(tmp_path):
    rows = [HEADER[:5], ["TC-1", "Greet <who>", "", "Open /\nEnter '<who>' in Name", "'Hi <who>' is shown"],
            ["Examples:"], ["who"], ["Ann"], ["Bob"]]  # fmt: skip
    found = await read_requirements([write_csv(tmp_path, rows)])
    assert [each.title for each in found] == ["Greet Ann", "Greet Bob"]
    assert show(found[1]) == [("Name", "fill", "Bob", ("shows:Hi Bob",))]


async def test_a_name_without_a_column_and_examples_without_a_row_are_named(tmp_path):
    rows = [row[:3] if row[:1] == ["user"] else row for row in TABLE[:6]]
    rows[4] = ["user", "mail"]
    with pytest.raises(RequirementsInvalid) as refused:
        await read_requirements([write_csv(tmp_path, rows)])
    assert [str(each.message) for each in refused.value.problems] == ["no column 'text' in the examples"]
    with pytest.raises(RequirementsInvalid, match="examples without a row"):
        await read_requirements([write_csv(tmp_path, TABLE[:5])])
