"""Finds the risks of a presentation, from the flow alone and from rehearsals.

Pure. A `serious` risk of a required segment means that the demo should not be given.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

from agent.presentation.presentation_records import Presentation, SegmentStatus
from agent.presentation.presenter import SLOWEST_KEY_S
from agent.presentation.rehearsal.rehearsal_observations import SegmentObservation
from agent.presentation.rehearsal.rehearsal_passes import RehearsalPass, find_unreached_segments
from kb_schema.engagement_rules import parse_engagement_rules
from kb_schema.flow_translations import list_untranslated_texts, translate_flow
from kb_schema.narration_marks import read_marks
from kb_schema.presentation_flows import PresentationFlow, Segment

RiskKind = Literal[
    "failed",
    "healed",
    "input_nobody_gives",
    "unreachable",
    "slow",
    "over_window",
    "highlight_missing",
    "mark_without_word",
    "missing_translation",
    "narration_longer_than_step",
    "unknown_rule",
]
SERIOUS: frozenset[RiskKind] = frozenset({"failed", "healed", "input_nobody_gives", "unreachable"})

SLOW_SHARE, SLOW_S = 1.25, 3.0
"""A segment is slow if it exceeds its authored duration by this factor and by this many seconds."""
KEY_S, POINTING_S = 0.08, 0.45
"""Approximate seconds per key and per pointer movement in a live presentation; an instant pass has neither.
"""
STILL_S = 8.0
"""How many seconds a picture may stay unchanged while a step is narrated."""


@dataclass(frozen=True, slots=True)
class PresentationRisk:
    """One risk."""

    kind: RiskKind
    segment_id: str | None
    """None: the whole flow."""
    required: bool
    message: str
    fix: str = ""
    passes: tuple[str, ...] = ()
    """Passes that showed it; empty: it is in the flow itself."""

    @property
    def serious(self) -> bool:
        """Whether the demo should not be given with this risk."""
        return self.required and self.kind in SERIOUS

    def to_json(self) -> dict[str, Any]:
        """Return the risk as JSON data."""
        fields = asdict(self)
        passes = list(fields.pop("passes"))
        return {**fields, "walks": passes, "serious": self.serious}


@dataclass(slots=True)
class CompletedPass:
    """A pass that was carried out."""

    rehearsal_pass: RehearsalPass
    presentation: Presentation
    noticed: Mapping[str, SegmentObservation]
    speaking_s: Mapping[str, float] = field(default_factory=dict)
    """Segment -> seconds of its speech, at speed 1."""
    missing_highlights: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Segment -> elements that were not visible on its screen."""
    pace: float | None = None
    """Speed of the pass; None: without speech, as fast as possible."""
    error: str | None = None
    """The error that ended it early."""

    def work_s(self, segment_id: str) -> float:
        """Return the seconds a segment took; in an instant pass, those of its actions."""
        took = (s.end_s - s.start_s for s in self.presentation.segments if s.segment_id == segment_id)
        return sum(took) * (self.pace or 1.0)

    def told_s(self, segment_id: str) -> float:
        """Return the expected seconds of a segment in a live presentation, with speech and actions at the
        same time.

        They are measured, or computed for human typing and pointing.
        """
        work, noticed = self.work_s(segment_id), self.noticed.get(segment_id)
        if self.pace is None and noticed is not None:
            typed = sum(step.typed for step in noticed.steps)
            work += typed * KEY_S + noticed.actions * POINTING_S
        return max(work, self.speaking_s.get(segment_id, 0.0))


def merge_risks(risks: Iterable[PresentationRisk]) -> tuple[PresentationRisk, ...]:
    """Merge equal risks of several passes; serious ones come first."""
    found: dict[tuple[str, str | None, str], PresentationRisk] = {}
    for risk in risks:
        key = (risk.kind, risk.segment_id, risk.message)
        known = found.get(key)
        found[key] = risk if known is None else replace(known, passes=(*known.passes, *risk.passes))
    return tuple(sorted(found.values(), key=lambda risk: not risk.serious))


# -- risks in the flow ---------------------------------------------------------------------------


def find_flow_risks(flow: PresentationFlow, languages: Sequence[str] = ()) -> Iterator[PresentationRisk]:
    """Return the risks visible in the flow itself. `languages`: languages of the presentation; empty: all of
    the flow.
    """
    for segment_id in find_unreached_segments(flow):
        yield _build_risk(
            flow,
            segment_id,
            "unreachable",
            "no transition leads to it",
            "add a transition that leads to it, or remove the segment",
        )
    for language in languages or flow.languages:
        for path in list_untranslated_texts(flow, language):
            yield _build_risk(
                flow,
                _segment_at(flow, path),
                "missing_translation",
                f"{path} has no text in {language!r}",
                f"add translations.{language}",
            )
        for told in translate_flow(flow, language).ordered_segments:
            yield from _mark_risks(flow, told, language)
    for segment in flow.ordered_segments:
        yield from _input_risks(flow, segment)
        for rule in segment.engagement_rules:
            if not parse_engagement_rules(rule):
                yield _build_risk(
                    flow,
                    segment.segment_id,
                    "unknown_rule",
                    f"the rule {rule!r} is not supported",
                    "write it as a supported rule",
                )


def _segment_at(flow: PresentationFlow, path: str) -> str | None:
    """Return the segment that a JSON path points into."""
    index = path.removeprefix("$.segments[").partition("]")[0]
    return flow.segments[int(index)].segment_id if index.isdigit() else None


