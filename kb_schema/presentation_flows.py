"""Presentation flows: a narrative over tasks and screens, without navigation (KS 4.5, 9.2).

Related: `flow_translations` for other languages, `engagement_rules` for the rules of engagement.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, StringConstraints, model_validator

from kb_schema.base import Document, LocalId, Model, ScreenRef, Seconds, TaskRef
from kb_schema.conditions import Condition
from kb_schema.engagement_rules import EngagementRule, parse_engagement_rules
from kb_schema.io_specs import Duration, InputMapping
from kb_schema.lead_forms import LeadForm

Depth = Literal["overview", "demonstration", "deep_dive"]
DEPTHS: tuple[Depth, ...] = ("overview", "demonstration", "deep_dive")
"""The depths of a segment, from the shortest to the longest."""
LanguageTag = Annotated[str, StringConstraints(pattern=r"^[a-z]{2,3}(-[A-Za-z0-9]{2,8})*$")]
"""A language as BCP 47 names it: `en`, `de`, `pt-BR`."""
STEPS_S = 6.0
"""The assumed duration of a task's steps if none is stated."""
LEAST_SHARE = 0.25
"""The least share of its usual time that a segment takes with hardly any words."""
WORDS_PER_SECOND = 2.6
"""The assumed speed of narration at speed 1 if none was measured."""


class NarrationTranslation(Model):
    """The text of a hook, a transition or a fallback path in another language."""

    narration: str = Field(min_length=1)


class SegmentTranslation(Model):
    """The texts of a segment in another language; missing ones stay as authored."""

    title: str = ""
    narration_template: str = ""
    prompts: dict[str, str] = Field(default_factory=dict)
    """Input -> the question to the visitor."""


BridgeKind = Literal["trouble", "slow", "passed_over", "ended"]
"""Why a bridging sentence is spoken.

Something is being repaired; the page is slow; a segment is skipped; the last segment was skipped.
"""


class FlowTranslation(Model):
    """The name of a flow and its bridging sentences in another language."""

    bridging: dict[BridgeKind, tuple[str, ...]] = Field(default_factory=dict)

    name: str = ""
    description: str = ""
    presenter: str = ""


class NarrativeHook(Model):
    """Words spoken before, during or after a segment, or one step of its task."""

    hook_type: Literal["before", "during", "after"]
    narration: str = Field(min_length=1)
    step_id: str | None = None
    """The step before, during or after which it is spoken.

    None: before or after the whole segment; a `during` hook begins with the first step that runs.
    """
    depth: Depth = "overview"
    """The least depth at which it is spoken."""
    translations: dict[LanguageTag, NarrationTranslation] = Field(default_factory=dict)


class ScrollOptions(Model):
    """How an explanation scrolls the page.

    `incremental`: most of a window at a time; `to_bottom`: to the end in one movement; `to_elements`: to each
    of `elements` (default: the highlights). At most `max_scrolls` movements.
    """

    enabled: bool = False
    strategy: Literal["incremental", "to_bottom", "to_elements"] = "incremental"
    max_scrolls: int = Field(default=2, ge=0, le=50)
    elements: tuple[str, ...] = ()
    return_to_top: bool = True
    """Whether to scroll back to the top when the explanation ends."""


class DepthVariant(Model):
    """How a segment differs at one depth. None: as authored."""

    narration_template: str | None = None
    highlights: tuple[str, ...] | None = None
    duration: Seconds | None = None
    translations: dict[LanguageTag, SegmentTranslation] = Field(default_factory=dict)


def _no_alternative_is_empty(rules: tuple[str | EngagementRule, ...]) -> tuple[str | EngagementRule, ...]:
    if any(isinstance(rule, str) and not rule.strip() for rule in rules):
        raise ValueError("an engagement rule is empty")
    return rules


