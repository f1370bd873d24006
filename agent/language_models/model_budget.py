"""What calls of language models may cost in sum, and what they have cost: checked before each call.

A call is only sent if the most it can use still fits: a token has at least one byte, so the bytes of a request
are an upper bound of its tokens, and the answer is limited by `max_tokens`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from agent.errors import AgentError
from kb_schema.model_use import ModelCall, ModelUse

OVERHEAD_TOKENS = 300
"""Tokens that a provider adds to a request: marks of messages, and its own words about tools."""
LEAST_ANSWER = 32
"""Tokens below which an answer is of no use: the call is not sent."""

Price = Callable[[int, int], float | None]
"""Input tokens, output tokens -> list price in US dollars; None: unknown."""


class ModelBudgetSpent(AgentError):
    """The budget for language models does not allow another call."""

    def __init__(self, what: str, limit: float) -> None:
        super().__init__(
            f"the budget for the language model is spent: {what} {limit:g}",
            hint="raise PERIPLUS_MODEL_MAX_CALLS, _MAX_TOKENS or _MAX_COST, or run without a model",
        )
        self.what, self.limit = what, limit


@dataclass(frozen=True, slots=True)
class ModelBudget:
    """The limits of one run, or of one command."""

    calls: int = 100
    tokens: int = 500_000
    """Input and output together."""
    cost_usd: float | None = None
    """List price; None: not limited. With a limit, models without a known price are refused."""


@dataclass(slots=True)
class ModelMeter:
    """Counts what a run's calls use, and refuses those that may exceed its budget."""

    budget: ModelBudget = field(default_factory=ModelBudget)
    use: ModelUse = field(default_factory=ModelUse)
    records: list[ModelCall] = field(default_factory=list)
    """The calls in order of time."""
    _held: ModelUse = field(default_factory=ModelUse)
    """The most that calls may use which are on their way."""

    def reserve(self, request_bytes: int, most_answer: int, price: Price) -> ModelUse:
        """Reserve the most that a call can use and return it; its `output_tokens` are its `max_tokens`.

        Raises `ModelBudgetSpent`. `release` must follow.
        """
        spent = self.use + self._held
        if spent.calls >= self.budget.calls:
            raise ModelBudgetSpent("calls", self.budget.calls)
        asked = request_bytes + OVERHEAD_TOKENS
        answer = min(most_answer, self.budget.tokens - spent.tokens - asked)
        if answer < LEAST_ANSWER:
            raise ModelBudgetSpent("tokens", self.budget.tokens)
        cost = price(asked, answer)
        limit = self.budget.cost_usd
        if limit is not None:
            if cost is None or spent.cost_usd is None:
                raise ModelBudgetSpent("the model's price is unknown, USD", limit)
            while spent.cost_usd + cost > limit:
                answer //= 2
                cost = price(asked, answer)
                if answer < LEAST_ANSWER or cost is None:
                    raise ModelBudgetSpent("USD", limit)
        reserved = ModelUse(calls=1, input_tokens=asked, output_tokens=answer, cost_usd=cost)
        self._held += reserved
        return reserved

    def release(self, reserved: ModelUse, used: ModelUse) -> None:
        """Replace a reservation by what was used."""
        held = self._held
        calls = held.calls - reserved.calls
        cost = None if held.cost_usd is None else held.cost_usd - (reserved.cost_usd or 0.0)
        self._held = (
            ModelUse()
            if calls == 0
            else ModelUse(
                calls=calls,
                input_tokens=held.input_tokens - reserved.input_tokens,
                output_tokens=held.output_tokens - reserved.output_tokens,
                cost_usd=None if cost is None else max(cost, 0.0),
            )
        )
        self.use += used

    def describe_failures(self) -> str:
        """Return how many calls gave no answer and why the last one did not; empty if all did."""
        failed = [each for each in self.records if each.error]
        if not failed:
            return ""
        return f"the language model did not answer {len(failed)} of {len(self.records)} calls: {failed[-1].error}"
