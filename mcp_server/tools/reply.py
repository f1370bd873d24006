"""What a tool works with and gives back. Nothing of MCP."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from kb_schema.base import Model
from mcp_server.compiled import View
from mcp_server.identify import Prober
from mcp_server.page_shelf import PageShelf

AnswerT = TypeVar("AnswerT", bound=Model)


@dataclass(frozen=True, slots=True)
class Reply(Generic[AnswerT]):
    """A typed answer, and the same in a few lines of text."""

    answer: AnswerT
    text: str


@dataclass(frozen=True, slots=True)
class Visit:
    """One request about one website."""

    view: View
    prober: Prober
    base_url: str | None = None
    """The base URL the server was configured with for this website."""
    pages: PageShelf = field(default_factory=PageShelf)


@dataclass(frozen=True, slots=True)
class WebsiteTool:
    """A tool over one website: a plain function of a `Visit` and the tool's own arguments.

    Its name, parameters and docstring are what clients see, `website_id` taking the visit's place.
    """

    function: Callable[..., Reply[Any]]
    title: str
    in_thread: bool = False
    """Whether it may take long enough to hold up other requests."""
    elsewhere: Callable[..., Awaitable[Reply[Any] | None]] | None = None
    """Asked first, with the `Desk`, the visit and the arguments: the answer of a server that has one."""


@dataclass(frozen=True, slots=True)
class DeskedTool:
    """A tool that needs more than the view: a coroutine function of the `Desk`, a `Visit` and its arguments.

    Clients see the same of it as of a `WebsiteTool`.
    """

    function: Callable[..., Awaitable[Reply[Any]]]
    title: str
    read_only: bool = True
