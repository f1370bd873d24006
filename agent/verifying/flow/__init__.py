"""The six agents of PACTS as a graph (PACTS 7): planner, builder, generator, executor, healer, verdict.

What they do on a page, in files and in stores is done by the `Hands` they are given.
"""

from agent.verifying.flow.events import Healed, PhaseBegan, StepVerified, VerdictGiven
from agent.verifying.flow.graph import MAX_HEAL_ROUNDS, NODES, build_graph, run_graph, should_heal
from agent.verifying.flow.hands import Built, Hands, Mended, NotWritten, Phase, Trouble, Walk, Written
from agent.verifying.flow.nodes import Nodes
from agent.verifying.flow.telling import of_error, report_of, without_secrets

__all__ = [
    "MAX_HEAL_ROUNDS",
    "NODES",
    "Built",
    "Hands",
    "Healed",
    "Mended",
    "Nodes",
    "NotWritten",
    "Phase",
    "PhaseBegan",
    "StepVerified",
    "Trouble",
    "VerdictGiven",
    "Walk",
    "Written",
    "build_graph",
    "of_error",
    "report_of",
    "run_graph",
    "should_heal",
    "without_secrets",
]
