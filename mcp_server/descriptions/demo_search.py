"""The presentation flow, and its segments, that show something best (KS 7.7)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from kb_schema.presentation_flows import PresentationFlow, Segment
from mcp_server.errors import BadRequest
from mcp_server.knowledge.compiled_view import KnowledgeView
from mcp_server.search.search_index import SearchIndex, split_words

MOST_HITS = 30
"""Most documents that are compared with the query."""
NARRATION_WEIGHT = 0.5
"""Weight of a segment's own words, relative to the task or screen that it shows."""
RELATIVE_THRESHOLD = 0.5
"""A segment also counts as relevant at this share of the best score."""


@dataclass(frozen=True, slots=True)
class DemoMatch:
    """A flow, and its segments that fit the query, in their order."""

    flow: PresentationFlow
    segments: tuple[str, ...]


def find_demo(view: KnowledgeView, about: str, audience: str | None = None) -> DemoMatch:
    """Return the flow that fits best, of those for an audience if one is given (KS 4.5).

    Raises `BadRequest` if none does; the error names tasks that fit, or the audiences that there are.
    """
    flows = list_flows_for(view, audience)
    found = view.search.hits(about, MOST_HITS, kinds=("task", "screen", "action", "workflow")).hits
    scores = {(hit.kind, hit.id): hit.score for hit in found}
    best: dict[str, dict[str, float]] = defaultdict(dict)
    for flow in flows:
        for segment in flow.ordered_segments:
            score = max(_score_segment(segment, scores), default=0.0) + NARRATION_WEIGHT * _score_narration(
                view.search, segment, about
            )
            if score > 0:
                best[flow.flow_id][segment.segment_id] = score
    if not best:
        tasks = [hit.id for hit in found if hit.kind == "task"][:3]
        hint = f"tasks that do it: {', '.join(tasks)}" if tasks else "call search_knowledge"
        raise BadRequest(f"no demo shows {about[:80]!r}", hint=hint)
    flow_id = min(best, key=lambda each: (-max(best[each].values()), each))
    enough = RELATIVE_THRESHOLD * max(best[flow_id].values())
    shown = tuple(segment for segment, score in best[flow_id].items() if score >= enough)
    return DemoMatch(view.knowledge.flows[flow_id], shown)


def list_flows_for(view: KnowledgeView, audience: str | None) -> list[PresentationFlow]:
    """Return the flows whose `audience` has a word of the given one; all without one. Raises `BadRequest` for none."""
    flows = list(view.knowledge.flows.values())
    if audience is None:
        return flows
    wanted = set(split_words(audience))
    fitting = [flow for flow in flows if wanted & set(split_words(flow.audience))]
    if not fitting:
        known = ", ".join(sorted({flow.audience for flow in flows if flow.audience}))
        hint = f"audiences of the demos: {known}" if known else "no demo states its audience: leave it out"
        raise BadRequest(f"no demo is for {audience[:80]!r}", hint=hint)
    return fitting


def _score_segment(segment: Segment, scores: dict[tuple[str, str], float]) -> Iterator[float]:
    """A fitting task counts fully, a fitting screen a little less: a task is shown by doing it."""
    if segment.task_id is not None:
        yield scores.get(("task", segment.task_id), 0.0)
    if segment.screen_id is not None:
        yield 0.8 * scores.get(("screen", segment.screen_id), 0.0)


def _score_narration(index: SearchIndex, segment: Segment, about: str) -> float:
    hooks = " ".join(hook.narration for hook in segment.narrative_hooks)
    said = set(split_words(f"{segment.title} {segment.narration_template} {hooks}"))
    return sum(index.rarity(word) for word in dict.fromkeys(split_words(about)) if word in said)
