"""Presentation flows: a narrative over tasks and screens, without navigation (KS 4.5, 9.2)."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, model_validator

from kb_schema.base import Document, LocalId, Model, ScreenRef, Seconds, TaskRef
from kb_schema.conditions import Condition
from kb_schema.values import Duration, InputMapping


class NarrativeHook(Model):
    """Words spoken before, during or after a segment, or one step of its task."""

    hook_type: Literal["before", "during", "after"]
    narration: str = Field(min_length=1)
    step_id: str | None = None
    """The step before, during or after which it is spoken. None: before or after the whole segment;
    a `during` hook begins with the first step that is carried out."""


class Scrolling(Model):
    """How an explanation moves through the page."""

    enabled: bool = False
    strategy: Literal["incremental", "to_bottom", "to_elements"] = "incremental"
    max_scrolls: int = Field(default=2, ge=0, le=50)
    elements: tuple[str, ...] = ()


class Segment(Model):
    """One part of the story."""

    segment_id: LocalId
    order: int = Field(ge=1)
    type: Literal["conversational", "task_execution", "explanation"]
    title: str = ""
    task_id: TaskRef | None = None
    screen_id: ScreenRef | None = None
    narration_template: str = ""
    required: bool = False
    can_skip: bool = True
    depth: Literal["overview", "demonstration", "deep_dive"] = "overview"
    duration: Seconds | None = None
    scrolling: Scrolling = Scrolling()
    highlights: tuple[str, ...] = ()
    """Elements of the screen pointed at while explaining."""
    input_mapping: dict[str, InputMapping] = Field(default_factory=dict)
    narrative_hooks: tuple[NarrativeHook, ...] = ()
    engagement_rules: tuple[str, ...] = ()
    skip_conditions: tuple[Condition, ...] = ()

    @model_validator(mode="after")
    def _has_what_its_type_needs(self) -> Segment:
        if self.type == "task_execution" and self.task_id is None:
            raise ValueError("a task_execution segment needs a task_id")
        if self.type == "explanation" and self.screen_id is None:
            raise ValueError("an explanation segment needs a screen_id")
        if self.type == "conversational" and not self.narration_template:
            raise ValueError("a conversational segment needs a narration_template")
        return self


class SegmentTransition(Model):
    """What is said, and checked, between two segments."""

    from_segment: LocalId
    to_segment: LocalId
    type: Literal["sequential", "automatic", "conditional"] = "sequential"
    condition: Condition | None = None
    narration_template: str = ""

    @model_validator(mode="after")
    def _conditional_has_a_condition(self) -> SegmentTransition:
        if self.type == "conditional" and self.condition is None:
            raise ValueError("a conditional transition needs a `condition`")
        return self

    @property
    def fallback_segment(self) -> str | None:
        """Where the condition says to go on when it does not hold: `SEGMENT` or `skip_to_SEGMENT`."""
        fallback = getattr(self.condition, "fallback", None)
        return str(fallback).removeprefix("skip_to_") if fallback else None


class FallbackPath(Model):
    """What to do when the demo cannot go as planned."""

    condition: Literal["time_running_out", "user_interrupts", "segment_failed"]
    segments_to_skip: tuple[LocalId, ...] = ()
    segments_to_keep: tuple[LocalId, ...] = ()
    action: Literal["pause_and_ask", "skip", "stop"] | None = None
    resume_point: str | None = None


class PresentationFlow(Document):
    """A demo: segments in order, what connects them, what to do when time runs short."""

    type: Literal["presentation_flow"] = "presentation_flow"
    flow_id: LocalId
    name: str = Field(min_length=1)
    description: str = ""
    audience: str = ""
    presenter: str = "Periplus"
    """`{agent_name}` in narration that no input sets."""
    duration: Duration = Duration()
    segments: tuple[Segment, ...] = Field(min_length=1)
    transitions: tuple[SegmentTransition, ...] = ()
    fallback_paths: tuple[FallbackPath, ...] = ()

    @model_validator(mode="before")
    @classmethod
    def _segments_in_order(cls, data: Any) -> Any:
        if isinstance(data, dict) and isinstance(data.get("segments"), list | tuple):
            segments = [
                {"order": index + 1, **segment} if isinstance(segment, dict) else segment
                for index, segment in enumerate(data["segments"])
            ]
            return {**data, "segments": segments}
        return data

    @model_validator(mode="after")
    def _segments_are_distinct(self) -> PresentationFlow:
        ids = [segment.segment_id for segment in self.segments]
        if len(set(ids)) != len(ids):
            raise ValueError(f"segment ids used twice: {sorted({i for i in ids if ids.count(i) > 1})}")
        return self

    @property
    def kind(self) -> str:
        return "presentation_flow"

    @property
    def local_id(self) -> str:
        return self.flow_id

    @property
    def ordered_segments(self) -> tuple[Segment, ...]:
        """The segments as they are told."""
        return tuple(sorted(self.segments, key=lambda segment: segment.order))
