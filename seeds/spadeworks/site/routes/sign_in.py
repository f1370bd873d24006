"""Signing in and out: password, one-time code, and the pages around them."""

import hmac
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from seeds.spadeworks.site.bugs import Bug
from seeds.spadeworks.site.forms import is_email
from seeds.spadeworks.site.settings import DEMO_EMAIL, DEMO_PASSWORD
from seeds.spadeworks.site.site import site_of, visitor_of
from seeds.spadeworks.site.web import HOME, Errors, has_bug, local_path, read_form, render, see_other


async def _root(request: Request) -> Response:
    return see_other(HOME if visitor_of(request).signed_in else "/login")


def _next(request: Request) -> str:
    return local_path(request.query_params.get("next", HOME))


async def _login_page(request: Request) -> Response:
    if visitor_of(request).signed_in:
        return see_other(_next(request))
    return _show_login(request, Errors(), "")


def _show_login(request: Request, errors: Errors, email: str) -> Response:
    status = 422 if errors else 200
    return render(request, "login.html", status=status, errors=errors, email=email, next=_next(request))


async def _login(request: Request) -> Response:
    visitor = visitor_of(request)
    form = await read_form(request)
    email, password = form.text("email"), form.text("password")
    errors = Errors()
    if not is_email(email):
        errors["email"] = "Enter your email address"
    if not password:
        errors["password"] = "Enter your password"  # noqa: S105 - a message
    if not errors and not _knows(email, password):
        errors["form"] = "The email or the password is not right"
    if errors:
        visitor.counts.login_failures += 1
        return _show_login(request, errors, email)
    if visitor.preferences.otp_required:
        visitor.password_accepted = True
        return see_other(f"/login/code?next={quote(_next(request))}")
    visitor.sign_in()
    return see_other("/settings" if has_bug(request, Bug.WRONG_REDIRECT) else _next(request))


def _knows(email: str, password: str) -> bool:
    right = hmac.compare_digest(password.encode(), DEMO_PASSWORD.encode())
    return right and email.lower() == DEMO_EMAIL


async def _code_page(request: Request) -> Response:
    if not visitor_of(request).password_accepted:
        return see_other("/login")
    return render(request, "login_code.html", errors=Errors(), next=_next(request))


async def _code(request: Request) -> Response:
    visitor = visitor_of(request)
    form = await read_form(request)
    if not visitor.password_accepted:
        return see_other("/login")
    if site_of(request).codes.redeem(visitor, form.text("code", 20)):
        visitor.counts.codes_accepted += 1
        visitor.sign_in()
        return see_other(_next(request))
    visitor.counts.codes_rejected += 1
    errors = Errors(code="This code is not valid. Codes change every 30 seconds and work once")
    return render(request, "login_code.html", status=422, errors=errors, next=_next(request))


async def _authenticator(request: Request) -> Response:
    codes = site_of(request).codes
    return render(request, "authenticator.html", code=codes.current(), seconds_left=codes.seconds_left())


async def _current_code(request: Request) -> Response:
    codes = site_of(request).codes
    values = {"code": codes.current(), "seconds_left": codes.seconds_left()}
    return JSONResponse(values, headers={"Cache-Control": "no-store"})


async def _forgot_password(request: Request) -> Response:
    return render(request, "forgot_password.html", sent=False)


async def _send_reset_link(request: Request) -> Response:
    """Say that a link is on its way if the account exists. This site sends nothing."""
    await read_form(request)
    return render(request, "forgot_password.html", sent=True)


async def _session_expired(request: Request) -> Response:
    return render(request, "session_expired.html", next=_next(request))


async def _sign_out(request: Request) -> Response:
    visitor = visitor_of(request)
    await read_form(request)
    if visitor.signed_in:
        visitor.sign_out()
        visitor.counts.logouts += 1
    return see_other("/login")


routes = [
    Route("/", _root),
    Route("/login", _login_page, methods=["GET"]),
    Route("/login", _login, methods=["POST"]),
    Route("/login/code", _code_page, methods=["GET"]),
    Route("/login/code", _code, methods=["POST"]),
    Route("/authenticator", _authenticator),
    Route("/authenticator/code", _current_code),
    Route("/forgot-password", _forgot_password, methods=["GET"]),
    Route("/forgot-password", _send_reset_link, methods=["POST"]),
    Route("/session-expired", _session_expired),
    Route("/sign-out", _sign_out, methods=["POST"]),
]
