"""Reads requirements in any format (the planner, PACTS 4.1). Nothing is guessed.

Each format has a reader that makes drafts; `requirement_composer` checks them and makes requirements.
"""

from agent.verification.planning.requirement_files import read_requirements, requirement_of
from agent.verification.planning.requirement_problems import RequirementProblem, RequirementsInvalid

__all__ = ["RequirementProblem", "RequirementsInvalid", "read_requirements", "requirement_of"]
