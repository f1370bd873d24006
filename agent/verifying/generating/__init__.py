"""Writes pytest-playwright suites from plans: the log of what was really found and done (PACTS 4.3).

`generator` is the door; `actions` and `assertions` say how each step and outcome is written, `pages` which
page objects there are, `templates/` what the files look like. Running them is other modules' business.
"""

from agent.verifying.generating.errors import (
    CannotBeWritten,
    ChangedByHand,
    FileMissing,
    NotGenerated,
    PlansIncomplete,
)
from agent.verifying.generating.generator import Generated, generate

__all__ = [
    "CannotBeWritten",
    "ChangedByHand",
    "FileMissing",
    "Generated",
    "NotGenerated",
    "PlansIncomplete",
    "generate",
]
