"""The agent's exceptions, by what the caller can do about them.

AgentError
+-- KnowledgeUnavailable       the knowledge server does not answer: retry later
+-- UnknownToKnowledge         the knowledge base has no such document: correct the request
+-- InputMissing               a required input has no value: a person must give one
+-- PersonNeeded               only a person can decide or do what is next
|   |-- ValueRefused           a field does not accept a value: a person must give another
|   |-- UnauthoredSideEffect   the page opened a dialog, tab or download that the step does not mention
|   |-- SignInFailed           what signs in was sent, and nobody is signed in
|   `-- LeftWebsite            the page belongs to another website
+-- SiteUnreachable            the website does not answer
+-- NoKnownScreen              the page is no known screen, and no recovery edge helped
+-- NoPath                     no path leads to the screen
+-- StepFailed                 one step did not achieve what it is for
|   |-- StepRefused            the application refused what the step sent, and says so
|   |-- IteratorStopped        an iterator ended early, with the items done until then
|   `-- SubtaskFailed          a task called by a step failed, or succeeded only in part
+-- JournalWriteRefused        the journal cannot be written, so the action is not performed
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from agent.page.errors import (
    ActionMisused,
    ElementChanged,
    FieldNotForSecrets,
    GateFailed,
    OriginRefused,
    SelectorNotFilled,
    SelectorUnusable,
)

_QUOTED_CHARACTERS = 80
"""Characters of a refused value that the message quotes."""
UNTOUCHED = (
    ActionMisused,
    ElementChanged,
    FieldNotForSecrets,
    GateFailed,
    OriginRefused,
    SelectorNotFilled,
    SelectorUnusable,
)
"""Page errors that are raised before anything is done on the page."""


class AgentError(Exception):
    """Base class of the errors that the agent raises on purpose. `hint` says what to do next."""

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint


class KnowledgeUnavailable(AgentError):
    """The knowledge server does not answer, or its answer cannot be read."""


class UnknownToKnowledge(AgentError):
    """The knowledge base has no such website, task, screen, action or flow."""


class InputMissing(AgentError):
    """Required inputs have no value and there is no person to ask."""

    def __init__(self, task_id: str, inputs: Mapping[str, str]) -> None:
        """`inputs`: name -> description, at least one."""
        named = [f"{name!r} ({about})" if about else repr(name) for name, about in inputs.items()]
        options = " ".join(f"--input {name}=VALUE" for name in inputs)
        super().__init__(
            f"task {task_id!r} needs the input{'s' if len(named) > 1 else ''} {', '.join(named)}",
            hint=f"give {'them' if len(named) > 1 else 'it'} with {options}",
        )
        self.task_id, self.names = task_id, tuple(inputs)


class PersonNeeded(AgentError):
    """Only a person can decide or do this."""


class SignInFailed(PersonNeeded):
    """Everything was entered and sent, and the website does not show a signed-in session. Not tried again: websites lock
    accounts.
    """


class UnauthoredSideEffect(PersonNeeded):
    """The page opened something that the step's author did not mention; it was refused.

    `kind`: `dialog`, `download`, `tab` or `file`.
    """

    def __init__(self, message: str, *, kind: str, hint: str) -> None:
        super().__init__(message, hint=hint)
        self.kind = kind


class LeftWebsite(PersonNeeded):
    """The page belongs to another website: nothing is done or read there."""

    def __init__(self, url: str, origin: str, allowed: frozenset[str]) -> None:
        super().__init__(
            f"the page left the website for {origin}; allowed origins: {', '.join(sorted(allowed))}",
            hint="if this origin belongs to the website, add it to its `allowed_origins`",
        )
        self.url, self.origin, self.allowed = url, origin, allowed


class ValueRefused(PersonNeeded):
    """A field does not accept a value, according to the knowledge base or the page."""

    def __init__(self, field: str, value: str, rule: str, fix: str, *, inputs: Sequence[str] = ()) -> None:
        given = f"; give it with --input {inputs[0]}=VALUE" if inputs else ""
        quoted = value if len(value) <= _QUOTED_CHARACTERS else f"{value[:_QUOTED_CHARACTERS]}…"
        super().__init__(f"{field!r} does not accept {quoted!r} ({rule})", hint=f"{fix}{given}")
        self.field, self.value, self.rule, self.fix, self.inputs = field, value, rule, fix, tuple(inputs)


class SiteUnreachable(AgentError):
    """The website cannot be opened."""

    def __init__(self, url: str, reason: str) -> None:
        super().__init__(f"{url} cannot be opened: {reason}", hint="start the site or correct --base-url")
        self.url = url


class NoKnownScreen(AgentError):
    """The page is no known screen, and every recovery edge failed."""

    def __init__(self, url: str, tried: tuple[str, ...]) -> None:
        what = f"; tried {', '.join(tried)}" if tried else ""
        super().__init__(f"no known screen at {url}{what}", hint="describe this screen in the knowledge base")
        self.url, self.tried = url, tried


class NoPath(AgentError):
    """No path of transitions leads to the screen."""

    def __init__(
        self,
        from_screen: str | None,
        to_screen: str,
        needed: Mapping[str, str] | None = None,
        failures: Mapping[str, str] | None = None,
    ) -> None:
        """`needed`: values without which transitions could not be used: name -> why it is needed. `failures`:
        transitions that did not arrive: id -> why.
        """
        message = f"no path from {from_screen or 'an unknown screen'} to {to_screen}"
        hint = f"give the screen {to_screen!r} a `url`, or add a transition to it"
        if needed:
            reasons = "; ".join(dict.fromkeys(each for each in needed.values() if each))
            message += f" without a value for {' or '.join(map(repr, needed))}"
            message += f" ({reasons})" if reasons else ""
            options = " ".join(f"--input {name}=VALUE" for name in needed)
            hint = f"give {'one of them' if len(needed) > 1 else 'it'} with {options}"
        elif failures:
            hint = "correct the transition, or map the site again"
        tried = "; ".join(f"{name}: {reason}" for name, reason in (failures or {}).items())
        super().__init__(f"{message}; {tried}" if tried else message, hint=hint)


class StepFailed(AgentError):
    """One step of a task failed. `acted`: True if the page was touched before it failed."""

    def __init__(
        self, reason: str, *, error: str = "step_failed", acted: bool = False, hint: str | None = None
    ) -> None:
        super().__init__(reason, hint=hint)
        self.error, self.acted = error, acted


class OtherThingOpened(StepFailed):
    """The website led from the address of the thing that was asked for to that of another one."""

    def __init__(self, opened: str, url: str, asked: str, shown: str) -> None:
        super().__init__(
            f"the website led from {opened} to {url}: {asked!r} was asked for, and {shown!r} is another thing",
            error="other_thing",
            hint=f"look whether {asked!r} has another name there, and run it with that; nothing was sent",
        )


class StepRefused(StepFailed):
    """The application refused what the step sent. The message quotes it."""

    def __init__(
        self,
        reason: str,
        *,
        did_not_happen: bool,
        status: int | None = None,
        server_error: bool = False,
        said: str = "",
    ) -> None:
        """`did_not_happen`: the page says so for sure. `status`: HTTP status of the refused write. `said`: its words."""
        super().__init__(reason, error="refused", acted=True)
        self.did_not_happen, self.status, self.server_error = did_not_happen, status, server_error
        self.said = said


class IteratorStopped(StepFailed):
    """An iterator stopped early. The items done until then stay done."""

    def __init__(
        self, reason: str, *, error: str, done: int, left: int | None = None, failed: int = 0
    ) -> None:
        super().__init__(reason, error=error, acted=True)
        self.done, self.left, self.failed = done, left, failed
        """Items dealt with, items left (None: unknown), and items that failed."""


class SubtaskFailed(StepFailed):
    """A task called by a step failed. `share`: how much of it is done all the same, 0 to 1. `at_end`: every step was
    done, and its success criteria do not hold.
    """

    def __init__(
        self, reason: str, *, share: float = 0.0, hint: str | None = None, at_end: bool = False
    ) -> None:
        super().__init__(reason, error="subtask_failed", acted=True, hint=hint)
        self.share, self.at_end = share, at_end


class JournalWriteRefused(AgentError):
    """The journal entry that must be written before an action cannot be written; nothing is done."""

    def __init__(self, reason: str) -> None:
        super().__init__(
            f"the run's journal cannot be written: {reason}",
            hint="check the run store, then `periplus run --resume`",
        )


def touched_the_page(error: BaseException) -> bool:
    """Return whether something may have happened on the website before the error.

    If so, nothing is repeated without checking. A page error counts as touching the page unless it is one of
    `UNTOUCHED`.
    """
    if isinstance(error, AgentError):
        return bool(getattr(error, "acted", False))
    return not isinstance(error, UNTOUCHED)


def completed_share(error: BaseException) -> float:
    """Return how much is done in spite of the error, 0 to 1: items of a loop, steps of a sub-task."""
    if isinstance(error, SubtaskFailed):
        return error.share
    if isinstance(error, StepFailed) and error.error == "extraction_failed":
        return 0.5  # the step was done, but its output was not found
    if not isinstance(error, IteratorStopped):
        return 0.0
    left = 0 if error.left is None and error.error == "items_failed" else error.left
    if left is None or error.done + left <= 0:
        return 0.0
    return max(0.0, (error.done - error.failed) / (error.done + left))
