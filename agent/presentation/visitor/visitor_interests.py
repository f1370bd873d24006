"""Tracks a visitor's interests for the flow's conditions (KS 4.5 `user_interest`)."""

from __future__ import annotations

from collections.abc import Iterator

from agent.presentation.visitor.word_similarity import score_name_match, split_words
from agent.run_context import RunContext
from kb_schema.conditions import BaseCondition, UserInterest
from kb_schema.presentation_flows import PresentationFlow

KEY = "user_interest"
"""Key of the session value that conditions read."""
SAME = 0.7


class VisitorInterests:
    """Stores topics under the names that the flow's conditions use."""

    def __init__(self, context: RunContext, flow: PresentationFlow) -> None:
        self._context = context
        self._topics = tuple(dict.fromkeys(_topics(flow)))

    def note(self, topic: str, *, wanted: bool = True) -> None:
        """Set whether the visitor is interested in a topic."""
        known = self._context.session.get(KEY)
        interests = list(known) if isinstance(known, list | tuple) else []
        said = split_words(topic)
        meant = [each for each in self._topics if score_name_match(split_words(each), said) >= SAME]
        for each in meant or [topic]:
            if wanted and each not in interests:
                interests.append(each)
            if not wanted and each in interests:
                interests.remove(each)
        self._context.session[KEY] = interests


def _topics(flow: PresentationFlow) -> Iterator[str]:
    """Return every topic in the flow's conditions."""
    for segment in flow.segments:
        yield from _asked(segment.skip_conditions)
    yield from _asked(each.condition for each in flow.transitions if each.condition is not None)


def _asked(conditions: Iterator[BaseCondition] | tuple[BaseCondition, ...]) -> Iterator[str]:
    for condition in conditions:
        if isinstance(condition, UserInterest) and condition.topic:
            yield condition.topic
        yield from _asked(tuple(getattr(condition, "conditions", ())))
