"""The examples in docs/inputs.md are what the vocabulary takes."""

from __future__ import annotations

import re
from pathlib import Path

import yaml

from agent.execution.values.value_generators import GENERATORS
from kb_schema.io_specs import SOURCES, IoSpec

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "inputs.md").read_text(encoding="utf-8")


def test_every_example_is_taken_and_its_generators_exist():
    specs = [
        IoSpec.model_validate(yaml.safe_load(block))
        for block in re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    ]
    assert len(specs) == 2
    assert {spec.generator for each in specs for spec in each.inputs} - {None} <= set(GENERATORS)


def test_every_source_is_described():
    assert [name for name in SOURCES if f"`{name}`" not in PAGE] == []
