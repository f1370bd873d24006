"""What the routes share: rendering a page, guarding it, reading a form."""

import hmac
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from urllib.parse import quote, urlsplit

from starlette.datastructures import FormData, UploadFile
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response

from seeds.spadeworks.site import sample
from seeds.spadeworks.site.bugs import Bug
from seeds.spadeworks.site.faults import PAGE_KINDS, FaultKind
from seeds.spadeworks.site.site import site_of, visitor_of

Handler = Callable[[Request], Awaitable[Response]]

CONSENT_COOKIE = "sw_consent"
HOME = "/dashboard"


def render(request: Request, template: str, *, status: int = 200, **context: object) -> Response:
    """Return a whole page. It shows, and so uses up, the waiting toasts and page faults."""
    site, visitor = site_of(request), visitor_of(request)
    faults = {
        fault.kind: fault
        for fault in site.faults.take(PAGE_KINDS, request.method, request.url.path, visitor.id)
    }
    animation = faults.get(FaultKind.ANIMATION)
    toasts = visitor.take_toasts()
    return fragment(
        request,
        template,
        status=status,
        toasts=[] if has_bug(request, Bug.MISSING_TOAST) else toasts,
        newsletter=FaultKind.MODAL in faults,
        drift_ms=animation.ms if animation else 0,
        cookie_banner=CONSENT_COOKIE not in request.cookies,
        **context,
    )


def fragment(request: Request, template: str, *, status: int = 200, **context: object) -> Response:
    """Return markup that is not a page of its own, such as what an ``iframe`` shows."""
    return HTMLResponse(
        render_text(request, template, **context),
        status,
        {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"},
    )


def render_text(request: Request, template: str, **context: object) -> str:
    """Return the markup of a template as text."""
    site, visitor = site_of(request), visitor_of(request)
    page = site.templates.get_template(template)
    return page.render(
        ui=site.ui,
        visitor=visitor,
        csrf_token=visitor.csrf_token,
        path=request.url.path,
        languages=sample.LANGUAGES,
        bugs=site.bugs,
        **context,
    )


def has_bug(request: Request, bug: Bug) -> bool:
    """Say whether the site is to be wrong in this way."""
    return bug in site_of(request).bugs


class Errors(dict[str, str]):
    """What is wrong with a form, by field name; ``""`` for a field that is right."""

    def __missing__(self, name: str) -> str:
        return ""


_ERROR_TEXTS = {
    403: ("This page is out of date", "Please go back, reload the page and try again."),
    404: ("Page not found", "The page may have been moved or deleted, or the address is mistyped."),
    405: ("Page not found", "There is nothing to see at this address."),
    500: (
        "Something went wrong",
        "We could not complete your request. Nothing is wrong with your workspace; please try again.",
    ),
}


def error_page(request: Request, status: int) -> Response:
    """Return the page for an HTTP error, or a short JSON answer if a script asked."""
    if status not in _ERROR_TEXTS:
        return Response(HTTPStatus(status).phrase, status)
    title, text = _ERROR_TEXTS[status]
    if wants_json(request):
        return JSONResponse({"error": title}, status)
    retry = request.url.path if request.method == "GET" else came_from(request) or HOME
    return fragment(request, "error.html", status=status, code=status, title=title, text=text, retry=retry)


def wants_json(request: Request) -> bool:
    """Say whether one of our scripts asked, and not the browser's navigation."""
    return request.headers.get("accept", "").startswith("application/json")


def see_other(path: str) -> Response:
    """Return the redirect that follows a successful form."""
    return RedirectResponse(path, 303)


def local_path(candidate: str) -> str:
    """Return ``candidate`` if it is a path on this site, else the dashboard's."""
    safe = (
        candidate.startswith("/")
        and not candidate.startswith(("//", "/\\"))
        and candidate.isprintable()
        and urlsplit(candidate).netloc == ""
    )
    return candidate if safe else HOME


def came_from(request: Request) -> str:
    """Return the path of the page that sent this request, or ``""``."""
    return local_path(urlsplit(request.headers.get("referer", "")).path or HOME)


def sign_in_path(request: Request) -> str:
    """Return the sign-in page that leads back to where the request wanted to go."""
    if request.method != "GET":
        return f"/login?next={quote(came_from(request))}"
    query = f"?{request.url.query}" if request.url.query else ""
    return f"/login?next={quote(request.url.path + query)}"


def signed_in(handler: Handler) -> Handler:
    """Let only visitors with a session through; the others are sent to the sign-in page."""

    async def guarded(request: Request) -> Response:
        if visitor_of(request).signed_in:
            return await handler(request)
        if wants_json(request):
            return JSONResponse({"error": "Please sign in"}, 401)
        return see_other(sign_in_path(request))

    return guarded


class Form:
    """A submitted form whose CSRF token was right."""

    def __init__(self, data: FormData) -> None:
        self._data = data

    def text(self, name: str, limit: int = 2_000) -> str:
        """Return a field without surrounding blanks, cut at ``limit`` characters; ``""`` if missing."""
        value = self._data.get(name)
        return value.strip()[:limit] if isinstance(value, str) else ""

    def texts(self, name: str) -> list[str]:
        """Return every value sent under this name, at most twenty."""
        return [v.strip()[:200] for v in self._data.getlist(name) if isinstance(v, str)][:20]

    def flag(self, name: str) -> bool:
        """Say whether a checkbox was ticked."""
        return name in self._data

    async def upload(self, name: str) -> bytes | None:
        """Return the content of an uploaded file, or ``None`` if none was chosen."""
        value = self._data.get(name)
        return await value.read() if isinstance(value, UploadFile) and value.filename else None


async def read_form(request: Request) -> Form:
    """Return the submitted form. Raises ``HTTPException`` (403) if its CSRF token is not ours."""
    data = await request.form(max_files=1, max_fields=60)
    token = data.get("csrf_token") or request.headers.get("x-csrf-token", "")
    expected = visitor_of(request).csrf_token
    if not isinstance(token, str) or not hmac.compare_digest(token.encode(), expected.encode()):
        raise HTTPException(403)
    return Form(data)
