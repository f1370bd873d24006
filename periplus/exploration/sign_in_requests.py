"""Holds back requests that name a deed (delete, pay, send) once something was typed into a form that signs in, whatever they carry.

The address of a form is known before anything is typed (`sign_in_form_check`), that of a script is not. What a request carries may be
written in a way that is not recognised, so what it names counts. Signing in ends if a request is known to carry one of the inputs.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from urllib.parse import urlsplit

from playwright.async_api import BrowserContext, Request, Route
from playwright.async_api import Error as PlaywrightError

from agent.dangers.deed_names import find_deed_of_name, find_deed_of_verb_and_thing
from agent.dangers.named_operations import Harm
from agent.dangers.sent_deeds import SentRequest, find_harm_in_sent
from agent.exploration.requests.unseen_requests import prevent_unseen
from agent.exploration.requests.websocket_guard import LONGEST_TOLD, AskingSockets
from agent.page.redirect_guard import read_body
from agent.redaction import Secrets
from kb_schema.secret_fields import is_secret_name
from periplus.exploration.sign_in_form_check import DEEDS

_EVERYTHING = "**/*"
_SHOWN = frozenset({"document", "stylesheet", "script", "font", "media", "manifest"})
"""Kinds of requests by which a browser shows a page. Those by `GET` are judged as opening an address, others as sending to it."""
_FRAMING = re.compile(r"\A\d[\d-]*(?:/[^,\[{]*,)?\d*(?=[\[{\"])")
"""Before the JSON of a message of Socket.IO: `42/boats,7["login", {..}]`."""
_ENDING = re.compile(r"\.\w{1,5}\Z")
_NAME = re.compile(r"[A-Za-z_$][\w.:/#+$-]{1,119}")


@dataclass(slots=True)
class SignInRequests:
    """What the forms of one sign-in would have sent."""

    _secrets: Secrets
    typed: bool = False
    """Whether something was typed. Requests before that are the page's own."""
    refused: list[str] = field(default_factory=list)
    """What carries a secret input and was not sent, and what shows that it does harm."""

    def holds(self, sent: SentRequest, kind: str, cookies: str) -> bool:
        """Return whether a request is held back, and note it if it carries a secret. `kind`: Playwright's resource type."""
        carries = self._carries(sent.url, sent.body, cookies, *map(": ".join, sent.headers.items()))
        opens = kind in _SHOWN and not sent.changes and not carries
        deed = _find_deed(sent, opens=opens) or (_find_hidden_deed(sent) if carries else None)
        return self._note(deed, sent.method, sent.url, carries=carries)

    def may_connect(self, url: str) -> bool:
        """Return whether a page may open a WebSocket."""
        deed = _find_deed(_to_socket(url), opens=False)
        return not (self.typed and self._note(deed, "WebSocket", url, carries=self._carries(url)))

    def may_send(self, url: str, beginning: str) -> bool:
        """Return whether a page may send a message by a WebSocket: not if it is longer than is known, or of bytes that are not."""
        if not self.typed:
            return True
        if len(beginning) >= LONGEST_TOLD or beginning in {"", "data"}:  # of a `Blob` nothing is told
            return False
        carries = self._carries(beginning)
        text = str(self._secrets.redact(beginning))
        named = _NAME.findall(text)
        deeds = [find_deed_of_verb_and_thing(each) for each in named]
        if carries:  # a word may be all that says what is done with it
            deeds += [find_deed_of_name(each, pressed=True) for each in named]
        told = next(((each, "message") for each in deeds if each in DEEDS), None)
        deed = told or _find_deed(_to_socket(url, _FRAMING.sub("", text, count=1)), opens=False)
        return not self._note(deed, "WebSocket", url, carries=carries)

    def _carries(self, *texts: str) -> bool:
        return any(self._secrets.redact(each) != each for each in texts)

    def _note(self, deed: Harm | None, method: str, url: str, *, carries: bool) -> bool:
        if deed is not None and carries:
            self.refused.append(f"it sends {method} {self._secrets.redact(urlsplit(url).path)} ({deed[0]})")
        return deed is not None


def _to_socket(url: str, message: str = "") -> SentRequest:
    return SentRequest("POST", url.replace("ws", "http", 1), message)


def _find_deed(sent: SentRequest, *, opens: bool) -> Harm | None:
    """Return the deed that a request names. Websites close accounts by `GET`, too: unless it `opens` a page, it counts as sent."""
    asked = (sent,) if opens or sent.changes else (sent, replace(sent, method="POST"))
    found = map(find_harm_in_sent, asked)
    return next((each for each in found if each is not None and each[0] in DEEDS), None)


def _find_hidden_deed(sent: SentRequest) -> Harm | None:
    """Return the deed that a request with a secret names as a file (`/account/close.png`) or in a header of its own (`X-Action: close`)."""
    address = urlsplit(sent.url)
    own = [
        value
        for name, value in sent.headers.items()
        if name.casefold().startswith("x-") and _NAME.fullmatch(value)
    ]
    paths = (_ENDING.sub("", address.path), *(f"{address.path.rstrip('/')}/{value}" for value in own))
    told = (
        _find_deed(replace(sent, url=address._replace(path=each).geturl()), opens=False) for each in paths
    )
    return next((each for each in told if each is not None), None)


def collect_secrets(inputs: Mapping[str, str]) -> Secrets:
    """Return the secrets of the sign-in, so that messages, logs and what is kept of pages never contain them: by the names of the
    inputs, or all if none is called like one. An e-mail address is a word of many pages.
    """
    secrets = Secrets()
    secrets.keep(
        tuple(value for name, value in inputs.items() if is_secret_name(name)) or tuple(inputs.values())
    )
    return secrets


@asynccontextmanager
async def hold_sign_in_requests(
    context: BrowserContext, inputs: Mapping[str, str]
) -> AsyncIterator[SignInRequests]:
    """While the block runs, hold back what names a deed, from when `typed` is set. Redirected requests and the sockets of workers are
    not seen. `context` has no page yet.
    """
    requests = SignInRequests(collect_secrets(inputs))

    async def look(route: Route, request: Request) -> None:
        with suppress(PlaywrightError):  # its page has closed
            await (route.abort("blockedbyclient") if await is_held(request) else route.fallback())

    async def is_held(request: Request) -> bool:
        if not requests.typed:
            return False
        sent = SentRequest(request.method, request.url, read_body(request), request.headers)
        cookies = await context.cookies(request.url)
        said = "; ".join(f"{each.get('name')}={each.get('value')}" for each in cookies)
        return requests.holds(sent, request.resource_type, said)

    await prevent_unseen(context)
    await AskingSockets(requests.may_connect, requests.may_send).install(context)
    await context.route(_EVERYTHING, look)
    try:
        yield requests
    finally:
        with suppress(PlaywrightError):
            await context.unroute(_EVERYTHING, look)
