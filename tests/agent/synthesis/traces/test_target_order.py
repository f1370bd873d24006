"""In which order the selectors of a step are tried."""

from __future__ import annotations

from agent.synthesis.traces.target_conversion import order_strategies
from kb_schema.selectors import RECORDED, NameStrategy, SessionStrategy, ValueStrategy

CSS = ValueStrategy(type="css", value=".primary")
ID = ValueStrategy(type="id", value="save-btn")
NAME = NameStrategy(type="role_name", role="button", name="Save")


def _recorded(place, strategy, **more):
    return strategy.model_copy(update={"meta": {RECORDED: place}, **more})


def test_an_imported_recording_keeps_its_order_and_ours_is_by_kind():
    imported = (_recorded(0, CSS), _recorded(1, NAME), _recorded(0, ID, fallback=True))
    for given in (imported, imported[::-1]):
        assert [each.type for each in order_strategies(given)] == ["css", "role_name", "id"]
    assert [each.type for each in order_strategies((CSS, NAME, ID))] == ["id", "role_name", "css"]


def test_recorded_targets_come_before_those_found_later():
    assert [each.type for each in order_strategies((ID, _recorded(0, CSS)))] == ["css", "id"]


def test_the_most_stable_comes_first_and_what_an_agent_must_find_last():
    order = ["data-qa", "data-testid", "id", "aria", "xpath-text", "xpath-class", "css"]
    strategies = [ValueStrategy(type=kind, value=f"//{kind}") for kind in order]
    by_agent = SessionStrategy(type="agent", value="the blue one")
    for given in ([*strategies, by_agent], [by_agent, *reversed(strategies)]):
        assert [each.type for each in order_strategies(given)] == [*order, "agent"]
