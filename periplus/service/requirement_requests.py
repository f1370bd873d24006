"""Builds requirements from requests, and checks what a client's steps may use of this machine.

The planner reads the steps, as from files. A client's steps may only use the secrets and files of this server
that its settings permit.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from pydantic import BaseModel

from agent.verification.planning import RequirementProblem, RequirementsInvalid, requirement_of
from kb_schema.placeholders import SecretPart, parts
from kb_schema.verification import Requirement
from periplus.service.problem_details import ApiProblem, FieldProblem, build_invalid_problem
from periplus.service.rest_models import RunRequest, StepBody
from periplus.service.submission_records import resolve_inside

OUTSIDE_STEPS = frozenset(Requirement.model_fields) - {"steps"}
"""Fields of a requirement that must not contain secrets."""
OWN = "PERIPLUS_*"
"""Names of the service's own secrets, which clients can never use."""


@dataclass(frozen=True, slots=True)
class ClientPermissions:
    """The secrets and files of this machine that a client's steps may use."""

    secrets: frozenset[str] = frozenset()
    """Names of environment variables, with `*` for any characters."""
    files: Path | None = None
    """The folder from which files may be uploaded."""

    def lends(self, name: str) -> bool:
        """Return whether clients may use `{secret:name}`."""
        return not fnmatchcase(name, OWN) and any(fnmatchcase(name, each) for each in self.secrets)


def build_requirement(request: RunRequest, lending: ClientPermissions) -> Requirement:
    """Return the requirement. Raises `ApiProblem` with all invalid (422) or all refused (403) fields."""
    steps = [
        step.model_dump(exclude_defaults=True) if isinstance(step, StepBody) else step
        for step in request.steps
    ]
    try:
        read = requirement_of(
            request.req_id,
            request.url,
            steps,
            title=request.title,
            login=request.login,
            tags=request.tags,
            folder=lending.files,
        )
    except RequirementsInvalid as exc:
        raise build_invalid_problem([_field(problem) for problem in exc.problems]) from exc
    refused = list(_find_refused_fields(read, lending))
    if refused:
        raise ApiProblem(
            403,
            "not_lent",
            f"{len(refused)} of the steps use secrets or files that clients may not use",
            fix="see `errors`",
            errors=refused,
        )
    return read


def _find_refused_fields(requirement: Requirement, lending: ClientPermissions) -> Iterator[FieldProblem]:
    yield from _secrets_outside_steps(requirement)
    for number, step in enumerate(requirement.steps):
        for name in sorted({name for text in _texts(step) for name in _secrets(text)}):
            if step.action == "navigate":
                yield FieldProblem(
                    location=f"body.steps[{number}]",
                    message=f"{{secret:{name}}} is not allowed in an address",
                    fix="use secrets in the values of steps that fill a field",
                )
            elif lending.lends(name):
                if not os.environ.get(name):
                    yield FieldProblem(
                        location=f"body.steps[{number}]",
                        message=f"{{secret:{name}}} has no value in the service's environment",
                        fix=f"start the service with {name}=...",
                    )
            else:
                yield FieldProblem(
                    location=f"body.steps[{number}]",
                    message=f"clients may not use {{secret:{name}}}",
                    fix=f"start the service with PERIPLUS_SERVE_SECRETS={name} (several with commas, `*` for any)",
                )
        if step.action == "upload_file" and (
            lending.files is None or resolve_inside(lending.files, step.value or "") is None
        ):
            yield FieldProblem(
                location=f"body.steps[{number}]",
                message="only files in the service's upload folder can be used",
                fix="put the file there and give its name",
            )


def _secrets_outside_steps(requirement: Requirement) -> Iterator[FieldProblem]:
    """Yield the fields outside of steps with a secret; in an address, for example, it would leave this machine."""
    for field in sorted(OUTSIDE_STEPS):
        for name in sorted({name for text in _texts(getattr(requirement, field)) for name in _secrets(text)}):
            yield FieldProblem(
                location=f"body.{field}",
                message=f"{{secret:{name}}} is not allowed in `{field}`",
                fix="use secrets in the values of steps only",
            )


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for each in (*value.keys(), *value.values()):
            yield from _texts(each)
    elif isinstance(value, list | tuple | set | frozenset):
        for each in value:
            yield from _texts(each)
    elif isinstance(value, BaseModel):
        yield from _texts(value.model_dump(mode="json"))


def _secrets(text: str) -> set[str]:
    return {part.name for part in parts(text) if isinstance(part, SecretPart)}


def _field(problem: RequirementProblem) -> FieldProblem:
    place = problem.place
    if place.path:
        location = f"body{place.path.removeprefix('$')}"
    elif place.line is not None:
        location = f"body.steps[{place.line - 1}]"
    else:
        location = "body"
    return FieldProblem(location=location, message=problem.message, fix=problem.fix)
