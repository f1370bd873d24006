"""The official conformance tool and the Inspector's command line, where they are installed."""

from __future__ import annotations

import importlib.util
import re
import shutil
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def conformance():
    spec = importlib.util.spec_from_file_location("conformance", ROOT / "scripts" / "conformance.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


@pytest.mark.nightly
async def test_our_server_answers_the_conformance_tool_and_the_inspector_as_written(conformance):
    why = conformance.missing()
    if why is not None:
        pytest.skip(f"{why}; npm is {'here' if shutil.which('npm') else 'not installed'}")
    checked, inspected = await conformance.run()
    assert conformance.surprises(checked, inspected) == []
    written = (ROOT / "docs" / "conformance.md").read_text(encoding="utf-8")
    said = dict(re.findall(r"^\| (\S+) \| (passed|not passed) \|", written, re.MULTILINE))
    assert said == {each.name: "passed" if each.passed else "not passed" for each in checked}, (
        "make conformance"
    )


def test_what_comes_out_otherwise_is_told(conformance):
    expected = [conformance.Outcome(name, passed=False) for name in conformance.EXPECTED]
    fine = [*expected, conformance.Outcome("ping", passed=True)]
    assert conformance.surprises(fine, []) == []
    broken = conformance.Outcome("ping", passed=False, said="no answer")
    assert conformance.surprises([*expected, broken], [broken]) == [
        "ping: no answer",
        "inspector, ping: no answer",
    ]
    mended = [conformance.Outcome(each.name, passed=True) for each in expected]
    assert len(conformance.surprises(mended, [])) == len(expected)
    assert len(conformance.surprises([], [])) == len(expected)
