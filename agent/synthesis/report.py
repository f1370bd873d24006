"""What was made of the traces, and what could not be (MA `SynthesisReport`)."""

from __future__ import annotations

from collections import Counter

from pydantic import Field

from agent.synthesis.graph import ActionGraph
from agent.synthesis.patterns import ExtractedPatterns
from kb_schema.base import Model
from kb_schema.selectors import Selector

LOW_CONFIDENCE = 0.7
"""Positions below it are pointed out."""


class SynthesisReport(Model):
    """Counts are of everything, what is in loops and branches included."""

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
    refusals: tuple[str, ...] = ()
    """What could not be induced, why, and where in the traces to look."""

    def to_json_text(self) -> str:
        """As JSON, every field there."""
        return self.model_dump_json(exclude_defaults=False)


def report_on(
    patterns: ExtractedPatterns, graph: ActionGraph, *, strategy: str, warnings: tuple[str, ...] = ()
) -> SynthesisReport:
    """The report of one synthesis."""
    every = list(patterns.walk())
    coverage = Counter(
        each.type
        for node in graph.actions()
        if isinstance(node.target, Selector)
        for each in node.target.strategies
    )
    return SynthesisReport(
        total_steps=len(patterns.step_order),
        deterministic_count=sum(len(each.deterministic_steps) for each in every),
        parameterizable_count=sum(len(each.parameterizable_steps) for each in every),
        agent_node_count=sum(len(each.variable_steps) for each in every),
        optional_count=sum(len(each.optional_steps) for each in every),
        user_input_boundary_count=sum(len(each.user_input_boundaries) for each in every),
        branch_count=sum(len(each.branch_patterns) for each in every),
        loop_count=sum(len(each.loop_patterns) for each in every),
        synthesis_strategy=strategy,
        target_strategy_coverage=dict(sorted(coverage.items())),
        template_variables=tuple(parameter.name for parameter in graph.parameters),
        warnings=(*warnings, *_doubts(every)),
        refusals=tuple(str(refusal) for each in every for refusal in each.refusals),
    )


def _doubts(every: list[ExtractedPatterns]) -> list[str]:
    # That few took a way is no doubt about it where it is known when it is taken.
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
            # Steps on rows differ in what they are done to, which is told already.
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
                    f"Step {index + 1}: optional; {info.evidence}{'; left out' if info.left_out else ''}"
                )
    return told
