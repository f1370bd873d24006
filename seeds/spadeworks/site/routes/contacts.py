"""Contacts: the list, and importing a CSV file."""

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from seeds.spadeworks.site.bugs import Bug
from seeds.spadeworks.site.forms import read_contacts
from seeds.spadeworks.site.pagination import page_of
from seeds.spadeworks.site.site import visitor_of
from seeds.spadeworks.site.state import WorkspaceFullError
from seeds.spadeworks.site.web import has_bug, read_form, render, render_text, see_other, signed_in

PER_PAGE = 12


@signed_in
async def _list(request: Request) -> Response:
    page = page_of(visitor_of(request).contacts, request.query_params.get("page", ""), PER_PAGE)
    return render(request, "contacts.html", page=page, page_link="/contacts?page=")


@signed_in
async def _switch_calls(request: Request) -> Response:
    """Forbid or allow calls to one contact; answer with the row as it is now."""
    visitor = visitor_of(request)
    await read_form(request)
    contact = visitor.contact(request.path_params["contact_id"])
    if contact is None:
        return JSONResponse({"error": "This contact is gone"}, 404)
    visitor.switch_calls(contact)
    return JSONResponse({"row": render_text(request, "contact_row.html", contact=contact)})


@signed_in
async def _import_page(request: Request) -> Response:
    return _show_import(request, "", skip_duplicates=True)


def _show_import(request: Request, error: str, *, skip_duplicates: bool) -> Response:
    return render(
        request,
        "contacts_import.html",
        status=422 if error else 200,
        error=error,
        skip_duplicates=skip_duplicates,
    )


@signed_in
async def _import(request: Request) -> Response:
    visitor = visitor_of(request)
    form = await read_form(request)
    skip = form.flag("skip_duplicates")
    known = {contact.email.lower() for contact in visitor.contacts}
    file = read_contacts(await form.upload("contacts"), known, skip_duplicates=skip)
    if file.error:
        return _show_import(request, file.error, skip_duplicates=skip)
    try:
        imported = visitor.import_contacts(file.rows)
    except WorkspaceFullError as exc:
        return _show_import(request, str(exc), skip_duplicates=skip)
    visitor.counts.contacts_skipped += file.skipped
    told = imported + has_bug(request, Bug.WRONG_IMPORT_COUNT)
    visitor.toast(f"Imported {_contacts(told)}", _skipped(file.skipped))
    return see_other("/contacts")


def _contacts(count: int) -> str:
    return "1 contact" if count == 1 else f"{count} contacts"


def _skipped(count: int) -> str:
    if not count:
        return ""
    return "1 duplicate was skipped." if count == 1 else f"{count} duplicates were skipped."


routes = [
    Route("/contacts", _list),
    Route("/contacts/import", _import_page, methods=["GET"]),
    Route("/contacts/import", _import, methods=["POST"]),
    Route("/contacts/{contact_id}/calls", _switch_calls, methods=["POST"]),
]
