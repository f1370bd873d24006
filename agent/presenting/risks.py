"""What may go wrong in front of a customer, told from the flow alone and from how rehearsals went.

Pure. A risk that is `serious` on a required segment is one that the demo should not be given with.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

from agent.presenting.noticing import Noticed
from agent.presenting.presenter import SLOWEST_KEY_S
from agent.presenting.records import Presentation, SegmentStatus
from agent.presenting.rehearsing import Walk, unreached
from kb_schema.engagement import recognised
from kb_schema.marks import read_marks
from kb_schema.presentation import PresentationFlow, Segment
from kb_schema.telling import in_language, untranslated

RiskKind = Literal[
    "failed", "healed", "input_nobody_gives", "unreachable",
    "slow", "over_window", "highlight_missing", "mark_without_word",
    "missing_translation", "narration_longer_than_step", "unknown_rule",
]  # fmt: skip
SERIOUS: frozenset[RiskKind] = frozenset({"failed", "healed", "input_nobody_gives", "unreachable"})

SLOW_SHARE, SLOW_S = 1.25, 3.0
"""A segment is slow that takes longer than its authored time by this factor and by so many seconds."""
KEY_S, POINTING_S = 0.08, 0.45
"""What a key and a movement of the pointer take on stage, roughly; an instant walk has neither."""
STILL_S = 8.0
"""How long a picture may stand still while a step is talked about."""


@dataclass(frozen=True, slots=True)
class Risk:
    """One thing that may go wrong."""

    kind: RiskKind
    segment_id: str | None
    """None: the flow as a whole."""
    required: bool
    message: str
    fix: str = ""
    walks: tuple[str, ...] = ()
    """In which it was seen; none: it is in the flow itself."""

    @property
    def serious(self) -> bool:
        """Whether the demo should not be given with it."""
        return self.required and self.kind in SERIOUS

    def to_json(self) -> dict[str, Any]:
        """For scripts."""
        return {**asdict(self), "walks": list(self.walks), "serious": self.serious}


@dataclass(slots=True)
class Rehearsed:
    """One walk, carried out."""

    walk: Walk
    presentation: Presentation
    noticed: Mapping[str, Noticed]
    speaking_s: Mapping[str, float] = field(default_factory=dict)
    """Segment -> seconds of what is said in it, at speed 1."""
    missing_highlights: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Segment -> elements that its screen did not show."""
    pace: float | None = None
    """How fast it was told; None: without words and as fast as it goes."""
    error: str | None = None
    """What ended it early."""

    def work_s(self, segment_id: str) -> float:
        """Seconds it took: of an instant walk, what there was to do in it."""
        took = (s.end_s - s.start_s for s in self.presentation.segments if s.segment_id == segment_id)
        return sum(took) * (self.pace or 1.0)

    def told_s(self, segment_id: str) -> float:
        """Seconds it takes in front of people, where words and work go on at the same time: measured, or
        added up for somebody who types and points as people do.
        """
        work, noticed = self.work_s(segment_id), self.noticed.get(segment_id)
        if self.pace is None and noticed is not None:
            typed = sum(step.typed for step in noticed.steps)
            work += typed * KEY_S + noticed.actions * POINTING_S
        return max(work, self.speaking_s.get(segment_id, 0.0))


def merged(risks: Iterable[Risk]) -> tuple[Risk, ...]:
    """The same risk of several walks once, serious ones first."""
    found: dict[tuple[str, str | None, str], Risk] = {}
    for risk in risks:
        key = (risk.kind, risk.segment_id, risk.message)
        known = found.get(key)
        found[key] = risk if known is None else replace(known, walks=(*known.walks, *risk.walks))
    return tuple(sorted(found.values(), key=lambda risk: not risk.serious))


# -- of the flow itself ----------------------------------------------------------------------------


def flow_risks(flow: PresentationFlow, languages: Sequence[str] = ()) -> Iterator[Risk]:
    """What can be seen without going on stage. `languages`: in which it is to be told; none: all it has."""
    for segment_id in unreached(flow):
        yield _of(
            flow, segment_id, "unreachable", "no way leads to it", "let a transition lead to it, or remove it"
        )
    for language in languages or flow.languages:
        for path in untranslated(flow, language):
            yield _of(
                flow,
                _segment_at(flow, path),
                "missing_translation",
                f"{path} is not said in {language!r}",
                f"add translations.{language}",
            )
        for told in in_language(flow, language).ordered_segments:
            yield from _mark_risks(flow, told, language)
    for segment in flow.ordered_segments:
        yield from _input_risks(flow, segment)
        for rule in segment.engagement_rules:
            if not recognised(rule):
                yield _of(
                    flow, segment.segment_id, "unknown_rule", f"nobody acts on {rule!r}", "word it as a rule"
                )


def _segment_at(flow: PresentationFlow, path: str) -> str | None:
    """The segment that a JSON path leads into."""
    index = path.removeprefix("$.segments[").partition("]")[0]
    return flow.segments[int(index)].segment_id if index.isdigit() else None


