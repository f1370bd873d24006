"""Asks a person to do something in the browser, and whether it is done."""

from __future__ import annotations

from agent.run_context import RunContext

_DECLINES = frozenset({"", "n", "no", "stop", "cancel", "abort", "quit", "exit"})


async def ask_until_done(context: RunContext, told: str) -> bool:
    """Return whether a person answers that what they were told is done; False without an answer, or if they decline.

    The question says what to answer: in a terminal, Enter alone is no answer.
    """
    if context.asker is None:
        return False
    question = f'{context.redact(told).rstrip(" .")}. When it is done, answer "done"; without an answer the run ends here'
    answer = await context.asker.ask("continue", question, secret=False)
    return answer is not None and answer.strip().casefold() not in _DECLINES
