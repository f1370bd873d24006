"""The transitions as a multigraph with what each costs: parallel ones are different actions."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from kb_schema.answers import Objective, PathStep
from kb_schema.conditions import BaseCondition
from kb_schema.effects import FactEffect
from kb_schema.graph import Transition
from kb_schema.learned import Observed
from kb_schema.weights import edge_weights
from kb_store import learned
from mcp_server.details import working

FactSet = frozenset[tuple[str, str]]
"""Known facts: (name, value as JSON)."""
Weight = tuple[float, float]
"""What an objective minimises, then what decides between equals. Added part by part."""


@dataclass(frozen=True)
class Way:
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
    weights: Mapping[Objective, Weight]

    @cached_property
    def step(self) -> PathStep:
        """It as answers tell it."""
        return PathStep(
            transition_id=self.transition_id,
            from_screen=self.source,
            to_screen=self.target,
            expected_ms=self.expected_ms,
            reliability=self.reliability,
            transition=_to_carry_out(self.transition),
        )


def _to_carry_out(transition: Transition) -> dict[str, Any]:
    """As JSON that still parses, without the numbers that a step tells as they are believed now."""
    data = working(transition)
    told = {key: value for key, value in data.items() if key not in ("cost", "duration", "reliability_score")}
    if transition.duration.max is not None:  # how long to wait for it: not how long it is expected to take
        told["duration"] = {"max": data["duration"]["max"]}
    return told


def compile_way(transition: Transition, recovery_ms: float, seen: Observed | None = None) -> Way:
    """A transition with its weights, `recovery_ms` being what a failure on its screen costs.

    Learned numbers (`seen`) come in here and nowhere else.
    """
    ms = learned.expected_ms(transition.expected_ms, seen)
    reliability = learned.posterior(transition.reliability, seen)
    return Way(
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
        weights=weights(ms, reliability, recovery_ms),
    )


def weights(ms: float, reliability: float, recovery_ms: float) -> dict[Objective, Weight]:
    """An edge's weight for each objective, with what decides between equals (DESIGN 5)."""
    by = edge_weights(ms, reliability, recovery_ms)
    return {
        "fewest": (by["fewest"], by["balanced"]),
        "fastest": (by["fastest"], by["balanced"]),
        "reliable": (by["reliable"], by["balanced"]),
        "balanced": (by["balanced"], by["fastest"]),
    }
