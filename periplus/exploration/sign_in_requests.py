"""Holds back what a form would send of what was typed into it if that deletes, pays or sends something else than a sign-in.

The address of a form is known before anything is typed (`sign_in_form_check`), that of a script is not.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from playwright.async_api import BrowserContext, Request, Route
from playwright.async_api import Error as PlaywrightError

from agent.dangers.sent_deeds import SentRequest, find_harm_in_sent
from agent.page.redirect_guard import read_body
from agent.redaction import Secrets
from kb_schema.secret_fields import is_secret_name
from periplus.exploration.sign_in_form_check import DEEDS

_EVERYTHING = "**/*"


@dataclass(slots=True)
class SignInRequests:
    """What the forms of one sign-in would have sent."""

    _typed: Secrets
    refused: list[str] = field(default_factory=list)
    """What was not sent, and what shows that it does harm."""

    def holds(self, sent: SentRequest) -> bool:
        """Return whether a request is held back, and note it. Requests that carry nothing of what was typed are the page's own."""
        if not sent.changes or not any(self._typed.redact(each) != each for each in (sent.body, sent.url)):
            return False
        harm = find_harm_in_sent(sent)
        if harm is None or harm[0] not in DEEDS:
            return False
        self.refused.append(f"it sends {sent.method} {urlsplit(sent.url).path} ({harm[0]})")
        return True


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
    """While the block runs, hold back what carries one of the secret inputs and does harm. Redirected requests are not seen."""
    requests = SignInRequests(collect_secrets(inputs))

    async def look(route: Route, request: Request) -> None:
        sent = SentRequest(request.method, request.url, read_body(request), request.headers)
        with suppress(PlaywrightError):  # its page has closed
            await (route.abort("blockedbyclient") if requests.holds(sent) else route.fallback())

    await context.route(_EVERYTHING, look)
    try:
        yield requests
    finally:
        with suppress(PlaywrightError):
            await context.unroute(_EVERYTHING, look)
