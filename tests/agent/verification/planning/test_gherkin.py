"""Gherkin-like text: what stands where, and what a step says."""

from __future__ import annotations

import re
import textwrap

import pytest

from agent.verification.planning import RequirementsInvalid
from agent.verification.planning.step_phrases import (
    PHRASES,
    ParsedAction,
    ParsedOutcome,
    PhraseNotUnderstood,
    parse_phrase,
)
from kb_schema.expected_outcomes import OUTCOMES, parse_outcomes
from tests.support.requirement_files import read

FEATURE = '''\
# Words for people
@slow @login:login
Feature: Agents
  What the agents are for: taking calls.

  Background:
    Given I am on "/agent"

  @smoke @req:create
  Scenario: Create an agent
    When I click "Create Agent"
    Then I am taken to "Create Agent"
    And the console has no errors
    When I fill in the "Agent form" with:
      | Name     | Nova {unique} |
      | Greeting | Hello \\| you  |
    And the user selects "Spanish" from "Language" in the "Agent form"
    * I press "Enter" in "Name"
    Then I should see "Agent \\"Nova\\" created"
    But the "Name" field should not be visible

  Scenario: second: A greeting of two lines
    Given I am signed in with "other_login"
    When I fill "Greeting" with:
      """
      Hello,
      you
      """
'''


def brief(requirement):
    return [
        (each.intent, each.action, each.value, [o.said for o in each.expected]) for each in requirement.steps
    ]


async def test_a_feature_is_read_as_its_scenarios(tmp_path):
    one, two = await read(tmp_path / "a.feature", FEATURE)
    assert (one.req_id, one.title, one.url, one.login) == ("create", "Create an agent", "/agent", "login")
    assert one.tags == ("slow", "smoke")
    assert brief(one) == [
        ("Create Agent", "click", None, ["navigates_to:Create Agent", "no_console_errors"]),
        ("Name@Agent form", "fill", "Nova {unique}", []),
        ("Greeting@Agent form", "fill", "Hello | you", []),
        ("Language@Agent form", "select_option", "Spanish", []),
        ("Name", "press", "Enter", ['shows:Agent "Nova" created', "hidden:Name"]),
    ]
    assert one.steps[0].place.line == 11
    assert (two.req_id, two.title, two.login) == ("second", "A greeting of two lines", "other_login")
    assert two.steps[0].value == "Hello,\nyou"


async def test_each_row_of_the_examples_is_a_requirement(tmp_path):
    text = textwrap.dedent("""\
        Feature: x
          Scenario Outline: login: Sign in as <who>
            Given I am on "/login"
            When I fill "Email" with "<mail>"
            Then I see "<who>"
            Examples:
              | who | mail  |
              | Ada | a@b.c |
              | Bob | b@b.c |
          Scenario Outline: Named so
            Given I am on "/login"
            When I click "<what>"
            Examples:
              | ID     | what |
              | save_1 | Save |
    """)
    found = await read(tmp_path / "a.feature", text)
    assert [(each.req_id, each.title) for each in found] == [
        ("login_1", "Sign in as Ada"), ("login_2", "Sign in as Bob"), ("save_1", "Named so"),
    ]  # fmt: skip
    assert brief(found[1]) == [("Email", "fill", "b@b.c", ["shows:Bob"])]
    assert found[1].place.line == 9