class Segment(Model):
    """One part of a presentation."""

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
    """The variants for less or more time."""
    duration: Seconds | None = None
    """Seconds at its own depth and speed 1."""
    scrolling: ScrollOptions = ScrollOptions()
    highlights: tuple[str, ...] = ()
    """Elements of the screen to point at while explaining."""
    input_mapping: dict[str, InputMapping] = Field(default_factory=dict)
    narrative_hooks: tuple[NarrativeHook, ...] = ()
    engagement_rules: Annotated[
        tuple[EngagementRule | str, ...], AfterValidator(_no_alternative_is_empty)
    ] = ()
    skip_conditions: tuple[Condition, ...] = ()
    translations: dict[LanguageTag, SegmentTranslation] = Field(default_factory=dict)

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
        """A title for people."""
        return self.title or self.segment_id.replace("_", " ").capitalize()

    @property
    def authored_depth(self) -> Depth:
        """The depth it is authored for."""
        return self.depth or ("demonstration" if self.type == "task_execution" else "overview")

    @property
    def droppable(self) -> bool:
        """Whether the presentation can continue without it."""
        return not self.required and self.can_skip

    @property
    def rules(self) -> tuple[EngagementRule, ...]:
        """Its rules of engagement, as far as they are understood."""
        return tuple(rule for each in self.engagement_rules for rule in parse_engagement_rules(each))

    def at(self, depth: Depth) -> Segment:
        """Return the segment at a depth: its narration, its highlights, and the hooks of that depth."""
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
        """Return the seconds it takes at a depth and speed 1: as authored, else estimated from its narration.

        Its steps take as long at any depth; only the narration is shorter.
        """
        depth = depth or self.authored_depth
        variant = self.depths.get(depth)
        if variant is not None and variant.duration is not None:
            return variant.duration
        if depth == self.authored_depth and self.duration is not None:
            return self.duration
        speaking, usual = self._speaking(depth), self._speaking(self.authored_depth)
        if self.duration is not None:
            return max(self.duration * LEAST_SHARE, self.duration + speaking - usual)
        return speaking + (STEPS_S if self.type == "task_execution" else 0.0)

    def _speaking(self, depth: Depth) -> float:
        variant = self.depths.get(depth, DepthVariant())
        narration = (
            self.narration_template if variant.narration_template is None else variant.narration_template
        )
        level = DEPTHS.index(depth)
        hooks = [h.narration for h in self.narrative_hooks if DEPTHS.index(h.depth) <= level]
        return sum(speaking_time(text) for text in (narration, *hooks))


class SegmentTransition(Model):
    """What is spoken and checked between two segments.

    `sequential`: narration ends first; `automatic`: the next segment starts meanwhile; `conditional`: taken
    if its condition holds, else its fallback is taken.
    """

    from_segment: LocalId
    to_segment: LocalId
    type: Literal["sequential", "automatic", "conditional"] = "sequential"
    condition: Condition | None = None
    narration_template: str = ""
    translations: dict[LanguageTag, NarrationTranslation] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _conditional_has_a_condition(self) -> SegmentTransition:
        if self.type == "conditional" and self.condition is None:
            raise ValueError("a conditional transition needs a `condition`")
        return self

    @property
    def fallback_segment(self) -> str | None:
        """The segment to continue with if the condition does not hold: `SEGMENT` or `skip_to_SEGMENT`."""
        fallback = getattr(self.condition, "fallback", None)
        return str(fallback).removeprefix("skip_to_") if fallback else None


CURRENT, NEXT = "current_segment", "next_segment"
"""Resume points that are not the name of a segment (KS 4.5)."""


class FallbackPath(Model):
    """What to do if the demo cannot run as planned."""

    condition: Literal["time_running_out", "user_interrupts", "segment_failed"]
    segments_to_skip: tuple[LocalId, ...] = ()
    """For `time_running_out`: the segments to skip, in order.

    For `segment_failed`: the segments whose failure this path is for; empty: any.
    """
    segments_to_keep: tuple[LocalId, ...] = ()
    action: Literal["pause_and_ask", "skip", "stop"] | None = None
    resume_point: str | None = None
    """`current_segment`, `next_segment`, or a segment: where the presentation continues."""
    narration_template: str = ""
    """The question of `pause_and_ask`, or the sentence after a segment that failed."""
    translations: dict[LanguageTag, NarrationTranslation] = Field(default_factory=dict)


