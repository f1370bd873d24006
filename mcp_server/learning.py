"""What the desk learns from outcomes, and how views are weighed by it.

Learned numbers have a revision of their own: when it changes, only what changed since is read, and
only the edges it is about are weighed again; nothing is compiled anew.
"""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeGuard

from kb_schema.learned import Outcome, OutcomeRecorded, ReportedOutcome
from kb_store.errors import StoreError
from kb_store.learned import LearnedStore, utc_now
from kb_store.learned_memory import MemoryLearnedStore
from mcp_server.compiled import NOTHING_LEARNED, Learned, View, with_learned
from mcp_server.errors import SourceDown, UnknownName

ASK_EVERY_S = 0.25
"""How long a server answers from the numbers it has before it asks whether there are newer ones."""
ASK_AGAIN_S = 2.0
"""... and after a store did not answer, which may itself have taken long."""


@dataclass(slots=True)
class _Held:
    view: View
    revision: str
    asked_at: float
    mark: str | None = None
    """Up to where the view's numbers were read."""


class Learning:
    """Outcomes in, weighed views out. `clock` gives seconds and only goes forward."""

    def __init__(
        self, store: LearnedStore | None = None, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._store = MemoryLearnedStore() if store is None else store
        self._clock = clock
        self._held: dict[str, _Held] = {}
        self._locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def weighed(self, authored: View) -> View:
        """The view by the newest numbers; by the last ones known where the store does not answer."""
        website_id = authored.website_id
        held = self._held.get(website_id)
        if self._current(held, authored):
            return held.view
        lock = self._locks[website_id]
        if held is not None and held.view.authored is authored and lock.locked():
            return held.view  # somebody is asking; these numbers were the newest a moment ago
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
                    last, mark = (NOTHING_LEARNED, None) if held is None else (held.view.learned, held.mark)
                    held = _Held(with_learned(authored, last), "", 0.0, mark)
            held.asked_at = self._clock() + pause
            self._held[website_id] = held
            return held.view

    async def record(self, view: View, reported: ReportedOutcome) -> OutcomeRecorded:
        """Count an outcome. Raises `UnknownName` for what the knowledge does not have, `SourceDown`."""
        _check(view, reported)
        said = {**dict(reported), "website_id": view.website_id, "at": reported.at or utc_now()}
        try:
            told = await self._store.record([Outcome(**said)])
        except StoreError as exc:
            raise SourceDown(str(exc)) from exc
        held = self._held.get(view.website_id)
        if held is not None:
            held.asked_at = -ASK_EVERY_S  # this server's own outcomes are in its next answer
        reason = "counted before" if told.repeated else "more than 30 days old, or from the future"
        return OutcomeRecorded(
            website_id=view.website_id,
            outcome_id=reported.outcome_id,
            counted=bool(told.counted),
            reason="" if told.counted else reason,
        )

    async def _renewed(self, authored: View, held: _Held | None) -> _Held:
        website_id = authored.website_id
        revision = await self._store.revision(website_id)
        if held is not None and held.revision == revision and held.view.authored is authored:
            return held
        # Read after its revision was asked: what is counted in between is read again next time.
        reading = await self._store.read(website_id, None if held is None else held.mark)
        learned = Learned(reading.transitions, reading.recoveries)
        if not reading.whole and held is not None:
            known = held.view.learned
            learned = Learned(
                {**known.transitions, **reading.transitions}, {**known.recoveries, **reading.recoveries}
            )
        last = held.view if held is not None and held.view.authored is authored else authored
        view = await asyncio.to_thread(with_learned, last, learned)
        return _Held(view, revision, 0.0, reading.mark)

    def _current(self, held: _Held | None, authored: View) -> TypeGuard[_Held]:
        return (
            held is not None
            and held.view.authored is authored
            and self._clock() - held.asked_at < ASK_EVERY_S
        )


def _check(view: View, reported: ReportedOutcome) -> None:
    """That the knowledge has what an outcome is about: a slip of the pen is no observation."""
    knowledge = view.knowledge
    if reported.transition_id is not None:
        _known("transition", reported.transition_id, knowledge.transitions, "find_path names them")
    if reported.recovery_id is not None:
        hint = "find_global_recovery_paths names them"
        _known("recovery edge", reported.recovery_id, knowledge.recoveries, hint)
    if reported.element is not None:
        _known("screen", reported.element.screen_id, view.elements, "call identify_current_screen")
        elements = view.elements[reported.element.screen_id]
        _known("element", reported.element.element_id, elements, "call get_screen")


def _known(kind: str, name: str, known: Mapping[str, object], hint: str) -> None:
    if name not in known:
        raise UnknownName(kind, name, known, hint=hint)
