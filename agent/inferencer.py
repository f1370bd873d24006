"""The interface to a language model. Everything works without one.

`Inferencer` is what the rest of the agent calls. `ModelInferencer` implements it with any model of
pydantic-ai (the extras `openai`, `anthropic`, `google`, `llm`), including a scripted `FunctionModel`. Every call is
counted and kept within a budget (`agent.language_models`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from agent.errors import AgentError
from agent.language_models.model_budget import ModelBudgetSpent, ModelMeter
from agent.language_models.model_names import ModelUnavailable, open_model
from kb_schema.action_calls import ActionCall

if TYPE_CHECKING:
    from pydantic_ai.models import Model

AnswerT = TypeVar("AnswerT")
REPAIRS = 1
"""How often a model may correct an answer of the wrong form."""


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
    most_attempts: int = 1
    page: str = ""
    """What the page shows, as an outline; empty: it is not to be sent."""


class ReplanInferencer(Protocol):
    """Suggests actions for a failed step, for example with a language model."""

    async def suggest(self, context: ReplanContext) -> Sequence[ActionCall]:
        """Return actions to take instead of the one that failed, the best first; empty if there is none."""


class ModelInferencer:
    """An `Inferencer` on a pydantic-ai model, given by name (`provider:model[@URL]`) or as an object."""

    def __init__(
        self,
        model: Model | str,
        *,
        meter: ModelMeter | None = None,
        key: str | None = None,
        redact: Callable[[str], str] = lambda text: text,
    ) -> None:
        """`meter`: counts the calls; default: one of its own. `key`: for an endpoint with a URL. `redact` takes secrets
        out of what is sent. Raises `InferenceFailed` if the model, its package or its key is missing.
        """
        self.meter = meter or ModelMeter()
        self.redact = redact
        try:
            self._model = open_model(model, key) if isinstance(model, str) else model
        except ModelUnavailable as exc:
            raise InferenceFailed(str(exc), hint=exc.hint) from exc

    async def infer(self, prompt: str) -> str:
        """Send one prompt, without history."""
        return await self.infer_as(prompt, str)

    async def infer_as(self, prompt: str, answer: type[AnswerT], *, label: str = "") -> AnswerT:
        """Return the answer to one prompt in the form of a model, which is checked; one repair is asked for.

        `label`: name and version of the prompt, for records. Raises `InferenceFailed`.
        """
        from pydantic_ai import Agent  # noqa: PLC0415 - an extra: imported only when it is used
        from pydantic_ai.exceptions import AgentRunError, ModelAPIError, UserError  # noqa: PLC0415 - as above

        from agent.language_models.metered_model import MeteredModel  # noqa: PLC0415 - as above

        metered = MeteredModel(self._model, self.meter, prompt=label)
        try:
            agent: Agent[None, AnswerT] = Agent(metered, output_type=answer, retries=REPAIRS)
            return (await agent.run(self.redact(prompt))).output
        except ModelBudgetSpent as exc:
            raise InferenceFailed(str(exc), hint=exc.hint) from exc
        except UserError as exc:
            raise InferenceFailed(str(exc), hint="check the model's settings and key") from exc
        except ModelAPIError as exc:
            raise InferenceFailed(_describe_refusal(exc), retriable=True) from exc
        except AgentRunError as exc:
            raise InferenceFailed(str(exc), retriable=True) from exc


def _describe_refusal(error: Exception) -> str:
    """Return what the provider answered, without the body of a long answer."""
    text = str(error)
    return text if len(text) <= 300 else f"{text[:300]}..."
