"""The control endpoint of tests: ``/__control/...``. It exists only with ``--test-controls``.

It reports what the site really holds, arms faults and bugs and switches the UI version. An answer is JSON
always; a request that makes no sense is answered with 400 and ``{"error": ...}``.
"""

import re
from collections.abc import Collection
from dataclasses import asdict, replace
from json import JSONDecodeError

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from seeds.spadeworks.site.bugs import Bug
from seeds.spadeworks.site.faults import Fault, FaultKind
from seeds.spadeworks.site.site import Site, site_of
from seeds.spadeworks.site.state import MAX_AGENTS, MAX_CONTACTS, MAX_EMAILS, STATUSES, Visitor
from seeds.spadeworks.site.web import Handler

_MAX_MS = 60_000


class ControlError(Exception):
    """A control request that cannot be carried out."""


class Body:
    """The JSON object a control request sent."""

    def __init__(self, values: dict[str, object]) -> None:
        self._values = values

    def text(self, name: str, default: str = "") -> str:
        """Return a string. Raises ``ControlError``."""
        value = self._values.get(name, default)
        if not isinstance(value, str):
            raise ControlError(f"{name!r} must be a string")
        return value

    def number(self, name: str, default: int, most: int) -> int:
        """Return a whole number from 0 to ``most``. Raises ``ControlError``."""
        value = self._values.get(name, default)
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= most:
            raise ControlError(f"{name!r} must be a whole number from 0 to {most}")
        return value

    def numbers(self, name: str, most: int) -> tuple[int, ...]:
        """Return a list of whole numbers from 0 to ``most``, empty if missing. Raises ``ControlError``."""
        values = self._values.get(name, [])
        if not isinstance(values, list) or not all(
            type(each) is int and 0 <= each <= most for each in values
        ):
            raise ControlError(f"{name!r} must be a list of whole numbers from 0 to {most}")
        return tuple(values)

    def texts(self, name: str, known: Collection[str], most: int) -> tuple[str, ...]:
        """Return a list of at most ``most`` strings, each one of ``known``. Raises ``ControlError``."""
        values = self._values.get(name)
        if not isinstance(values, list) or len(values) > most or not all(each in known for each in values):
            raise ControlError(f"{name!r} must be a list of at most {most} of: {', '.join(known)}")
        return tuple(values)

    def flag(self, name: str, default: bool) -> bool:
        """Return true or false. Raises ``ControlError``."""
        value = self._values.get(name, default)
        if not isinstance(value, bool):
            raise ControlError(f"{name!r} must be true or false")
        return value


async def _body(request: Request, *known: str) -> Body:
    try:
        values = await request.json() if await request.body() else {}
    except JSONDecodeError as exc:
        raise ControlError(f"not JSON: {exc}") from exc
    if not isinstance(values, dict):
        raise ControlError("the body must be a JSON object")
    if unknown := sorted(set(values) - set(known)):
        raise ControlError(f"unknown: {', '.join(unknown)}; known: {', '.join(known)}")
    return Body(values)


def _answers(handler: Handler) -> Handler:
    async def answering(request: Request) -> Response:
        try:
            return await handler(request)
        except ControlError as exc:
            return JSONResponse({"error": str(exc)}, 400)

    return answering


def _visitor(request: Request) -> Visitor | None:
    """Return the visitor named by ``?visitor=``, or ``None`` if none was named."""
    wanted = request.query_params.get("visitor")
    if wanted is None:
        return None
    visitor = site_of(request).visitors.get(wanted)
    if visitor is None:
        raise ControlError(f"no visitor {wanted!r}")
    return visitor


def _addressed(request: Request) -> list[Visitor]:
    """Return the named visitor, or everybody."""
    visitor = _visitor(request)
    return site_of(request).visitors.all() if visitor is None else [visitor]


async def _state(request: Request) -> Response:
    site = site_of(request)
    everybody = site.visitors.all()
    visitor = _visitor(request) or (everybody[-1] if everybody else None)
    return JSONResponse(
        {
            "visitor": visitor.id if visitor else None,
            "visitors": [{"id": v.id, "signed_in": v.signed_in, "last_seen": v.last_seen} for v in everybody],
            "ui_version": site.ui_version,
            "faults": _faults_report(site),
            "bugs": site.bugs.all(),
            **(_workspace(visitor) if visitor else {}),
        }
    )


def _workspace(visitor: Visitor) -> dict[str, object]:
    return {
        "signed_in": visitor.signed_in,
        "counts": asdict(visitor.counts),
        "preferences": asdict(visitor.preferences),
        "agents": [asdict(a) for a in visitor.agents],
        "contacts": [asdict(c) for c in visitor.contacts],
        "campaigns": [asdict(c) for c in visitor.campaigns],
        "emails": [asdict(e) for e in visitor.emails],
    }


