"""The values of a run: session values, global values, task outputs, and which of them are secret.

Resolving a task's inputs before its first step is `agent.execution.values.input_resolution`.
"""

from __future__ import annotations

import random
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Protocol

from agent.personal_data import PersonalData
from agent.redaction import Secrets, redact_known
from kb_schema.explorations import Danger


def is_meaningful(value: Any) -> bool:
    """Return whether a value is neither None nor empty (WR 2.1).

    >>> [is_meaningful(each) for each in (0, False, "", None, [], {}, "x")]
    [True, True, False, False, False, False, True]
    """
    return value is not None and value not in ("", [], {}, ())


def merge_values(known: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """Return both mappings merged; an empty new value never replaces a known one."""
    kept = {name: value for name, value in new.items() if is_meaningful(value) or name not in known}
    return {**known, **kept}


class InputProvider(Protocol):
    """A source of missing inputs: a terminal, a visitor or an MCP client."""

    async def ask(self, name: str, prompt: str, *, secret: bool) -> str | None:
        """Return the value, or None if there is no answer."""


class Vault(Protocol):
    """A store of secrets: environment, keyring or file (`agent.execution.values.secret_vaults`)."""

    async def secret(self, name: str) -> tuple[str, str] | None:
        """Return the secret of that name and where it was found, or None.

        Raises `PersonNeeded` if a person must act first, for example unlock a keyring.
        """


class TimestampedValues(dict[str, Any]):
    """Values by name, each with the time it was set (KS 9.12 `ttl_seconds`)."""

    def __init__(
        self, values: Mapping[str, Any] | None = None, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        super().__init__()
        self._clock, self._at = clock, dict[str, float]()
        self.update(values or {})

    def __setitem__(self, name: str, value: Any) -> None:
        super().__setitem__(name, value)
        self._at[name] = self._clock()

    def put(self, name: str, value: Any, *, age_s: float) -> None:
        """Set a value that is some seconds old."""
        super().__setitem__(name, value)
        self._at[name] = self._clock() - age_s

    def update(self, *others: Any, **values: Any) -> None:
        """Set values, as of any mapping; each gets the present time."""
        for name, value in dict(*others, **values).items():
            self[name] = value

    def setdefault(self, name: str, default: Any = None) -> Any:
        """As of any mapping."""
        if name not in self:
            self[name] = default
        return self[name]

    def age(self, name: str) -> float:
        """Return the seconds since the value was set."""
        return self._clock() - self._at[name]


@dataclass(frozen=True, slots=True)
class CachedValue:
    """A value with the time it was obtained, for inputs of medium volatility."""

    value: Any
    at: float


@dataclass
class RunContext:
    """Everything that outlives one task of a session."""

    session: dict[str, Any] = field(default_factory=TimestampedValues)
    """KS `session_context`: values that segments and tasks persist."""
    global_values: dict[str, Any] = field(default_factory=TimestampedValues)
    """KS `global_context`: defaults of the website and of the user."""
    outputs: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Task id -> its latest outputs."""
    succeeded: set[str] = field(default_factory=set)
    """Ids of the tasks that succeeded in this session."""
    cache: dict[tuple[str, str], CachedValue] = field(default_factory=dict)
    """(task id, input) -> value, by volatility."""
    said: dict[str, Any] = field(default_factory=dict)
    """Values a person gave in advance (KS `user_input`): on the command line or in conversation."""
    task_values: dict[str, Any] = field(default_factory=dict)
    """The values of the task under way."""
    vault: Vault | None = None
    """Source of secrets; None: secrets come from the ordinary sources."""
    one_time_inputs: set[tuple[str, str]] = field(default_factory=set)
    """(task id, input) of values that are valid for one period: fetched again at the step that types them."""
    secrets: Secrets = field(default_factory=Secrets)
    redacts_known: bool = False
    """Whether the secrets of other sessions of this process are redacted, too: where a browser goes from one website to another."""
    personal: PersonalData = field(default_factory=PersonalData)
    """A visitor's words and name."""
    rng: random.Random = field(default_factory=random.Random)
    run_id: str = field(default_factory=lambda: uuid.uuid4().hex[:12])
    asker: InputProvider | None = None
    allowed: frozenset[Danger] = frozenset()
    """Deeds whose question by the browser is agreed to, right after the press of a control that does them."""

    def known_values(self) -> dict[str, Any]:
        """Return every value that navigation may use; those of the task under way go first."""
        return {**self.global_values, **self.session, **self.said, **self.task_values}

    def keep_secret(self, value: Any) -> None:
        """Register a value that must never be written anywhere."""
        self.secrets.keep(value)

    def redact(self, data: Any) -> Any:
        """Return JSON data with every secret replaced, in each of its spellings."""
        data = self.secrets.redact(data)
        return redact_known(data) if self.redacts_known else data

    def redact_kept(self, data: Any) -> Any:
        """The same for data that is stored: also without a visitor's words and name."""
        return self.personal.redact(self.redact(data))

    def keep_outputs(self, task_id: str, outputs: Mapping[str, Any], lasting: str) -> None:
        """Keep a task's outputs for later tasks (KS 9.1 `context_persistence`).

        `lasting`: `task`, `session` or `global`. In the session and global values an empty value never
        replaces a known one.
        """
        self.outputs.pop(task_id, None)  # the latest outputs are searched first
        self.outputs[task_id] = TimestampedValues(outputs, clock=self.clock)
        if lasting == "task":
            return
        target = self.global_values if lasting == "global" else self.session
        target.update(
            {name: value for name, value in outputs.items() if is_meaningful(value) or name not in target}
        )

    def forget_fetched(self, task_id: str) -> None:
        """Drop the cached inputs of a task that failed: one of them may be the cause."""
        for key in [each for each in self.cache if each[0] == task_id]:
            del self.cache[key]

    def clock(self) -> float:
        """Monotonic seconds."""
        return time.monotonic()

    def built_ins(self, *, website_id: str, base_url: str, screen_id: str | None, url: str) -> dict[str, Any]:
        """Return the variables that every run has (`kb_schema.rules.context_first.BUILT_INS`)."""
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
