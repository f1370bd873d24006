"""What a run remembers of its failures: approaches, replans, data. Pure; part of its checkpoint.

One per run, tasks within it included. What is kept of it is capped in number and size (WR, risks).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, JsonValue, field_serializer

from kb_schema.resilience import MAX_TOTAL_REPLANS, ResiliencePolicy
from kb_schema.runs import Tried

MAX_FINGERPRINTS = 2_000
"""Failed approaches that are told apart; a run that fails more often forgets the oldest."""
MAX_TRIED = 200
"""Approaches that the result tells of; the first and the newest stay."""
MAX_DATA_BYTES = 250_000
"""Of the run's data in a checkpoint, as JSON: a quarter of it."""


class Ledger(BaseModel):
    """Written to while the run goes on."""

    model_config = ConfigDict(extra="forbid", validate_assignment=False)

    failed: dict[str, None] = Field(default_factory=dict)
    """Fingerprints of approaches that failed, the oldest first."""
    tried: list[Tried] = Field(default_factory=list)
    replans: dict[str, int] = Field(default_factory=dict)
    """Place -> replans since the run began, or was carried on after it had ended."""
    total: int = 0
    """Replans of the run, ever."""
    offered: dict[str, list[str]] = Field(default_factory=dict)
    """Place -> labels of the plans that were tried there."""
    closed_ways: list[str] = Field(default_factory=list)
    """Transitions that did not lead where they should."""
    data: dict[str, dict[str, JsonValue]] = Field(default_factory=dict)
    """Path of a task -> what it read, without secrets."""
    seen: int = 0
    """Values that were read, ever: what a result is measured against."""
    over: bool = False
    """The run came to an end that was no success."""

    # -- approaches

    def has_failed(self, fingerprint: str) -> bool:
        """Whether that approach may not be tried again."""
        return fingerprint in self.failed

    def note(self, tried: Tried) -> None:
        """An approach is over. One that never took effect and is done again counts as one."""
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
        """Whether one more is within the limits of the step and of the run."""
        total = min(policy.max_total_replans, MAX_TOTAL_REPLANS)
        return self.total < total and self.replans.get(place, 0) < policy.max_replans_per_step

    def replan(self, place: str, label: str | None = None) -> None:
        """One more begins."""
        self.replans[place] = self.replans.get(place, 0) + 1
        self.total += 1
        if label is not None:
            self.offered.setdefault(place, []).append(label)

    def carried_on(self) -> None:
        """Somebody carries on a run that had ended: what stood in its way has been seen to, so that its
        approaches may be tried again. The replans of the whole run stay counted.
        """
        if self.over:
            self.failed, self.replans, self.offered, self.closed_ways = {}, {}, {}, []
            self.over = False

    # -- data

    def keep(self, path: str, values: Mapping[str, Any]) -> None:
        """What a task read, beside what was read before: never replaced by emptier data."""
        known = self.data.setdefault(path, {})
        for name, value in values.items():
            if meaningful(value) and known.get(name) != value:
                self.seen += name not in known
                known[name] = value

    @field_serializer("data")
    def _newest(self, data: dict[str, dict[str, JsonValue]]) -> dict[str, dict[str, JsonValue]]:
        """What is kept to carry the run on: the newest that there is room for. The run itself has all."""
        room, kept = MAX_DATA_BYTES, []
        for path, values in reversed(data.items()):
            room -= len(json.dumps({path: values}, default=str))
            if room < 0:
                break
            kept.append(path)
        return {path: data[path] for path in reversed(kept)}


def meaningful(value: Any) -> bool:
    """Whether a value says anything (WR 2.1: not null, not empty).

    >>> [meaningful(each) for each in (0, False, "", None, [], {}, "x")]
    [True, True, False, False, False, False, True]
    """
    return value is not None and value not in ("", [], {}, ())


def merged(known: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """Both; a value that says something is never replaced by one that does not."""
    kept = {name: value for name, value in new.items() if meaningful(value) or name not in known}
    return {**known, **kept}
