"""The strategies that find other approaches, in the order in which they are asked."""

from __future__ import annotations

from agent.execution.replanning.replanner import ReplanStrategy
from agent.execution.replanning.strategies.alternative_path import AlternativePath
from agent.execution.replanning.strategies.alternative_selector import AlternativeSelector
from agent.execution.replanning.strategies.alternative_task import AlternativeTask
from agent.execution.replanning.strategies.recovery_edge import RecoveryEdge


def usual_strategies() -> tuple[ReplanStrategy, ...]:
    """Return the strategies that need no language model."""
    return AlternativeSelector(), AlternativePath(), AlternativeTask(), RecoveryEdge()