def _faults_report(site: Site) -> list[dict[str, object]]:
    return [asdict(fault) for fault in site.faults.all()]


async def _list_faults(request: Request) -> Response:
    return JSONResponse({"faults": _faults_report(site_of(request))})


async def _arm_fault(request: Request) -> Response:
    body = await _body(request, "kind", "path", "times", "method", "visitor", "ms", "email_id")
    try:
        base = Fault.of_kind(FaultKind(body.text("kind")))
    except ValueError as exc:
        raise ControlError(f"'kind' must be one of: {', '.join(FaultKind)}") from exc
    try:
        fault = replace(
            base,
            path=body.text("path", base.path),
            times=body.number("times", base.times, 1_000),
            method=body.text("method", base.method).upper(),
            visitor=body.text("visitor", base.visitor),
            ms=body.number("ms", base.ms, _MAX_MS),
            email_id=body.text("email_id", base.email_id),
        )
    except re.error as exc:
        raise ControlError(f"'path' is not a regular expression: {exc}") from exc
    site_of(request).faults.arm(fault)
    return JSONResponse(asdict(fault), 201)


async def _clear_faults(request: Request) -> Response:
    site_of(request).faults.clear()
    return JSONResponse({"faults": []})


async def _list_bugs(request: Request) -> Response:
    return JSONResponse({"bugs": site_of(request).bugs.all()})


async def _arm_bug(request: Request) -> Response:
    try:
        bug = Bug((await _body(request, "bug")).text("bug"))
    except ValueError as exc:
        raise ControlError(f"'bug' must be one of: {', '.join(Bug)}") from exc
    site_of(request).bugs.arm(bug)
    return JSONResponse({"bug": bug}, 201)


async def _clear_bugs(request: Request) -> Response:
    site_of(request).bugs.clear()
    return JSONResponse({"bugs": []})


async def _ui_version(request: Request) -> Response:
    wanted = (await _body(request, "version")).number("version", 0, 2)
    if wanted == 0:
        raise ControlError("'version' must be 1 or 2")
    site_of(request).ui_version = 2 if wanted == 2 else 1
    return JSONResponse({"ui_version": wanted})


async def _reset(request: Request) -> Response:
    site, visitor = site_of(request), _visitor(request)
    if visitor is None:
        site.reset()
    else:
        site.visitors.reset(visitor)
    return JSONResponse({"reset": visitor.id if visitor else "everything"})


async def _otp(request: Request) -> Response:
    required = (await _body(request, "required")).flag("required", True)
    for visitor in _addressed(request):
        visitor.preferences.otp_required = required
    if _visitor(request) is None:
        site_of(request).visitors.defaults.otp_required = required
    return JSONResponse({"required": required})


async def _seed_emails(request: Request) -> Response:
    count = (await _body(request, "count")).number("count", 7, MAX_EMAILS)
    for visitor in _addressed(request):
        visitor.fill_inbox(count)
    if _visitor(request) is None:
        site_of(request).visitors.defaults.emails = count
    return JSONResponse({"count": count})


async def _seed_agents(request: Request) -> Response:
    statuses = (await _body(request, "statuses")).texts("statuses", STATUSES, MAX_AGENTS)
    for visitor in _addressed(request):
        visitor.staff(statuses)
    if _visitor(request) is None:
        site_of(request).visitors.defaults.statuses = statuses
    return JSONResponse({"count": len(statuses)})


async def _seed_contacts(request: Request) -> Response:
    body = await _body(request, "count", "blocked")
    count, blocked = body.number("count", 48, MAX_CONTACTS), body.numbers("blocked", MAX_CONTACTS)
    for visitor in _addressed(request):
        visitor.fill_contacts(count, blocked)
    if _visitor(request) is None:
        defaults = site_of(request).visitors.defaults
        defaults.contacts, defaults.blocked = count, blocked
    return JSONResponse({"count": count})


routes = [
    Route("/state", _answers(_state)),
    Route("/faults", _answers(_list_faults), methods=["GET"]),
    Route("/faults", _answers(_arm_fault), methods=["POST"]),
    Route("/faults", _answers(_clear_faults), methods=["DELETE"]),
    Route("/bugs", _answers(_list_bugs), methods=["GET"]),
    Route("/bugs", _answers(_arm_bug), methods=["POST"]),
    Route("/bugs", _answers(_clear_bugs), methods=["DELETE"]),
    Route("/ui-version", _answers(_ui_version), methods=["POST"]),
    Route("/reset", _answers(_reset), methods=["POST"]),
    Route("/otp", _answers(_otp), methods=["POST"]),
    Route("/seed-emails", _answers(_seed_emails), methods=["POST"]),
    Route("/seed-agents", _answers(_seed_agents), methods=["POST"]),
    Route("/seed-contacts", _answers(_seed_contacts), methods=["POST"]),
]
