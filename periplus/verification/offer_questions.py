"""Asks at the terminal whether an offered element is the one of its step (`verify --ask`)."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, Sequence

from rich.console import Console
from rich.markup import escape

from agent.verification.graph.passed_plans import PassedPlans
from kb_schema.verification import OfferedElement, VerdictReport
from periplus.errors import UserError
from periplus.terminal.input_prompts import TerminalPrompts

_YES = frozenset({"y", "yes"})


def check_terminal() -> None:
    """Raise `UserError` if nobody can answer."""
    if not sys.stdin.isatty():
        raise UserError("--ask needs a terminal", fix="remove --ask; --accept REQ:STEP answers beforehand")


async def ask_offers(
    reports: Sequence[VerdictReport],
    plans: PassedPlans,
    website_of: Callable[[VerdictReport], str],
    verify_again: Callable[[VerdictReport], Awaitable[VerdictReport]],
    console: Console,
) -> list[VerdictReport]:
    """Ask about each offered element, and verify a requirement again with one that was accepted. Return the reports as
    they are then. An empty line, and everything but `y`, is a no.
    """
    prompts, ended = TerminalPrompts(console), []
    for first in reports:
        report = first
        for _ in range(max(1, report.summary.total_steps)):
            offered = report.offered
            if offered is None or offered.selector is None:
                break
            console.print(escape(describe_offer(report.req_id, offered)), highlight=False, soft_wrap=True)
            answer = await prompts.ask("y/N", "Use it from now on?", secret=False)
            if (answer or "").strip().casefold() not in _YES:
                break
            await plans.accept(website_of(report), report.req_id, offered.step_idx)
            report = await verify_again(report)
        ended.append(report)
    return ended


def describe_offer(req_id: str, offered: OfferedElement) -> str:
    """Return the candidate with its likeness, what agrees and what spoke against it."""
    step = f"{req_id}, step {offered.step_idx + 1}"
    likely = f"{offered.description} may be it (likeness {offered.likeness:.2f})"
    lines = [f"{step}: {offered.element} is not found; {likely}"]
    if offered.support:
        lines.append(f"  what agrees: {', '.join(offered.support)}")
    lines += [f"  against it: {each}" for each in offered.against]
    return "\n".join(lines)
