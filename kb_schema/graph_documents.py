"""The edges, and the vertices that only the graph has (KS 4.4, 4.6, 9.6, 9.8, 9.13)."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from pydantic import Field, model_validator

from kb_schema.action_calls import ActionCall
from kb_schema.base import (
    CURRENT_SCREEN,
    ActionRef,
    Document,
    GroupRef,
    LocalId,
    Model,
    Probability,
    ScreenRef,
    TaskRef,
    TransitionRef,
    digest,
    split_reference,
)
from kb_schema.conditions import Condition
from kb_schema.effects import Effect
from kb_schema.io_specs import Duration

PRIORITY_OF_GROUP = {"high": 1, "medium": 2, "low": 4}
"""The priority that a group's `recovery_priority` gives to its edges without one."""
DEFAULT_PRIORITY = 2


class EdgeConditions(Model):
    """`required` conditions must hold for the edge to work; `optional` ones only help."""

    required: tuple[Condition, ...] = ()
    optional: tuple[Condition, ...] = ()


class Cost(Model):
    """The cost of using an edge."""

    estimated_ms: float | None = Field(default=None, ge=0)
    complexity_score: Probability | None = None


class ReliabilityMetrics(Model):
    """The authored reliability of an edge: a prior worth ten observations."""

    success_count: int = Field(default=0, ge=0)
    failure_count: int = Field(default=0, ge=0)
    last_updated: datetime | None = None
    rolling_average: Probability | None = None


class ErrorState(Model):
    """The screen to which a failed edge leads."""

    screen_id: ScreenRef
    reason: str = ""
    recovery: str | None = None


class _Edge(Document):
    transition_id: LocalId | None = None
    triggered_by: ActionCall | None = None
    conditions: EdgeConditions = EdgeConditions()
    cost: Cost = Cost()
    duration: Duration = Duration()
    reliability_score: Probability | None = None
    reliability_metrics: ReliabilityMetrics | None = None
    description: str = ""
    use_cases: tuple[str, ...] = ()

    @property
    def expected_ms(self) -> float:
        """`avg_duration_ms`, else `cost.estimated_ms`, else `duration.typical`, else one second."""
        if self.duration.avg_duration_ms is not None:
            return self.duration.avg_duration_ms
        if self.cost.estimated_ms is not None:
            return self.cost.estimated_ms
        if self.duration.typical is not None:
            return self.duration.typical * 1000
        return 1000.0

    @property
    def reliability(self) -> float:
        """The authored reliability: the score, else from the counts, else 0.9."""
        if self.reliability_score is not None:
            return self.reliability_score
        counts = self.reliability_metrics
        if counts is not None and counts.success_count + counts.failure_count > 0:
            return counts.success_count / (counts.success_count + counts.failure_count)
        if counts is not None and counts.rolling_average is not None:
            return counts.rolling_average
        return 0.9


class Transition(_Edge):
    """An action that leads from one screen to another."""

    type: Literal["transition"] = "transition"
    from_screen: ScreenRef = Field(alias="_from")
    to_screen: ScreenRef = Field(alias="_to")
    transition_id: LocalId | None = None
    triggered_by: ActionCall
    effects: tuple[Effect, ...] = ()
    error_states: tuple[ErrorState, ...] = ()

    @property
    def kind(self) -> str:
        return "transition"

    @property
    def local_id(self) -> str:
        if self.transition_id is not None:
            return self.transition_id
        ends = f"{self.from_screen}.to.{self.to_screen}.{self.triggered_by.canonical_type}"
        return f"{ends}.{digest(self.triggered_by.to_json())}"


class GlobalRecovery(_Edge):
    """A recovery edge for every screen of a group (KS 9.8)."""

    type: Literal["global_recovery"] = "global_recovery"
    from_group: GroupRef = Field(alias="_from")
    to_screen: ScreenRef = Field(alias="_to")
    """`current`: the current screen."""
    recovery_priority: int | None = Field(default=None, ge=1)

    @property
    def kind(self) -> str:
        return "global_recovery"

    @property
    def local_id(self) -> str:
        return self.transition_id or f"{self.from_group}.to.{self.to_screen}.p{self.recovery_priority or 0}"

    @property
    def stays(self) -> bool:
        """Whether it leads back to the current screen."""
        return self.to_screen == CURRENT_SCREEN

    def priority(self, group: ScreenGroup | None) -> int:
        """Return its own priority, else its group's, else 2."""
        if self.recovery_priority is not None:
            return self.recovery_priority
        if group is not None and group.recovery_priority is not None:
            return PRIORITY_OF_GROUP[group.recovery_priority]
        return DEFAULT_PRIORITY


class ScreenGroup(Document):
    """Screens that share recovery edges (KS 4.6)."""

    type: Literal["screen_group"] = "screen_group"
    group_id: LocalId
    name: str = Field(min_length=1)
    description: str = ""
    recovery_priority: Literal["high", "medium", "low"] | None = None

    @model_validator(mode="before")
    @classmethod
    def _id_names_the_group(cls, data: Any) -> Any:
        """Accept the form of KS 4.6: only `_id: screen_group/x`, and the website inside `metadata`."""
        if not isinstance(data, dict):
            return data
        data = dict(data)
        if "group_id" not in data and isinstance(data.get("_id"), str):
            data["group_id"] = split_reference(data["_id"])[1]
        metadata = data.get("metadata")
        if isinstance(metadata, dict) and isinstance(metadata.get("website_id"), str):
            data.setdefault("website_id", metadata["website_id"])
        return data

    @property
    def kind(self) -> str:
        return "screen_group"

    @property
    def local_id(self) -> str:
        return self.group_id


class GroupMembership(Document):
    """A screen belongs to a group (KS 4.6)."""

    type: Literal["belongs_to"] = "belongs_to"
    screen: ScreenRef = Field(alias="_from")
    group: GroupRef = Field(alias="_to")

    @property
    def kind(self) -> str:
        return "group_membership"

    @property
    def local_id(self) -> str:
        return f"{self.screen}.in.{self.group}"


class TaskDependency(Document):
    """One task is composed of, or depends on, another (KS 3). A cycle needs a condition."""

    type: Literal["composes", "depends_on"]
    from_task: TaskRef = Field(alias="_from")
    to_task: TaskRef = Field(alias="_to")
    condition: Condition | None = None
    order: int | None = None

    @property
    def kind(self) -> str:
        return "task_dependency"

    @property
    def local_id(self) -> str:
        edge = f"{self.from_task}.{self.type}.{self.to_task}"
        return edge if self.condition is None else f"{edge}.if.{digest(self.condition.to_json())}"


class ActionTrigger(Document):
    """An action causes a transition (KS 3, `ACTION -> TRIGGERS -> TRANSITION`)."""

    type: Literal["triggers"] = "triggers"
    action: ActionRef = Field(alias="_from")
    transition: TransitionRef = Field(alias="_to")

    @property
    def kind(self) -> str:
        return "action_trigger"

    @property
    def local_id(self) -> str:
        return f"{self.action}.triggers.{self.transition}"
