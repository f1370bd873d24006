"""Presentation flows: a narrative over tasks and screens, without navigation (KS 4.5, 9.2).

What a flow says is in `kb_schema.telling` in another language, and its rules of engagement are
`kb_schema.engagement`.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, StringConstraints, model_validator

from kb_schema.base import Document, LocalId, Model, ScreenRef, Seconds, TaskRef
from kb_schema.conditions import Condition
from kb_schema.engagement import EngagementRule, recognised
from kb_schema.values import Duration, InputMapping

Depth = Literal["overview", "demonstration", "deep_dive"]
DEPTHS: tuple[Depth, ...] = ("overview", "demonstration", "deep_dive")
"""From the shortest to the longest way of telling a segment."""
Language = Annotated[str, StringConstraints(pattern=r"^[a-z]{2,3}(-[A-Za-z0-9]{2,8})*$")]
"""A language as BCP 47 names it: `en`, `de`, `pt-BR`."""
STEPS_S = 6.0
"""What there is to do in a task takes where nobody has said."""
LEAST_SHARE = 0.25
"""Of its usual time, what a segment takes with hardly any words."""
WORDS_PER_SECOND = 2.6
"""How fast narration is spoken at speed 1, where nobody has measured it."""


class Words(Model):
    """What a hook, a transition or a fallback path says in another language."""

    narration: str = Field(min_length=1)


class SegmentWords(Model):
    """What a segment says in another language; what is not given is said as it was authored."""

    title: str = ""
    narration_template: str = ""
    prompts: dict[str, str] = Field(default_factory=dict)
    """Input -> what the visitor is asked for it."""


BridgeKind = Literal["trouble", "slow", "passed_over", "ended"]
"""Something is being put right; the page takes its time; a segment is left out, and it was the last."""


class FlowWords(Model):
    """What a flow is called in another language, and what it says while something goes wrong."""

    bridging: dict[BridgeKind, tuple[str, ...]] = Field(default_factory=dict)

    name: str = ""
    description: str = ""
    presenter: str = ""


class NarrativeHook(Model):
    """Words spoken before, during or after a segment, or one step of its task."""

    hook_type: Literal["before", "during", "after"]
    narration: str = Field(min_length=1)
    step_id: str | None = None
    """The step before, during or after which it is spoken. None: before or after the whole segment;
    a `during` hook begins with the first step that is carried out."""
    depth: Depth = "overview"
    """The least depth at which it is told."""
    translations: dict[Language, Words] = Field(default_factory=dict)


class Scrolling(Model):
    """How an explanation moves through the page.

    `incremental`: most of a window at a time; `to_bottom`: to its end in one movement; `to_elements`: to
    each of `elements` (default: the highlights). At most `max_scrolls` movements.
    """

    enabled: bool = False
    strategy: Literal["incremental", "to_bottom", "to_elements"] = "incremental"
    max_scrolls: int = Field(default=2, ge=0, le=50)
    elements: tuple[str, ...] = ()
    return_to_top: bool = True
    """Whether the page is back at its top when the explanation ends."""


class DepthVariant(Model):
    """How a segment is told at one depth, as far as that differs. What is None stays as authored."""

    narration_template: str | None = None
    highlights: tuple[str, ...] | None = None
    duration: Seconds | None = None
    translations: dict[Language, SegmentWords] = Field(default_factory=dict)


def _no_alternative_is_empty(rules: tuple[str | EngagementRule, ...]) -> tuple[str | EngagementRule, ...]:
    if any(isinstance(rule, str) and not rule.strip() for rule in rules):
        raise ValueError("an engagement rule is empty")
    return rules


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
    depth: Depth | None = None
    """How much is shown; None: a task is demonstrated, anything else is an overview."""
    depths: dict[Depth, DepthVariant] = Field(default_factory=dict)
    """What is told differently where there is less time, or more."""
    duration: Seconds | None = None
    """At its own depth, at speed 1."""
    scrolling: Scrolling = Scrolling()
    highlights: tuple[str, ...] = ()
    """Elements of the screen pointed at while explaining."""
    input_mapping: dict[str, InputMapping] = Field(default_factory=dict)
    narrative_hooks: tuple[NarrativeHook, ...] = ()
    engagement_rules: Annotated[
        tuple[EngagementRule | str, ...], AfterValidator(_no_alternative_is_empty)
    ] = ()
    skip_conditions: tuple[Condition, ...] = ()
    translations: dict[Language, SegmentWords] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _has_what_its_type_needs(self) -> Segment:
        if self.type == "task_execution" and self.task_id is None:
            raise ValueError("a task_execution segment needs a task_id")
        if self.type == "explanation" and self.screen_id is None:
            raise ValueError("an explanation segment needs a screen_id")
        if self.type == "conversational" and not self.narration_template:
            raise ValueError("a conversational segment needs a narration_template")
        return self

    @property
    def heading(self) -> str:
        """What people call it."""
        return self.title or self.segment_id.replace("_", " ").capitalize()

    @property
    def told_at(self) -> Depth:
        """The depth it is authored for."""
        return self.depth or ("demonstration" if self.type == "task_execution" else "overview")

    @property
    def droppable(self) -> bool:
        """Whether the story may go on without it."""
        return not self.required and self.can_skip

    @property
    def rules(self) -> tuple[EngagementRule, ...]:
        """Its rules of engagement, as far as they were understood."""
        return tuple(rule for each in self.engagement_rules for rule in recognised(each))

    def at(self, depth: Depth) -> Segment:
        """The segment as it is told at a depth: its words, its highlights, and the hooks of that depth."""
        variant = self.depths.get(depth, DepthVariant())
        level = DEPTHS.index(depth)
        changed: dict[str, Any] = {
            "depth": depth,
            "narrative_hooks": tuple(h for h in self.narrative_hooks if DEPTHS.index(h.depth) <= level),
            "duration": self.expected(depth),
        }
        if variant.narration_template is not None:
            changed["narration_template"] = variant.narration_template
        if variant.highlights is not None:
            changed["highlights"] = variant.highlights
        return self.model_copy(update=changed)

    def expected(self, depth: Depth | None = None) -> float:
        """Seconds it takes at a depth, at speed 1: as authored, else from what is said in it.

        What there is to do takes as long at any depth; only words are fewer.
        """
        depth = depth or self.told_at
        variant = self.depths.get(depth)
        if variant is not None and variant.duration is not None:
            return variant.duration
        if depth == self.told_at and self.duration is not None:
            return self.duration
        said, usual = self._speaking(depth), self._speaking(self.told_at)
        if self.duration is not None:
            return max(self.duration * LEAST_SHARE, self.duration + said - usual)
        return said + (STEPS_S if self.type == "task_execution" else 0.0)

    def _speaking(self, depth: Depth) -> float:
        variant = self.depths.get(depth, DepthVariant())
        narration = (
            self.narration_template if variant.narration_template is None else variant.narration_template
        )
        level = DEPTHS.index(depth)
        hooks = [h.narration for h in self.narrative_hooks if DEPTHS.index(h.depth) <= level]
        return sum(speaking_time(text) for text in (narration, *hooks))


class SegmentTransition(Model):
    """What is said, and checked, between two segments.

    `sequential`: what is being said comes to its end first; `automatic`: the next segment begins meanwhile;
    `conditional`: it is taken where its condition holds, else its fallback is.
    """

    from_segment: LocalId
    to_segment: LocalId
    type: Literal["sequential", "automatic", "conditional"] = "sequential"
    condition: Condition | None = None
    narration_template: str = ""
    translations: dict[Language, Words] = Field(default_factory=dict)

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


CURRENT, NEXT = "current_segment", "next_segment"
"""Resume points that are no segment's name (KS 4.5)."""


