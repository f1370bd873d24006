"""The one door to a language model (DESIGN 2, *inferencer*). Everything works without one.

`Inferencer` is what the rest of the agent asks for; `ModelInferencer` answers it with any model of
pydantic-ai (the extra `llm`), a scripted `FunctionModel` included. Prompts are their callers' business.
"""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING, Protocol

from agent.errors import AgentError

if TYPE_CHECKING:
    from pydantic_ai.models import KnownModelName, Model


class Inferencer(Protocol):
    """Something that answers a prompt with text. Stateless: two calls know nothing of each other."""

    async def infer(self, prompt: str) -> str:
        """The answer to one prompt. Raises `InferenceFailed`."""
        ...


class InferenceFailed(AgentError):
    """The model gave no answer, or one that cannot be read. `retriable`: asking again may help."""

    def __init__(self, reason: str, *, retriable: bool = False, hint: str | None = None) -> None:
        super().__init__(f"no usable answer from the model: {reason}", hint=hint)
        self.reason, self.retriable = reason, retriable


class ModelInferencer:
    """An `Inferencer` on a pydantic-ai model, by its name (`provider:model`) or as an object."""

    def __init__(self, model: Model | KnownModelName | str, *, retries: int = 1) -> None:
        """Raises `InferenceFailed` where the extra, or what the model's provider needs, is not there."""
        if importlib.util.find_spec("pydantic_ai") is None:
            raise InferenceFailed("pydantic-ai is not installed", hint="install the extra `periplus[llm]`")
        from pydantic_ai import Agent  # noqa: PLC0415 - an extra: imported only where it is asked for
        from pydantic_ai.exceptions import UserError  # noqa: PLC0415 - as above

        try:
            self._agent: Agent[None, str] = Agent(model, output_type=str, retries=retries)
        except (UserError, ImportError) as exc:
            raise InferenceFailed(str(exc), hint="see the model's name, settings and key") from exc

    async def infer(self, prompt: str) -> str:
        """Ask once, without history."""
        from pydantic_ai.exceptions import AgentRunError, UserError  # noqa: PLC0415 - as above

        try:
            return (await self._agent.run(prompt)).output
        except UserError as exc:
            raise InferenceFailed(str(exc), hint="see the model's settings and key") from exc
        except AgentRunError as exc:
            raise InferenceFailed(str(exc), retriable=True) from exc
