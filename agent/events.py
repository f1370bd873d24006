"""Events that the agent publishes while it works: plain values on a bus inside the process.

The live view, the trace and the reports listen. Listeners never answer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar


@dataclass(frozen=True, slots=True)
class Event:
    """Base class of all events."""

    personal: ClassVar[frozenset[str]] = frozenset()
    """Fields that hold a visitor's words or name."""
    lasting: ClassVar[bool] = False
    """True: stored as long as its run, for questions about what visitors did in a demo."""


@dataclass(frozen=True, slots=True)
class ScreenSeen(Event):
    """A page was identified."""

    screen_id: str | None
    name: str | None
    confidence: float
    url: str


@dataclass(frozen=True, slots=True)
class DialogAnswered(Event):
    """The page opened a dialog (`alert`, `confirm`, `prompt`, `beforeunload`)."""

    kind: str
    message: str
    accepted: bool


@dataclass(frozen=True, slots=True)
class TaskStarted(Event):
    """A task begins; depth 0 is the requested task."""

    task_id: str
    name: str
    depth: int


@dataclass(frozen=True, slots=True)
class WorkflowVersionFixed(Event):
    """Everything that a workflow runs was read; it runs in this version."""

    workflow_id: str
    version: str


@dataclass(frozen=True, slots=True)
class TaskEnded(Event):
    """A task ended."""

    task_id: str
    status: str
    depth: int


@dataclass(frozen=True, slots=True)
class StepStarted(Event):
    """A step begins; `narration` is its author's text."""

    task_id: str
    step_id: str
    number: int
    total: int
    action_type: str
    narration: str | None
    depth: int


@dataclass(frozen=True, slots=True)
class StepEnded(Event):
    """A step ended: `done`, `skipped` or `failed`."""

    task_id: str
    step_id: str
    status: str
    duration_ms: float
    error: str | None = None


@dataclass(frozen=True, slots=True)
class ActionDone(Event):
    """One action on the page, with everything a trace needs, without secrets."""

    action_type: str
    target: Any
    args: dict[str, Any]
    url_before: str
    url_after: str
    html_before: str | None
    """None if no listener wants it."""
    html_after: str | None
    duration_ms: float
    error: str | None = None
    metadata: dict[str, Any] | None = None
    """The keys of `kb_schema.step_metadata`."""
    value: str | None = None
    """What the action read from the page."""
    beside: bool = False
    """It was done in a second tab, in which a run only reads: no step of the task."""
    reasoning: str | None = None
    """Why it was done, where a model chose it."""


@dataclass(frozen=True, slots=True)
class AddressOpened(Event):
    """An address was opened on the way to a task or a screen."""

    url: str
    url_before: str
    url_after: str
    html_before: str | None
    """None if no listener wants it."""
    duration_ms: float
    error: str | None = None
    beside: bool = False
    """As of an action: it was opened in a second tab."""


@dataclass(frozen=True, slots=True)
class ActionAnswered(Event):
    """What the last action sent, how the application answered, and what it said if it refused the step."""

    answers: list[dict[str, Any]]
    """Method, address without query values, and HTTP status of each write."""
    refusal: str | None = None


@dataclass(frozen=True, slots=True)
class TransitionTaken(Event):
    """A transition was performed; `arrived`: its target screen appeared."""

    transition_id: str
    from_screen: str
    to_screen: str
    arrived: bool
    duration_ms: float


@dataclass(frozen=True, slots=True)
class Recovered(Event):
    """A recovery edge was tried."""

    recovery_id: str
    to_screen: str
    succeeded: bool


@dataclass(frozen=True, slots=True)
class Replanned(Event):
    """A step failed after its retries and authored recoveries; another approach is tried."""

    task_id: str
    step_id: str
    approach: str
    """The strategy: `other_selector`, `other_path`, `other_task`, `recovery_edge`, ..."""
    detail: str
    attempt: int
    """Number of the replan of this step, from 1."""


@dataclass(frozen=True, slots=True)
class RecoveryTried(Event):
    """A recovery named by the knowledge base was applied to a failed step."""

    task_id: str
    step_id: str
    error: str
    """The most specific name of the error."""
    recovery: str
    outcome: str
    """`again`, `back`, `done`, `skip`, `stop`, `no_help`."""


@dataclass(frozen=True, slots=True)
class OverlayDismissed(Event):
    """An overlay was closed."""

    overlay_id: str


@dataclass(frozen=True, slots=True)
class Struggling(Event):
    """Something failed and is about to be repaired, which may take a while."""

    about: str
    """`healing`, `recovering`."""
    what: str
    """The element, error or screen."""


@dataclass(frozen=True, slots=True)
class HealTried(Event):
    """One round of finding an element again (PACTS `heal_events`)."""

    element: str
    """`screen.element`, or the selector in short form."""
    round: int
    actions: tuple[str, ...]
    """What was done: `scrolled`, `dismissed Close`, `waited for idle`, `compared 34 elements`, ..."""
    outcome: str
    """`healed`, `ambiguous`, `not_found`, `rejected`."""
    score: float | None
    """Similarity of the element found and the known one."""
    duration_ms: float
    reason: str
    lead: float | None = None
    """By how much its score exceeds that of the next candidate."""


@dataclass(frozen=True, slots=True)
class ElementUsed(Event):
    """An element was acted on and the outcome of its step is known."""

    screen_id: str
    """Empty for an element that a step names by its own selector: `task_id` and `step_id` name that step."""
    element_id: str
    strategy: str
    """The strategy of the selector that found it."""
    succeeded: bool
    """False: the step's postcondition was contradicted after healing."""
    fingerprint: dict[str, Any]
    """`kb_schema.fingerprints.Fingerprint` as JSON; empty if it is not to be learned."""
    healed_selector: dict[str, Any]
    """Another selector that was needed; empty if the known one worked."""
    score: float | None = None
    reason: str = ""
    task_id: str = ""
    step_id: str = ""


@dataclass(frozen=True, slots=True)
class InputResolved(Event):
    """An input has its value. The event never holds the value itself."""

    task_id: str
    name: str
    source: str


class EventBus:
    """Passes every event to every listener, synchronously and in order, without secrets."""

    def __init__(self, redact: Callable[[Any], Any] = lambda data: data) -> None:
        self._listeners: list[Callable[[Event], None]] = []
        self._redact = redact
        self.pages = False
        """True if a listener wants the HTML of pages before actions."""

    def listen(self, listener: Callable[[Event], None], *, pages: bool = False) -> None:
        """Add a listener. It must be quick and must not raise. `pages`: it wants `html_before`."""
        self._listeners.append(listener)
        self.pages = self.pages or pages

    def forget(self, listener: Callable[[Event], None]) -> None:
        """Remove a listener."""
        self._listeners.remove(listener)

    def tell(self, event: Event) -> None:
        """Pass an event to all listeners."""
        redacted = {
            field.name: self._redact(getattr(event, field.name))
            for field in fields(event)
            if isinstance(getattr(event, field.name), str | dict | list | tuple)
        }
        event = replace(event, **redacted)
        for listener in self._listeners:
            listener(event)
