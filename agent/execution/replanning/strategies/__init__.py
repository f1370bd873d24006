"""The strategies that find other approaches, in the order in which they are asked; an inferencer comes last."""

from __future__ import annotations

from agent.execution.replanning.replanner import ReplanStrategy
from agent.execution.replanning.strategies.alternative_path import AlternativePath
from agent.execution.replanning.strategies.alternative_selector import AlternativeSelector
from agent.execution.replanning.strategies.alternative_task import AlternativeTask
from agent.execution.replanning.strategies.inferencer_suggestions import InferencerSuggestions
from agent.execution.replanning.strategies.recovery_edge import RecoveryEdge
from agent.inferencer import ReplanInferencer


def usual_strategies(inferencer: ReplanInferencer | None = None) -> tuple[ReplanStrategy, ...]:
    """Return all strategies; those without a language model first."""
    known: tuple[ReplanStrategy, ...] = (
        AlternativeSelector(),
        AlternativePath(),
        AlternativeTask(),
        RecoveryEdge(),
    )
    return known if inferencer is None else (*known, InferencerSuggestions(inferencer))