def _input_risks(flow: PresentationFlow, segment: Segment) -> Iterator[Risk]:
    for name, rule in segment.input_mapping.items():
        if set(rule.source) == {"user_input"} and rule.default is None and rule.value is None:
            yield _of(
                flow,
                segment.segment_id,
                "input_nobody_gives",
                f"{name!r} is only known where the visitor says it",
                f"give {name!r} a default",
            )


def _mark_risks(flow: PresentationFlow, segment: Segment, language: str) -> Iterator[Risk]:
    """That something waits for a mark is seen to when knowledge is loaded; that it is heard is not."""
    for text in (segment.narration_template, *(hook.narration for hook in segment.narrative_hooks)):
        marked = read_marks(text)
        for name, index in marked.marks:
            if index >= len(marked.words):
                yield _of(
                    flow,
                    segment.segment_id,
                    "mark_without_word",
                    f"[[at:{name}]] has no word after it in {language!r}",
                    "put the mark before a word",
                )


# -- of what was seen ----------------------------------------------------------------------------------


def walk_risks(flow: PresentationFlow, rehearsed: Rehearsed) -> Iterator[Risk]:
    """What went wrong, or nearly did, on one walk through `flow`."""
    walk = rehearsed.walk
    if rehearsed.error is not None:
        yield replace(_of(flow, None, "failed", rehearsed.error), required=True, walks=(walk.name,))
    for segment_id in walk.shows:
        if segment_id == walk.fails:
            continue
        for risk in _segment_risks(flow, rehearsed, segment_id):
            yield replace(risk, walks=(walk.name,))
    if walk.kind == "branches":
        yield from _window_risks(flow, rehearsed)


def _segment_risks(flow: PresentationFlow, rehearsed: Rehearsed, segment_id: str) -> Iterator[Risk]:
    noticed = rehearsed.noticed.get(segment_id)
    if noticed is None:
        if rehearsed.error is None:
            yield _of(flow, segment_id, "failed", "the story did not come to it")
        return
    for name, key in noticed.unknown_keys.items():
        yield _of(
            flow,
            segment_id,
            "input_nobody_gives",
            f"{name!r} is {key!r} of the session, which nobody had put there",
            f"give {name!r} a default, or persist {key!r} in a required segment before it",
        )
    if noticed.status is not SegmentStatus.SHOWN:
        yield _of(flow, segment_id, "failed", f"{noticed.status}: {noticed.reason or 'no reason given'}")
    for mended in dict.fromkeys(noticed.mended):
        yield _of(
            flow, segment_id, "healed", mended, "see `periplus kb proposals`, and mend what the site changed"
        )
    for element in rehearsed.missing_highlights.get(segment_id, ()):
        yield _of(flow, segment_id, "highlight_missing", f"{element} cannot be pointed at")
    yield from _time_risks(flow, rehearsed, segment_id)


def _time_risks(flow: PresentationFlow, rehearsed: Rehearsed, segment_id: str) -> Iterator[Risk]:
    segment, noticed = flow.segment(segment_id), rehearsed.noticed[segment_id]
    if segment is None or noticed.status is not SegmentStatus.SHOWN:
        return
    expected, told = segment.duration, rehearsed.told_s(segment_id)
    if expected and told > expected * SLOW_SHARE and told > expected + SLOW_S:
        yield _of(
            flow,
            segment_id,
            "slow",
            f"it takes about {told:.0f} s, {expected:.0f} s are authored",
            f"duration: {told:.0f}",
        )
    for step in noticed.steps:
        hooks = [h for h in segment.narrative_hooks if (h.hook_type, h.step_id) == ("during", step.step_id)]
        speaking = sum(_seconds(hook.narration, rehearsed, segment) for hook in hooks)
        doing = max(step.seconds, step.typed * SLOWEST_KEY_S)
        if speaking > doing + STILL_S:
            yield _of(
                flow,
                segment_id,
                "narration_longer_than_step",
                f"{step.step_id} is talked about for {speaking:.0f} s and done in {doing:.0f} s",
                "shorten it, or say part of it before or after",
            )


def _seconds(text: str, rehearsed: Rehearsed, segment: Segment) -> float:
    """A part of what is said in a segment, as long as its share of the characters."""
    whole = sum(len(t) for t in (segment.narration_template, *(h.narration for h in segment.narrative_hooks)))
    return rehearsed.speaking_s.get(segment.segment_id, 0.0) * len(text) / (whole or 1)


def _window_risks(flow: PresentationFlow, rehearsed: Rehearsed) -> Iterator[Risk]:
    """Required segments alone must fit; what else there is, is left out where it does not."""
    window = flow.duration.max
    required = [s for s in rehearsed.walk.shows if (seg := flow.segment(s)) is not None and not seg.droppable]
    told = sum(map(rehearsed.told_s, required))
    if window is not None and told > window:
        yield Risk(
            "over_window",
            None,
            True,
            f"the required segments alone take about {told:.0f} s, {window:.0f} s are there",
            f"duration.max: {told:.0f}",
            (rehearsed.walk.name,),
        )


def _of(flow: PresentationFlow, segment_id: str | None, kind: RiskKind, message: str, fix: str = "") -> Risk:
    segment = None if segment_id is None else flow.segment(segment_id)
    return Risk(kind, segment_id, segment is not None and segment.required, message, fix)
