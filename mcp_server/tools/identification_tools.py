"""Tools that identify the current screen and list what can be done there."""

from __future__ import annotations

from typing import Annotated, TypeVar

from pydantic import BeforeValidator, Field, WithJsonSchema
from pydantic_core import PydanticCustomError

from kb_schema import url_patterns
from kb_schema.documents import did_you_mean
from kb_schema.excerpts import excerpt
from kb_schema.page_snapshots import PageSnapshot
from kb_schema.tool_answers import AvailableActions, DocumentAnswer, Identification
from mcp_server.descriptions import answer_text, available_actions, document_summaries, identification_detail
from mcp_server.errors import BadRequest
from mcp_server.identification.client_pages import ClientPage, admit_page
from mcp_server.identification.screen_identification import identify
from mcp_server.server_context import WebsiteRequest
from mcp_server.tools.tool_parameters import DetailLevel, ScreenId, require_screen
from mcp_server.tools.tool_specs import ToolReply, WebsiteToolSpec
from web_pages.page_limits import PageRefused

AnswerT = TypeVar("AnswerT", Identification, AvailableActions)

_PAGE_FIELDS = ("url", "html", "text", "file")
_PAGE_SCHEMA = {
    "type": ["object", "string"],
    "properties": {name: {"type": "string"} for name in _PAGE_FIELDS},
}
"""What a client needs to know. Titles and what else snapshots of Periplus carry are accepted, too."""


def _parse_page(given: object) -> object:
    """A page as a client sends it: an object, or its HTML or text. The URL may be missing if the text contains it."""
    if isinstance(given, PageSnapshot):
        return ClientPage(**given.model_dump(exclude_unset=True))
    wanted = f"a page is a text, or an object with {', '.join(_PAGE_FIELDS)}"
    if isinstance(given, str):
        return {"url": "", "html" if given.lstrip()[:1] == "<" else "text": given}
    if not isinstance(given, dict):
        raise PydanticCustomError("page", "{wanted}", {"wanted": wanted})
    for name in given.keys() - ClientPage.model_fields.keys():
        meant = did_you_mean(str(name), _PAGE_FIELDS)
        problem = f"there is no {excerpt(str(name), 80)!r}; {meant or wanted}"
        raise PydanticCustomError("page", "{problem}", {"problem": problem})
    return {"url": "", **given}


PageArgument = Annotated[
    ClientPage,
    BeforeValidator(_parse_page),
    WithJsonSchema(_PAGE_SCHEMA),
    Field(
        description="The page: `url` with `html`, `text` (plain, accessibility) or `file`; or the text alone"
    ),
]


def identify_current_screen(
    request: WebsiteRequest,
    snapshot: PageArgument,
    last_known_screen_id: Annotated[ScreenId | None, Field(description="Gives the ways out if lost")] = None,
    base_url: Annotated[str | None, Field(description="Where the site runs, if not at its own")] = None,
    detail: DetailLevel = "summary",
) -> ToolReply[Identification]:
    """Which known screen a page is, with evidence; recovery options if it is none."""
    found, note = _identify_page(request, snapshot, last_known_screen_id, base_url)
    answer = _with_note(identification_detail.reduce_identification(found, detail), note)
    return ToolReply(answer, answer_text.render_identification(answer))


def _identify_page(
    request: WebsiteRequest,
    snapshot: PageSnapshot,
    last_known_screen_id: str | None,
    base_url: str | None = None,
) -> tuple[Identification, str | None]:
    """Return which screen a page is, and what of the page was not taken as given."""
    if last_known_screen_id is not None:
        require_screen(request.view, last_known_screen_id)
    if base_url and not url_patterns.is_web_address(base_url):
        example = url_patterns.origin_of(snapshot.url) or request.view.website.base_url
        raise BadRequest(
            f"base_url {excerpt(base_url)!r} is no URL", hint=f"give one like {excerpt(example)!r}, or none"
        )
    try:
        admitted = admit_page(snapshot, request.snapshots)
        with request.pages.lent(admitted.snapshot) as page:
            found = identify(
                request.view,
                page,
                request.prober,
                base_url=base_url or request.base_url,
                last_known=last_known_screen_id,
            )
    except PageRefused as exc:
        raise BadRequest(exc.reason, hint="send the page's text instead of its HTML") from exc
    return found, admitted.note


def _with_note(answer: AnswerT, note: str | None) -> AnswerT:
    """Return an answer whose hint begins with the note."""
    if note is None:
        return answer
    return answer.model_copy(update={"hint": "; ".join(filter(None, (note, answer.hint)))})


def get_screen(
    request: WebsiteRequest, screen_id: ScreenId, detail: DetailLevel = "working"
) -> ToolReply[DocumentAnswer]:
    """A screen: its elements, including those of its layouts, and the selectors of each."""
    screen = request.view.knowledge.screens[require_screen(request.view, screen_id)]
    answer = document_summaries.describe_document(request.view, screen, detail)
    return ToolReply(answer, answer_text.render_document(answer))


def get_available_actions(
    request: WebsiteRequest,
    screen_id: Annotated[ScreenId | None, Field(description="With a page: the last known screen")] = None,
    snapshot: PageArgument | None = None,
    detail: DetailLevel = "working",
) -> ToolReply[AvailableActions]:
    """What can be done on a screen or page, where it leads, tasks that use it; if lost, recovery options."""
    if screen_id is not None:
        require_screen(request.view, screen_id)
    if snapshot is not None:
        found, note = _identify_page(request, snapshot, screen_id)
        answer = available_actions.describe_identified_screen(request.view, found, detail)
        answer = _with_note(answer, note)
    elif screen_id is not None:
        answer = available_actions.available_actions(request.view, screen_id, detail)
    else:
        raise BadRequest("neither a screen nor a page", hint="give screen_id or snapshot")
    return ToolReply(answer, answer_text.render_actions(answer))


TOOLS = (
    WebsiteToolSpec(identify_current_screen, "Where am I?", in_thread=True),
    WebsiteToolSpec(get_screen, "A screen"),
    WebsiteToolSpec(get_available_actions, "What can I do here?", in_thread=True),
)
