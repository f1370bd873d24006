"""The transitions as a multigraph with their costs. Parallel transitions are different actions."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from kb_schema.conditions import BaseCondition
from kb_schema.edge_weights import edge_weights
from kb_schema.effects import FactEffect
from kb_schema.graph_documents import Transition
from kb_schema.objectives import Objective
from kb_schema.observed_outcomes import ObservedStats
from kb_schema.tool_answers import PathStep
from kb_store.learned import learned_numbers
from mcp_server.document_text.detail_levels import working_document

FactSet = frozenset[tuple[str, str]]
"""Known facts: (name, value as JSON)."""
Weight = tuple[float, float]
"""What an objective minimises, then what decides between equals. Added part by part."""


@dataclass(frozen=True)
class WeightedTransition:
    """One transition as paths use it."""

    transition: Transition
    source: str
    target: str
    transition_id: str
    action_type: str
    expected_ms: float
    reliability: float
    required: tuple[BaseCondition, ...]
    sets: tuple[tuple[str, str], ...]
    """Facts it makes known: (name, value as JSON)."""
    recovery_ms: float
    """The expected time to recover from a failure on its screen."""

    @property
    def weights(self) -> Mapping[Objective, Weight]:
        """For each objective what it minimises, and what decides between equals. Made when asked: the search keeps its own numbers."""
        complexity = self.transition.cost.complexity_score or 0.0
        return edge_weights_by_objective(self.expected_ms, self.reliability, self.recovery_ms, complexity)

    @cached_property
    def step(self) -> PathStep:
        """It as answers tell it."""
        return PathStep(
            transition_id=self.transition_id,
            from_screen=self.source,
            to_screen=self.target,
            expected_ms=self.expected_ms,
            reliability=self.reliability,
            transition=_executable_form(self.transition),
        )


def _executable_form(transition: Transition) -> dict[str, Any]:
    """As JSON that still parses, without the numbers that a step tells as they are believed now."""
    data = working_document(transition)
    told = {key: value for key, value in data.items() if key not in ("cost", "duration", "reliability_score")}
    waits = {
        key: value for key, value in data.get("duration", {}).items() if key in ("max", "p95_duration_ms")
    }
    if waits:  # how long to wait for it: not how long it is expected to take
        told["duration"] = waits
    return told


def weigh_transition(
    transition: Transition, recovery_ms: float, seen: ObservedStats | None = None
) -> WeightedTransition:
    """A transition as paths weigh it, `recovery_ms` being what a failure on its screen costs.

    Learned numbers (`seen`) come in here and nowhere else.
    """
    ms = learned_numbers.expected_ms(transition.expected_ms, seen)
    reliability = learned_numbers.posterior(transition.reliability, seen)
    return WeightedTransition(
        transition=transition,
        source=transition.from_screen,
        target=transition.to_screen,
        transition_id=transition.local_id,
        action_type=transition.triggered_by.canonical_type,
        expected_ms=ms,
        reliability=reliability,
        required=transition.conditions.required,
        sets=tuple(
            (effect.fact, json.dumps(effect.value, sort_keys=True))
            for effect in transition.effects
            if isinstance(effect, FactEffect)
        ),
        recovery_ms=recovery_ms,
    )


def authored_weight(transition: Transition, recovery_ms: float, objective: Objective) -> Weight:
    """Return what `weigh_transition` gives for one objective, without learned numbers."""
    complexity = transition.cost.complexity_score or 0.0
    return edge_weights_by_objective(transition.expected_ms, transition.reliability, recovery_ms, complexity)[
        objective
    ]


def edge_weights_by_objective(
    ms: float, reliability: float, recovery_ms: float, complexity: float = 0.0
) -> dict[Objective, Weight]:
    """An edge's weight for each objective, with what decides between equals: time, more for a complex one (KS 9.6).

    `complexity`: 0 to 1.
    """
    by = edge_weights(ms, reliability, recovery_ms)
    harder = 1 + complexity
    return {
        "fewest": (by["fewest"], by["balanced"] * harder),
        "fastest": (by["fastest"], by["balanced"] * harder),
        "reliable": (by["reliable"], by["balanced"] * harder),
        "balanced": (by["balanced"], by["fastest"] * harder),
    }
