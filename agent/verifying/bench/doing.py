"""Does one planned action through the gate, on the element the plan knows and on no other.

Shared by whoever builds a plan (it must act to see the next page) and whoever executes it.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from agent.healing.identity import Sighting, check, sight, unchanged
from agent.page.acting import Pace, Performed, perform
from agent.page.errors import ActionMisused, PageGone
from agent.page.gate import Passed, pass_gate
from agent.page.happenings import Expected
from agent.page.locating import summary
from agent.playwright_python.expressions import candidates, proven, to_source
from agent.telemetry import span
from agent.verifying.bench.bench import Bench
from agent.verifying.bench.finding import needs_element
from agent.verifying.bench.obstacles import uncovered
from kb_schema.calls import DialogAnswer
from kb_schema.fingerprints import Fingerprint
from kb_schema.playwright_calls import Expression
from kb_schema.selectors import Selector
from kb_schema.urls import resolve
from kb_schema.verification import Intent, PlanStep
from kb_schema.vocabulary import ACTION_TYPES, canonical

FIRST_ASKED = 12
"""Expressions that are proven first: the ones a person would write are among them."""
_FILE = "upload_file"


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of an element that was looked at."""

    sighting: Sighting
    expression: Expression

    @property
    def fingerprint(self) -> Fingerprint:
        """What would tell it again."""
        return self.sighting.fingerprint


def expecting(step: PlanStep) -> Expected:
    """What the plan says that the step leads to beside its effect on the page."""
    dialog = None if step.dialog is None else DialogAnswer(accept=step.dialog == "accept")
    follow: Literal["follow"] | None = "follow" if step.new_tab else None
    return Expected(dialog=dialog, new_tab=follow, download=True, file=step.intent.action == _FILE)


def may_lead_anywhere(intent: Intent) -> Expected:
    """While a plan is built: dialogs are agreed to, tabs followed, downloads kept."""
    return Expected(DialogAnswer(accept=True), "follow", download=True, file=intent.action == _FILE)


async def about_to_act(bench: Bench, intent: Intent) -> None:
    """Take note of the page as it is. Raises `PageGone`."""
    kind = ACTION_TYPES.get(canonical(intent.action) or "")
    await bench.about_to_act(pressing=kind is not None and not kind.idempotent)


async def act(bench: Bench, step: PlanStep, gate_s: float) -> float:
    """The step's action; its values are filled in. The seconds it took after the gate: a site that answers
    late holds up the very press. Raises what `perform` raises, and `ElementChanged`.
    """
    if step.password and step.intent.value:
        bench.hidden.keep(step.intent.value)
    name, began = canonical(step.intent.action) or step.intent.action, time.monotonic()
    with span("bench.act", action=name):
        try:
            performed = await _perform(bench, step, name, gate_s)
            took_s = (performed.duration_ms - performed.gate_ms) / 1000
        except PageGone:
            await bench.watch.arrived(bench.page, bench.policy.late_pending_s)
            if not bench.replaced:
                raise
            took_s = time.monotonic() - began  # another document came of it, after longer than one asks
    await bench.happenings.settled()
    bench.note_dialogs()
    return took_s


async def _perform(bench: Bench, step: PlanStep, name: str, gate_s: float) -> Performed:
    intent = step.intent
    if name == "navigate":
        where = resolve(intent.value or intent.element, authored_base="", base=bench.base_url)
        return await perform(bench.page, name, url=where)
    if not needs_element(intent) and step.selector is None:
        return await perform(bench.page, name, value=intent.value or None)
    return await _on_element(bench, step, name, gate_s)


async def _on_element(bench: Bench, step: PlanStep, name: str, gate_s: float) -> Performed:
    if step.selector is None:
        raise ActionMisused(name, "needs an element")
    known, selector = step.fingerprint, step.selector

    async def inspect(passed: Passed) -> None:
        if known is None or unchanged(passed.glance, known):
            return
        seen = await sight(bench.page, (await passed.gated()).element)
        check(known, seen.fingerprint if seen else None, summary(selector))

    pace = Pace(bench.policy.key_delay_s) if step.intent.typed else None
    value: str | list[str] | None = step.intent.value or None
    if name == "fill":
        value = step.intent.value or ""
    elif name == _FILE:
        value = files(step.intent)
    return await uncovered(
        bench,
        gate_s,
        lambda timeout_s: perform(
            bench.page, name, selector=selector, value=value, pace=pace, timeout_s=timeout_s, inspect=inspect
        ),
    )


async def know(bench: Bench, selector: Selector, gate_s: float) -> Known:
    """Look at an element that passes the gate: its fingerprint, and how Playwright's Python leads to it.

    Raises `GateFailed`, `PageGone`.
    """
    gated = await uncovered(
        bench, gate_s, lambda timeout_s: pass_gate(bench.page, selector, timeout_s=timeout_s)
    )
    seen = await sight(bench.page, gated.element)
    if seen is None:
        gated = await pass_gate(bench.page, selector, timeout_s=gate_s)
        seen = await sight(bench.page, gated.element)
    if seen is None:
        raise ActionMisused("look", "cannot be done: the element left the page twice")
    return Known(seen, await expression_for(bench, selector, seen.fingerprint))


async def expression_for(
    bench: Bench, selector: Selector, fingerprint: Fingerprint, *, without: str | None = None
) -> Expression:
    """The best expression that the page shows to lead to the element alone; empty where there is none.

    `without`: a text it may not ask for, unless nothing else leads there.
    """
    ways = candidates(selector, fingerprint)
    if without:
        told = [way for way in ways if without.casefold() not in to_source(way, text=str).casefold()]
        ways = (*told, *(way for way in ways if way not in told))
    first = await proven(bench.page, selector, ways[:FIRST_ASKED])
    if first and first[-1].method != "nth":
        return first
    return await proven(bench.page, selector, ways) if len(ways) > FIRST_ASKED else first


def files(intent: Intent) -> list[str]:
    """The files to give: absolute, else beside the requirement's file, else below the working folder."""
    beside = Path(intent.place.file).parent if intent.place.file else Path()
    names = [each.strip() for each in (intent.value or "").splitlines() if each.strip()]
    found = [beside / name for name in names]
    return [str(path if path.is_file() else name) for path, name in zip(found, names, strict=True)]


def same(known: Fingerprint, seen: Fingerprint, selector: Selector) -> None:
    """That they are of one element. Raises `ElementChanged`."""
    check(known, seen, summary(selector))
