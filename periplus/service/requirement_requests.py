"""Builds requirements from requests, and checks what a client's steps may use of this machine.

The planner reads the steps, as from files. A client's steps may only use the secrets and files of this server
that its settings permit.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from agent.verification.planning import RequirementProblem, RequirementsInvalid, requirement_of
from kb_schema.verification import Requirement
from periplus.service.problem_details import ApiProblem, FieldProblem, build_invalid_problem
from periplus.service.rest_models import RunRequest, StepBody
from periplus.service.served_secrets import SecretRefused, ServedSecrets
from periplus.service.submission_records import resolve_inside


@dataclass(frozen=True, slots=True)
class ClientPermissions:
    """The secrets and files of this machine that a client's steps may use."""

    grants: ServedSecrets
    files: Path | None = None
    """The folder from which files may be uploaded."""


async def build_requirement(request: RunRequest, permitted: ClientPermissions) -> Requirement:
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
            checks_files=False,
        )
    except RequirementsInvalid as exc:
        raise build_invalid_problem([_field(problem) for problem in exc.problems]) from exc
    refused = [
        *_find_refused_files(read, permitted.files),
        *await _find_refused_secrets(read, permitted.grants),
    ]
    if refused:
        raise ApiProblem(
            403,
            "not_lent",
            f"{len(refused)} of the steps use secrets or files that clients may not use",
            fix="see `errors`",
            errors=refused,
        )
    return _with_upload_paths(read, permitted.files)


async def _find_refused_secrets(requirement: Requirement, grants: ServedSecrets) -> list[FieldProblem]:
    """Return a problem for each step whose secret may not be used at the requirement's address."""
    found = []
    for number, step in enumerate(requirement.steps):
        try:
            await grants.grant(requirement.model_copy(update={"steps": (step,), "login": None}))
        except SecretRefused as exc:
            found.append(FieldProblem(location=f"body.steps[{number}]", message=exc.message, fix=exc.fix))
    if requirement.login is not None and not found:
        try:
            await grants.grant(requirement)
        except SecretRefused as exc:
            found.append(FieldProblem(location="body.login", message=exc.message, fix=exc.fix))
    return found


def _find_refused_files(requirement: Requirement, files: Path | None) -> Iterator[FieldProblem]:
    for number, step in enumerate(requirement.steps):
        if step.action == "upload_file" and (
            files is None or resolve_inside(files, step.value or "") is None
        ):
            yield FieldProblem(
                location=f"body.steps[{number}]",
                message="only files in the service's upload folder can be used",
                fix="put the file there and give its name",
            )


def _with_upload_paths(requirement: Requirement, files: Path | None) -> Requirement:
    """Return the requirement with its files to upload searched in a folder, as beside the file it was read from.

    Their names stay as the client gave them: what is told of the run names no folder of the server.
    """
    steps = []
    for step in requirement.steps:
        if step.action == "upload_file" and files is not None:
            place = step.place.model_copy(update={"file": str(files.absolute() / "request")})
            steps.append(step.model_copy(update={"place": place}))
        else:
            steps.append(step)
    return requirement.model_copy(update={"steps": tuple(steps)})


def _field(problem: RequirementProblem) -> FieldProblem:
    place = problem.place
    if place.path:
        location = f"body{place.path.removeprefix('$')}"
    elif place.line is not None:
        location = f"body.steps[{place.line - 1}]"
    else:
        location = "body"
    return FieldProblem(location=location, message=problem.message, fix=problem.fix)
