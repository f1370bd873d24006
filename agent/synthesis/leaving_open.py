"""Fields that some people filled in, each with something else, and others left as they were: inputs that may
be left out. Nothing on the page tells when; that a value is given does.
"""

from __future__ import annotations

from collections.abc import Sequence

from agent.synthesis.alignment import Cell
from agent.synthesis.deciding import Deciding, Decision, Sight
from agent.synthesis.patterns import ExtractedPatterns
from agent.synthesis.rows import every_strategy
from agent.synthesis.symbols import equivalent
from kb_schema.conditions import ContextEquals

FILLED = frozenset({"fill", "select_option", "upload_file"})
"""Actions that give a field a value."""


def was_left_open(cells: Sequence[Cell], others: Sequence[Sight], deciding: Deciding) -> bool:
    """Whether these steps fill in one field, not all with the same, and it was there for `others`, too."""
    steps = [cell.step for cell in cells]
    if len(steps) < 2 or any(step.action_type not in FILLED for step in steps):
        return False
    if not all(equivalent(steps[0], step) for step in steps[1:]):
        return False
    values = [(step.args or {}).get("value") for step in steps]
    target = every_strategy(cells)
    varies = any(value != values[0] for value in values)
    return varies and target is not None and deciding.ignored(target, others)


def given_or_not(body: ExtractedPatterns, takers: int, others: int) -> Decision | None:
    """It is done where a value is given; None where the value comes from anywhere but from who runs it."""
    bindings = [info.bindings.get("value") for _, info in body.parameterizable_steps]
    if len(bindings) != 1 or bindings[0] is None or bindings[0].source not in ("input", "user_input"):
        return None
    name = bindings[0].name
    told = f"{takers} of {takers + others} filled it in; it was there for all: done where {name} is given"
    return Decision(ContextEquals(type="context_equals", name=name), "input", told)
