"""What the page about flows says is so."""

from __future__ import annotations

import re
from pathlib import Path

import yaml

from agent.presentation.presentation_schedule import FAST_FORWARD
from agent.presentation.visitor.visitor_input import ANSWER_S
from kb_schema.engagement_rules import SILENCE_S, RuleName
from kb_schema.presentation_flows import DEPTHS, BridgeKind, PresentationFlow, Segment

PAGE = (Path(__file__).parents[2] / "docs" / "presenting.md").read_text(encoding="utf-8")


def test_the_flow_that_is_shown_is_one_and_its_rules_are_understood():
    (shown,) = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    flow = PresentationFlow.model_validate(yaml.safe_load(shown))
    assert flow.languages == ("en", "de")
    assert sorted(rule.rule for each in flow.segments for rule in each.rules) == [
        "confirm_success", "never_silent"
    ]  # fmt: skip


def test_every_rule_depth_kind_and_path_has_its_row():
    rows = {row.split("|")[1].split("`")[1] for row in PAGE.splitlines() if row.startswith("| `")}
    kinds = Segment.model_fields["type"].annotation.__args__
    paths = ("time_running_out", "user_interrupts", "segment_failed")
    assert rows - {"depth", "type", "condition"} == {*RuleName.__args__, *DEPTHS, *kinds, *paths}
    assert all(f"`{kind}`" in PAGE for kind in BridgeKind.__args__)


def test_its_numbers_are_those_of_the_code():
    assert f"`seconds`, default {SILENCE_S:g}" in PAGE
    assert ANSWER_S == 10
    assert f"From speed {FAST_FORWARD:g} on" in PAGE
