"""What a client is told of an act that did not come off: the page's words first, then what to do about it.

Errors of the engine speak to people who run tasks (`--input`, `periplus run --resume`); a client has neither.
"""

from __future__ import annotations

from collections.abc import Sequence

from agent.errors import InputMissing, StepFailed, StepRefused, UnauthoredSideEffect, ValueRefused
from agent.execution.execution_ports import LoneAction
from agent.page.errors import GateFailed, GatePoint, OptionMissing, PageGone

UNEXPECTED = "if that is meant, call act again with expects: accept, dismiss or new_tab"
UNSURE = "call act again with sure: true if that is meant"
MOST_OPTIONS = 50
_FOR_RUNS = ("periplus run", "--input", "in the step's action", "the knowledge base", "`read_back`")
"""Words of hints that are for those who run tasks."""


def describe_failure(did: str, name: str, alone: LoneAction, error: str, hint: str | None) -> str:
    """Return what to tell of a failed act.

    `did`: action and element, as in `click 'Save'`. `name`: the element's. `error`, `hint`: of the result.
    """
    failure = alone.failure
    said = f"the page says: {alone.said}; " if alone.said and alone.said not in error else ""
    match failure:
        case StepRefused():
            words = failure.said or error
            told = f"the page says: {words}; {did} was refused; correct what it names, then act again"
        case OptionMissing():
            told = f"{name!r} has no option {failure.option!r}; nothing was chosen; its options: {_list(failure.options)}"
        case GateFailed(point=GatePoint.NOT_FOUND):
            told = f"{said}{name!r} is not on the page now; nothing was done; call look"
        case StepFailed(error="postcondition"):
            shows = f"the page does not show what follows it as a rule ({_plain(str(failure))})"
            told = f"{said}{did} was done, but {shows}; look whether it took effect before you repeat it"
        case _:
            told = f"{said}{did} did not come off: {_plain(str(failure or error))}; {_advise(failure, hint)}"
    return told


def _advise(failure: Exception | None, hint: str | None) -> str:
    match failure:
        case UnauthoredSideEffect() if UNSURE not in str(failure):
            return UNEXPECTED
        case ValueRefused():
            return failure.fix
        case InputMissing():
            return f"the server has no secret {', '.join(failure.names)}: a person sets it there"
        case PageGone():
            return "call tabs"
    return hint if hint and not any(words in hint for words in _FOR_RUNS) else "call look"


def _list(options: Sequence[str]) -> str:
    more = len(options) - MOST_OPTIONS
    shown = ", ".join(map(repr, options[:MOST_OPTIONS])) or "none"
    return f"{shown} and {more} more" if more > 0 else shown


def is_only_unexpected(alone: LoneAction) -> bool:
    """Whether it was done, and only what the knowledge base says of what follows does not hold."""
    return isinstance(alone.failure, StepFailed) and alone.failure.error == "postcondition"


def _plain(error: str) -> str:
    return error.removeprefix("step 'act': ").removeprefix("postcondition ")
