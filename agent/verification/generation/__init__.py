"""Writes pytest-playwright suites from plans, which record what was found and done on the page (PACTS 4.3).

`suite_generator` is the entry point; `action_statements` and `outcome_assertions` write steps and outcomes,
`generated_page_objects` decides on page objects, `templates/` has the files' layout. Running the suite is
done elsewhere.
"""

from agent.verification.generation.errors import (
    CannotBeWritten,
    ChangedByHand,
    FileMissing,
    NotGenerated,
    PlansIncomplete,
)
from agent.verification.generation.suite_generator import GeneratedSuite, generate

__all__ = [
    "CannotBeWritten",
    "ChangedByHand",
    "FileMissing",
    "GeneratedSuite",
    "NotGenerated",
    "PlansIncomplete",
    "generate",
]
