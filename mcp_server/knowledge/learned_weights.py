"""What the server learns from outcomes, and the views whose weights follow from it.

Learned numbers have their own revision. When it changes, only what changed since is read, only the edges concerned
are weighed again, and nothing is compiled anew.
"""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeGuard

from kb_schema.observed_outcomes import Outcome, OutcomeAnswer, ReportedOutcome
from kb_store.errors import StoreError
from kb_store.learned.learned_numbers import LearnedStore, utc_now
from kb_store.learned.memory_learned_store import MemoryLearnedStore
from mcp_server.errors import SourceUnavailable, UnknownName
from mcp_server.knowledge.compiled_view import (
    NO_STATISTICS,
    KnowledgeView,
    LearnedStatistics,
    apply_statistics,
)

ASK_EVERY_S = 0.25
"""Seconds between two checks for newer learned numbers."""
ASK_AGAIN_S = 2.0
"""The same after the store failed to answer, which may itself have taken long."""


@dataclass(slots=True)
class _WeightedView:
    view: KnowledgeView
    revision: str
    asked_at: float
    mark: str | None = None
    """Position up to which the view's numbers were read."""


class LearnedWeights:
    """Records outcomes and returns weighed views. `clock` is monotonic, in seconds."""

    def __init__(
        self, store: LearnedStore | None = None, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._store = MemoryLearnedStore() if store is None else store
        self._clock = clock
        self._held: dict[str, _WeightedView] = {}
        self._locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def weighed(self, authored: KnowledgeView) -> KnowledgeView:
        """Return the view weighed by the newest numbers, or by the last known ones if the store does not answer."""
        website_id = authored.website_id
        held = self._held.get(website_id)
        if self._current(held, authored):
            return held.view
        lock = self._locks[website_id]
        if held is not None and held.view.authored is authored and lock.locked():
            return held.view  # another call is reading; these numbers were the newest a moment ago
        async with lock:
            held = self._held.get(website_id)
            if self._current(held, authored):
                return held.view
            pause = 0.0
            try:
                held = await self._renewed(authored, held)
            except StoreError:
                pause = ASK_AGAIN_S - ASK_EVERY_S
                if held is None or held.view.authored is not authored:
                    last, mark = (NO_STATISTICS, None) if held is None else (held.view.learned, held.mark)
                    held = _WeightedView(apply_statistics(authored, last), "", 0.0, mark)
            held.asked_at = self._clock() + pause
            self._held[website_id] = held
            return held.view

    async def record(self, view: KnowledgeView, reported: ReportedOutcome) -> OutcomeAnswer:
        """Count an outcome. Raises `UnknownName` if the knowledge base lacks its subject, and `SourceUnavailable`."""
        _check(view, reported)
        said = {**dict(reported), "website_id": view.website_id, "at": reported.at or utc_now()}
        try:
            told = await self._store.record([Outcome(**said)])
        except StoreError as exc:
            raise SourceUnavailable(str(exc)) from exc
        held = self._held.get(view.website_id)
        if held is not None:
            held.asked_at = -ASK_EVERY_S  # this server's own outcomes are in its next answer
        reason = "counted before" if told.repeated else "more than 30 days old, or from the future"
        return OutcomeAnswer(
            website_id=view.website_id,
            outcome_id=reported.outcome_id,
            counted=bool(told.counted),
            reason="" if told.counted else reason,
        )

    async def _renewed(self, authored: KnowledgeView, held: _WeightedView | None) -> _WeightedView:
        website_id = authored.website_id
        revision = await self._store.revision(website_id)
        if held is not None and held.revision == revision and held.view.authored is authored:
            return held
        # Read after the revision: outcomes counted in between are read again next time.
        reading = await self._store.read(website_id, None if held is None else held.mark)
        learned = LearnedStatistics(reading.transitions, reading.recoveries)
        if not reading.whole and held is not None:
            known = held.view.learned
            learned = LearnedStatistics(
                {**known.transitions, **reading.transitions}, {**known.recoveries, **reading.recoveries}
            )
        last = held.view if held is not None and held.view.authored is authored else authored
        view = await asyncio.to_thread(apply_statistics, last, learned)
        return _WeightedView(view, revision, 0.0, reading.mark)

    def _current(self, held: _WeightedView | None, authored: KnowledgeView) -> TypeGuard[_WeightedView]:
        return (
            held is not None
            and held.view.authored is authored
            and self._clock() - held.asked_at < ASK_EVERY_S
        )


def _check(view: KnowledgeView, reported: ReportedOutcome) -> None:
    """Check that the knowledge base has the subject of an outcome: a typing mistake is no observation."""
    knowledge = view.knowledge
    if reported.transition_id is not None:
        _check_known("transition", reported.transition_id, knowledge.transitions, "find_path names them")
    if reported.recovery_id is not None:
        hint = "find_global_recovery_paths names them"
        _check_known("recovery edge", reported.recovery_id, knowledge.recoveries, hint)
    if reported.element is not None:
        _check_known("screen", reported.element.screen_id, view.elements, "call identify_current_screen")
        elements = view.elements[reported.element.screen_id]
        _check_known("element", reported.element.element_id, elements, "call get_screen")


def _check_known(kind: str, name: str, known: Mapping[str, object], hint: str) -> None:
    if name not in known:
        raise UnknownName(kind, name, known, hint=hint)
