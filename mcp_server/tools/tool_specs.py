"""What declares a tool, and what it returns. Nothing of MCP."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from kb_schema.base import Model

AnswerT = TypeVar("AnswerT", bound=Model)


@dataclass(frozen=True, slots=True)
class ToolReply(Generic[AnswerT]):
    """A typed answer, and its text rendering."""

    answer: AnswerT
    text: str


@dataclass(frozen=True, slots=True)
class WebsiteToolSpec:
    """A tool over one website: a plain function of a `WebsiteRequest` and the tool's own arguments.

    Its name, parameters and docstring are what clients see, `website_id` taking the request's place.
    """

    function: Callable[..., ToolReply[Any]]
    title: str
    in_thread: bool = False
    """Whether it may take long enough to hold up other requests."""
    elsewhere: Callable[..., Awaitable[ToolReply[Any] | None]] | None = None
    """Called first, with the `ServerContext`, the request and the arguments: the answer of a graph database that has one."""


@dataclass(frozen=True, slots=True)
class ServerToolSpec:
    """A tool that needs more than the view: a coroutine function of the `ServerContext`, a `WebsiteRequest` and its arguments.

    Clients see the same of it as of a `WebsiteToolSpec`.
    """

    function: Callable[..., Awaitable[ToolReply[Any]]]
    title: str
    read_only: bool = True
