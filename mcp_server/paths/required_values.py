"""The values that a transition needs: for its texts, and for an element that values select (KS 9.4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kb_schema.conditions import ContextEquals
from kb_schema.graph_documents import Transition
from kb_schema.rules.context_first import BUILT_INS
from kb_schema.screens import UIElement
from kb_schema.selectors import Selector
from kb_schema.templates import tree_variables
from kb_schema.tool_answers import PathStep
from mcp_server.transition_graph.fact_conditions import KnownFacts

_NOT_NEEDED = ("fallback_actions", "fingerprint", "narration", "target")
"""Fields of a call without which it can be performed; the target is a case of its own."""


def list_required_values(transition: Transition, elements: Mapping[str, UIElement]) -> tuple[str, ...]:
    """Return the names of the values that a transition needs, in order; those of every run are left out.

    `elements`: those of the screen that it leaves, by id.
    """
    call = transition.triggered_by
    data = {name: value for name, value in call.to_json().items() if name not in _NOT_NEEDED}
    names = set(tree_variables(data))
    if isinstance(call.target, Selector):
        names |= call.target.required_context - call.parameters.keys()
    elif call.target is not None:
        names |= tree_variables(call.target)
        if call.target in elements:
            names |= elements[call.target].selector.required_context - call.parameters.keys()
    names |= {
        each.name
        for each in transition.conditions.required
        if isinstance(each, ContextEquals) and each.value is None
    }
    return tuple(sorted(names - BUILT_INS))


def add_required_values(
    steps: Sequence[PathStep], elements: Mapping[str, Mapping[str, UIElement]], facts: KnownFacts
) -> tuple[PathStep, ...]:
    """Return the steps of a path, each with the values that it needs and that no fact gives."""
    told = []
    for step in steps:
        needs = list_required_values(step.edge, elements.get(step.from_screen, {}))
        lacking = tuple(name for name in needs if facts.get(name) in (None, ""))
        told.append(step.model_copy(update={"needs": lacking}) if lacking else step)
    return tuple(told)
