"""A model of pydantic-ai whose every request is checked against a budget, counted, priced, traced and kept."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, NoReturn
from urllib.parse import urlsplit

from genai_prices import calc_price
from pydantic_ai.exceptions import (
    ModelAPIError,
    ModelConnectionError,
    ModelHTTPError,
    ModelRateLimitError,
    ModelServerError,
    ModelUnavailableError,
    UnexpectedModelBehavior,
)
from pydantic_ai.messages import ModelMessagesTypeAdapter
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.settings import ModelSettings
from pydantic_ai.usage import RequestUsage

from agent.language_models.model_budget import ModelMeter
from agent.telemetry import span
from kb_schema.model_use import ModelCall, ModelUse

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage, ModelResponse
    from pydantic_ai.models import Model, ModelRequestParameters

MOST_ANSWER = 4_000
"""Tokens of one answer."""
REQUEST_S = 60.0
ATTEMPTS = 3
"""Requests for one answer, if the provider is busy or not reachable; each counts as a call."""
LONGEST_WAIT_S = 20.0
"""The longest wait that a provider may ask for before it is asked again."""
USUAL_WAIT_S = 1.0
_AGAIN = (ModelRateLimitError, ModelServerError, ModelUnavailableError, ModelConnectionError)
_HERE = ("127.0.0.1", "localhost", "::1")
_ENDED = "the call was ended before it was answered"


class MeteredModel(WrapperModel):
    """Wraps a model: no request leaves that its meter has not reserved, and none is repeated by the provider's own
    package.
    """

    def __init__(
        self,
        wrapped: Model,
        meter: ModelMeter,
        *,
        prompt: str = "",
        wait: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """`prompt`: the label of the prompt, for records. `wait`: waits for the seconds a busy provider asks for."""
        super().__init__(wrapped)
        self._meter, self._prompt, self._wait = meter, prompt, wait

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        """Send a request; up to `ATTEMPTS` times if the provider is busy. Raises `ModelBudgetSpent` before it sends."""
        attempt = 1
        while True:
            try:
                return await self._send(messages, model_settings, model_request_parameters)
            except _AGAIN as exc:
                wait_s = USUAL_WAIT_S * attempt if exc.retry_after is None else exc.retry_after
                if attempt == ATTEMPTS or wait_s > LONGEST_WAIT_S:
                    raise
                await self._wait(wait_s)
            attempt += 1

    def request_stream(self, *_: Any, **__: Any) -> NoReturn:
        """Refuse: a streamed request would not be counted."""
        raise NotImplementedError("answers are not streamed")

    async def _send(
        self, messages: list[ModelMessage], given: ModelSettings | None, parameters: ModelRequestParameters
    ) -> ModelResponse:
        sent = ModelMessagesTypeAdapter.dump_json(messages).decode()
        tools = [*parameters.function_tools, *parameters.output_tools]
        described = "".join(
            f"{each.name}{each.description}{json.dumps(each.parameters_json_schema)}" for each in tools
        )
        if parameters.output_object is not None:
            described += json.dumps(parameters.output_object.json_schema)
        reserved = self._meter.reserve(len(f"{sent}{described}".encode()), MOST_ANSWER, self._price)
        settings: ModelSettings = {
            **(given or {}),
            "max_tokens": reserved.output_tokens,
            "timeout": REQUEST_S,
            "max_retries": 0,
        }
        used, answer, error, started = reserved, "", _ENDED, time.monotonic()
        attributes: dict[str, str | int] = {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": self.wrapped.system,
            "gen_ai.request.model": self.model_name,
            "gen_ai.request.max_tokens": reserved.output_tokens,
        }
        try:
            with span(f"chat {self.model_name}", attributes, prompt=self._prompt or None) as opened:
                response = await self.wrapped.request(messages, settings, parameters)
                used = self._used(response.usage, reserved)
                answer, error = _render(response), ""
                opened.set_attribute("gen_ai.response.model", response.model_name or self.model_name)
                opened.set_attribute("gen_ai.usage.input_tokens", used.input_tokens)
                opened.set_attribute("gen_ai.usage.output_tokens", used.output_tokens)
        except ModelHTTPError as exc:
            error, used = f"HTTP {exc.status_code}", ModelUse(calls=1)  # refused: nothing is charged
            raise
        except ModelAPIError as exc:
            error = type(exc).__name__
            raise
        except (
            TypeError,
            ValueError,
            LookupError,
            AttributeError,
        ) as exc:  # what their packages make of garbage
            error = type(exc).__name__
            raise UnexpectedModelBehavior("the answer is not in the form of the provider's protocol") from exc
        finally:
            self._meter.release(reserved, used)
            self._meter.records.append(
                ModelCall(
                    model=f"{self.wrapped.system}:{self.model_name}",
                    prompt=self._prompt,
                    sent=sent,
                    answer=answer,
                    error=error or None,
                    duration_ms=(time.monotonic() - started) * 1_000,
                    use=used,
                )
            )
        return response

    def _used(self, usage: RequestUsage, reserved: ModelUse) -> ModelUse:
        """Return what an answer used; an answer without a report counts as the most it can have used."""
        if usage.input_tokens <= 0 and usage.output_tokens <= 0:
            return reserved
        asked, answered = max(usage.input_tokens, 0), max(usage.output_tokens, 0)
        return ModelUse(
            calls=1, input_tokens=asked, output_tokens=answered, cost_usd=self._price(asked, answered)
        )

    def _price(self, asked: int, answered: int) -> float | None:
        """Return the list price in US dollars; None for a model that the list does not have.

        A model on this computer that the list does not have costs nothing.
        """
        listed = self._listed_price(asked, answered)
        local = urlsplit(self.wrapped.base_url or "").hostname in _HERE
        return 0.0 if listed is None and local else listed

    def _listed_price(self, asked: int, answered: int) -> float | None:
        usage = RequestUsage(input_tokens=asked, output_tokens=answered)
        try:
            return float(
                calc_price(usage, self.model_name, provider_id=_price_list(self.wrapped.system)).total_price
            )
        except LookupError:
            return None


def _price_list(system: str) -> str:
    """Return the name of a provider in the list of prices."""
    return {"openai-chat": "openai", "openai-responses": "openai"}.get(system, system)


def _render(response: ModelResponse) -> str:
    """Return the text and tool calls of an answer."""
    parts = [
        str(getattr(part, "content", None) or getattr(part, "args", None) or "") for part in response.parts
    ]
    return "\n".join(part for part in parts if part)
