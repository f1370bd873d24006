"""The interface to a language model. Everything works without one.

`Inferencer` is what the rest of the agent calls. `ModelInferencer` implements it with any model of
pydantic-ai (the extra `llm`), including a scripted `FunctionModel`. Callers write their own prompts.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from agent.errors import AgentError
from kb_schema.action_calls import ActionCall

if TYPE_CHECKING:
    from pydantic_ai.models import KnownModelName, Model


class Inferencer(Protocol):
    """Answers a prompt with text. Calls are independent of each other."""

    async def infer(self, prompt: str) -> str:
        """Return the answer to one prompt. Raises `InferenceFailed`."""
        ...


class InferenceFailed(AgentError):
    """The model gave no answer, or one that cannot be read. `retriable`: a retry may help."""

    def __init__(self, reason: str, *, retriable: bool = False, hint: str | None = None) -> None:
        super().__init__(f"no usable answer from the model: {reason}", hint=hint)
        self.reason, self.retriable = reason, retriable


@dataclass(frozen=True, slots=True)
class ReplanContext:
    """The situation of a failed step, as an inferencer gets it (WR 2.3, 4.2); without secrets."""

    original_goal: str
    completed_steps: tuple[str, ...]
    failed_step: dict[str, Any]
    failure_reason: str
    current_screen: str | None
    current_url: str
    elements: tuple[str, ...] = ()
    """Element ids of the screen that an action may name as its target."""
    accumulated_data: dict[str, Any] = field(default_factory=dict)
    failed_approaches: tuple[str, ...] = ()
    """Approaches that must not be suggested again."""
    attempt_number: int = 1


class ReplanInferencer(Protocol):
    """Suggests actions for a failed step, for example with a language model."""

    async def suggest(self, context: ReplanContext) -> Sequence[ActionCall]:
        """Return actions to take instead of the one that failed, the best first; empty if there is none."""


class ModelInferencer:
    """An `Inferencer` on a pydantic-ai model, given by name (`provider:model`) or as an object."""

    def __init__(self, model: Model | KnownModelName | str, *, retries: int = 1) -> None:
        """Raises `InferenceFailed` if the extra or a package of the model's provider is missing."""
        if importlib.util.find_spec("pydantic_ai") is None:
            raise InferenceFailed("pydantic-ai is not installed", hint="install the extra `periplus[llm]`")
        from pydantic_ai import Agent  # noqa: PLC0415 - an extra: imported only when it is used
        from pydantic_ai.exceptions import UserError  # noqa: PLC0415 - as above

        try:
            self._agent: Agent[None, str] = Agent(model, output_type=str, retries=retries)
        except (UserError, ImportError) as exc:
            raise InferenceFailed(str(exc), hint="check the model's name, settings and key") from exc

    async def infer(self, prompt: str) -> str:
        """Send one prompt, without history."""
        from pydantic_ai.exceptions import AgentRunError, UserError  # noqa: PLC0415 - as above

        try:
            return (await self._agent.run(prompt)).output
        except UserError as exc:
            raise InferenceFailed(str(exc), hint="check the model's settings and key") from exc
        except AgentRunError as exc:
            raise InferenceFailed(str(exc), retriable=True) from exc
