"""Signing in with a key, signing out, and the choice of light or dark."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Form, Query, Request
from fastapi.responses import RedirectResponse, Response

from periplus.console.shell import THEME, THEMES, TheParts, render
from periplus.service.access import COOKIE, SIGN_IN, person_of
from periplus.service.sessions import LASTS_S

A_YEAR_S = 365 * 86_400
LONGEST = 8_000
"""Characters of an address one comes back to, and of a key."""

router = APIRouter()


@router.get(SIGN_IN)
async def sign_in_page(request: Request, next: Annotated[str, Query(max_length=LONGEST)] = "/") -> Response:  # noqa: A002
    """Asks for a key."""
    return render(
        request, "sign_in.html.j2", to=inside(next), refused=False, needed=person_of(request.scope) is None
    )


@router.post(SIGN_IN)
async def sign_in(
    request: Request,
    parts: TheParts,
    key: Annotated[str, Form(max_length=LONGEST)] = "",
    to: Annotated[str, Form(alias="next", max_length=LONGEST)] = "/",
) -> Response:
    """Begins a session; a key that nobody has is told so."""
    cookie = parts.sessions.begin(key.strip())
    if cookie is None:
        return render(request, "sign_in.html.j2", 401, to=inside(to), refused=True, needed=True)
    answer = RedirectResponse(inside(to), 303)
    answer.set_cookie(
        COOKIE, cookie, max_age=LASTS_S, path="/", httponly=True, samesite="strict", secure=request.url.scheme == "https"
    )  # fmt: skip
    return answer


@router.post("/sign-out")
async def sign_out() -> Response:
    """Ends the session in this browser."""
    answer = RedirectResponse(SIGN_IN, 303)
    answer.delete_cookie(COOKIE, path="/", httponly=True, samesite="strict")
    return answer


@router.post("/theme")
async def theme(
    request: Request,
    chosen: Annotated[str, Form(alias="theme")] = "auto",
    to: Annotated[str, Form(alias="next", max_length=LONGEST)] = "/",
) -> Response:
    """Light, dark, or as the system has it."""
    answer = RedirectResponse(inside(to), 303)
    answer.set_cookie(
        THEME, chosen if chosen in THEMES else "auto", max_age=A_YEAR_S, path="/", httponly=True, samesite="strict",
        secure=request.url.scheme == "https",
    )  # fmt: skip
    return answer


def inside(path: str) -> str:
    """A path of this service, for a redirect; `/` for whatever else was asked for."""
    safe = (
        path.startswith("/")
        and not path.startswith(("//", "/\\"))
        and path.isprintable()
        and "\\" not in path
    )
    return path if safe else "/"
