"""The columns of a table and the keys of a header block, with every name people give them."""

from __future__ import annotations

import re
from collections.abc import Collection

from kb_schema.documents import did_you_mean

STEP_COLUMNS = ("element", "region", "action", "value", "expected")
CASE_COLUMNS = ("preconditions", "steps")
"""Of a table of test cases, whose steps are sentences."""
REQUIREMENT_KEYS = ("req_id", "title", "url", "login", "tags", "timeout")
"""`timeout` as a column is that of the step."""
IGNORED = "ignored"

_ALIASES: dict[str, tuple[str, ...]] = {
    "element": ("element", "element@region", "intent", "target", "field", "control", "object", "locator"),
    "region": ("region", "area", "section", "form", "container"),
    "action": ("action", "keyword", "operation", "command"),
    "value": ("value", "data", "input", "testdata", "inputdata", "parameter"),
    "expected": (
        "expectedoutcome",
        "expectedoutcomes",
        "expected",
        "expectedresult",
        "expectedresults",
        "outcome",
        "outcomes",
        "expectation",
        "assertion",
        "assertions",
        "verify",
    ),
    "preconditions": ("preconditions", "precondition", "prerequisites", "prerequisite", "given"),
    "steps": ("steps", "teststeps", "stepstoreproduce", "stepstoexecute", "procedure", "actions"),
    "req_id": (
        "reqid",
        "requirement",
        "requirementid",
        "req",
        "testcase",
        "testcaseid",
        "testid",
        "caseid",
        "scenario",
        "scenarioid",
        "id",
        "tc",
        "tcid",
    ),
    "title": ("title", "name", "testname", "testcasename", "requirementtitle", "summary"),
    "url": ("url", "starturl", "startsat", "startpage", "address", "baseurl"),
    "login": ("login", "signin", "logintask", "signedinby"),
    "tags": ("tags", "tag", "labels"),
    "timeout": ("timeout", "timeouts", "timeoutseconds", "maxwait"),
    IGNORED: (
        "step",
        "stepno",
        "stepnumber",
        "stepid",
        "no",
        "nr",
        "number",
        "#",
        "comment",
        "comments",
        "note",
        "notes",
        "remark",
        "remarks",
        "description",
        "priority",
        "author",
        "owner",
        "status",
        "stepidx",
    ),
}
_BY_NAME = {name: column for column, names in _ALIASES.items() for name in names}


def is_case_header(columns: Collection[str | None]) -> bool:
    """Return whether these are the columns of a table of test cases: its steps are sentences."""
    return (
        "steps" in columns
        and "element" not in columns
        and not {"req_id", "title", "expected"}.isdisjoint(columns)
    )


def column_named(text: str) -> str | None:
    """Return the column or key a text names: `Expected Outcome` is `expected`; None for any other text."""
    plain = _plain(text)
    return _BY_NAME.get(plain) if plain else None


def column_meant(text: str) -> str | None:
    """Return `did you mean "expected outcome"?` for a text that is nearly a column's name."""
    plain = _plain(text)
    return did_you_mean(plain, [name for name in _BY_NAME if len(name) > 2]) if len(plain) > 2 else None


def _plain(text: str) -> str:
    return re.sub(r"[\s_.:\-]+", "", text).lower() if len(text) <= 60 else ""
