"""What the agent tells while it works: plain values on an in-process bus.

The live view, the trace and the report all listen here; nothing listens back.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar


@dataclass(frozen=True, slots=True)
class Event:
    """Base of all events."""

    personal: ClassVar[frozenset[str]] = frozenset()
    """Fields with a visitor's own words, or with what tells who that is."""
    lasting: ClassVar[bool] = False
    """Whether it is kept as long as its run, for whoever asks what visitors made of a demo."""


@dataclass(frozen=True, slots=True)
class ScreenSeen(Event):
    """A page was identified."""

    screen_id: str | None
    name: str | None
    confidence: float
    url: str


@dataclass(frozen=True, slots=True)
class DialogAnswered(Event):
    """The page put a dialog up (`alert`, `confirm`, `prompt`, `beforeunload`)."""

    kind: str
    message: str
    accepted: bool


@dataclass(frozen=True, slots=True)
class TaskStarted(Event):
    """A task begins; `depth` 0 is the one that was asked for."""

    task_id: str
    name: str
    depth: int


@dataclass(frozen=True, slots=True)
class TaskEnded(Event):
    """A task is over."""

    task_id: str
    status: str
    depth: int


@dataclass(frozen=True, slots=True)
class StepStarted(Event):
    """A step begins; `narration` is what its author would say."""

    task_id: str
    step_id: str
    number: int
    total: int
    action_type: str
    narration: str | None
    depth: int


@dataclass(frozen=True, slots=True)
class StepEnded(Event):
    """A step is over: `done`, `skipped` or `failed`."""

    task_id: str
    step_id: str
    status: str
    duration_ms: float
    error: str | None = None


@dataclass(frozen=True, slots=True)
class ActionDone(Event):
    """One action on the page, with all a trace needs. Secrets are already taken out."""

    action_type: str
    target: Any
    args: dict[str, Any]
    url_before: str
    url_after: str
    html_before: str | None
    """None where no listener wants it."""
    html_after: str | None
    duration_ms: float
    error: str | None = None
    metadata: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class TransitionTaken(Event):
    """An edge was followed and one arrived (or not)."""

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
    """A step failed by everything its task says; another approach is tried."""

    task_id: str
    step_id: str
    approach: str
    """The strategy: `other_selector`, `other_path`, `other_task`, `recovery_edge`, ..."""
    detail: str
    attempt: int
    """Which replan of the step it is, from 1."""


@dataclass(frozen=True, slots=True)
class RecoveryTried(Event):
    """A recovery that the knowledge names was carried out for a step that failed."""

    task_id: str
    step_id: str
    error: str
    """What the error is called, most tellingly."""
    recovery: str
    outcome: str
    """`again`, `back`, `done`, `skip`, `stop`, `no_help`."""


@dataclass(frozen=True, slots=True)
class OverlayDismissed(Event):
    """Something that was in the way is gone."""

    overlay_id: str


@dataclass(frozen=True, slots=True)
class Struggling(Event):
    """Something did not work as it is known, and is about to be put right: it may take a while."""

    about: str
    """`healing`, `recovering`."""
    what: str
    """The element, the error or the screen it is about."""


@dataclass(frozen=True, slots=True)
class HealTried(Event):
    """One round of bringing an element back (PACTS `heal_events`)."""

    element: str
    """`screen.element`, or the selector in short."""
    round: int
    actions: tuple[str, ...]
    """What was done: `scrolled`, `dismissed Close`, `waited for idle`, `compared 34 elements`, ..."""
    outcome: str
    """`healed`, `ambiguous`, `not_found`, `rejected`."""
    score: float | None
    """How alike the element found and the one known are."""
    duration_ms: float
    reason: str
    lead: float | None = None
    """How clearly it is ahead of the next one."""


@dataclass(frozen=True, slots=True)
class ElementUsed(Event):
    """An element of a screen was acted on, and its step came out."""

    screen_id: str
    element_id: str
    strategy: str
    """Which of the selector's strategies led to it."""
    succeeded: bool
    """False: what the step was to bring about was contradicted after a heal."""
    fingerprint: dict[str, Any]
    """`kb_schema.fingerprints.Fingerprint` as JSON; empty where it is not to be learned."""
    healed_selector: dict[str, Any]
    """Another selector that was needed; empty where the known one led to it."""
    score: float | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class InputResolved(Event):
    """An input has its value; never the value itself."""

    task_id: str
    name: str
    source: str


class Bus:
    """Hands every event to every listener, at once and in order, with secrets taken out."""

    def __init__(self, redact: Callable[[Any], Any] = lambda data: data) -> None:
        self._listeners: list[Callable[[Event], None]] = []
        self._redact = redact
        self.pages = False
        """Whether anybody wants to know how pages looked before what was done on them."""

    def listen(self, listener: Callable[[Event], None], *, pages: bool = False) -> None:
        """Add a listener, that wants `html_before` where it says `pages`. It must be quick and must not
        raise.
        """
        self._listeners.append(listener)
        self.pages = self.pages or pages

    def tell(self, event: Event) -> None:
        """Tell everybody."""
        told = {
            field.name: self._redact(getattr(event, field.name))
            for field in fields(event)
            if isinstance(getattr(event, field.name), str | dict | list | tuple)
        }
        event = replace(event, **told)
        for listener in self._listeners:
            listener(event)
