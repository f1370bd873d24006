"""Evaluates checks on the page, again after every change, until they hold or their time is over.

What each kind of outcome asks of the page is defined in `outcome_conditions`.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from agent.page.condition_probes import PageFacts, evaluate_conditions
from agent.page.page_changes import wait_for_change, wait_for_timers
from agent.page.snapshot_capture import read_page_revision
from agent.verification.page_checks.named_elements import find_other_words
from agent.verification.page_checks.outcome_conditions import (
    SCOPE,
    OutcomeCase,
    OutcomeQuery,
    TitleIs,
    build_outcome_query,
)
from agent.verification.page_checks.verification_page import VerificationPage
from kb_schema.expected_outcomes import JUDGED, OUTCOMES, STATES
from kb_schema.probes import (
    ProbeAnswer,
    ProbeFacts,
    TextProbe,
    Verdict,
    VerdictStatus,
    held,
    probe_key,
    unknown,
)

BROWSERS_OWN_ERROR = "chrome-error:"
"""The browser's own error page: the site did not answer, and waiting is useless."""
ANSWER_S = 1.0
"""How long a loaded page may take to answer, beyond the timeout."""
JUDGED_S = 60.0
"""The same where a language model is asked, too."""
REST_S = 0.15
"""How long a page must show the same after the answers to a press: frameworks draw within some frames."""
TIMERS_S = 2.0
"""How long to wait for what the page itself has put off, such as an error that appears later."""
_UNTIL_LATER = STATES | {"not_shows", "no_console_errors", "stays_on_page"}
"""Outcomes that must still hold when the page has done what it has put off."""
_OTHER = TitleIs(value="")
"""Stands for an outcome without conditions where only the judged ones are looked for."""
NOT_SEEN = PageFacts("", "", "loading")
"""The facts of a page that is still loading."""


@dataclass
class CheckResults:
    """The results of a step's checks."""

    verdicts: list[Verdict]
    seen: PageFacts
    asked: list[OutcomeQuery] = field(default_factory=list)

    @property
    def held(self) -> bool:
        """Whether all checks hold."""
        return all(each.held for each in self.verdicts)

    def answer(self, number: int) -> ProbeAnswer | None:
        """Return the page's answer about the element (or the value) of a check."""
        if not self.asked:
            return None
        for condition in self.asked[number].conditions:
            for probe in condition.probes(SCOPE):
                if not isinstance(probe, TextProbe) and probe_key(probe) in self.seen.answers:
                    return self.seen.answers[probe_key(probe)]
        return None


async def evaluate_checks(site_page: VerificationPage, cases: Sequence[OutcomeCase]) -> CheckResults:
    """Evaluate all checks now: one round trip, and one more for each that needs its own. Raises `PageGone`."""
    wanted = [build_outcome_query(case) for case in cases]
    flat = [condition for each in wanted for condition in each.conditions]
    judged, seen = await evaluate_conditions(
        site_page.page, flat, SCOPE, ProbeFacts(path_base=site_page.base_url)
    )
    verdicts: list[Verdict] = []
    answers = iter(judged)
    for each in wanted:
        own = [next(answers) for _ in each.conditions]
        if each.ask is not None and all(verdict.held for verdict in own):
            own.append(await each.ask(site_page))
        failed = [verdict for verdict in own if not verdict.held]
        verdicts.append(failed[0] if failed else own[-1] if own else unknown("nothing to ask"))
    for number, case in enumerate(cases):
        if verdicts[number].held:
            other = await find_other_words(site_page, case.step, case.check)
            if other is not None:
                named = case.check.outcome.element or case.step.intent.element
                verdicts[number] = held(False, f"no element has the words {named!r}; where it was is {other}")
    if site_page.judgements is not None:
        asked = [next(iter(each.conditions), _OTHER) for each in wanted]
        verdicts = await site_page.judgements.complete(site_page.page, asked, verdicts)
    return CheckResults(verdicts, seen, wanted)


