"""Where am I, and what can I do here?"""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator, Field, WithJsonSchema
from pydantic_core import PydanticCustomError

from kb_schema import urls
from kb_schema.answers import AvailableActions, DocumentAnswer, Identification
from kb_schema.documents import did_you_mean
from kb_schema.excerpts import excerpt
from kb_schema.pages.limits import PageRefused
from kb_schema.snapshots import PageSnapshot
from mcp_server import describe, here, identified, rendering
from mcp_server.errors import BadRequest
from mcp_server.identify import identify
from mcp_server.snapshots import admitted
from mcp_server.tools.parameters import DetailLevel, ScreenId, screen_of
from mcp_server.tools.reply import Reply, Visit, WebsiteTool

_SAID_OF_A_PAGE = ("url", "title", "html", "text")
_PAGE_SCHEMA = {"type": "object", "properties": {name: {"type": "string"} for name in _SAID_OF_A_PAGE}}
"""What a foreign client needs to know; our own snapshots carry more, which is taken too."""


def _a_page(given: object) -> object:
    """A page as a client writes it: the URL may be missing, a text may say it itself."""
    if isinstance(given, PageSnapshot):
        return given
    wanted = f"a page is an object with {', '.join(_SAID_OF_A_PAGE)}"
    if not isinstance(given, dict):
        raise PydanticCustomError("page", "{wanted}", {"wanted": wanted})
    for name in given.keys() - PageSnapshot.model_fields.keys():
        meant = did_you_mean(str(name), _SAID_OF_A_PAGE)
        problem = f"there is no {excerpt(str(name), 80)!r}; {meant or wanted}"
        raise PydanticCustomError("page", "{problem}", {"problem": problem})
    return {"url": "", **given}


Page = Annotated[
    PageSnapshot,
    BeforeValidator(_a_page),
    WithJsonSchema(_PAGE_SCHEMA),
    Field(description="The page: `url` with `html`, or with `text` (plain or accessibility text)"),
]


def identify_current_screen(
    visit: Visit,
    snapshot: Page,
    last_known_screen_id: Annotated[ScreenId | None, Field(description="Gives the ways out if lost")] = None,
    base_url: Annotated[str | None, Field(description="Where the site runs, if not at its own")] = None,
    detail: DetailLevel = "summary",
) -> Reply[Identification]:
    """Which known screen a page is, and why; the ways out if it is none."""
    answer = identified.at_detail(_identified(visit, snapshot, last_known_screen_id, base_url), detail)
    return Reply(answer, rendering.identification(answer))


def _identified(
    visit: Visit, snapshot: PageSnapshot, last_known_screen_id: str | None, base_url: str | None = None
) -> Identification:
    if last_known_screen_id is not None:
        screen_of(visit.view, last_known_screen_id)
    if base_url and not urls.is_web_address(base_url):
        example = urls.origin_of(snapshot.url) or visit.view.website.base_url
        raise BadRequest(
            f"base_url {excerpt(base_url)!r} is no URL", hint=f"give one like {excerpt(example)!r}, or none"
        )
    try:
        with visit.pages.lent(admitted(snapshot)) as page:
            return identify(
                visit.view,
                page,
                visit.prober,
                base_url=base_url or visit.base_url,
                last_known=last_known_screen_id,
            )
    except PageRefused as exc:
        raise BadRequest(exc.reason, hint="send the page's text instead of its HTML") from exc


def get_screen(visit: Visit, screen_id: ScreenId, detail: DetailLevel = "working") -> Reply[DocumentAnswer]:
    """A screen: its elements, those of its layouts among them, and how to find each."""
    screen = visit.view.knowledge.screens[screen_of(visit.view, screen_id)]
    answer = describe.document(visit.view, screen, detail)
    return Reply(answer, rendering.document(answer))


def get_available_actions(
    visit: Visit,
    screen_id: Annotated[ScreenId | None, Field(description="With a page: the last known screen")] = None,
    snapshot: Page | None = None,
    detail: DetailLevel = "working",
) -> Reply[AvailableActions]:
    """What one can do on a screen or a page, where it leads, and the tasks that use it; lost: the ways out."""
    if screen_id is not None:
        screen_of(visit.view, screen_id)
    if snapshot is not None:
        found = _identified(visit, snapshot, screen_id)
        answer = here.where_and_what(visit.view, found, detail)
    elif screen_id is not None:
        answer = here.available_actions(visit.view, screen_id, detail)
    else:
        raise BadRequest("neither a screen nor a page", hint="give screen_id or snapshot")
    return Reply(answer, rendering.actions(answer))


TOOLS = (
    WebsiteTool(identify_current_screen, "Where am I?", in_thread=True),
    WebsiteTool(get_screen, "A screen"),
    WebsiteTool(get_available_actions, "What can I do here?", in_thread=True),
)