def _input_risks(flow: PresentationFlow, segment: Segment) -> Iterator[PresentationRisk]:
    for name, rule in segment.input_mapping.items():
        if set(rule.source) == {"user_input"} and rule.default is None and rule.value is None:
            yield _build_risk(
                flow,
                segment.segment_id,
                "input_nobody_gives",
                f"{name!r} is only known if the visitor says it",
                f"give {name!r} a default",
            )


def _mark_risks(flow: PresentationFlow, segment: Segment, language: str) -> Iterator[PresentationRisk]:
    """Find marks that are never spoken. The loader already checks that each mark has an action that waits for
    it.
    """
    for text in (segment.narration_template, *(hook.narration for hook in segment.narrative_hooks)):
        marked = read_marks(text)
        for name, index in marked.marks:
            if index >= len(marked.words):
                yield _build_risk(
                    flow,
                    segment.segment_id,
                    "mark_without_word",
                    f"[[at:{name}]] has no word after it in {language!r}",
                    "move the mark before a word",
                )


# -- risks in a pass -----------------------------------------------------------------------------


def find_pass_risks(flow: PresentationFlow, rehearsed: CompletedPass) -> Iterator[PresentationRisk]:
    """Return the problems of one pass through `flow`, including those that were recovered."""
    rehearsal_pass = rehearsed.rehearsal_pass
    if rehearsed.error is not None:
        yield replace(
            _build_risk(flow, None, "failed", rehearsed.error), required=True, passes=(rehearsal_pass.name,)
        )
    for segment_id in rehearsal_pass.shows:
        if segment_id == rehearsal_pass.fails:
            continue
        for risk in _segment_risks(flow, rehearsed, segment_id):
            yield replace(risk, passes=(rehearsal_pass.name,))
    if rehearsal_pass.kind == "branches":
        yield from _window_risks(flow, rehearsed)


def _segment_risks(
    flow: PresentationFlow, rehearsed: CompletedPass, segment_id: str
) -> Iterator[PresentationRisk]:
    noticed = rehearsed.noticed.get(segment_id)
    if noticed is None:
        if rehearsed.error is None:
            yield _build_risk(flow, segment_id, "failed", "the pass did not reach it")
        return
    for name, key in noticed.unknown_keys.items():
        yield _build_risk(
            flow,
            segment_id,
            "input_nobody_gives",
            f"{name!r} comes from the session value {key!r}, which was not set",
            f"give {name!r} a default, or persist {key!r} in an earlier required segment",
        )
    if noticed.status is not SegmentStatus.SHOWN:
        yield _build_risk(
            flow, segment_id, "failed", f"{noticed.status}: {noticed.reason or 'no reason given'}"
        )
    for mended in dict.fromkeys(noticed.mended):
        yield _build_risk(
            flow,
            segment_id,
            "healed",
            mended,
            "see `periplus kb proposals`, and update the knowledge base where the site changed",
        )
    for element in rehearsed.missing_highlights.get(segment_id, ()):
        yield _build_risk(
            flow, segment_id, "highlight_missing", f"{element} is not visible, so it cannot be pointed at"
        )
    yield from _time_risks(flow, rehearsed, segment_id)


def _time_risks(
    flow: PresentationFlow, rehearsed: CompletedPass, segment_id: str
) -> Iterator[PresentationRisk]:
    segment, noticed = flow.segment(segment_id), rehearsed.noticed[segment_id]
    if segment is None or noticed.status is not SegmentStatus.SHOWN:
        return
    expected, told = segment.duration, rehearsed.told_s(segment_id)
    if expected and told > expected * SLOW_SHARE and told > expected + SLOW_S:
        yield _build_risk(
            flow,
            segment_id,
            "slow",
            f"expected duration {told:.0f} s, authored {expected:.0f} s",
            f"duration: {told:.0f}",
        )
    for step in noticed.steps:
        hooks = [h for h in segment.narrative_hooks if (h.hook_type, h.step_id) == ("during", step.step_id)]
        speaking = sum(_seconds(hook.narration, rehearsed, segment) for hook in hooks)
        doing = max(step.seconds, step.typed * SLOWEST_KEY_S)
        if speaking > doing + STILL_S:
            yield _build_risk(
                flow,
                segment_id,
                "narration_longer_than_step",
                f"{step.step_id}: {speaking:.0f} s of narration for {doing:.0f} s of action",
                "shorten the narration, or move part of it before or after the step",
            )


def _seconds(text: str, rehearsed: CompletedPass, segment: Segment) -> float:
    """Return the seconds of a text within a segment's speech, in proportion to its characters."""
    whole = sum(len(t) for t in (segment.narration_template, *(h.narration for h in segment.narrative_hooks)))
    return rehearsed.speaking_s.get(segment.segment_id, 0.0) * len(text) / (whole or 1)


def _window_risks(flow: PresentationFlow, rehearsed: CompletedPass) -> Iterator[PresentationRisk]:
    """Return a risk if the required segments alone exceed the window; optional ones are dropped."""
    window = flow.duration.max
    required = [
        s
        for s in rehearsed.rehearsal_pass.shows
        if (seg := flow.segment(s)) is not None and not seg.droppable
    ]
    told = sum(map(rehearsed.told_s, required))
    if window is not None and told > window:
        yield PresentationRisk(
            "over_window",
            None,
            True,
            f"the required segments alone take about {told:.0f} s, the window has {window:.0f} s",
            f"duration.max: {told:.0f}",
            (rehearsed.rehearsal_pass.name,),
        )


def _build_risk(
    flow: PresentationFlow, segment_id: str | None, kind: RiskKind, message: str, fix: str = ""
) -> PresentationRisk:
    segment = None if segment_id is None else flow.segment(segment_id)
    return PresentationRisk(kind, segment_id, segment is not None and segment.required, message, fix)
