"""Verifies one requirement as a graph of six nodes (PACTS 7): planner, pom_builder, generator, executor,
oracle_healer, verdict_rca.

`RequirementVerifier` (periplus) makes `VerificationNodes` and calls `run_graph`. The nodes call the page of the
current phase (`PhasePage`), the suite's folder, the plans that passed and the root-cause rules, nothing between.
"""

from agent.verification.graph.graph_nodes import VerificationNodes
from agent.verification.graph.passed_plans import PassedPlans
from agent.verification.graph.phase_page import (
    BuiltPlan,
    Phase,
    PhasePage,
    VerificationTarget,
    open_phase_page,
)
from agent.verification.graph.verification_events import Healed, PhaseBegan, StepVerified, VerdictGiven
from agent.verification.graph.verification_graph import NODES, build_graph, run_graph, should_heal
from agent.verification.graph.verification_report import build_error_report, build_report, redact_report

__all__ = [
    "NODES",
    "BuiltPlan",
    "Healed",
    "PassedPlans",
    "Phase",
    "PhaseBegan",
    "PhasePage",
    "StepVerified",
    "VerdictGiven",
    "VerificationNodes",
    "VerificationTarget",
    "build_error_report",
    "build_graph",
    "build_report",
    "open_phase_page",
    "redact_report",
    "run_graph",
    "should_heal",
]
