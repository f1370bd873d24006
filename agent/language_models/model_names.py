"""Opens a language model by its name: `PROVIDER:MODEL`, or `PROVIDER:MODEL@URL` for any other endpoint.

With a URL, `openai` speaks the OpenAI chat protocol (Ollama, vLLM, LiteLLM, ...) and `anthropic` that of Anthropic.
pydantic-ai is an extra: it is imported only here and in `metered_model`, when a model is opened.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from agent.errors import AgentError

if TYPE_CHECKING:
    from pydantic_ai.models import Model

_AT_URL = re.compile(r"@(?=https?://)")
_OWN_ENDPOINT = ("openai", "openai-chat", "anthropic")
"""Providers whose protocol is spoken at a URL."""
_EXTRAS = {"openai": "openai", "openai-chat": "openai", "anthropic": "anthropic", "google": "google"}
NO_KEY = "none"
"""What an endpoint of one's own gets if no key is set: most ignore it."""


class ModelUnavailable(AgentError):
    """The model's name is wrong, or a package or a key is missing."""


@dataclass(frozen=True, slots=True)
class ModelName:
    """The parts of a model's name."""

    provider: str | None
    name: str
    url: str | None = None

    @property
    def extra(self) -> str | None:
        """Return the extra with the provider's package; None: it has none of its own."""
        return _EXTRAS.get(self.provider or "")


def parse_model_name(text: str) -> ModelName:
    """Return the parts of `PROVIDER:MODEL[@URL]`. Raises `ModelUnavailable`."""
    name, *rest = _AT_URL.split(text.strip(), maxsplit=1)
    provider, colon, model = name.partition(":")
    if not name or (colon and not (provider and model)):
        raise ModelUnavailable(
            f"{text!r} is no name of a model", hint="write provider:model, for example openai:gpt-5-mini"
        )
    if not rest:
        return ModelName(provider if colon else None, model or provider)
    url = rest[0].rstrip("/")
    if not urlsplit(url).hostname or urlsplit(url).query:
        raise ModelUnavailable(
            f"{url!r} is no address of a model's endpoint", hint="for example http://127.0.0.1:11434/v1"
        )
    chosen = provider if colon else "openai"
    if chosen not in _OWN_ENDPOINT:
        raise ModelUnavailable(
            f"the provider {chosen!r} takes no URL",
            hint=f"write one of {', '.join(_OWN_ENDPOINT)} before the model, for example openai:{name}@{url}",
        )
    return ModelName(chosen, model or provider, url)


def open_model(text: str, key: str | None = None) -> Model:
    """Return the model of that name; nothing is sent. `key`: for endpoints with a URL; others read their own
    variables (`OPENAI_API_KEY`, ...), which an endpoint with a URL never gets. Raises `ModelUnavailable`.
    """
    name = parse_model_name(text)
    try:
        from pydantic_ai.exceptions import UserError  # noqa: PLC0415 - an extra: imported only when it is used
        from pydantic_ai.models import infer_model  # noqa: PLC0415 - as above
    except ImportError as exc:
        raise ModelUnavailable(
            "pydantic-ai is not installed", hint=f"pip install 'periplus[{name.extra or 'llm'}]'"
        ) from exc
    try:
        return infer_model(text) if name.url is None else _open_at_url(name, key or NO_KEY)
    except UserError as exc:
        raise ModelUnavailable(str(exc), hint="check the model's name, and its provider's key") from exc
    except ImportError as exc:
        extra = name.extra
        hint = f"pip install 'periplus[{extra}]'" if extra else "install the provider's package"
        raise ModelUnavailable(f"a package of {name.provider} is not installed: {exc}", hint=hint) from exc


def _open_at_url(name: ModelName, key: str) -> Model:
    if name.provider == "anthropic":
        from pydantic_ai.models.anthropic import AnthropicModel  # noqa: PLC0415 - an extra
        from pydantic_ai.providers.anthropic import AnthropicProvider  # noqa: PLC0415 - an extra

        return AnthropicModel(name.name, provider=AnthropicProvider(api_key=key, base_url=name.url))
    from pydantic_ai.models.openai import OpenAIChatModel  # noqa: PLC0415 - an extra
    from pydantic_ai.providers.openai import OpenAIProvider  # noqa: PLC0415 - an extra

    return OpenAIChatModel(name.name, provider=OpenAIProvider(api_key=key, base_url=name.url))
