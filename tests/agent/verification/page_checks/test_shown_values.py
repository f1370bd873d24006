"""What reports say of a step's value."""

from __future__ import annotations

import pytest

from agent.verification.page_checks.failure_evidence import shown_value
from agent.verification.page_checks.planned_actions import resolve_files
from kb_schema.verification import RequirementStep, SourceLocation


@pytest.mark.parametrize(
    ("action", "value", "shown"),
    [
        ("upload_file", "/srv/data/files/a.csv", "a.csv"),
        ("upload_file", "/srv/a.csv\n b/c.csv\n", "a.csv\nc.csv"),
        ("fill", "/srv/data/files/a.csv", "/srv/data/files/a.csv"),
        ("click", None, ""),
    ],
)
def test_files_to_upload_are_named_without_their_folders(action, value, shown):
    assert shown_value(RequirementStep(intent="F", element="F", action=action, value=value)) == shown


def test_a_file_is_found_beside_the_place_of_its_step(tmp_path):
    (tmp_path / "a.csv").write_text("Ada")
    place = SourceLocation(file=str(tmp_path / "request"))
    step = RequirementStep(intent="F", element="F", action="upload_file", value="a.csv", place=place)
    assert resolve_files(step) == [str(tmp_path / "a.csv")]