async def evaluate_checks_until_held(
    site_page: VerificationPage,
    cases: Sequence[OutcomeCase],
    timeout_s: float,
    met: dict[int, Verdict] | None = None,
) -> CheckResults:
    """Evaluate again after every change of the page, until all checks have held, at most `timeout_s`.

    A check that held once counts as held (a message may be gone when the list appears), except a lasting one, and one
    about a field's or an element's state after a press: these must hold at the end. Until a request of the press is
    answered and the page has come to rest, the page still shows what it showed before: then only a text counts that it
    did not show. When all have held, those that a timer of the page may still undo are evaluated once more when it has run
    (`TIMERS_S` at most). `met`: those that held before, by number; what holds now is added.
    """
    deadline = time.monotonic() + timeout_s
    before, rested = {} if met is None else met, False
    calmed: dict[int, Verdict] | None = None
    expects_state = any(
        each.check.outcome.kind in STATES for each in cases
    )  # a request may only be on its way
    while True:
        left = max(0.0, deadline - time.monotonic())
        now = await _evaluate_within(site_page, cases, left) if await site_page.arrived(left) else None
        if now is None:
            return CheckResults([unknown("the site has not answered yet")] * len(cases), NOT_SEEN)
        asked = site_page.pressed and (site_page.monitor.asked or expects_state)
        settled = rested or not asked
        for number, each in enumerate(now.asked):
            kind = cases[number].check.outcome.kind
            if calmed is not None and kind not in _UNTIL_LATER:
                now.verdicts[number] = calmed[number]
                continue
            if each.lasting or ((asked or calmed is not None) and kind in STATES):
                continue
            if number in before:
                now.verdicts[number] = before[number]
            elif now.verdicts[number].held and (settled or _is_new_text(site_page, cases[number])):
                before[number] = now.verdicts[number]
        if now.held and settled and calmed is None and await _has_put_off(site_page, cases):
            calmed = dict(enumerate(now.verdicts))
            continue
        remaining = deadline - time.monotonic()
        if (now.held and settled) or remaining <= 0 or site_page.page.url.startswith(BROWSERS_OWN_ERROR):
            return now
        rested = await _rest(site_page, now, remaining, briefly=asked and not settled)


async def _has_put_off(site_page: VerificationPage, cases: Sequence[OutcomeCase]) -> bool:
    """Wait for timers of the page that may undo an outcome; return whether there were some."""
    if all(each.check.outcome.kind not in _UNTIL_LATER for each in cases):
        return False
    return await wait_for_timers(site_page.page, TIMERS_S)


async def _rest(site_page: VerificationPage, now: CheckResults, left_s: float, *, briefly: bool) -> bool:
    """Wait for a change of the page. `briefly`: at most `REST_S`; whether all is answered and nothing changed then."""
    await wait_for_change(site_page.page, min(left_s, REST_S) if briefly else left_s, now.seen.revision)
    if not briefly or site_page.monitor.answering:
        return False
    return await read_page_revision(site_page.page) == now.seen.revision


def _is_new_text(site_page: VerificationPage, case: OutcomeCase) -> bool:
    """Whether a text is expected that the page did not show before the press."""
    if not OUTCOMES[case.check.outcome.kind].quotes or not case.value:
        return False
    return not any(case.value.casefold() in line.casefold() for line in site_page.lines_before)


async def _evaluate_within(
    site_page: VerificationPage, cases: Sequence[OutcomeCase], timeout_s: float
) -> CheckResults | None:
    """Return the results; None if the page navigates away and does not answer."""
    asking = asyncio.create_task(evaluate_checks(site_page, cases))
    try:
        judges = site_page.judgements is not None and any(each.check.outcome.kind == JUDGED for each in cases)
        done, _ = await asyncio.wait({asking}, timeout=timeout_s + (JUDGED_S if judges else ANSWER_S))
        return asking.result() if done else None
    finally:
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)


def summarize_unmet_check(verdict: Verdict) -> str:
    """Return in one line why a check does not hold."""
    return verdict.evidence[:300] or str(VerdictStatus(verdict.status))
