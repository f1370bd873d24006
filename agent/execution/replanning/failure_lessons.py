"""Lessons: what failed where, and what worked instead; read before replanning, written after it (WR phase
4).

Lessons only help: if the store does not answer, runs go on without them.
"""

from __future__ import annotations

from agent.errors import (
    InputMissing,
    JournalWriteRefused,
    KnowledgeUnavailable,
    LeftWebsite,
    NoKnownScreen,
    NoPath,
    PersonNeeded,
    SignInFailed,
    SiteUnreachable,
    StepFailed,
    UnauthoredSideEffect,
    UnknownToKnowledge,
    ValueRefused,
)
from agent.page.errors import (
    ActionFailed,
    ActionMisused,
    ChoiceInDoubt,
    ElementChanged,
    FieldNotForSecrets,
    GateFailed,
    NavigationFailed,
    OptionMissing,
    OriginRefused,
    PageGone,
    ScriptFailed,
    SecretKept,
    SelectorNotFilled,
    SelectorUnusable,
)
from agent.ports import FailureMemory
from kb_schema.lessons import MAX_APPROACH, MAX_ERROR, NO_SCREEN, Lesson, LessonKey


class FailureLessons:
    """Reads and writes lessons for one task runner."""

    def __init__(self, website_id: str, port: FailureMemory | None = None) -> None:
        self._website_id, self._port = website_id, port

    async def of_step(self, screen_id: str | None, task_id: str, step_id: str) -> dict[str, Lesson]:
        """Return the lessons of a step, by the label of the approach."""
        if self._port is None:
            return {}
        found = await self._port.lessons(self._website_id, screen_id or NO_SCREEN, task_id)
        return {each.approach: each for each in found if each.step_id == step_id}

    async def learn(
        self, screen_id: str | None, task_id: str, step_id: str, approach: str, error: Exception | None
    ) -> None:
        """Store how an approach went. `error` None: it worked."""
        if self._port is None:
            return
        key = LessonKey(
            website_id=self._website_id,
            screen_id=(screen_id or NO_SCREEN)[:200],
            task_id=task_id,
            step_id=step_id,
            approach=approach[:MAX_APPROACH],
        )
        kind = None if error is None else classify_failure(error)[:MAX_ERROR]
        await self._port.learn(key, worked=error is None, error=kind)


FAILURE_KINDS: dict[type[Exception], str] = {
    KnowledgeUnavailable: "KnowledgeUnavailable",
    UnknownToKnowledge: "NotInKnowledge",
    InputMissing: "InputMissing",
    PersonNeeded: "PersonNeeded",
    UnauthoredSideEffect: "NotAuthored",
    LeftWebsite: "LedAway",
    ValueRefused: "ValueRefused",
    SiteUnreachable: "SiteUnreachable",
    NoKnownScreen: "Lost",
    NoPath: "NoWay",
    SignInFailed: "SignInFailed",
    JournalWriteRefused: "NotKept",
    SelectorNotFilled: "SelectorNotFilled",
    SelectorUnusable: "SelectorUnusable",
    ActionMisused: "ActionMisused",
    ElementChanged: "ElementChanged",
    ActionFailed: "ActionFailed",
    ChoiceInDoubt: "ActionFailed",
    OptionMissing: "ActionFailed",
    OriginRefused: "OriginRefused",
    FieldNotForSecrets: "FieldNotForSecrets",
    SecretKept: "SecretKept",
    NavigationFailed: "NavigationFailed",
    ScriptFailed: "ScriptFailed",
    PageGone: "PageGone",
}
"""Error class -> the kind stored with lessons and results. Stored kinds never change; classes may."""


def classify_failure(error: Exception) -> str:
    """Return the kind of a failure as it is stored. It has nothing of the page or of values."""
    if isinstance(error, GateFailed):
        return error.point.value
    if isinstance(error, StepFailed):
        return error.error
    return FAILURE_KINDS.get(type(error), type(error).__name__)
