"""Turns what other packages raise about a request into `ApiProblem`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from mcp_server.errors import SourceUnavailable, UnknownName
from periplus.errors import UserError
from periplus.service.problem_details import ApiProblem


@contextmanager
def translate_refusals() -> Iterator[None]:
    """Raise `ApiProblem` for `UserError` (422), `UnknownName` (404) and `SourceUnavailable` (503) in the block."""
    try:
        yield
    except UserError as exc:
        raise ApiProblem(422, "invalid_request", exc.message, fix=exc.fix or "") from exc
    except UnknownName as exc:
        raise ApiProblem(404, "not_found", str(exc), fix="GET / lists the websites of the service") from exc
    except SourceUnavailable as exc:
        raise ApiProblem(503, "store_unavailable", str(exc), fix="retry in some seconds") from exc
