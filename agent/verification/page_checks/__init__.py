"""The page under verification: builds plans on it, executes and heals their steps, collects evidence of failures.

Expected outcomes come from `planning`, root causes from `root_cause`, the order of the phases from `graph`.
"""

from __future__ import annotations

from agent.verification.page_checks.failure_evidence import FailedStep, StepHealing, collect_evidence
from agent.verification.page_checks.plan_builder import build_plan
from agent.verification.page_checks.step_execution import execute_step, open_first_page
from agent.verification.page_checks.step_healing import heal_step
from agent.verification.page_checks.verification_page import (
    VerificationPage,
    VerificationTimeouts,
    open_verification_page,
)

__all__ = [
    "FailedStep",
    "StepHealing",
    "VerificationPage",
    "VerificationTimeouts",
    "build_plan",
    "collect_evidence",
    "execute_step",
    "heal_step",
    "open_first_page",
    "open_verification_page",
]
