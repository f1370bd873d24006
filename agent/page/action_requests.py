"""What an action on a page is asked with, and what it returns: requests, identity checks, results.

`page_actions` performs the requests.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from playwright.async_api import Page

from agent import retry_limits
from agent.page.actionability_gate import GatedElement, GatePolicy, JudgedElement, PassedElement
from agent.page.errors import ActionMisused
from kb_schema.action_calls import DropPlace, Modifier, Place
from kb_schema.fingerprints import Fingerprint
from kb_schema.selectors import Selector


@dataclass(frozen=True, slots=True)
class ActionPace:
    """The pace of typing."""

    key_delay_s: float = 0.0
    """Pause between two keystrokes; 0 inserts the text at once."""


@dataclass(frozen=True, slots=True)
class CheckedElement:
    """What an identity check saw of an element just before the action."""

    fingerprint: Fingerprint | None = None
    """None where a glance at the element showed that nothing about it is new."""
    recognised: bool = False
    """The element was compared with what is known of it and is the same one."""
    agreeing: int = 0
    """Strategies of the selector that lead to this element alone; counted only if the check was asked to."""


class IdentityCheck(Protocol):
    """Compares the element that passed the gate with what is known of it, before anything is done.

    The page layer knows no fingerprints; `agent.healing.identity_check.ElementIdentity` implements this.
    """

    async def check(self, passed: PassedElement, selector: Selector) -> CheckedElement:
        """Return what was seen of the element. Raises `ElementChanged` where it is another element."""


@dataclass(frozen=True, slots=True)
class ActionRequest:
    """One action on a page: what to do, to which element, under which limits."""

    action: str
    """Canonical name of the vocabulary, or an alias."""
    selector: Selector | None = None
    value: str | Sequence[str] | None = None
    url: str | None = None
    pace: ActionPace = field(default_factory=ActionPace)
    timeout_s: float = retry_limits.GATE_TIMEOUT_S
    """The gate's."""
    allowed_origins: frozenset[str] = frozenset()
    """Where the page may be; empty: anywhere."""
    secret: bool = False
    """The value is secret: it needs `allowed_origins`, and is typed through the element's handle only."""
    policy: GatePolicy | None = None
    identity: IdentityCheck | None = None
    """None: the element that passes the gate is acted on without a comparison."""
    modifiers: tuple[Modifier, ...] = ()
    """Keys held down during a click."""
    drop: DropPlace | None = None
    """Where `drag` ends."""
    place: Place | None = None
    """The place in the element that a click presses, in fractions of its width and height. None: where it shows."""
    secret_fields_only: bool = False
    """A secret goes only into a field that is one for secrets by its type, autocomplete or names."""
    look_before: Callable[[PassedElement], Awaitable[None]] | None = None
    """Reads the page right before the press, once the element was checked."""
    keep_secret: Callable[[str], None] | None = None
    """Is told what a field made of a secret, such as its beginning."""


@dataclass(frozen=True, slots=True)
class ActionOrder:
    """A request as its performer gets it: with the page, and the element that passed the gate."""

    page: Page
    action: str
    """The canonical name."""
    request: ActionRequest
    target: PassedElement | None = None

    @property
    def passed(self) -> PassedElement:
        """The target. Raises `ActionMisused` where there is none."""
        if self.target is None:
            raise ActionMisused(self.action, "needs an element")
        return self.target

    @property
    def judged(self) -> JudgedElement:
        """The gate's answer for the target."""
        return self.passed.judged

    async def gated(self) -> GatedElement:
        """The target's handles. Raises `ElementVanished` where its document was replaced since."""
        return await self.passed.gated()

    @property
    def pace(self) -> ActionPace:
        """The pace of the request."""
        return self.request.pace

    @property
    def text(self) -> str:
        """The value as one text. Raises `ActionMisused` where there is none."""
        value = self.request.value
        if value is None:
            raise ActionMisused(self.action, "needs a value")
        return value if isinstance(value, str) else "\n".join(value)

    @property
    def texts(self) -> list[str]:
        """The value as a list of texts."""
        value = self.request.value
        return [self.text] if isinstance(value, str | None) else list(value)


@dataclass(frozen=True, slots=True)
class PerformedAction:
    """An action that was done."""

    action: str
    target: str | None
    """Short form of the element (`button#save`)."""
    strategy: str | None
    """The selector strategy that found it."""
    gate_ms: float
    duration_ms: float
    content: str | None = None
    """The text, for actions that read."""
    checked: CheckedElement | None = None
    """What the identity check saw; None where the request has none."""
