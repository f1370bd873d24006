"""What worked and what did not, reported to the desk while the agent goes on with its work.

A listener on the bus: reports wait in a queue of their own and are sent by a task of their own, so
that neither a slow nor a refusing desk holds up a run or fails it.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Protocol

from pydantic import ValidationError

from agent.errors import AgentError, KnowledgeUnavailable
from agent.events import Bus, ElementUsed, Event, Recovered, TransitionTaken
from kb_schema.fingerprints import Fingerprint
from kb_schema.learned import ElementUse, ReportedOutcome
from kb_schema.proposals import ChangeProposed, ReportedSupport, SelectorChange
from kb_schema.selectors import Selector

MOST_WAITING = 1_000
"""Reports beyond these are dropped: a desk that is this far behind is not coming back."""
LONGEST_DURATION_MS = 86_400_000
DRAIN_S = 2.0
"""How long the end of a session waits for reports that have not been sent."""
TRIES = 2
"""How often a report is sent to a desk that does not answer. It counts once all the same."""
DEFAULT_RECOVERY = "default_recovery."
"""How the desk names the steps of a website's default recovery, which is no edge to learn about."""


class Recorder(Protocol):
    """Whoever takes reports: `agent.knowledge.Knowledge`."""

    async def record_outcome(self, outcome: ReportedOutcome) -> bool:
        """Whether it was counted now. Raises `AgentError`."""

    async def propose(self, change: SelectorChange, evidence: ReportedSupport) -> ChangeProposed:
        """Propose a change, or say how one went. Raises `AgentError`."""


@dataclass(frozen=True, slots=True)
class _Healed:
    """A selector that an element was healed by, and how that came out."""

    change: SelectorChange
    evidence: ReportedSupport


_Report = ReportedOutcome | _Healed


class OutcomeReporter:
    """Turns events into reports and sends them."""

    def __init__(
        self, recorder: Recorder, run_id: str, *, is_personal: Callable[[Any], bool] = lambda _data: False
    ) -> None:
        """`is_personal`: whether data has what a visitor said; an element with it is not learned."""
        self._recorder, self._run_id, self._is_personal = recorder, run_id, is_personal
        self._waiting: asyncio.Queue[_Report | None] = asyncio.Queue()
        self.counted = 0
        self.lost = 0
        """Reports the desk refused or did not get."""

    def hear(self, event: Event) -> None:
        """A listener of the bus: quick, and raises nothing."""
        try:
            reports = self._reports(event)
        except ValidationError:  # an id that no knowledge base can have
            self.lost += 1
            return
        for report in reports:
            if self._waiting.qsize() < MOST_WAITING:
                self._waiting.put_nowait(report)
            else:
                self.lost += 1

    def no_more(self) -> None:
        """Nothing will be heard any more: `send_all` ends when it has sent what is waiting."""
        self._waiting.put_nowait(None)

    async def send_all(self) -> None:
        """Send reports as they come, until there are no more."""
        while (report := await self._waiting.get()) is not None:
            await self._send(report)

    async def _send(self, report: _Report) -> None:
        for last in (*[False] * (TRIES - 1), True):
            try:
                if isinstance(report, _Healed):
                    await self._recorder.propose(report.change, report.evidence)
                else:
                    self.counted += await self._recorder.record_outcome(report)
            except KnowledgeUnavailable:
                self.lost += last
            except AgentError:  # refused: sending it again will not help
                self.lost += 1
                return
            else:
                return

    def _reports(self, event: Event) -> list[_Report]:
        if isinstance(event, TransitionTaken):
            duration_ms = min(max(event.duration_ms, 0.0), LONGEST_DURATION_MS)
            return [self._said(
                transition_id=event.transition_id, succeeded=event.arrived, duration_ms=duration_ms
            )]  # fmt: skip
        if isinstance(event, Recovered) and not event.recovery_id.startswith(DEFAULT_RECOVERY):
            return [self._said(recovery_id=event.recovery_id, succeeded=event.succeeded)]
        if not isinstance(event, ElementUsed) or self._is_personal(
            [event.fingerprint, event.healed_selector]
        ):
            return []
        return list(self._element_reports(event))

    def _element_reports(self, event: ElementUsed) -> Iterator[_Report]:
        if event.succeeded and event.strategy and not event.healed_selector:
            use = ElementUse(screen_id=event.screen_id, element_id=event.element_id, strategy=event.strategy)
            known = Fingerprint.model_validate(event.fingerprint) if event.fingerprint else None
            yield self._said(element=use, succeeded=True, fingerprint=known)
        if event.healed_selector:
            change = SelectorChange(
                type="selector", screen_id=event.screen_id, element_id=event.element_id,
                selector=Selector.model_validate(event.healed_selector),
            )  # fmt: skip
            yield _Healed(
                change,
                ReportedSupport(
                    run_id=self._run_id,
                    succeeded=event.succeeded,
                    score=event.score,
                    note=event.reason[:1_000],
                ),
            )

    def _said(self, **what: Any) -> ReportedOutcome:
        return ReportedOutcome(outcome_id=uuid.uuid4().hex, at=datetime.now(UTC), run_id=self._run_id, **what)


@asynccontextmanager
async def reporting(
    bus: Bus, recorder: Recorder, run_id: str, *, is_personal: Callable[[Any], bool] = lambda _data: False
) -> AsyncIterator[OutcomeReporter]:
    """Report what is told on the bus while this is open; at the end, wait a little for the rest."""
    reporter = OutcomeReporter(recorder, run_id, is_personal=is_personal)
    bus.listen(reporter.hear)
    sender = asyncio.create_task(reporter.send_all(), name="outcomes")
    try:
        yield reporter
    finally:
        reporter.no_more()
        await asyncio.wait({sender}, timeout=DRAIN_S)
        sender.cancel()
        await asyncio.gather(sender, return_exceptions=True)  # whatever it was, the run is not to blame
