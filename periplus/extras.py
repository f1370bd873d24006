"""The optional packages of `pip install 'periplus[EXTRA]'`: which modules each brings, and what is missing.

Nothing here imports them, or anything else of Periplus; the command line asks before it imports a command.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec

EXTRAS: Mapping[str, tuple[str, ...]] = {
    "verify": ("langgraph", "libcst", "openpyxl", "pytest", "pytest_playwright"),
    "serve": ("fastapi", "cronsim"),
    "livekit": ("livekit", "av"),
    "scale": ("distributed",),
    "mongo-arango": ("pymongo", "arango"),
    "llm": ("pydantic_ai",),
    "openai": ("pydantic_ai", "openai", "tiktoken"),
    "anthropic": ("pydantic_ai", "anthropic"),
    "google": ("pydantic_ai", "google.genai"),
    "keyring": ("keyring",),
    "otel": ("opentelemetry.sdk",),
}
"""Extra -> the modules that its packages bring. `serve` brings those of `verify`, too."""


class ExtraMissing(Exception):
    """A command needs packages that are not installed. The message names the extra."""

    def __init__(self, what: str, extra: str, module: str) -> None:
        self.what, self.extra, self.module = what, extra, module
        self.fix = f"pip install 'periplus[{extra}]'"
        super().__init__(f"{what} needs the extra `{extra}` ({module} is not installed)")


def check_extra(what: str, extra: str) -> None:
    """Raise `ExtraMissing` if a module of the extra cannot be imported; `what`: the command that needs it."""
    for module in EXTRAS[extra]:
        if not is_installed(module):
            raise ExtraMissing(what, extra, module)


def is_installed(module: str) -> bool:
    """Return whether a module can be imported, without importing more than its parent packages."""
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # its parent
        return False


def find_extra(module: str) -> str | None:
    """Return the extra that brings a module, or None if none does."""
    top = module.split(".", maxsplit=1)[0]
    return next(
        (name for name, modules in EXTRAS.items() if any(each.split(".")[0] == top for each in modules)), None
    )