async def test_where_a_scenario_begins_may_be_said_in_keys_and_looks_are_steps(tmp_path):
    text = textwrap.dedent("""\
        Feature: x
          URL: https://shop.example
          Rule: one
            Scenario: first
              Given I am on "Products"
              Then I see the "Save" button
              When I go to "/a"
    """)
    (found,) = await read(tmp_path / "a.txt", text)
    assert found.url == "https://shop.example"
    assert brief(found) == [
        ("", "", None, ["navigates_to:Products", "visible:Save"]),
        ("", "navigate", "/a", []),
    ]


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        ('When I smash "Save"', "no phrase fits this step"),
        ('When I press "Save"', '"Save" is no key'),
        ("Then navigatesto:Products", "no phrase fits"),
        ("Then count:Row=many", "expected a number, found 'many'"),
        ('Then the "Name" field works\nnonsense', "'nonsense' is no step"),
        ("When I fill in:", "no fields to fill"),
        ("When I fill in:\n| a | b | c |", "expected two cells, found 3"),
        ('When I click "a"\nExamples:\n| a |\n| b | c |', "expected 1 cells as in the header, found 2"),
        ('When I click "a"\n"""\nnever closed', "never closed"),
    ],
)
async def test_steps_that_are_not_understood_are_told_by_line(tmp_path, lines, told):
    text = f'Feature: x\nScenario: y\nGiven I am on "/"\n{lines}\n'
    with pytest.raises(RequirementsInvalid) as raised:
        await read(tmp_path / "a.feature", text)
    assert any(told in each.message and each.fix for each in raised.value.problems), str(raised.value)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('Feature: x\nWhen I click "a"\n', "a step outside of any scenario"),
        ("Feature: x\n| a |\n", "a table that belongs to no step"),
        ("Feature: x\nExamples:\n", "Examples without a Scenario Outline"),
        ('Feature: x\nScenario Outline: y\nWhen I click "<a>"\n', "an outline without examples"),
        ('Feature: x\nScenario Outline: y\nWhen I click "<b>"\nExamples:\n| a |\n| c |\n', "no column <b>"),
        ("# language: de\nFeature: x\n", "only English keywords"),
        ("Feature: x\nScenario: y\n", "y has no steps"),
    ],
)
async def test_features_that_are_put_together_wrongly_are_told(tmp_path, text, told):
    with pytest.raises(RequirementsInvalid) as raised:
        await read(tmp_path / "a.feature", text, default_url="/")
    assert any(told in each.message and each.fix for each in raised.value.problems), str(raised.value)


@pytest.mark.parametrize("phrase", PHRASES.values(), ids=lambda each: each.example)
def test_every_phrase_understands_its_own_example(phrase):
    words = re.sub(r'"[^"]*"', lambda _: "", phrase.example)
    assert words
    mine = parse_phrase(phrase.example)
    assert type(mine) is type(
        parse_phrase(phrase.example.upper() if '"' not in phrase.example else phrase.example)
    )
    if isinstance(mine, ParsedOutcome):
        for outcome in mine.outcomes:
            (read,) = parse_outcomes(outcome.said)
            assert read == outcome


def test_every_kind_of_outcome_can_be_said_in_a_phrase_or_by_its_name():
    said = {
        each.kind
        for phrase in PHRASES.values()
        if isinstance(found := parse_phrase(phrase.example), ParsedOutcome)
        for each in found.outcomes
    }
    assert set(OUTCOMES) == said
    assert parse_phrase("no_console_errors") == ParsedOutcome(parse_outcomes("no_console_errors"))


@pytest.mark.parametrize(
    ("text", "action"),
    [
        ('the user clicks on the "Save" button in the "Agent" form', ParsedAction("click", "Save", "Agent")),
        ('We then press the "Save" button.', ParsedAction("click", "Save")),
        ('I press "Control+A" in the "Name" field', ParsedAction("press", "Name", None, "Control+A")),
        ('I press "Tab"', ParsedAction("press", value="Tab")),
        ("I fill \u201cName\u201d with \u201cAda\u201d", ParsedAction("fill", "Name", None, "Ada")),
        ('I enter "a \\"b\\" \\\\ c\\n" into "Name"', ParsedAction("fill", "Name", None, 'a "b" \\ c\n')),
        (
            'I choose the option "Hindi" in the "Language" list of the "Agent" form',
            ParsedAction("select", "Language", "Agent", "Hindi"),
        ),
        ('the visitor attaches "a.csv" to "File"', ParsedAction("upload", "File", None, "a.csv")),
    ],
)
def test_a_step_may_be_said_in_several_ways(text, action):
    assert parse_phrase(text) == action


def test_what_no_phrase_says_is_told_with_the_nearest_examples():
    with pytest.raises(PhraseNotUnderstood) as told:
        parse_phrase('I sleect "Hindi" from "Language"')
    assert 'I select "Spanish" from "Language"' in told.value.fix


async def test_a_models_judgement_must_not_decide_alone(tmp_path):
    lines = 'Given I am on "/"\nWhen I click "Save"\nThen a model judges "it sounds like a confirmation"\n'
    with pytest.raises(RequirementsInvalid) as raised:
        await read(tmp_path / "a.feature", f"Feature: x\nScenario: y\n{lines}")
    assert "must not decide alone" in str(raised.value)
    assert "a.feature, line 4" in str(raised.value)
    (found,) = await read(tmp_path / "b.feature", f'Feature: x\nScenario: y\n{lines}And I see "Saved"\n')
    assert [each.kind for each in found.steps[-1].expected] == ["judged", "shows"]
