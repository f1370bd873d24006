"""Optional fields: some traces fill them in, with different values, and others do not.

They become optional inputs: the step is performed if a value is given, since nothing on the page decides it.
"""

from __future__ import annotations

from collections.abc import Sequence

from agent.synthesis.alignment.aligned_traces import AlignedCell
from agent.synthesis.alignment.step_equivalence import are_equivalent
from agent.synthesis.patterns.aligned_rows import merge_strategies
from agent.synthesis.patterns.branch_conditions import BranchConditionFinder, DecisionPage, InferredCondition
from agent.synthesis.patterns.extracted_patterns import ExtractedPatterns
from kb_schema.conditions import ContextEquals

FILLED = frozenset({"fill", "select_option", "upload_file"})
"""Actions that set the value of a field."""


def is_optional_field(
    cells: Sequence[AlignedCell], others: Sequence[DecisionPage], deciding: BranchConditionFinder
) -> bool:
    """Whether these steps fill in one field with different values, and `others` had the field too."""
    steps = [cell.step for cell in cells]
    if len(steps) < 2 or any(step.action_type not in FILLED for step in steps):
        return False
    if not all(are_equivalent(steps[0], step) for step in steps[1:]):
        return False
    values = [(step.args or {}).get("value") for step in steps]
    target = merge_strategies(cells)
    varies = any(value != values[0] for value in values)
    return varies and target is not None and deciding.ignored(target, others)


def infer_given_condition(body: ExtractedPatterns, takers: int, others: int) -> InferredCondition | None:
    """Return the condition that a value is given; None if the value is not an input from a person."""
    bindings = [info.bindings.get("value") for _, info in body.parameterizable_steps]
    if len(bindings) != 1 or bindings[0] is None or bindings[0].source not in ("input", "user_input"):
        return None
    name = bindings[0].name
    told = f"{takers} of {takers + others} traces filled it in, all had it: performed if {name} is given"
    return InferredCondition(ContextEquals(type="context_equals", name=name), "input", told)
