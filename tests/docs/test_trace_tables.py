"""The tables of docs/traces.md name every action, setting and field of the models, with their defaults, and no other."""

from __future__ import annotations

import dataclasses
from enum import Enum
from pathlib import Path
from typing import Any

from agent.synthesis.graph.synthesis_report import SynthesisReport
from agent.synthesis.pipeline_config import PipelineConfig
from kb_schema.action_types import ACTION_TYPES
from kb_schema.run_records import TraceEntry

PAGE = Path(__file__).parents[2] / "docs" / "traces.md"


def _rows(heading: str, header: str) -> dict[str, list[str]]:
    """Return the rows of a table below a heading by the name in their first cell."""
    section = PAGE.read_text(encoding="utf-8").split(f"## {heading}\n", 1)[1].split("\n## ", 1)[0]
    lines = section.split(f"| {header} |", 1)[1].split("\n\n", 1)[0].splitlines()[2:]
    cells = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]
    return {first.strip("` "): rest for first, *rest in cells}


def _default(field: dataclasses.Field[Any]) -> str:
    value = field.default if field.default_factory is dataclasses.MISSING else field.default_factory()
    return str(value.value if isinstance(value, Enum) else repr(value))


def test_settings_and_their_defaults():
    told = {name: rest[0].strip("`") for name, rest in _rows("Settings", "field | default").items()}
    assert told == {each.name: _default(each) for each in dataclasses.fields(PipelineConfig)}


def test_action_names_and_aliases():
    told = {
        name: (rest[0], rest[1].replace("`", "")) for name, rest in _rows("Action names", "action").items()
    }
    assert told == {name: (each.summary, ", ".join(each.aliases)) for name, each in ACTION_TYPES.items()}


def test_fields_of_the_report_and_of_a_line():
    assert list(_rows("The report", "field")) == list(SynthesisReport.model_fields)
    assert list(_rows("A session folder", "field")) == list(TraceEntry.model_fields)
