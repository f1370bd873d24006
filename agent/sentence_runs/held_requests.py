"""Holds back what a press would send that deletes, pays or sends by its method or address, whatever the control is called.

The words of a control, and what is around it, are judged before it is pressed (`act_permissions`). A script can send anything then. So
its requests are looked at, too, before they leave; one that needs a yes is not sent.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

from playwright.async_api import BrowserContext, Request, Route
from playwright.async_api import Error as DriverError

from agent.dangers.press_surroundings import find_harm_in_request
from agent.page.page_requests import is_page_document
from agent.sentence_runs.act_permissions import MAY, ActJudgement, ActPermissions
from kb_schema.explorations import Danger

_LOOKING = frozenset({"GET", "HEAD", "OPTIONS"})
_MUTATION = re.compile(r"\s*mutation\s+(\w+)")
_OVERRIDES = ("x-http-method-override", "x-http-method", "x-method-override")
_METHOD_FIELD = re.compile(
    r"""(?:^|[&{,]\s*)"?_method"?\s*[=:]\s*"?(\w+)|name="_method"\r?\n(?:[^\r\n]+\r?\n)*\r?\n(\w+)"""
)
"""The field that says the method of a form, in a query, in JSON or in parts."""
_CUSTOM_METHOD = re.compile(r"(?<=[^:/]):([A-Za-z]\w*)(?=[?#]|$)")
"""`/accounts/7:delete`, as Google's interfaces write it."""
_EVERYTHING = "**/*"


@dataclass(slots=True)
class HeldRequests:
    """What a press would have sent."""

    judged: ActJudgement = MAY
    """Of the first request that was held back; `MAY` if none was."""


@asynccontextmanager
async def hold_requests(
    context: BrowserContext, permissions: ActPermissions, name: str
) -> AsyncIterator[HeldRequests]:
    """While the block runs, hold back each request of a context that needs a yes. `name`: the control that is pressed."""
    held = HeldRequests()

    async def look(route: Route, request: Request) -> None:
        judged = _judge(request, permissions, name)
        with suppress(DriverError):  # its page has closed
            if judged.may:
                await route.fallback()
                return
            held.judged = held.judged if not held.judged.may else judged
            if is_page_document(request):
                await route.fulfill(status=204)  # the page does not navigate
            else:
                await route.abort("blockedbyclient")

    await context.route(_EVERYTHING, look)
    try:
        yield held
    finally:
        with suppress(DriverError):
            await context.unroute(_EVERYTHING, look)


def _judge(request: Request, permissions: ActPermissions, name: str) -> ActJudgement:
    if request.method in _LOOKING and not is_page_document(request):
        return MAY  # pages ask for much that is called like a deed: `/deleted-items.json`
    address = _CUSTOM_METHOD.sub(r"/\1", request.url)
    harms = (find_harm_in_request(method, address) for method in _list_methods(request))
    harm = next(filter(None, harms), None) or _find_harm_in_query(request)
    return MAY if harm is None else permissions.judge_request(harm, name)


def _list_methods(request: Request) -> list[str]:
    """Return the method that is sent, and those that a header or a field of the form says: the application may take any of them."""
    methods = [request.method, *(request.headers.get(header, "") for header in _OVERRIDES)]
    with suppress(UnicodeDecodeError):  # the body of a file
        methods += [first or second for first, second in _METHOD_FIELD.findall(request.post_data or "")]
    return methods


def _find_harm_in_query(request: Request) -> tuple[Danger, str] | None:
    """Return the harm that the name of a GraphQL mutation or of a JSON-RPC method says; None if the request is none or it says none."""
    with suppress(ValueError, TypeError, RecursionError):  # not text, not JSON, or nested without end
        asked = json.loads(request.post_data or "")
        for each in asked if isinstance(asked, list) else [asked]:
            if not isinstance(each, dict):
                continue
            mutation = _MUTATION.match(each.get("query") or "")
            called = (
                mutation[1] if mutation is not None else each.get("method") if "jsonrpc" in each else None
            )
            if (
                isinstance(called, str)
                and (harm := find_harm_in_request("POST", f"/{called.replace('.', '/')}")) is not None
            ):
                return harm
    return None