class FallbackPath(Model):
    """What to do when the demo cannot go as planned."""

    condition: Literal["time_running_out", "user_interrupts", "segment_failed"]
    segments_to_skip: tuple[LocalId, ...] = ()
    """Of `time_running_out`: what may go, what goes first being first. Of `segment_failed`: whose failure
    this path is for; none: any."""
    segments_to_keep: tuple[LocalId, ...] = ()
    action: Literal["pause_and_ask", "skip", "stop"] | None = None
    resume_point: str | None = None
    """`current_segment`, `next_segment`, or a segment: where the story goes on afterwards."""
    narration_template: str = ""
    """What is said: the question of `pause_and_ask`, the sentence that leads over a segment that failed."""
    translations: dict[Language, Words] = Field(default_factory=dict)


class AuthoredAnswer(Model):
    """What is said to a question that the rest of the knowledge does not answer."""

    asked: tuple[Annotated[str, StringConstraints(min_length=1)], ...] = Field(min_length=1)
    """Ways to ask it, in any language; a visitor need not use the same words in the same order."""
    narration: str = Field(min_length=1)
    translations: dict[Language, Words] = Field(default_factory=dict)


def speaking_time(text: str) -> float:
    """Seconds that narration takes at speed 1, roughly: its marks are not spoken."""
    return sum(not word.startswith("[[") for word in text.split()) / WORDS_PER_SECOND


class PresentationFlow(Document):
    """A demo: segments in order, what connects them, what to do when time runs short."""

    type: Literal["presentation_flow"] = "presentation_flow"
    flow_id: LocalId
    name: str = Field(min_length=1)
    description: str = ""
    audience: str = ""
    presenter: str = "Periplus"
    """`{agent_name}` in narration that no input sets."""
    language: Language = "en"
    """The language it is authored in."""
    voices: dict[Language, str] = Field(default_factory=dict)
    """Language -> the voice that speaks it, as the synthesiser names it."""
    bridging: dict[BridgeKind, tuple[str, ...]] = Field(default_factory=dict)
    """What is said while something goes wrong on stage; what is not here is said in our words."""
    duration: Duration = Duration()
    segments: tuple[Segment, ...] = Field(min_length=1)
    transitions: tuple[SegmentTransition, ...] = ()
    fallback_paths: tuple[FallbackPath, ...] = ()
    answers: tuple[AuthoredAnswer, ...] = ()
    """To questions of visitors: prices, say, which no screen shows."""
    translations: dict[Language, FlowWords] = Field(default_factory=dict)

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

    @model_validator(mode="after")
    def _window_is_one(self) -> PresentationFlow:
        least, most = self.duration.min, self.duration.max
        if least is not None and most is not None and least > most:
            raise ValueError(f"duration: min ({least:g} s) is more than max ({most:g} s)")
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

    @property
    def languages(self) -> tuple[str, ...]:
        """The languages it can be told in, its own first."""
        others = {*self.translations, *(each for s in self.segments for each in s.translations)}
        return (self.language, *sorted(others - {self.language}))

    def segment(self, segment_id: str) -> Segment | None:
        """The segment of that id."""
        return next((each for each in self.segments if each.segment_id == segment_id), None)

    def fallback(self, condition: str, segment_id: str | None = None) -> FallbackPath | None:
        """The path for a condition; one that names the segment comes before one that is for any."""
        paths = [path for path in self.fallback_paths if path.condition == condition]
        if condition == "segment_failed":
            named = [path for path in paths if segment_id is not None and segment_id in path.segments_to_skip]
            paths = named or [path for path in paths if not path.segments_to_skip]
        return next(iter(paths), None)
