"""How something is best shown: the demo, and the segments of it, that show it (KS 7.7)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from kb_schema.presentation import PresentationFlow, Segment
from mcp_server.compiled import View
from mcp_server.errors import BadRequest
from mcp_server.search import SearchIndex, words

MOST_HITS = 30
"""Documents that are looked at for what is to be shown."""
SAID = 0.5
"""What a segment's own words count, beside the task or the screen it shows."""
ENOUGH = 0.5
"""A segment shows it, too, where it comes so near to the best one."""


@dataclass(frozen=True, slots=True)
class Shown:
    """A demo, and those of its segments that show what was asked for, in their order."""

    flow: PresentationFlow
    segments: tuple[str, ...]


def showing(view: View, about: str) -> Shown:
    """The demo that shows it best. Raises `BadRequest` where none does, naming tasks that do it."""
    found = view.search.hits(about, MOST_HITS, kinds=("task", "screen", "action", "workflow")).hits
    scores = {(hit.kind, hit.id): hit.score for hit in found}
    best: dict[str, dict[str, float]] = defaultdict(dict)
    for flow in view.knowledge.flows.values():
        for segment in flow.ordered_segments:
            score = max(_scores(segment, scores), default=0.0) + SAID * _said(view.search, segment, about)
            if score > 0:
                best[flow.flow_id][segment.segment_id] = score
    if not best:
        tasks = [hit.id for hit in found if hit.kind == "task"][:3]
        hint = f"tasks that do it: {', '.join(tasks)}" if tasks else "call search_knowledge"
        raise BadRequest(f"no demo shows {about[:80]!r}", hint=hint)
    flow_id = min(best, key=lambda each: (-max(best[each].values()), each))
    enough = ENOUGH * max(best[flow_id].values())
    shown = tuple(segment for segment, score in best[flow_id].items() if score >= enough)
    return Shown(view.knowledge.flows[flow_id], shown)


def _scores(segment: Segment, scores: dict[tuple[str, str], float]) -> Iterator[float]:
    """How well the task fits counts whole, the screen a little less: a task is shown by doing it."""
    if segment.task_id is not None:
        yield scores.get(("task", segment.task_id), 0.0)
    if segment.screen_id is not None:
        yield 0.8 * scores.get(("screen", segment.screen_id), 0.0)


def _said(index: SearchIndex, segment: Segment, about: str) -> float:
    hooks = " ".join(hook.narration for hook in segment.narrative_hooks)
    said = set(words(f"{segment.title} {segment.narration_template} {hooks}"))
    return sum(index.rarity(word) for word in dict.fromkeys(words(about)) if word in said)
