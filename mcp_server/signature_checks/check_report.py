"""The models of a signature check's answer. Each is plain JSON for `--json`."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from kb_schema.base import Model

SnapshotOutcome = Literal["right", "wrong", "ambiguous", "not_known", "refused", "unlabelled"]
"""Of one snapshot: against its label; without one only `ambiguous`, `refused` or `unlabelled`."""

FindingKind = Literal[
    "taken_for_another",
    "both_match",
    "not_known",
    "known_unexpectedly",
    "foreign",
    "refused",
    "rejects_its_own",
    "required_missing",
    "no_signature",
    "unmatched",
]

IdleReason = Literal["never_holds", "holds_everywhere", "rejects_nothing", "redundant", "never_told"]


class IndicatorProposal(Model):
    """A condition to add, and on how many snapshots it was seen to hold."""

    screen_id: str
    """Whose signature it goes into."""
    slot: Literal["required_indicators", "negative_indicators"]
    condition: dict[str, Any]
    """In the form of a knowledge base's file."""
    holds: int
    of: int
    """Snapshots it has to hold on."""
    elsewhere: int
    others: int
    """Snapshots it must not hold on."""


class SignatureFinding(Model):
    """One thing to know; `breaks` where pages are identified wrongly, or not at all."""

    kind: FindingKind
    breaks: bool
    message: str
    screen_id: str | None = None
    other: str | None = None
    """The second screen of a pair that nothing separates."""
    snapshots: tuple[str, ...] = ()
    fix: str | None = None
    proposal: IndicatorProposal | None = None


class IdleIndicator(Model):
    """An indicator that never helps on these snapshots."""

    screen_id: str
    kind: str
    indicator: str
    because: IdleReason
    detail: str


class ScreenConfusion(Model):
    """A cell of the confusion matrix that is not empty."""

    screen_id: str | None
    """The label; None: a page that is no known screen."""
    taken_for: str | None
    """The answer; None: no known screen."""
    ambiguous: int = 0
    """How many of these answers were ambiguous."""
    snapshots: tuple[str, ...]


class SnapshotResult(Model):
    """How one snapshot came out."""

    name: str
    labelled: bool
    label: str | None = None
    screen_id: str | None = None
    confidence: float = 0.0
    accepted: tuple[str, ...] = ()
    """Every screen whose signature holds, best first (of many, the first six)."""
    outcome: SnapshotOutcome
    because: str = ""


class CheckReport(Model):
    """Everything a check found."""

    website_id: str
    screens: int
    snapshots: int
    labelled: int
    right: int
    matrix: tuple[ScreenConfusion, ...]
    """Of labelled snapshots; empty without labels."""
    findings: tuple[SignatureFinding, ...] = ()
    idle_indicators: tuple[IdleIndicator, ...] = ()
    screens_without_snapshot: tuple[str, ...] = ()
    results: tuple[SnapshotResult, ...] = Field(default=())

    @property
    def breaks(self) -> bool:
        """Whether anything found breaks identification."""
        return any(finding.breaks for finding in self.findings)
