"""The failures of a run: approaches, replans, data. Pure; part of its checkpoint.

One per run, shared by its sub-tasks, limited in number and size (WR, risks).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, JsonValue, field_serializer

from agent.run_context import is_meaningful
from kb_schema.resilience_policy import MAX_TOTAL_REPLANS, ResiliencePolicy
from kb_schema.run_records import TriedApproach

MAX_FINGERPRINTS = 2_000
"""Failed approaches that are remembered; the oldest are dropped."""
MAX_TRIED = 200
"""Approaches that the result lists; the first and the newest stay."""
MAX_DATA_BYTES = 250_000
"""Bytes of the run's data in a checkpoint, as JSON: a quarter of it."""


class FailureRecord(BaseModel):
    """Updated while the run goes on."""

    model_config = ConfigDict(extra="forbid", validate_assignment=False)

    failed: dict[str, None] = Field(default_factory=dict)
    """Fingerprints of failed approaches, oldest first."""
    tried: list[TriedApproach] = Field(default_factory=list)
    replans: dict[str, int] = Field(default_factory=dict)
    """Place -> replans since the run began, or was resumed after it had ended."""
    total: int = 0
    """Replans of the run, never reset."""
    offered: dict[str, list[str]] = Field(default_factory=dict)
    """Place -> labels of the plans tried there."""
    closed_ways: list[str] = Field(default_factory=list)
    """Transitions that did not lead to their target."""
    data: dict[str, dict[str, JsonValue]] = Field(default_factory=dict)
    """Path of a task -> what it read, without secrets."""
    seen: int = 0
    """Number of values ever read; the result is measured against it."""
    over: bool = False
    """The run ended without success."""

    # -- approaches

    def has_failed(self, fingerprint: str) -> bool:
        """Return whether that approach failed already."""
        return fingerprint in self.failed

    def note(self, tried: TriedApproach) -> None:
        """Record an approach. One without effect that is repeated counts once."""
        now, again = int(tried.outcome == "failed"), tried.fingerprint in self.failed
        if now:
            self.failed[tried.fingerprint] = None
            while len(self.failed) > MAX_FINGERPRINTS:
                del self.failed[next(iter(self.failed))]
        for index, known in enumerate(self.tried):
            if known.fingerprint == tried.fingerprint:
                self.tried[index] = tried.model_copy(
                    update={
                        "attempts": known.attempts + tried.attempts,
                        "failures": known.failures + now if again else max(known.failures, now),
                    }
                )
                return
        if len(self.tried) >= MAX_TRIED:
            del self.tried[MAX_TRIED // 2]
        self.tried.append(tried.model_copy(update={"failures": now}))

    # -- replans

    def may_replan(self, place: str, policy: ResiliencePolicy) -> bool:
        """Return whether one more replan is within the limits of step and run."""
        total = min(policy.max_total_replans, MAX_TOTAL_REPLANS)
        return self.total < total and self.replans.get(place, 0) < policy.max_replans_per_step

    def describe_limit(self, place: str, policy: ResiliencePolicy) -> str:
        """Return the limit after which no further approach is tried, as the end of a sentence; empty if it is not reached."""
        if self.may_replan(place, policy):
            return ""
        if self.replans.get(place, 0) >= policy.max_replans_per_step:
            return f"; no more than {policy.max_replans_per_step} replans of a step (max_replans_per_step)"
        return f"; no more than {min(policy.max_total_replans, MAX_TOTAL_REPLANS)} replans of a run (max_total_replans)"

    def replan(self, place: str, label: str | None = None) -> None:
        """Count a replan."""
        self.replans[place] = self.replans.get(place, 0) + 1
        self.total += 1
        if label is not None:
            self.offered.setdefault(place, []).append(label)

    def carried_on(self) -> None:
        """Reset the approaches of a run that had ended and is resumed: its obstacle may be gone. The total
        of replans stays.
        """
        if self.over:
            self.failed, self.replans, self.offered, self.closed_ways = {}, {}, {}, []
            self.over = False

    # -- data

    def keep(self, path: str, values: Mapping[str, Any]) -> None:
        """Store values that a task read; an empty value never replaces another one."""
        known = self.data.setdefault(path, {})
        for name, value in values.items():
            if is_meaningful(value) and known.get(name) != value:
                self.seen += name not in known
                known[name] = value

    @field_serializer("data")
    def _newest(self, data: dict[str, dict[str, JsonValue]]) -> dict[str, dict[str, JsonValue]]:
        """The newest data that fits into a checkpoint. The run itself has all."""
        room, kept = MAX_DATA_BYTES, []
        for path, values in reversed(data.items()):
            room -= len(json.dumps({path: values}, default=str))
            if room < 0:
                break
            kept.append(path)
        return {path: data[path] for path in reversed(kept)}
