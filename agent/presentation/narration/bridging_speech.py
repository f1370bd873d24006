"""Speaks bridging sentences while a problem is being solved, and when a segment is skipped because of one.

The engine heals and recovers. This module only notices that it takes longer than a moment of silence. The
sentences are those of the flow, otherwise the defaults in its language. None is repeated before all of its
kind were used.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar

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
from agent.presentation.narration.bridging_sentences import DEFAULTS, FALLBACK_LANGUAGE
from agent.presentation.presentation_records import Narrated, SegmentEnded, SegmentStarted
from kb_schema.presentation_flows import BridgeKind


@dataclass(frozen=True, slots=True)
class Bridged(Event):
    """A bridging sentence was spoken."""

    lasting: ClassVar[bool] = True

    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class BridgingPolicy:
    """How long silence may last, in seconds, and how often bridging sentences are spoken."""

    moment_s: float = 1.2
    """Silence during a problem. Anything shorter sounds like a pause for breath."""
    slow_s: float = 6.0
    """Silence within a step without a problem in which no action ends."""
    again_s: float = 9.0
    """Time from one sentence to the next about the same problem; it grows by `growth` each time."""
    growth: float = 1.5
    most: int = 3
    """Most sentences about one problem; more would sound nervous."""


class BridgingSpeaker:
    """Listens to a session's event bus and speaks when silence would last too long.

    It serves one presentation, speaks in a task of its own, and never during other speech.
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
        policy: BridgingPolicy | None = None,
        instant: bool = False,
    ) -> None:
        """`say` starts an utterance. `remaining_s`: remaining seconds of the current utterance. `held`:
        whether a visitor is being handled.

        `authored`: sentences by kind, in the flow's language. `instant`: no time passes, so only sentences
        that lead to the next segment are spoken.
        """
        self._say, self._remaining_s, self._held, self._tell = say, remaining_s, held, tell
        self._sentences = collect_bridging_sentences(language, authored or {})
        self._policy, self._instant = policy or BridgingPolicy(), instant
        self._next: dict[str, int] = {}
        self._kind: BridgeKind | None = None
        """Kind of the current problem; None: there is none."""
        self._spoken_count = 0
        self._timer: asyncio.TimerHandle | None = None
        self._speaking: asyncio.Task[None] | None = None
        self._steps = 0
        self._closed = False

    # -- listening

    def __call__(self, event: Event) -> None:
        """Event bus listener."""
        if self._instant or self._closed:
            return
        match event:
            case Struggling() | Replanned():
                self._begin_problem("trouble")
            case HealTried(outcome=outcome) if outcome != "healed":
                self._begin_problem("trouble")
            case RecoveryTried(outcome="no_help") | Recovered(succeeded=False):
                self._begin_problem("trouble")
            case Narrated() if self._kind is not None and self._spoken_count == 0:
                self._start_timer(self._remaining_s() + self._longest_silence_s(self._kind))
            case StepStarted():
                self._steps += 1
                self._end_problem()
            case ActionDone(error=None):
                self._end_problem()
            case StepEnded():
                self._steps = max(0, self._steps - 1)
                self._end_problem()
            case TaskEnded(depth=0) | SegmentStarted() | SegmentEnded():
                self._steps = 0
                self._end_problem()

    def _begin_problem(self, kind: BridgeKind) -> None:
        """Start or continue a problem. Only a change of its kind restarts the timer."""
        if self._kind != kind:
            self._kind, self._spoken_count = kind, 0
            self._start_timer(self._remaining_s() + self._longest_silence_s(kind))

    def _end_problem(self) -> None:
        """End the problem. Within a step, keep watching for inactivity."""
        self._kind = None
        self._stop_timer()
        if self._steps:
            self._begin_problem("slow")

    def _longest_silence_s(self, kind: BridgeKind) -> float:
        return self._policy.moment_s if kind == "trouble" else self._policy.slow_s

    def _start_timer(self, seconds: float) -> None:
        self._stop_timer()
        self._timer = asyncio.get_running_loop().call_later(seconds, self._on_timer)

    def _on_timer(self) -> None:
        """Timer callback: speak, unless there is other speech or a visitor's request."""
        self._timer = None
        kind, policy = self._kind, self._policy
        if kind is None or self._closed or self._spoken_count >= policy.most:
            return
        remaining = self._remaining_s()
        if remaining > 0 or self._held():
            self._start_timer(remaining + self._longest_silence_s(kind))
            return
        self._spoken_count += 1
        self._speaking = asyncio.create_task(self._speak(kind), name="bridge")
        self._speaking.add_done_callback(_ignore_failure)
        self._start_timer(policy.again_s * policy.growth ** (self._spoken_count - 1))

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
        """Return the next sentence of a kind."""
        of_kind = self._sentences[kind]
        number = self._next.get(kind, 0)
        self._next[kind] = number + 1
        return of_kind[number % len(of_kind)]

    @property
    def sentences(self) -> tuple[str, ...]:
        """All sentences, so that they can be synthesised ahead."""
        return tuple(dict.fromkeys(text for of_kind in self._sentences.values() for text in of_kind))

    async def pass_over(self, *, last: bool = False) -> None:
        """Say that a segment was skipped and lead to the next one. `last`: there is no next one."""
        self._steps = 0
        self._end_problem()
        await self._speak("ended" if last else "passed_over")

    def close(self) -> None:
        """End the presentation's bridging. May be called again."""
        self._closed = True
        self._stop_timer()
        if self._speaking is not None:
            self._speaking.cancel()


def collect_bridging_sentences(
    language: str, authored: Mapping[str, tuple[str, ...]]
) -> dict[str, tuple[str, ...]]:
    """Return sentences by kind: those of the flow, otherwise the defaults in the language, otherwise in
    English.

    >>> collect_bridging_sentences("de-AT", {"slow": ("Gleich!",)})["slow"]
    ('Gleich!',)
    """
    ours = DEFAULTS.get(language.partition("-")[0].lower(), DEFAULTS[FALLBACK_LANGUAGE])
    return {kind: tuple(authored.get(kind, ())) or ours[kind] for kind in ours}


def _ignore_failure(task: asyncio.Task[None]) -> None:
    """Ignore a failed sentence: the presentation continues without it, and a lasting problem will fail the
    segment itself.
    """
    if not task.cancelled():
        task.exception()
