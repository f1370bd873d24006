"""What the visitor wants to see, as the flow's own conditions ask for it (KS 4.5 `user_interest`)."""

from __future__ import annotations

from collections.abc import Iterator

from agent.context import Context
from agent.presenting.visitor.likeness import covered, words_of
from kb_schema.conditions import BaseCondition, UserInterest
from kb_schema.presentation import PresentationFlow

KEY = "user_interest"
"""Where conditions look."""
SAME = 0.7


class Interests:
    """Notes topics by the names that the flow's conditions have for them."""

    def __init__(self, context: Context, flow: PresentationFlow) -> None:
        self._context = context
        self._topics = tuple(dict.fromkeys(_topics(flow)))

    def note(self, topic: str, *, wanted: bool = True) -> None:
        """From now on that is wanted, or not."""
        known = self._context.session.get(KEY)
        interests = list(known) if isinstance(known, list | tuple) else []
        said = words_of(topic)
        meant = [each for each in self._topics if covered(words_of(each), said) >= SAME]
        for each in meant or [topic]:
            if wanted and each not in interests:
                interests.append(each)
            if not wanted and each in interests:
                interests.remove(each)
        self._context.session[KEY] = interests


def _topics(flow: PresentationFlow) -> Iterator[str]:
    """Every topic that a condition of the flow asks about."""
    for segment in flow.segments:
        yield from _asked(segment.skip_conditions)
    yield from _asked(each.condition for each in flow.transitions if each.condition is not None)


def _asked(conditions: Iterator[BaseCondition] | tuple[BaseCondition, ...]) -> Iterator[str]:
    for condition in conditions:
        if isinstance(condition, UserInterest) and condition.topic:
            yield condition.topic
        yield from _asked(tuple(getattr(condition, "conditions", ())))
