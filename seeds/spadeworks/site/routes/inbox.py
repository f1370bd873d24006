"""The inbox: messages, and deleting them one by one without reloading the page."""

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from seeds.spadeworks.site.faults import FaultKind
from seeds.spadeworks.site.site import site_of, visitor_of
from seeds.spadeworks.site.web import read_form, render, render_text, signed_in


@signed_in
async def _inbox(request: Request) -> Response:
    visitor = visitor_of(request)
    visitor.take_unseen_emails()
    return render(request, "inbox.html", emails=visitor.emails)


@signed_in
async def _delete(request: Request) -> Response:
    """Delete one message; answer with how many are left and the rows that arrived meanwhile."""
    visitor, email_id = visitor_of(request), request.path_params["email_id"]
    await read_form(request)
    email = visitor.email(email_id)
    if email is None:
        return JSONResponse({"error": "This message is already gone"}, 404)
    refusal = site_of(request).faults.take(
        [FaultKind.UNDELETABLE_EMAIL], request.method, request.url.path, visitor.id, email_id=email_id
    )
    if refusal:
        return JSONResponse({"error": "This message could not be deleted"}, 409)
    visitor.delete_email(email)
    arrived = [render_text(request, "inbox_row.html", email=new) for new in visitor.take_unseen_emails()]
    return JSONResponse({"left": len(visitor.emails), "arrived": arrived})


routes = [
    Route("/inbox", _inbox),
    Route("/inbox/{email_id}/delete", _delete, methods=["POST"]),
]
