"""What can go wrong while guiding, by what the caller can do about it.

AgentError
+-- KnowledgeUnavailable   the desk does not answer: retry later
+-- NotInKnowledge         the knowledge has no such thing: correct the request
+-- InputMissing           a person must give a value
+-- PersonNeeded           the engine cannot tell and will not guess
|   |-- ValueRefused       a field does not take a value: a person must give another
|   |-- NotAuthored        the page asked or opened something that nobody said what to do about
|   `-- LedAway            the page is one of another website
+-- SiteUnreachable        the website does not answer
+-- Lost                   no known screen, and no recovery helped
+-- NoWay                  no path leads there
+-- StepFailed             one step did not do what it is for
|   |-- LoopStopped        an iterator ended before its end, with what it did until then
|   `-- SubtaskFailed      a task within the task did not come off, or not all of it
+-- NotKept                what must be written down before acting cannot be
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from agent.page.errors import (
    ActionMisused,
    ElementChanged,
    GateFailed,
    OriginRefused,
    SelectorNotFilled,
    SelectorUnusable,
)

_VALUE_TOLD = 80
"""Characters of a refused value that are told."""
UNTOUCHED = (ActionMisused, ElementChanged, GateFailed, OriginRefused, SelectorNotFilled, SelectorUnusable)
"""Errors of the page layer that come before anything is done."""


class AgentError(Exception):
    """Base of everything the agent raises on purpose. `hint` says what to do next."""

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint


class KnowledgeUnavailable(AgentError):
    """The MCP session is gone or answered with something unreadable."""


class NotInKnowledge(AgentError):
    """The knowledge base has no such website, task, screen, action or flow."""


class InputMissing(AgentError):
    """Required inputs have no value and nobody could be asked."""

    def __init__(self, task_id: str, inputs: Mapping[str, str]) -> None:
        """`inputs`: name -> description, at least one."""
        told = [f"{name!r} ({about})" if about else repr(name) for name, about in inputs.items()]
        options = " ".join(f"--input {name}=VALUE" for name in inputs)
        super().__init__(
            f"task {task_id!r} needs the input{'s' if len(told) > 1 else ''} {', '.join(told)}",
            hint=f"give {'them' if len(told) > 1 else 'it'} with {options}",
        )
        self.task_id, self.names = task_id, tuple(inputs)


class PersonNeeded(AgentError):
    """Something only a person can decide or do."""


class NotAuthored(PersonNeeded):
    """The page did something that the knowledge does not say what to do about: it was refused.

    `kind`: `dialog`, `download`, `tab` or `file`.
    """

    def __init__(self, message: str, *, kind: str, hint: str) -> None:
        super().__init__(message, hint=hint)
        self.kind = kind


class LedAway(PersonNeeded):
    """The page is one of another website: nothing is done or read there."""

    def __init__(self, url: str, origin: str, allowed: frozenset[str]) -> None:
        super().__init__(
            f"led away to {origin}, which is not among the allowed origins: {', '.join(sorted(allowed))}",
            hint="if it belongs to the website, add it to its `allowed_origins`",
        )
        self.url, self.origin, self.allowed = url, origin, allowed


class ValueRefused(PersonNeeded):
    """A field does not take a value, as the knowledge or the page says."""

    def __init__(self, field: str, value: str, rule: str, fix: str, *, inputs: Sequence[str] = ()) -> None:
        given = f"; give it with --input {inputs[0]}=VALUE" if inputs else ""
        told = value if len(value) <= _VALUE_TOLD else f"{value[:_VALUE_TOLD]}…"
        super().__init__(f"{field!r} does not take {told!r} ({rule})", hint=f"{fix}{given}")
        self.field, self.value, self.rule, self.fix, self.inputs = field, value, rule, fix, tuple(inputs)


class SiteUnreachable(AgentError):
    """The website cannot be opened."""

    def __init__(self, url: str, reason: str) -> None:
        super().__init__(f"{url} cannot be opened: {reason}", hint="start the site or correct --base-url")
        self.url = url


class Lost(AgentError):
    """The page is no known screen and every way out failed."""

    def __init__(self, url: str, tried: tuple[str, ...]) -> None:
        what = f"; tried {', '.join(tried)}" if tried else ""
        super().__init__(f"no known screen at {url}{what}", hint="describe this screen in the knowledge base")
        self.url, self.tried = url, tried


class NoWay(AgentError):
    """No sequence of transitions leads to the screen."""

    def __init__(self, from_screen: str | None, to_screen: str) -> None:
        super().__init__(
            f"no way from {from_screen or 'here'} to {to_screen}",
            hint=f"give the screen {to_screen!r} a `url`, or add a transition to it",
        )


class StepFailed(AgentError):
    """One step of a task failed. `acted` tells whether the page was touched before it did."""

    def __init__(self, reason: str, *, error: str = "step_failed", acted: bool = False) -> None:
        super().__init__(reason)
        self.error, self.acted = error, acted


class LoopStopped(StepFailed):
    """An iterator stopped early. What it had done until then stays done."""

    def __init__(
        self, reason: str, *, error: str, done: int, left: int | None = None, failed: int = 0
    ) -> None:
        super().__init__(reason, error=error, acted=True)
        self.done, self.left, self.failed = done, left, failed
        """Items dealt with, still to come (None: not known), and gone wrong."""


class SubtaskFailed(StepFailed):
    """A task within the task did not come off. `share` says how much of it did all the same, 0 to 1."""

    def __init__(self, reason: str, *, share: float = 0.0) -> None:
        super().__init__(reason, error="subtask_failed", acted=True)
        self.share = share


class NotKept(AgentError):
    """The journal does not take what is about to be done: it is not done."""

    def __init__(self, reason: str) -> None:
        super().__init__(
            f"the run cannot be written down: {reason}", hint="see to the store, then `periplus run --resume`"
        )


def touched_the_page(error: BaseException) -> bool:
    """Whether something may have happened on the site before the error: then nothing is repeated
    blindly. An error of the page counts as having happened unless it is one that comes before.
    """
    if isinstance(error, AgentError):
        return bool(getattr(error, "acted", False))
    return not isinstance(error, UNTOUCHED)


def share_of(error: BaseException) -> float:
    """How much of what was to be done is there in spite of the error: items of a loop, steps of a task."""
    if isinstance(error, SubtaskFailed):
        return error.share
    if isinstance(error, StepFailed) and error.error == "extraction_failed":
        return 0.5  # it was done, and what it was to give was not found
    if not isinstance(error, LoopStopped):
        return 0.0
    left = 0 if error.left is None and error.error == "items_failed" else error.left
    if left is None or error.done + left <= 0:
        return 0.0
    return max(0.0, (error.done - error.failed) / (error.done + left))
