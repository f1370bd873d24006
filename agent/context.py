"""The values a run works with: session, global, outputs of tasks, and which of them are secret.

Resolving a task's inputs before its first step is `agent.engine.inputs`.
"""

from __future__ import annotations

import random
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Protocol

from agent.personal import Personal
from agent.redaction import Secrets
from agent.resilience.ledger import meaningful


class Asker(Protocol):
    """Whoever can give a missing input: a terminal, a visitor, an MCP client."""

    async def ask(self, name: str, prompt: str, *, secret: bool) -> str | None:
        """The value, or None where nobody answers."""


class Vault(Protocol):
    """Where secrets are kept: the environment, a keyring, a file (`agent.inputs.vaults`)."""

    async def secret(self, name: str) -> tuple[str, str] | None:
        """The secret of that name and what it was found in; None where there is none.

        Raises `PersonNeeded` where a person must see to it first.
        """


class Shelf(dict[str, Any]):
    """Values by name that know when they were put there (KS 9.12 `ttl_seconds`)."""

    def __init__(
        self, values: Mapping[str, Any] | None = None, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        super().__init__()
        self._clock, self._at = clock, dict[str, float]()
        self.update(values or {})

    def __setitem__(self, name: str, value: Any) -> None:
        super().__setitem__(name, value)
        self._at[name] = self._clock()

    def update(self, *others: Any, **values: Any) -> None:
        """As of any mapping; what is put there is new."""
        for name, value in dict(*others, **values).items():
            self[name] = value

    def setdefault(self, name: str, default: Any = None) -> Any:
        """As of any mapping."""
        if name not in self:
            self[name] = default
        return self[name]

    def age(self, name: str) -> float:
        """Seconds since the value was put there."""
        return self._clock() - self._at[name]


@dataclass(frozen=True, slots=True)
class Cached:
    """A value with the time it was got, for inputs of medium volatility."""

    value: Any
    at: float


@dataclass
class Context:
    """Everything that outlives one task of a session."""

    session: dict[str, Any] = field(default_factory=Shelf)
    """KS `session_context`: what segments and tasks persist."""
    global_values: dict[str, Any] = field(default_factory=Shelf)
    """KS `global_context`: defaults of the website and of who runs it."""
    outputs: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Task id -> its last outputs."""
    cache: dict[tuple[str, str], Cached] = field(default_factory=dict)
    """(task id, input) -> value, by volatility."""
    said: dict[str, Any] = field(default_factory=dict)
    """What a person said before anybody asked (KS `user_input`): on the command line, in conversation."""
    vault: Vault | None = None
    """Where secrets are kept; None: they come from where any value comes from."""
    secrets: Secrets = field(default_factory=Secrets)
    personal: Personal = field(default_factory=Personal)
    """What a visitor said, and is called."""
    rng: random.Random = field(default_factory=random.Random)
    run_id: str = field(default_factory=lambda: uuid.uuid4().hex[:12])
    asker: Asker | None = None

    def keep_secret(self, value: Any) -> None:
        """Remember a value that must never be written anywhere."""
        self.secrets.keep(value)

    def redact(self, data: Any) -> Any:
        """JSON data with every secret blotted out, however it is spelt."""
        return self.secrets.redact(data)

    def redact_kept(self, data: Any) -> Any:
        """The same for what is kept on a disk: also without what a visitor said and is called."""
        return self.personal.redact(self.secrets.redact(data))

    def keep_outputs(self, task_id: str, outputs: Mapping[str, Any], lasting: str) -> None:
        """What a task gave, for the tasks after it (KS 9.1 `context_persistence`): `task`, `session`
        or `global`. On a shelf, what says something is never replaced by what says nothing.
        """
        self.outputs.pop(task_id, None)  # the last one is looked at first
        self.outputs[task_id] = Shelf(outputs, clock=self.clock)
        if lasting == "task":
            return
        shelf = self.global_values if lasting == "global" else self.session
        shelf.update(
            {name: value for name, value in outputs.items() if meaningful(value) or name not in shelf}
        )

    def forget_fetched(self, task_id: str) -> None:
        """A task did not come out: what was asked or read for it may have been why."""
        for key in [each for each in self.cache if each[0] == task_id]:
            del self.cache[key]

    def clock(self) -> float:
        """Seconds, monotonic."""
        return time.monotonic()

    def built_ins(self, *, website_id: str, base_url: str, screen_id: str | None, url: str) -> dict[str, Any]:
        """The variables every run has (`kb_schema.rules.context_first.BUILT_INS`)."""
        now = datetime.now(UTC)
        return {
            "website_id": website_id,
            "base_url": base_url,
            "current_screen": screen_id or "",
            "current_url": url,
            "today": now.astimezone().date().isoformat(),
            "now": now.isoformat(timespec="seconds"),
            "run_id": self.run_id,
        }
