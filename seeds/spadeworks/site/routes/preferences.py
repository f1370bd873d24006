"""The Settings page: profile, security, notifications (in a frame) and theme."""

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from seeds.spadeworks.site.site import visitor_of
from seeds.spadeworks.site.web import Errors, fragment, read_form, render, see_other, signed_in


@signed_in
async def _settings(request: Request) -> Response:
    return render(request, "settings.html", errors=Errors())


@signed_in
async def _save_profile(request: Request) -> Response:
    visitor = visitor_of(request)
    form = await read_form(request)
    name = form.text("display_name", 80)
    if not name:
        errors = Errors(display_name="Enter your name")
        return render(request, "settings.html", status=422, errors=errors)
    visitor.preferences.display_name = name
    visitor.preferences.company = form.text("company", 80)
    return _saved(request, "Profile saved")


@signed_in
async def _save_security(request: Request) -> Response:
    form = await read_form(request)
    required = form.flag("otp_required")
    visitor_of(request).preferences.otp_required = required
    return _saved(request, f"One-time code {'required' if required else 'not required'}")


def _saved(request: Request, title: str) -> Response:
    visitor = visitor_of(request)
    visitor.counts.settings_saved += 1
    visitor.toast(title)
    return see_other("/settings")


@signed_in
async def _notifications(request: Request) -> Response:
    return fragment(request, "notifications_frame.html", saved=False)


@signed_in
async def _save_notifications(request: Request) -> Response:
    visitor = visitor_of(request)
    form = await read_form(request)
    visitor.preferences.notify_daily_summary = form.flag("daily_summary")
    visitor.preferences.notify_missed_calls = form.flag("missed_calls")
    visitor.preferences.notify_product_news = form.flag("product_news")
    visitor.counts.settings_saved += 1
    return fragment(request, "notifications_frame.html", saved=True)


@signed_in
async def _save_theme(request: Request) -> Response:
    visitor = visitor_of(request)
    form = await read_form(request)
    theme = form.text("theme")
    if theme not in ("light", "dark", "system"):
        return JSONResponse({"error": "There is no such theme"}, 422)
    visitor.preferences.theme = theme  # type: ignore[assignment]  # one of the three, just checked
    return JSONResponse({"theme": theme})


routes = [
    Route("/settings", _settings, methods=["GET"]),
    Route("/settings/profile", _save_profile, methods=["POST"]),
    Route("/settings/security", _save_security, methods=["POST"]),
    Route("/settings/notifications-frame", _notifications, methods=["GET"]),
    Route("/settings/notifications-frame", _save_notifications, methods=["POST"]),
    Route("/settings/theme", _save_theme, methods=["POST"]),
]
