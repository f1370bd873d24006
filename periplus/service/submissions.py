"""From a request to a requirement, within what the server lends to its clients.

Steps are read by the planner, as files are. Here it is decided which secrets of this server's
environment, and which of its files, a client's steps may put into pages: none that was not named.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from agent.verifying.planning import Problem, RequirementsInvalid, requirement_of
from kb_schema.placeholders import Secret, parts
from kb_schema.verification import Requirement
from periplus.service.keeping import inside
from periplus.service.models import RunRequest, StepBody
from periplus.service.problems import ApiProblem, FieldProblem, invalid

OWN = "PERIPLUS_*"
"""Names of secrets that are the service's own and never lent."""


@dataclass(frozen=True, slots=True)
class Lending:
    """What of this machine a client's steps may use."""

    secrets: frozenset[str] = frozenset()
    """Names of environment variables, with `*` for any characters."""
    files: Path | None = None
    """The folder from which files may be uploaded."""

    def lends(self, name: str) -> bool:
        """Whether `{secret:name}` may be used."""
        return not fnmatchcase(name, OWN) and any(fnmatchcase(name, each) for each in self.secrets)


def requirement_from(request: RunRequest, lending: Lending) -> Requirement:
    """The requirement. Raises `ApiProblem` with every field that is wrong (422) or asks for too much (403)."""
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
        raise invalid([_field(problem) for problem in exc.problems]) from exc
    refused = list(_refused(read, lending))
    if refused:
        raise ApiProblem(
            403, "not_lent", f"{len(refused)} of the steps use what this machine does not lend to clients",
            fix="see `errors`", errors=refused,
        )  # fmt: skip
    return read


def _refused(requirement: Requirement, lending: Lending) -> Iterator[FieldProblem]:
    for number, step in enumerate(requirement.steps):
        texts = [step.value, *(outcome.value for outcome in step.expected)]
        for name in sorted({name for text in texts if text for name in _secrets(text)}):
            if lending.lends(name):
                if not os.environ.get(name):
                    yield FieldProblem(
                        location=f"body.steps[{number}]",
                        message=f"{{secret:{name}}} has no value in the service's environment",
                        fix=f"start the service with {name}=...",
                    )
            else:
                yield FieldProblem(
                    location=f"body.steps[{number}]",
                    message=f"{{secret:{name}}} is not lent to clients",
                    fix=f"start the service with PERIPLUS_SERVE_SECRETS={name} (several with commas, `*` for any)",
                )
        if step.action == "upload_file" and (
            lending.files is None or inside(lending.files, step.value or "") is None
        ):
            yield FieldProblem(
                location=f"body.steps[{number}]",
                message="only files of the service's folder of files can be uploaded",
                fix="put it there, and give its name",
            )


def _secrets(text: str) -> set[str]:
    return {part.name for part in parts(text) if isinstance(part, Secret)}


def _field(problem: Problem) -> FieldProblem:
    place = problem.place
    if place.path:
        location = f"body{place.path.removeprefix('$')}"
    elif place.line is not None:
        location = f"body.steps[{place.line - 1}]"
    else:
        location = "body"
    return FieldProblem(location=location, message=problem.message, fix=problem.fix)
