"""Shared memory of the optimization roles (OL's keys), and statistics on replacements.

Both are small ports. Shared memory lives as long as an execution; the statistics are kept. The
implementations are injected.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Protocol, TypeVar

from pydantic import JsonValue

from agent.ports import CheckpointsPort
from kb_schema.base import Model
from kb_schema.lessons import MAX_APPROACH, Lesson, LessonKey
from kb_schema.locator_expressions import Expression
from kb_schema.run_storage import Checkpoint
from kb_schema.suite_optimization import LocatorCandidate, Recommendation

ModelT = TypeVar("ModelT", bound=Model)

LAST_FAILURE = "ctx:lastFailure"
"""OL: `ctx:lastFailure:<execId>`, a `LastFailure`."""
ATTEMPTS = "execAttempts"
"""OL: `execAttempts:<execId>`, an `ExecAttempts`."""


class SharedMemory(Protocol):
    """Values of an execution under OL's keys; the last write counts."""

    async def put(self, key: str, execution_id: str, value: Model) -> None:
        """Store `value` under `<key>:<execution_id>`."""

    async def get(self, key: str, execution_id: str, kind: type[ModelT]) -> ModelT | None:
        """Return the stored value, if any."""


class InMemorySharedMemory:
    """In memory: for tests, and for runs that no other process watches."""

    def __init__(self) -> None:
        self.values: dict[str, JsonValue] = {}
        """By OL's key, as JSON."""

    async def put(self, key: str, execution_id: str, value: Model) -> None:
        """Keep it."""
        self.values[f"{key}:{execution_id}"] = value.model_dump(mode="json")

    async def get(self, key: str, execution_id: str, kind: type[ModelT]) -> ModelT | None:
        """What is kept there."""
        held = self.values.get(f"{key}:{execution_id}")
        return None if held is None else kind.model_validate(held)


class StoredSharedMemory:
    """In the run store, for a day: another process may read it while the loop runs."""

    def __init__(self, store: CheckpointsPort) -> None:
        self._store = store

    async def put(self, key: str, execution_id: str, value: Model) -> None:
        """Store a value. Raises what the store raises."""
        await self._store.put_checkpoint(
            Checkpoint(
                run_id=execution_id,
                name=key,
                state=value.model_dump(mode="json"),
                created_at=datetime.now(UTC),
            )
        )

    async def get(self, key: str, execution_id: str, kind: type[ModelT]) -> ModelT | None:
        """Return the stored value. Raises what the store raises."""
        held = await self._store.checkpoint(execution_id, key)
        return None if held is None else kind.model_validate(held.state)


# -- what is learned of kinds of replacements ---------------------------------------------------------------


class ReplacementStatistics(Protocol):
    """How often kinds of replacements were right. Counted atomically and kept."""

    async def recommendation(self, key: str) -> Recommendation:
        """Return the statistics of a kind; empty if there are none."""

    async def learn(self, key: str, *, confirmed: bool) -> None:
        """Count one more outcome."""


class InMemoryReplacementStatistics:
    """Learns within one process only (`--no-learn`, tests)."""

    def __init__(self) -> None:
        self.known: dict[str, Recommendation] = {}
        """By key."""

    async def recommendation(self, key: str) -> Recommendation:
        """What is known of a kind."""
        return self.known.get(key, Recommendation(key=key, proposed=0, confirmed=0, refuted=0))

    async def learn(self, key: str, *, confirmed: bool) -> None:
        """Count one more."""
        held = await self.recommendation(key)
        self.known[key] = held.model_copy(
            update={
                "proposed": held.proposed + 1,
                "confirmed": held.confirmed + confirmed,
                "refuted": held.refuted + (not confirmed),
            }
        )


class LessonsPort(Protocol):
    """The memory of runs, as the run store has it (`LessonShelf`)."""

    async def learn(self, key: LessonKey, *, worked: bool, error: str | None = None) -> None:
        """Count one more, atomically."""

    async def lessons(self, website_id: str, screen_id: str, task_id: str) -> Sequence[Lesson]:
        """Of a task on a screen."""


class StoredReplacementStatistics:
    """Statistics in the run store: a kind of replacement is stored as an approach."""

    _WEBSITE, _SCREEN, _TASK, _STEP = "optimizing", "-", "replace_locator", "recommendation"

    def __init__(self, lessons: LessonsPort) -> None:
        self._lessons = lessons

    async def recommendation(self, key: str) -> Recommendation:
        """Return the statistics of a kind. Raises what the store raises."""
        found = await self._lessons.lessons(self._WEBSITE, self._SCREEN, self._TASK)
        for each in found:
            if each.approach == key[:MAX_APPROACH]:
                return Recommendation(
                    key=key, proposed=each.worked + each.failed, confirmed=each.worked, refuted=each.failed
                )
        return Recommendation(key=key, proposed=0, confirmed=0, refuted=0)

    async def learn(self, key: str, *, confirmed: bool) -> None:
        """Count one more outcome. Raises what the store raises."""
        lesson = LessonKey(
            website_id=self._WEBSITE,
            screen_id=self._SCREEN,
            task_id=self._TASK,
            step_id=self._STEP,
            approach=key[:MAX_APPROACH],
        )
        await self._lessons.learn(lesson, worked=confirmed)


def classify_replacement(ours: Expression, candidate: LocatorCandidate) -> str:
    """Return the kind of a replacement: `locator(#id) -> get_by_role+name`. Contains no words of any page."""
    theirs = candidate.links
    return f"{_summarize_links(ours)} -> {_summarize_links(theirs)}"


def _summarize_links(links: Expression) -> str:
    said = []
    for each in links[-2:]:
        first = each.arguments[0] if each.arguments else None
        how = ""
        if each.method == "locator" and isinstance(first, str):
            how = (
                "(#)"
                if first.lstrip().startswith("#")
                else "(xpath)"
                if first.startswith(("/", "xpath="))
                else "(css)"
            )
        names = "".join(f"+{name}" for name in sorted(each.keywords))
        said.append(f"{each.method}{how}{names}")
    return ".".join(said) or "?"


def rank_candidates(
    candidates: Sequence[tuple[LocatorCandidate, Recommendation]],
) -> tuple[LocatorCandidate, ...]:
    """Sort candidates, best first, by confidence and by how often their kind was right. Stable without
    statistics.
    """

    def weight(at: int) -> float:
        candidate, known = candidates[at]
        return 0.7 * candidate.confidence + 0.3 * known.confidence - 0.001 * at

    return tuple(candidates[at][0] for at in sorted(range(len(candidates)), key=weight, reverse=True))
