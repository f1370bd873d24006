"""How the service says no: one shape for every error (RFC 9457), with what to do about it.

Which status an error has, and how errors of other floors become problems, is decided here alone.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException

from kb_store import StoreError

MEDIA_TYPE = "application/problem+json"
RETRY_SOON_S = 2
"""When to ask again where a store did not answer."""


class FieldProblem(BaseModel):
    """One field that cannot be accepted."""

    location: str = Field(description="Where it is.", examples=["body.steps[1]"])
    message: str = Field(description="What is wrong with it.")
    fix: str = Field(default="", description="What to do about it.")


class Problem(BaseModel):
    """Every error of this service, whatever its status."""

    type: str = Field(description="`urn:periplus:problem:` and the code.")
    title: str = Field(description="The status in words.")
    status: int = Field(ge=400, le=599)
    code: str = Field(description="What programs tell errors apart by.", examples=["invalid_request"])
    detail: str = Field(description="What happened, for people.")
    fix: str = Field(default="", description="What to do about it.")
    errors: list[FieldProblem] = Field(default_factory=list, description="Every field that is wrong.")
    request_id: str = Field(default="", description="Also in the service's log.")


class ApiProblem(Exception):
    """A request that is not done."""

    def __init__(
        self,
        status: int,
        code: str,
        detail: str,
        *,
        fix: str = "",
        errors: Sequence[FieldProblem] = (),
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self.status, self.code, self.detail, self.fix = status, code, detail, fix
        self.errors, self.headers = tuple(errors), dict(headers or {})
        super().__init__(detail)

    def response(self, request_id: str) -> JSONResponse:
        """What is sent."""
        problem = Problem(
            type=f"urn:periplus:problem:{self.code}",
            title=HTTPStatus(self.status).phrase,
            status=self.status,
            code=self.code,
            detail=self.detail,
            fix=self.fix,
            errors=list(self.errors),
            request_id=request_id,
        )
        return JSONResponse(problem.model_dump(), self.status, self.headers, MEDIA_TYPE)


def store_problem(error: StoreError) -> ApiProblem:
    """The store did not do it. Where it stands is in the log and in `periplus kb status`, not in the answer."""
    if not error.retriable:
        return ApiProblem(500, "store_failed", "the store refused this", fix="see the service's log")
    return ApiProblem(
        503,
        "store_unavailable",
        "the store does not answer; nothing was accepted or changed",
        fix=f"ask again in {RETRY_SOON_S} s; /api/health says when it is back",
        headers={"Retry-After": str(RETRY_SOON_S)},
    )


def handle_problems(app: FastAPI) -> None:
    """Have the app answer every error in this shape."""
    app.add_exception_handler(ApiProblem, _on_problem)
    app.add_exception_handler(RequestValidationError, _on_invalid)
    app.add_exception_handler(HTTPException, _on_http)
    app.add_exception_handler(StoreError, _on_store)


def documented(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """`responses=` of an operation that may end in these."""
    return {status: _described(status) for status in statuses}


def request_id_of(request: Request) -> str:
    """The id the middleware gave it."""
    found: str = request.scope.get("state", {}).get("request_id", "")
    return found


_SAYS = {
    401: ("unauthorized", "a key is needed, or this one is not known", "send the header `X-API-Key: KEY`"),
    403: ("forbidden", "this token may only read", "use one that may write"),
    404: ("not_found", "there is no run of 'REQ-LOGIN-002'", "GET /api/runs lists the runs there are"),
    409: (
        "already_running",
        "'REQ-LOGIN-001' is being verified now",
        "wait until GET /api/runs/REQ-LOGIN-001 says it is over, or cancel it",
    ),
    413: ("too_large", "the request is larger than 1 MB", "send fewer steps in one request"),
    422: ("invalid_request", "1 field cannot be accepted", "see `errors`"),
    429: ("rate_limited", "too many requests within a minute", "come back in 7 s"),
    503: ("draining", "the service is about to end and takes no more runs", "ask again in 5 s"),
}
"""Status -> code, detail and fix of the example."""
_FIELD = FieldProblem(
    location="body.steps[1]",
    message="'Login' has one column; a step is `Element | action | value | expected outcome`",
    fix="write `Login | click`",
)
_HEADERS: dict[int, dict[str, Any]] = {
    401: {"WWW-Authenticate": {"schema": {"type": "string"}}},
    429: {"Retry-After": {"description": "Seconds.", "schema": {"type": "integer"}}},
    503: {"Retry-After": {"description": "Seconds.", "schema": {"type": "integer"}}},
}


def _described(status: int) -> dict[str, Any]:
    code, detail, fix = _SAYS[status]
    example = Problem(
        type=f"urn:periplus:problem:{code}",
        title=HTTPStatus(status).phrase,
        status=status,
        code=code,
        detail=detail,
        fix=fix,
        errors=[_FIELD] if status == 422 else [],
        request_id="9f2c61a0b7d84e0b",
    )
    schema = {"$ref": "#/components/schemas/Problem"}
    described: dict[str, Any] = {
        "description": f"{HTTPStatus(status).phrase}: {detail}.",
        "content": {MEDIA_TYPE: {"schema": schema, "example": example.model_dump()}},
    }
    return {**described, "headers": _HEADERS[status]} if status in _HEADERS else described


async def _on_problem(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, ApiProblem)  # noqa: S101 - registered for nothing else
    return error.response(request_id_of(request))


async def _on_store(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, StoreError)  # noqa: S101 - registered for nothing else
    return store_problem(error).response(request_id_of(request))


async def _on_invalid(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)  # noqa: S101 - registered for nothing else
    errors = _fields([dict(each) for each in error.errors()])
    return invalid(errors).response(request_id_of(request))


def invalid(errors: Sequence[FieldProblem]) -> ApiProblem:
    """A request with fields that cannot be accepted: all of them at once."""
    count = len(errors)
    return ApiProblem(
        422,
        "invalid_request",
        f"{count} field{'' if count == 1 else 's'} cannot be accepted: "
        + "; ".join(f"{each.location}: {each.message}" for each in errors[:3])
        + ("; ..." if count > 3 else ""),
        fix="see `errors`; /api/openapi.json has the shape and examples",
        errors=errors,
    )


async def _on_http(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)  # noqa: S101 - registered for nothing else
    known = {
        404: (
            "not_found",
            f"there is nothing at {request.url.path}",
            "/api/openapi.json lists what there is",
        ),
        405: (
            "method_not_allowed",
            f"{request.method} is not for {request.url.path}",
            f"use {(error.headers or {}).get('allow') or (error.headers or {}).get('Allow') or 'another method'}",
        ),
    }
    if error.status_code == 400:  # FastAPI's, of bytes that are no text
        unread = FieldProblem(location="body", message="it is not JSON in UTF-8", fix=_FIXES["json_invalid"])
        return invalid([unread]).response(request_id_of(request))
    code, detail, fix = known.get(error.status_code, ("refused", str(error.detail), ""))
    problem = ApiProblem(error.status_code, code, detail, fix=fix, headers=error.headers)
    return problem.response(request_id_of(request))


def _fields(errors: Sequence[Mapping[str, Any]]) -> list[FieldProblem]:
    found: dict[str, FieldProblem] = {}
    for each in errors:
        place = _location(each)
        message = str(each.get("msg", "cannot be accepted")).removeprefix("Value error, ")
        if place in found:  # the branches of a union each say why it is not them
            if message not in found[place].message:
                merged = f"{found[place].message}; or {message}"
                found[place] = found[place].model_copy(update={"message": merged})
            continue
        found[place] = FieldProblem(location=place, message=message, fix=_fix(each))
    return list(found.values())


def _location(error: Mapping[str, Any]) -> str:
    where, *path = error.get("loc", ("request",))
    if error.get("type") == "json_invalid":
        return f"{where}, character {path[0]}" if path else str(where)
    text = str(where)
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        elif part not in _BRANCHES:
            text += f".{part}"
    return text


_BRANCHES = frozenset({"str", "StepBody", "constrained-str"})
"""What pydantic puts into a location to tell the branches of a union apart."""
_FIELDS = ("req_id", "url", "steps", "title", "tags")
_FIXES = {
    "missing": "add it",
    "json_invalid": "send JSON, with `Content-Type: application/json`",
    "extra_forbidden": "leave it out",
    "model_attributes_type": "send a JSON object, with `Content-Type: application/json`",
    "string_pattern_mismatch": "see the pattern in /api/openapi.json",
    "too_short": "give at least one",
}


def _fix(error: Mapping[str, Any]) -> str:
    kind, name = str(error.get("type", "")), str((error.get("loc") or ("",))[-1])
    if kind == "extra_forbidden":
        close = difflib.get_close_matches(name, _FIELDS, n=1)
        return f"did you mean `{close[0]}`?" if close else _FIXES[kind]
    return _FIXES.get(kind, "")
