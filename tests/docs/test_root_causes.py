"""What docs/root-causes.md says of the classes and of the scale is what there is."""

from pathlib import Path
from typing import get_args

from agent.verification.root_cause.rule_findings import CERTAIN, GUESS, KIND, LIKELY, SEEN, STRONG, TOLD
from kb_schema.verification import RootCauseClass
from tests.support.verification import troubles

TEXT = (Path(__file__).parents[2] / "docs" / "root-causes.md").read_text(encoding="utf-8")


def test_every_class_has_its_row():
    rows = [line.split("|")[1].strip(" `") for line in TEXT.splitlines() if line.startswith("| `")]
    assert rows
    assert set(rows) == set(get_args(RootCauseClass))
    assert len(rows) == len(set(rows))


def test_scale_is_the_rules_own():
    _, _, scale = TEXT.partition("Confidence is how often")
    assert all(f"{each:g}" in scale for each in (CERTAIN, SEEN, STRONG, LIKELY, TOLD, KIND, GUESS))


def test_number_of_cases_is_the_files():
    assert f"{len(troubles())} seeded troubles" in TEXT
    assert f"of {sum(each.red for each in troubles())} cases that may not come out green" in TEXT
