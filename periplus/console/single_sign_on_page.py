"""Single sign-on: sends people to the issuer and receives them again."""

from __future__ import annotations

import time
from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import RedirectResponse, Response

from kb_store.audit.audit_recorder import record_async
from periplus.console.console_framework import ConsoleContext, ConsoleContextParam, render
from periplus.console.sign_in_page import LONGEST, safe_redirect_path, set_session_cookie
from periplus.service.access_control import SIGN_IN, name_actor
from periplus.service.problem_details import ApiProblem
from periplus.service.single_sign_on import IssuerUnavailable, SignInAttempt, SignInRefused, SingleSignOn

BEGIN, CALLBACK = f"{SIGN_IN}/oidc", f"{SIGN_IN}/oidc/callback"
ATTEMPT = "periplus_sign_in"
"""The cookie with the attempt, until the issuer sends the person back."""
ATTEMPT_S = 600
_AGAIN = "sign in again"

router = APIRouter()


@router.get(BEGIN)
async def begin(
    request: Request,
    parts: ConsoleContextParam,
    next: Annotated[str, Query(max_length=LONGEST)] = "/",  # noqa: A002
) -> Response:
    """Send the person to the issuer."""
    sign_on = _sign_on(parts)
    redirect_url = sign_on.settings.redirect_url or str(request.base_url).rstrip("/") + CALLBACK
    attempt = sign_on.begin(safe_redirect_path(next), redirect_url, int(time.time()) + ATTEMPT_S)
    try:
        answer = RedirectResponse(await sign_on.authorization_url(attempt), 303)
    except IssuerUnavailable as exc:
        raise _build_unavailable_problem(exc) from exc
    answer.set_cookie(
        ATTEMPT,
        parts.sessions.seal("attempt", attempt.model_dump_json()),
        max_age=ATTEMPT_S,
        path=SIGN_IN,
        httponly=True,
        samesite="lax",  # the issuer's page sends the person back
        secure=request.url.scheme == "https",
    )
    return answer


@router.get(CALLBACK)
async def callback(
    request: Request,
    parts: ConsoleContextParam,
    code: Annotated[str, Query(max_length=LONGEST)] = "",
    state: Annotated[str, Query(max_length=LONGEST)] = "",
    error: Annotated[str, Query(max_length=LONGEST)] = "",
) -> Response:
    """Start a session for the person whom the issuer names."""
    sign_on = _sign_on(parts)
    try:
        attempt = _read_attempt(request, parts, state)
        person = await sign_on.finish(attempt, "" if error else code)
    except IssuerUnavailable as exc:
        raise _build_unavailable_problem(exc) from exc
    except SignInRefused as exc:
        await record_async("sign_in_failed", f"single sign-on: {exc}", outcome="refused")
        raise ApiProblem(403, "sign_in_refused", str(exc), fix=_AGAIN) from exc
    cookie = parts.sessions.begin_for(person.name, person.groups)
    known = parts.sessions.person(cookie)
    await record_async("signed_in", "single sign-on", actor="" if known is None else name_actor(known[0]))
    # A page, not a redirect: browsers do not send a `Strict` cookie where another site's page began the navigation.
    answer = render(request, "signed_in.html.j2", to=attempt.to)
    set_session_cookie(answer, request, cookie)
    answer.delete_cookie(ATTEMPT, path=SIGN_IN, httponly=True, samesite="lax")
    return answer


def _sign_on(parts: ConsoleContext) -> SingleSignOn:
    if parts.sign_on is None:
        raise ApiProblem(404, "not_found", "this service has no single sign-on", fix="sign in with a key")
    return parts.sign_on


def _read_attempt(request: Request, parts: ConsoleContext, state: str) -> SignInAttempt:
    """Return this browser's attempt. Raises `SignInRefused` for another one's answer, or a late one."""
    text = parts.sessions.unseal("attempt", request.cookies.get(ATTEMPT, ""))
    attempt = None if text is None else SignInAttempt.model_validate_json(text)
    if attempt is None or attempt.until < time.time():
        raise SignInRefused("the sign-in took too long, or began in another browser")
    if state != attempt.state:
        raise SignInRefused("the answer belongs to another sign-in (its state is another)")
    return attempt


def _build_unavailable_problem(error: IssuerUnavailable) -> ApiProblem:
    return ApiProblem(503, "issuer_unavailable", str(error), fix="try again later, or sign in with a key")
