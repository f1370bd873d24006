"""Where other approaches come from, in the order of DESIGN 6. An inferencer's come last, where there is one."""

from __future__ import annotations

from agent.resilience.replanner import Strategy
from agent.resilience.strategies.inferred import Inferred, ReplanInferencer
from agent.resilience.strategies.other_path import OtherPath
from agent.resilience.strategies.other_selector import OtherSelector
from agent.resilience.strategies.other_task import OtherTask
from agent.resilience.strategies.recovery_edge import RecoveryEdge

__all__ = ["ReplanInferencer", "usual_strategies"]


def usual_strategies(inferencer: ReplanInferencer | None = None) -> tuple[Strategy, ...]:
    """All there are; those without an LLM first."""
    known: tuple[Strategy, ...] = (OtherSelector(), OtherPath(), OtherTask(), RecoveryEdge())
    return known if inferencer is None else (*known, Inferred(inferencer))
