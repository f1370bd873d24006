"""Why a step failed and who is at fault: one table of rules over evidence (PACTS 4.6, decision 0034).

`classify` decides; `consult` lets a language model comment on it. Nothing here looks at a page.
"""

from agent.verifying.root_cause import application, requirement, surroundings
from agent.verifying.root_cause.deciding import classify, findings, succeeded
from agent.verifying.root_cause.opinion import consult

RULED_BY = (application, requirement, surroundings)
"""The modules whose rules are asked."""

__all__ = ["RULED_BY", "classify", "consult", "findings", "succeeded"]
