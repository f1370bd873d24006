"""The result of a rehearsal: its passes, its risks, and how long each segment takes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agent.presentation.rehearsal.presentation_risks import CompletedPass, PresentationRisk
from kb_schema.presentation_flows import PresentationFlow

DIFFERENT = 0.15
"""Relative difference from the authored duration above which a new one is proposed."""


@dataclass(frozen=True, slots=True)
class MeasuredSegment:
    """Measured duration of one segment."""

    segment_id: str
    title: str
    required: bool
    authored_s: float | None
    told_s: float
    """Speech and actions at the same time, in seconds at speed 1."""
    work_s: float

    @property
    def proposed_s(self) -> float | None:
        """Duration that the flow should have; None: the authored one is right."""
        told = max(1.0, round(self.told_s))
        off = self.authored_s is None or abs(told - self.authored_s) > max(1.0, self.authored_s * DIFFERENT)
        return told if off else None


@dataclass(slots=True)
class RehearsalResult:
    """Result of a rehearsal."""

    flow_id: str
    name: str
    folder: Path
    passes: list[CompletedPass] = field(default_factory=list)
    risks: tuple[PresentationRisk, ...] = ()
    measured: tuple[MeasuredSegment, ...] = ()
    notes: list[str] = field(default_factory=list)
    files: list[str] = field(default_factory=list)

    @property
    def serious(self) -> tuple[PresentationRisk, ...]:
        """Risks with which the demo should not be given."""
        return tuple(risk for risk in self.risks if risk.serious)

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON data."""
        return {
            "flow_id": self.flow_id,
            "name": self.name,
            "ready": not self.serious,
            "risks": [risk.to_json() for risk in self.risks],
            "walks": [_rehearsed_pass_json(each) for each in self.passes],
            "durations": [
                {
                    "segment_id": m.segment_id,
                    "required": m.required,
                    "authored_s": m.authored_s,
                    "told_s": round(m.told_s, 2),
                    "work_s": round(m.work_s, 2),
                    "proposed_s": m.proposed_s,
                }
                for m in self.measured
            ],
            "notes": self.notes,
        }


def measure_segments(flow: PresentationFlow, passes: Sequence[CompletedPass]) -> tuple[MeasuredSegment, ...]:
    """Return the duration of each segment: the longest of all passes that showed it."""
    measured = []
    for segment in flow.ordered_segments:
        shown = [w for w in passes if w.presentation.was_shown(segment.segment_id)]
        if not shown:
            continue
        longest = max(shown, key=lambda rehearsal_pass: rehearsal_pass.told_s(segment.segment_id))
        measured.append(
            MeasuredSegment(
                segment.segment_id,
                segment.title or segment.segment_id,
                segment.required,
                segment.duration,
                longest.told_s(segment.segment_id),
                longest.work_s(segment.segment_id),
            )
        )
    return tuple(measured)


def _rehearsed_pass_json(each: CompletedPass) -> dict[str, Any]:
    return {
        "name": each.rehearsal_pass.name,
        "kind": each.rehearsal_pass.kind,
        "sides": [side.description for side in each.rehearsal_pass.sides],
        "error": each.error,
        "segments": [
            {
                "segment_id": s.segment_id,
                "status": s.status,
                "reason": s.reason,
                "work_s": round(s.end_s - s.start_s, 2),
                "made_to_fail": s.segment_id == each.rehearsal_pass.fails,
            }
            for s in each.presentation.segments
        ],
    }
