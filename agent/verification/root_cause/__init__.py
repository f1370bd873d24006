"""Decides why a step failed: one table of rules over evidence (PACTS 4.6, decision 0034).

`classify` decides; `consult` adds a language model's comment. Nothing here looks at a page.
"""

from agent.verification.root_cause import application_rules, environment_rules, requirement_rules
from agent.verification.root_cause.model_opinion import consult
from agent.verification.root_cause.root_cause_classifier import build_success, classify, collect_findings

RULED_BY = (application_rules, requirement_rules, environment_rules)
"""The modules that register rules."""

__all__ = ["RULED_BY", "build_success", "classify", "collect_findings", "consult"]
