"""What is said while something goes wrong on stage, and when a part of the story is left out for it.

Healing and recovery are the engine's; here it is only noticed that they take longer than a moment while
nobody speaks. Sentences are the flow's own, else ours in its language; none comes twice before all did.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

from agent.events import (
    ActionDone,
    Event,
    HealTried,
    Recovered,
    RecoveryTried,
    Replanned,
    StepEnded,
    StepStarted,
    Struggling,
    TaskEnded,
)
from agent.presenting.bridging_words import DEFAULTS, FALLBACK_LANGUAGE
from agent.presenting.records import Narrated, SegmentEnded, SegmentStarted

BridgeKind = Literal["trouble", "slow", "passed_over", "ended"]
"""Something is being put right; the page takes its time; a segment is left out, and it was the last."""


@dataclass(frozen=True, slots=True)
class Bridged(Event):
    """A sentence filled the time, or led on to the next part."""

    lasting: ClassVar[bool] = True

    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class BridgePolicy:
    """How long nobody speaks before somebody should, in seconds."""

    moment_s: float = 1.2
    """Of trouble: shorter, and it looks like a pause for breath."""
    slow_s: float = 6.0
    """Of a step in which nothing is done and nothing is said, without trouble."""
    again_s: float = 9.0
    """After one sentence until the next about the same; longer every time by this factor:"""
    growth: float = 1.5
    most: int = 3
    """Sentences about one trouble: who says more only sounds nervous."""


class Bridge:
    """Listens to a session's bus and speaks where it would be silent for too long.

    Of one show. It speaks in a task of its own, never while somebody else does.
    """

    def __init__(
        self,
        say: Callable[[str], Awaitable[object]],
        *,
        remaining_s: Callable[[], float] = lambda: 0.0,
        held: Callable[[], bool] = lambda: False,
        tell: Callable[[Event], None] = lambda _event: None,
        language: str = FALLBACK_LANGUAGE,
        authored: Mapping[str, tuple[str, ...]] | None = None,
        policy: BridgePolicy | None = None,
        instant: bool = False,
    ) -> None:
        """`say` begins to speak. `remaining_s`: of what is being said. `held`: a visitor has the floor.

        `authored`: sentences by kind, in the flow's language. `instant`: nothing fills time, for there
        is none to fill; only what leads on is said.
        """
        self._say, self._remaining_s, self._held, self._tell = say, remaining_s, held, tell
        self._sentences = sentences_of(language, authored or {})
        self._policy, self._instant = policy or BridgePolicy(), instant
        self._next: dict[str, int] = {}
        self._kind: BridgeKind | None = None
        """What is waited for now: None, where all is well."""
        self._said = 0
        self._timer: asyncio.TimerHandle | None = None
        self._speaking: asyncio.Task[None] | None = None
        self._steps = 0
        self._closed = False

    # -- listening

    def __call__(self, event: Event) -> None:
        """The bus's listener."""
        if self._instant or self._closed:
            return
        match event:
            case Struggling() | Replanned():
                self._worry("trouble")
            case HealTried(outcome=outcome) if outcome != "healed":
                self._worry("trouble")
            case RecoveryTried(outcome="no_help") | Recovered(succeeded=False):
                self._worry("trouble")
            case Narrated() if self._kind is not None and self._said == 0:
                self._wait(self._remaining_s() + self._patience_s(self._kind))
            case StepStarted():
                self._steps += 1
                self._fine()
            case ActionDone(error=None):
                self._fine()
            case StepEnded():
                self._steps = max(0, self._steps - 1)
                self._fine()
            case TaskEnded(depth=0) | SegmentStarted() | SegmentEnded():
                self._steps = 0
                self._fine()

    def _worry(self, kind: BridgeKind) -> None:
        """It begins, or goes on: only what is worse than before counts anew."""
        if self._kind != kind:
            self._kind, self._said = kind, 0
            self._wait(self._remaining_s() + self._patience_s(kind))

    def _fine(self) -> None:
        """All is well; within a step one goes on to watch how long nothing happens."""
        self._kind = None
        self._stop_timer()
        if self._steps:
            self._worry("slow")

    def _patience_s(self, kind: BridgeKind) -> float:
        return self._policy.moment_s if kind == "trouble" else self._policy.slow_s

    def _wait(self, seconds: float) -> None:
        self._stop_timer()
        self._timer = asyncio.get_running_loop().call_later(seconds, self._due)

    def _due(self) -> None:
        """The time is up: speak, unless somebody does, or should."""
        self._timer = None
        kind, policy = self._kind, self._policy
        if kind is None or self._closed or self._said >= policy.most:
            return
        remaining = self._remaining_s()
        if remaining > 0 or self._held():
            self._wait(remaining + self._patience_s(kind))
            return
        self._said += 1
        self._speaking = asyncio.create_task(self._speak(kind), name="bridge")
        self._speaking.add_done_callback(_ignored)
        self._wait(policy.again_s * policy.growth ** (self._said - 1))

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    # -- speaking

    async def _speak(self, kind: BridgeKind) -> None:
        text = self.sentence(kind)
        self._tell(Bridged(kind, text))
        await self._say(text)

    def sentence(self, kind: BridgeKind) -> str:
        """The next one of its kind."""
        of_kind = self._sentences[kind]
        number = self._next.get(kind, 0)
        self._next[kind] = number + 1
        return of_kind[number % len(of_kind)]

    @property
    def sentences(self) -> tuple[str, ...]:
        """All there are, for whoever speaks to have them ready."""
        return tuple(dict.fromkeys(text for of_kind in self._sentences.values() for text in of_kind))

    async def pass_over(self, *, last: bool = False) -> None:
        """A segment could not be saved: say so with grace, and lead on. `last`: nothing comes after it."""
        self._steps = 0
        self._fine()
        await self._speak("ended" if last else "passed_over")

    def close(self) -> None:
        """The show is over: nothing more is said. Safe to repeat."""
        self._closed = True
        self._stop_timer()
        if self._speaking is not None:
            self._speaking.cancel()


def sentences_of(language: str, authored: Mapping[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    """Sentences by kind: those of the flow, else ours in the language, else in English.

    >>> sentences_of("de-AT", {"slow": ("Gleich!",)})["slow"]
    ('Gleich!',)
    """
    ours = DEFAULTS.get(language.partition("-")[0].lower(), DEFAULTS[FALLBACK_LANGUAGE])
    return {kind: tuple(authored.get(kind, ())) or ours[kind] for kind in ours}


def _ignored(task: asyncio.Task[None]) -> None:
    """Whatever it was: the show goes on without that sentence, and meets the same where it matters."""
    if not task.cancelled():
        task.exception()
