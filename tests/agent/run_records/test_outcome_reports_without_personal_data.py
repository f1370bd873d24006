"""What is learned of elements has nothing that a visitor said."""

from __future__ import annotations

from agent.events import ElementUsed
from agent.personal_data import PersonalData
from agent.run_records.outcome_reports import OutcomeReporter


def _used(text: str) -> ElementUsed:
    return ElementUsed("agents", "row", "css", True, {"text": text}, {})


def test_an_element_that_bears_a_visitors_name_is_not_learned():
    personal = PersonalData()
    reporter = OutcomeReporter(None, "run", is_personal=personal.within)
    assert len(reporter._reports(_used("Open Jo"))) == 1
    personal.keep("Jo")
    assert reporter._reports(_used("Open Jo")) == []
    assert len(reporter._reports(_used("Open Joe"))) == 1
