"""The report of a synthesis: counts, warnings and refusals (MA `SynthesisReport`)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence

from pydantic import Field

from agent.synthesis.graph.action_graph import ActionGraph, ActionNode, GraphNode, LoopNode
from agent.synthesis.graph.runnable_actions import can_write_step
from agent.synthesis.patterns.extracted_patterns import ExtractedPatterns, list_position_variants
from kb_schema import action_types
from kb_schema.base import Model
from kb_schema.selectors import Selector

LOW_CONFIDENCE = 0.7
"""Positions with a lower confidence get a warning."""


class SynthesisReport(Model):
    """Counts and findings of one synthesis; counts include steps inside loops and branches.

    Agent steps are those of the workflow: steps that vary and that no model decided, actions that no run can perform, branches
    without conditions and loops without an end. The one that is tried if no branch fits is not counted. What a model decided is a
    constant step, or one with inputs.
    """

    total_steps: int = Field(ge=0)
    deterministic_count: int = Field(ge=0)
    parameterizable_count: int = Field(ge=0)
    agent_node_count: int = Field(ge=0)
    optional_count: int = Field(ge=0)
    user_input_boundary_count: int = Field(ge=0)
    branch_count: int = Field(ge=0)
    loop_count: int = Field(ge=0)
    synthesis_strategy: str = "rule_based"
    target_strategy_coverage: dict[str, int] = Field(default_factory=dict)
    template_variables: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    """Doubts of the synthesis, and the `warn:` rules that traces break which are used."""
    refusals: tuple[str, ...] = ()
    """What could not be derived, why, and the steps of the traces that show it."""
    variants: dict[int, dict[str, int]] = Field(default_factory=dict)
    """By the number of a step that varies, from 1: each action that was seen there, with the number of traces."""

    def add_warnings(self, texts: Iterable[str]) -> SynthesisReport:
        """Return the report with further warnings before its own."""
        return self.model_copy(update={"warnings": (*texts, *self.warnings)})

    def to_json_text(self) -> str:
        """Return the report as JSON text with every field."""
        return self.model_dump_json(exclude_defaults=False)


def build_report(
    patterns: ExtractedPatterns, graph: ActionGraph, *, strategy: str, warnings: tuple[str, ...] = ()
) -> SynthesisReport:
    """Build the report of one synthesis."""
    every, rounds = list(patterns.walk()), list(patterns.walk_rounds())
    left = {node.position for node in graph.actions() if _is_left_to_agent(node, graph)}
    decided = _list_decided(every, graph, left)
    constant = [position.index for each in every for position in each.deterministic_steps]
    varying = [position.index for each in every for position, _ in each.parameterizable_steps]
    optional = [position.index for each in every for position in each.optional_steps]
    coverage = Counter(
        each.type
        for node in graph.actions()
        if isinstance(node.target, Selector)
        for each in node.target.strategies
    )
    return SynthesisReport(
        total_steps=len(patterns.step_order),
        deterministic_count=sum(index not in left for index in constant) + decided.count(False),
        parameterizable_count=sum(index not in left for index in varying) + decided.count(True),
        agent_node_count=_count_agent_steps(graph.nodes, graph),
        optional_count=sum(index not in left for index in optional),
        user_input_boundary_count=sum(len(each.user_input_boundaries) for each in every),
        branch_count=sum(len(each.branch_patterns) for each in every),
        loop_count=sum(len(each.loop_patterns) for each in every),
        synthesis_strategy=strategy,
        target_strategy_coverage=dict(sorted(coverage.items())),
        template_variables=tuple(parameter.name for parameter in graph.parameters),
        warnings=(*warnings, *_list_unknown_actions(graph), *_doubts(every)),
        variants={
            position.index + 1: list_position_variants(position)
            for each in every
            for position in each.variable_steps
        },
        refusals=tuple(
            dict.fromkeys(str(refusal) for each in (*every, *rounds) for refusal in each.refusals)
        ),
    )


def _is_left_to_agent(node: ActionNode, graph: ActionGraph) -> bool:
    if node.left_out is not None or node.target is True:
        return False
    return node.action_type == graph.agent_action_type or not can_write_step(node)


def _list_decided(
    every: Sequence[ExtractedPatterns], graph: ActionGraph, left: Collection[int | None]
) -> list[bool]:
    """Return for each varying step that a model decided whether its values have inputs."""
    nodes = {node.position: node for node in graph.actions()}
    names = [f"{{{each.name}}}" for each in graph.parameters]
    decided = [
        nodes[position.index]
        for each in every
        for position in each.variable_steps
        if position.index in nodes and position.index not in left
    ]
    return [any(name in str(node.args) for name in names) for node in decided]


def _count_agent_steps(nodes: Iterable[GraphNode], graph: ActionGraph) -> int:
    """Return how many steps of a run an agent performs; a branch or loop that is left to it is one."""
    count = 0
    for node in nodes:
        if isinstance(node, ActionNode):
            count += _is_left_to_agent(node, graph)
        elif isinstance(node, LoopNode):
            count += 1 if node.kind == "unknown" else _count_agent_steps(node.nodes, graph)
        elif node.source is None:
            count += 1
        else:
            count += sum(_count_agent_steps(each.nodes, graph) for each in node.branches)
    return count


def _list_unknown_actions(graph: ActionGraph) -> Iterator[str]:
    for node in graph.actions():
        if node.action_type != graph.agent_action_type and action_types.action_type(node.action_type) is None:
            number = "" if node.position is None else f"Step {node.position + 1}: "
            yield f"{number}no run can perform the action {node.action_type!r}: it is left to an agent step"


def _doubts(every: list[ExtractedPatterns]) -> list[str]:
    # A rarely taken branch is not doubtful if its condition is known.
    decided = {
        index
        for each in every
        for branch in each.branch_patterns
        if branch.decided
        for index in branch.indices
    }
    positions = {
        position.index: position
        for each in every
        for position in (
            *each.deterministic_steps,
            # Steps on list rows differ only in their target, which is a parameter.
            *(position for position, info in each.parameterizable_steps if info.target is None),
        )
    }
    told = [
        f"Step {index + 1}: Low alignment confidence ({position.confidence}) - consider collecting more traces"
        for index, position in sorted(positions.items())
        if position.confidence < LOW_CONFIDENCE and index not in decided
    ]
    for each in every:
        for index, info in sorted(each.optional_info.items()):
            if info.left_out or info.condition is None:
                told.append(
                    f"Step {index + 1}: optional; {info.evidence}{'; omitted' if info.left_out else ''}"
                )
    return told
