"""How the nodes follow each other (PACTS 7.2, 7.3), and running them with a state that survives."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any

from langgraph.graph import END, START, StateGraph

from agent.engine.stopping import Stop
from agent.verifying.flow.nodes import Nodes
from agent.verifying.flow.state import read, same_test
from kb_schema.verification import Failure, Requirement, RunState

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig
    from langgraph.checkpoint.base import BaseCheckpointSaver
    from langgraph.graph.state import CompiledStateGraph

MAX_HEAL_ROUNDS = 3
"""PACTS 7.3: rounds of healing for one step."""
NODES = ("planner", "pom_builder", "generator", "executor", "oracle_healer", "verdict_rca")


def should_heal(state: RunState, max_heal_rounds: int = MAX_HEAL_ROUNDS) -> str:
    """Where the executor leads (PACTS 7.3): on, to the healer, or to the verdict."""
    if state.failure is not Failure.NONE:
        return "oracle_healer" if state.heal_round < max_heal_rounds else "verdict_rca"
    return "verdict_rca" if state.step_idx >= len(state.plan) else "executor"


def may_generate(state: RunState) -> str:
    """Where the builder leads: what is missing is reported before any test is written (PACTS 1.3)."""
    return "generator" if state.failure is Failure.NONE else "verdict_rca"


def build_graph(
    nodes: Nodes,
    checkpointer: BaseCheckpointSaver[Any] | None = None,
    *,
    max_heal_rounds: int = MAX_HEAL_ROUNDS,
) -> CompiledStateGraph[RunState, None, RunState, RunState]:
    """The graph of PACTS 7.2, and one way more: from the builder to the verdict."""

    def route(state: RunState) -> str:
        return should_heal(state, max_heal_rounds)

    graph = StateGraph(RunState)
    for name in NODES:
        graph.add_node(name, getattr(nodes, name))
    graph.add_edge(START, "planner")
    graph.add_edge("planner", "pom_builder")
    graph.add_conditional_edges("pom_builder", may_generate, _to("generator", "verdict_rca"))
    graph.add_edge("generator", "executor")
    graph.add_conditional_edges("executor", route, _to("executor", "oracle_healer", "verdict_rca"))
    graph.add_edge("oracle_healer", "executor")
    graph.add_edge("verdict_rca", END)
    return graph.compile(checkpointer=checkpointer)


def _to(*names: str) -> dict[Hashable, str]:
    return {name: name for name in names}


async def run_graph(
    nodes: Nodes,
    requirement: Requirement,
    *,
    run_id: str,
    checkpointer: BaseCheckpointSaver[Any],
    stop: Stop,
    max_heal_rounds: int = MAX_HEAL_ROUNDS,
    reached: Callable[[str], None] = lambda _: None,
) -> RunState:
    """Verify one requirement, from where a run of that id was cut off if there was one.

    Finished nodes are not repeated. Raises `Stopped` between two nodes where that was asked for; the run
    can then be carried on. `reached` hears of every node whose result is kept.
    """
    app = build_graph(nodes, checkpointer, max_heal_rounds=max_heal_rounds)
    config: RunnableConfig = {
        "configurable": {"thread_id": run_id},
        "recursion_limit": 20 + len(requirement.steps) * 2 * (max_heal_rounds + 2),
    }
    begin: Any = {"req_id": requirement.req_id, "context": {}}
    kept = await app.aget_state(config)
    if kept.values:
        if not _carries_on(RunState.model_validate(kept.values), requirement):
            await checkpointer.adelete_thread(run_id)
        elif not kept.tasks:  # `next` leaves out a node whose result is kept and not yet part of the state
            return RunState.model_validate(kept.values)
        else:
            cut_off = {task.name for task in kept.tasks}
            begin, nodes.resumed = None, bool(cut_off & {"executor", "oracle_healer"})
    stop.check()
    async for update in app.astream(begin, config, stream_mode="updates", durability="sync"):
        for name in update:
            reached(name)
        stop.check()
    return RunState.model_validate((await app.aget_state(config)).values)


def _carries_on(state: RunState, requirement: Requirement) -> bool:
    """Whether what was kept is of this requirement as it is now."""
    kept = read(state)
    return kept.requirement is None or same_test(kept.requirement, requirement, kept.plan)
