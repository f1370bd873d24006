"""Every finding of an attack has tests that exist."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
FINDINGS = yaml.safe_load((Path(__file__).parent / "findings.yaml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("finding", FINDINGS)
def test_a_finding_has_tests(finding):
    assert FINDINGS[finding]
    for named in FINDINGS[finding]:
        file, _, test = named.partition("::")
        tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
        defined = {
            each.name for each in tree.body if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)
        }
        assert test in defined, named
