"""Errors of the service as problem details (RFC 9457), with a fix.

This module maps all errors of other packages to status codes and problems.
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
from starlette.routing import compile_path

from agent.errors import KnowledgeUnavailable
from kb_store import StoreError

MEDIA_TYPE = "application/problem+json"
RETRY_SOON_S = 2
"""`Retry-After` in seconds if a store did not answer."""


class FieldProblem(BaseModel):
    """One invalid field."""

    location: str = Field(description="The field's location.", examples=["body.steps[1]"])
    message: str = Field(description="What is wrong with it.")
    fix: str = Field(default="", description="What to do about it.")


class ProblemDetails(BaseModel):
    """The body of every error response."""

    type: str = Field(description="`urn:periplus:problem:` and the code.")
    title: str = Field(description="The status as text.")
    status: int = Field(ge=400, le=599)
    code: str = Field(description="Identifies the error for programs.", examples=["invalid_request"])
    detail: str = Field(description="What happened, for people.")
    fix: str = Field(default="", description="What to do about it.")
    errors: list[FieldProblem] = Field(default_factory=list, description="All invalid fields.")
    request_id: str = Field(default="", description="Also in the service's log.")


class ApiProblem(Exception):
    """An error response as an exception."""

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
        """Return the response."""
        problem = ProblemDetails(
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


def build_store_problem(error: StoreError) -> ApiProblem:
    """Return the problem for a store error. The store's address is only in the log and in `periplus kb status`."""
    if not error.retriable:
        return ApiProblem(500, "store_failed", "the store refused the request", fix="see the service's log")
    return _build_busy_problem()


def _build_busy_problem() -> ApiProblem:
    return ApiProblem(
        503,
        "store_unavailable",
        "the store does not answer; nothing was accepted or changed",
        fix=f"retry in {RETRY_SOON_S} s; /api/health shows when the store is available",
        headers={"Retry-After": str(RETRY_SOON_S)},
    )


def handle_problems(app: FastAPI) -> None:
    """Register the handlers that answer every error with problem details."""
    app.add_exception_handler(ApiProblem, _on_problem)
    app.add_exception_handler(RequestValidationError, _on_invalid)
    app.add_exception_handler(HTTPException, _on_http)
    app.add_exception_handler(StoreError, _on_store)
    app.add_exception_handler(KnowledgeUnavailable, _on_no_knowledge)


def document_problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return `responses=` of an operation with these error statuses."""
    return {status: _describe_response(status) for status in statuses}


def get_request_id(request: Request) -> str:
    """Return the request id that the middleware assigned."""
    found: str = request.scope.get("state", {}).get("request_id", "")
    return found


_SAYS = {
    401: ("unauthorized", "the key is missing or unknown", "send the header `X-API-Key: KEY`"),
    403: ("forbidden", "this token only has read access", "use a token with write access"),
    404: ("not_found", "no run of 'REQ-LOGIN-002'", "GET /api/runs lists all runs"),
    409: (
        "already_running",
        "'REQ-LOGIN-001' is already running",
        "wait until it has ended (GET /api/runs/REQ-LOGIN-001), or cancel it",
    ),
    413: ("too_large", "the request is larger than 1 MB", "send fewer steps in one request"),
    422: ("invalid_request", "1 invalid field", "see `errors`"),
    429: ("rate_limited", "too many requests within a minute", "retry in 7 s"),
    503: ("draining", "the service is shutting down and accepts no more runs", "retry in 5 s"),
}
"""Status -> code, detail and fix of the documented example."""
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


def _describe_response(status: int) -> dict[str, Any]:
    code, detail, fix = _SAYS[status]
    example = ProblemDetails(
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
    assert isinstance(error, ApiProblem)  # noqa: S101 - registered only for this type
    return error.response(get_request_id(request))


async def _on_store(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, StoreError)  # noqa: S101 - registered only for this type
    return build_store_problem(error).response(get_request_id(request))


async def _on_no_knowledge(request: Request, _error: Exception) -> JSONResponse:
    return _build_busy_problem().response(get_request_id(request))


async def _on_invalid(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)  # noqa: S101 - registered only for this type
    errors = _fields([dict(each) for each in error.errors()])
    return build_invalid_problem(errors).response(get_request_id(request))


def build_invalid_problem(errors: Sequence[FieldProblem]) -> ApiProblem:
    """Return the problem for a request with invalid fields; it lists all of them."""
    count = len(errors)
    return ApiProblem(
        422,
        "invalid_request",
        f"{count} invalid field{'' if count == 1 else 's'}: "
        + "; ".join(f"{each.location}: {each.message}" for each in errors[:3])
        + ("; ..." if count > 3 else ""),
        fix="see `errors`; /api/openapi.json has the schema and examples",
        errors=errors,
    )


async def _on_http(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)  # noqa: S101 - registered only for this type
    headers = dict(error.headers or {})
    if error.status_code == 405:
        headers["Allow"] = ", ".join(_list_methods(request, error))
    known = {
        404: (
            "not_found",
            f"unknown path {request.url.path}",
            "/api/openapi.json lists all paths",
        ),
        405: (
            "method_not_allowed",
            f"{request.url.path} does not support {request.method}",
            f"use {' or '.join(_list_methods(request, error)) or 'another method'}",
        ),
    }
    if error.status_code == 400:  # FastAPI's error for a body that is not UTF-8
        unread = FieldProblem(
            location="body", message="the body is not JSON in UTF-8", fix=_FIXES["json_invalid"]
        )
        return build_invalid_problem([unread]).response(get_request_id(request))
    code, detail, fix = known.get(error.status_code, ("refused", str(error.detail), ""))
    problem = ApiProblem(error.status_code, code, detail, fix=fix, headers=headers)
    return problem.response(get_request_id(request))


def _list_methods(request: Request, error: HTTPException) -> list[str]:
    """Return the methods of all operations at the path of a request; the error has those of the first one only."""
    found = {each.strip() for each in (error.headers or {}).get("Allow", "").split(",") if each.strip()}
    for path, operations in request.app.openapi()["paths"].items():
        if compile_path(path)[0].match(request.url.path):
            found |= {each.upper() for each in operations}
    return sorted(found - {"HEAD"})


def _fields(errors: Sequence[Mapping[str, Any]]) -> list[FieldProblem]:
    found: dict[str, FieldProblem] = {}
    for each in errors:
        place = _location(each)
        message = str(each.get("msg", "is invalid")).removeprefix("Value error, ")
        if place in found:  # each branch of a union reports its own error
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
"""The parts of a pydantic location that name the branches of a union."""
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
