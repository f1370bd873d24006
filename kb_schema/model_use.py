"""What language models were used for a result: calls, tokens, cost; and the record of one call."""

from __future__ import annotations

from pydantic import Field

from kb_schema.base import Model


class ModelUse(Model):
    """The use of language models; all zero is the usual."""

    calls: int = Field(default=0, ge=0)
    """Requests that were sent, failed ones included."""
    input_tokens: int = Field(default=0, ge=0)
    output_tokens: int = Field(default=0, ge=0)
    """Tokens as the providers reported them; of a call without a report, the most it may have used."""
    cost_usd: float | None = Field(default=0.0, ge=0)
    """List price in US dollars; None: a model without a known price was used."""

    @property
    def tokens(self) -> int:
        """Return all tokens."""
        return self.input_tokens + self.output_tokens

    def describe(self) -> str:
        """Return it in a few words."""
        if self.calls == 0:
            return "0 model calls"
        cost = "cost unknown" if self.cost_usd is None else f"{self.cost_usd:.4f} USD"
        return f"{self.calls} model call{'' if self.calls == 1 else 's'}, {self.tokens:,} tokens, {cost}"

    def __add__(self, other: ModelUse) -> ModelUse:
        """Return the sum; its cost is None if one of them is."""
        unknown = self.cost_usd is None or other.cost_usd is None
        return ModelUse(
            calls=self.calls + other.calls,
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cost_usd=None if unknown else (self.cost_usd or 0.0) + (other.cost_usd or 0.0),
        )


class ModelCall(Model):
    """One request to a model, as it is kept with the run; without secrets."""

    model: str
    prompt: str = ""
    """Name and version of the prompt file; empty: the caller's own text."""
    sent: str
    answer: str = ""
    error: str | None = None
    duration_ms: float = Field(ge=0)
    use: ModelUse