class AuthoredAnswer(Model):
    """The answer to a question that the rest of the knowledge does not answer."""

    asked: tuple[Annotated[str, StringConstraints(min_length=1)], ...] = Field(min_length=1)
    """Phrasings of the question, in any language; a visitor's words and their order may differ."""
    narration: str = Field(min_length=1)
    translations: dict[LanguageTag, NarrationTranslation] = Field(default_factory=dict)


class CallToAction(Model):
    """What a visitor may do after the demo: a link on their page, to a form or a calendar of the owner's."""

    label: str = Field(min_length=1, max_length=80)
    url: Annotated[str, StringConstraints(pattern=r"^https?://[^\s<>\"']+$", max_length=2_000)]
    translations: dict[LanguageTag, NarrationTranslation] = Field(default_factory=dict)
    """The label in other languages."""


def speaking_time(text: str) -> float:
    """Return the approximate seconds that narration takes at speed 1; marks are not spoken."""
    return sum(not word.startswith("[[") for word in text.split()) / WORDS_PER_SECOND


class PresentationFlow(Document):
    """A demo: ordered segments, the transitions between them, and what to do when time runs short."""

    type: Literal["presentation_flow"] = "presentation_flow"
    flow_id: LocalId
    name: str = Field(min_length=1)
    description: str = ""
    audience: str = ""
    presenter: str = "Periplus"
    """`{agent_name}` in narration, unless an input sets it."""
    language: LanguageTag = "en"
    """The language it is authored in."""
    voices: dict[LanguageTag, str] = Field(default_factory=dict)
    """Language -> the voice for it, as the speech synthesiser names it."""
    bridging: dict[BridgeKind, tuple[str, ...]] = Field(default_factory=dict)
    """Sentences for trouble on stage; missing kinds use our own sentences."""
    duration: Duration = Duration()
    segments: tuple[Segment, ...] = Field(min_length=1)
    transitions: tuple[SegmentTransition, ...] = ()
    fallback_paths: tuple[FallbackPath, ...] = ()
    answers: tuple[AuthoredAnswer, ...] = ()
    """Answers to visitors' questions that no screen answers, prices for example."""
    visitor_tasks: tuple[TaskRef, ...] = ()
    """Tasks that visitors may run with values of their own, by a sentence; others only run in segments."""
    call_to_action: CallToAction | None = None
    """The link that a visitor's page has at the end."""
    lead_form: LeadForm | None = None
    """The form in which a visitor leaves an address; shown only where visitors' words are stored."""
    translations: dict[LanguageTag, FlowTranslation] = Field(default_factory=dict)

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
        """The segments in the order of presentation."""
        return tuple(sorted(self.segments, key=lambda segment: segment.order))

    @property
    def languages(self) -> tuple[str, ...]:
        """The languages it is available in, its own first."""
        others = {*self.translations, *(each for s in self.segments for each in s.translations)}
        return (self.language, *sorted(others - {self.language}))

    def segment(self, segment_id: str) -> Segment | None:
        """Return a segment by id."""
        return next((each for each in self.segments if each.segment_id == segment_id), None)

    def fallback(self, condition: str, segment_id: str | None = None) -> FallbackPath | None:
        """Return the fallback path for a condition; one that names the segment precedes one for any segment."""
        paths = [path for path in self.fallback_paths if path.condition == condition]
        if condition == "segment_failed":
            named = [path for path in paths if segment_id is not None and segment_id in path.segments_to_skip]
            paths = named or [path for path in paths if not path.segments_to_skip]
        return next(iter(paths), None)
