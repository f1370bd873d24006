"""The order of the nodes (PACTS 7.2, 7.3), and running them with a state that survives the process."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any

from langgraph.graph import END, START, StateGraph

from agent import retry_limits
from agent.execution.stop_request import StopRequest
from agent.verification.graph.graph_nodes import VerificationNodes
from agent.verification.graph.verification_state import is_same_test, read_context
from kb_schema.verification import FailureKind, Requirement, VerificationRunState

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig
    from langgraph.checkpoint.base import BaseCheckpointSaver
    from langgraph.graph.state import CompiledStateGraph

NODES = ("planner", "pom_builder", "generator", "executor", "oracle_healer", "verdict_rca")


def should_heal(state: VerificationRunState, max_heal_rounds: int = retry_limits.HEALING_ROUNDS) -> str:
    """Return the node after the executor (PACTS 7.3): the next step, the healer or the verdict."""
    if state.failure is not FailureKind.NONE:
        return "oracle_healer" if state.heal_round < max_heal_rounds else "verdict_rca"
    return "verdict_rca" if state.step_idx >= len(state.plan) else "executor"


def may_generate(state: VerificationRunState) -> str:
    """Return the node after the builder: missing elements are reported before any test is written (PACTS 1.3)."""
    return "generator" if state.failure is FailureKind.NONE else "verdict_rca"


def build_graph(
    nodes: VerificationNodes, checkpointer: BaseCheckpointSaver[Any] | None = None
) -> CompiledStateGraph[VerificationRunState, None, VerificationRunState, VerificationRunState]:
    """Build the graph of PACTS 7.2, with one edge more: from the builder to the verdict."""

    def route(state: VerificationRunState) -> str:
        return should_heal(state, nodes.max_heal_rounds)

    graph = StateGraph(VerificationRunState)
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
    nodes: VerificationNodes,
    *,
    run_id: str,
    checkpointer: BaseCheckpointSaver[Any],
    stop: StopRequest,
    reached: Callable[[str], None] = lambda _: None,
) -> VerificationRunState:
    """Verify the requirement of these nodes, or resume the interrupted run of that id; returns the final state.

    Finished nodes are not repeated. Raises `RunStopped` between two nodes if `stop` was requested; the run can
    then be resumed. `reached` is called with the name of every node whose result is saved. Closes the page.
    """
    app = build_graph(nodes, checkpointer)
    config: RunnableConfig = {
        "configurable": {"thread_id": run_id},
        "recursion_limit": 20 + len(nodes.requirement.steps) * 2 * (nodes.max_heal_rounds + 2),
    }
    begin: Any = {"req_id": nodes.requirement.req_id, "context": {}}
    saved = await app.aget_state(config)
    if saved.values:
        if not _is_resumable(VerificationRunState.model_validate(saved.values), nodes.requirement):
            await checkpointer.adelete_thread(run_id)
        elif not saved.tasks:  # `next` leaves out a node whose result is saved and not yet part of the state
            return VerificationRunState.model_validate(saved.values)
        else:
            interrupted = {task.name for task in saved.tasks}
            begin, nodes.resumed = None, bool(interrupted & {"executor", "oracle_healer"})
    stop.check()
    try:
        async for update in app.astream(begin, config, stream_mode="updates", durability="sync"):
            for name in update:
                reached(name)
            stop.check()
    finally:
        await nodes.close()
    return VerificationRunState.model_validate((await app.aget_state(config)).values)


def _is_resumable(state: VerificationRunState, requirement: Requirement) -> bool:
    """Whether the saved state is of this requirement as it is now."""
    saved = read_context(state)
    return saved.requirement is None or is_same_test(saved.requirement, requirement, saved.plan)
