"""Sign-in with a key, sign-out, and the colour scheme."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Form, Query, Request
from fastapi.responses import RedirectResponse, Response

from kb_store.audit.audit_recorder import record_async
from periplus.console.console_framework import THEME, THEMES, ConsoleContextParam, render
from periplus.service.access_control import COOKIE, SIGN_IN, check_lockout, name_actor, note_key, person_of
from periplus.service.console_sessions import LASTS_S

A_YEAR_S = 365 * 86_400
LONGEST = 8_000
"""Maximum number of characters of the return path and of a key."""

router = APIRouter()


@router.get(SIGN_IN)
async def sign_in_page(
    request: Request,
    parts: ConsoleContextParam,
    next: Annotated[str, Query(max_length=LONGEST)] = "/",  # noqa: A002
) -> Response:
    """Show the sign-in form."""
    return render(
        request,
        "sign_in.html.j2",
        to=safe_redirect_path(next),
        refused=False,
        needed=person_of(request.scope) is None,
        sign_on=None if parts.sign_on is None else parts.sign_on.host,
    )


@router.post(SIGN_IN)
async def sign_in(
    request: Request,
    parts: ConsoleContextParam,
    key: Annotated[str, Form(max_length=LONGEST)] = "",
    to: Annotated[str, Form(alias="next", max_length=LONGEST)] = "/",
) -> Response:
    """Start a session, or show the form again for an unknown key."""
    address = request.client.host if request.client else ""
    check_lockout(parts.lockout, address, key.strip())
    cookie = parts.sessions.begin(key.strip())
    await note_key(parts.lockout, address, key.strip(), right=cookie is not None)
    if cookie is None:
        return render(
            request,
            "sign_in.html.j2",
            401,
            to=safe_redirect_path(to),
            refused=True,
            needed=True,
            sign_on=None if parts.sign_on is None else parts.sign_on.host,
        )
    person = parts.sessions.person(cookie)
    await record_async("signed_in", actor="" if person is None else name_actor(person[0]))
    answer = RedirectResponse(safe_redirect_path(to), 303)
    set_session_cookie(answer, request, cookie)
    return answer


def set_session_cookie(answer: Response, request: Request, cookie: str) -> None:
    """Add a session's cookie to a response."""
    answer.set_cookie(
        COOKIE,
        cookie,
        max_age=LASTS_S,
        path="/",
        httponly=True,
        samesite="strict",
        secure=request.url.scheme == "https",
    )


@router.post("/sign-out")
async def sign_out(request: Request, parts: ConsoleContextParam) -> Response:
    """End the session, also for copies of its cookie, and that at the issuer if it began there and the issuer can."""
    await record_async("signed_out")
    answer: Response = RedirectResponse(SIGN_IN, 303)
    cookie = request.cookies.get(COOKIE, "")
    of_issuer = parts.sessions.is_of_issuer(cookie)
    parts.sessions.end(cookie)
    if parts.sign_on is not None and of_issuer:
        there = await parts.sign_on.sign_out_url()
        if (
            there is not None
        ):  # a page, not a redirect: `form-action` forbids that a form leads to another site
            answer = render(request, "signed_out.html.j2", there=there, host=parts.sign_on.host)
    answer.delete_cookie(COOKIE, path="/", httponly=True, samesite="strict")
    return answer


@router.post("/theme")
async def theme(
    request: Request,
    chosen: Annotated[str, Form(alias="theme")] = "auto",
    to: Annotated[str, Form(alias="next", max_length=LONGEST)] = "/",
) -> Response:
    """Set the colour scheme: light, dark, or the system's."""
    answer = RedirectResponse(safe_redirect_path(to), 303)
    answer.set_cookie(
        THEME,
        chosen if chosen in THEMES else "auto",
        max_age=A_YEAR_S,
        path="/",
        httponly=True,
        samesite="strict",
        secure=request.url.scheme == "https",
    )
    return answer


def safe_redirect_path(path: str) -> str:
    """Return the path if it is one of this service (no open redirect); else `/`."""
    safe = (
        path.startswith("/")
        and not path.startswith(("//", "/\\"))
        and path.isprintable()
        and "\\" not in path
    )
    return path if safe else "/"
