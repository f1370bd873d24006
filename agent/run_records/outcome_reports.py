"""Reports to the knowledge server what worked and what did not, beside the run.

Reports wait in a queue and are sent by a task of their own, so that a slow or refusing server neither delays
a run nor fails it.
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

from agent import retry_limits
from agent.errors import AgentError, KnowledgeUnavailable
from agent.events import ElementUsed, Event, EventBus, Recovered, TransitionTaken
from kb_schema.fingerprints import Fingerprint
from kb_schema.observed_outcomes import ElementUse, ReportedOutcome
from kb_schema.proposals import ProposalAnswer, ReportedSupport, SelectorChange, StepTargetChange
from kb_schema.selectors import Selector

MOST_WAITING = 1_000
"""Reports beyond these are dropped: the server will not catch up."""
LONGEST_DURATION_MS = 86_400_000
DRAIN_S = 2.0
"""Seconds that the end of a session waits for unsent reports."""
DEFAULT_RECOVERY = "default_recovery."
"""Prefix of the steps of a website's default recovery, which is no edge to learn about."""


class OutcomeReceiver(Protocol):
    """Receives reports: `agent.knowledge_client.KnowledgeClient`."""

    async def record_outcome(self, outcome: ReportedOutcome) -> bool:
        """Record an outcome; True if it was counted now. Raises `AgentError`."""

    async def propose(
        self, change: SelectorChange | StepTargetChange, evidence: ReportedSupport
    ) -> ProposalAnswer:
        """Propose a change, or report how one worked. Raises `AgentError`."""


@dataclass(frozen=True, slots=True)
class _HealedSelector:
    """A selector by which an element was healed, and how that worked."""

    change: SelectorChange | StepTargetChange
    evidence: ReportedSupport


_Report = ReportedOutcome | _HealedSelector


class OutcomeReporter:
    """Turns events into reports and sends them."""

    def __init__(
        self,
        recorder: OutcomeReceiver,
        run_id: str,
        *,
        is_personal: Callable[[Any], bool] = lambda _data: False,
    ) -> None:
        """`is_personal`: whether data contains a visitor's words; an element with them is not learned."""
        self._recorder, self._run_id, self._is_personal = recorder, run_id, is_personal
        self._waiting: asyncio.Queue[_Report | None] = asyncio.Queue()
        self.counted = 0
        self.lost = 0
        """Reports that the server refused or did not receive."""

    def hear(self, event: Event) -> None:
        """Handle one event; the listener of the bus. Quick, raises nothing."""
        try:
            reports = self._reports(event)
        except ValidationError:  # an id that is not valid in a knowledge base
            self.lost += 1
            return
        for report in reports:
            if self._waiting.qsize() < MOST_WAITING:
                self._waiting.put_nowait(report)
            else:
                self.lost += 1

    def no_more(self) -> None:
        """End the queue: `send_all` returns after the reports that are waiting."""
        self._waiting.put_nowait(None)

    async def send_all(self) -> None:
        """Send reports as they come, until `no_more`."""
        while (report := await self._waiting.get()) is not None:
            await self._send(report)

    async def _send(self, report: _Report) -> None:
        for last in (*[False] * (retry_limits.REPORT_ATTEMPTS - 1), True):
            try:
                if isinstance(report, _HealedSelector):
                    await self._recorder.propose(report.change, report.evidence)
                else:
                    self.counted += await self._recorder.record_outcome(report)
            except KnowledgeUnavailable:
                self.lost += last
            except AgentError:  # refused: a retry does not help
                self.lost += 1
                return
            else:
                return

    def _reports(self, event: Event) -> list[_Report]:
        if isinstance(event, TransitionTaken):
            duration_ms = min(max(event.duration_ms, 0.0), LONGEST_DURATION_MS)
            return [
                self._build_outcome(
                    transition_id=event.transition_id, succeeded=event.arrived, duration_ms=duration_ms
                )
            ]
        if isinstance(event, Recovered) and not event.recovery_id.startswith(DEFAULT_RECOVERY):
            return [self._build_outcome(recovery_id=event.recovery_id, succeeded=event.succeeded)]
        if not isinstance(event, ElementUsed) or self._is_personal(
            [event.fingerprint, event.healed_selector]
        ):
            return []
        return list(self._element_reports(event))

    def _element_reports(self, event: ElementUsed) -> Iterator[_Report]:
        if event.screen_id and event.succeeded and event.strategy and not event.healed_selector:
            use = ElementUse(screen_id=event.screen_id, element_id=event.element_id, strategy=event.strategy)
            known = Fingerprint.model_validate(event.fingerprint) if event.fingerprint else None
            yield self._build_outcome(element=use, succeeded=True, fingerprint=known)
        if event.healed_selector:
            yield _HealedSelector(
                _build_change(event),
                ReportedSupport(
                    run_id=self._run_id,
                    succeeded=event.succeeded,
                    score=event.score,
                    note=event.reason[:1_000],
                ),
            )

    def _build_outcome(self, **what: Any) -> ReportedOutcome:
        return ReportedOutcome(outcome_id=uuid.uuid4().hex, at=datetime.now(UTC), run_id=self._run_id, **what)


def _build_change(event: ElementUsed) -> SelectorChange | StepTargetChange:
    selector = Selector.model_validate(event.healed_selector)
    if event.screen_id:
        return SelectorChange(
            type="selector", screen_id=event.screen_id, element_id=event.element_id, selector=selector
        )
    return StepTargetChange(
        type="step_target",
        task_id=event.task_id,
        step_id=event.step_id,
        selector=selector,
        fingerprint=Fingerprint.model_validate(event.fingerprint) if event.fingerprint else None,
    )


@asynccontextmanager
async def report_outcomes(
    bus: EventBus,
    recorder: OutcomeReceiver,
    run_id: str,
    *,
    is_personal: Callable[[Any], bool] = lambda _data: False,
) -> AsyncIterator[OutcomeReporter]:
    """Report events of the bus while the context is open; at its end, wait up to `DRAIN_S` for the rest."""
    reporter = OutcomeReporter(recorder, run_id, is_personal=is_personal)
    bus.listen(reporter.hear)
    sender = asyncio.create_task(reporter.send_all(), name="outcomes")
    try:
        yield reporter
    finally:
        reporter.no_more()
        await asyncio.wait({sender}, timeout=DRAIN_S)
        sender.cancel()
        await asyncio.gather(sender, return_exceptions=True)  # an error here must not fail the run
