"""Reads the forms by which people order jobs and schedules, and says orders with names instead of ids."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import Depends, Request
from pydantic import JsonValue, TypeAdapter, ValidationError
from pydantic_core import from_json
from starlette.datastructures import FormData

from kb_schema.knowledge_base import KnowledgeBase
from kb_schema.service_records import (
    DemoOrder,
    JobOrder,
    MapOrder,
    SentenceOrder,
    TaskOrder,
    TeachOrder,
    VerificationOrder,
)
from periplus.jobs.service_jobs import ServiceJobs
from periplus.service.job_routes import ScheduleRequest
from periplus.service.problem_details import ApiProblem, FieldProblem, build_invalid_problem

INPUT = "input."
"""Prefix of the fields with a task's inputs."""
LONGEST_FIELD = 10_000

_ORDERS: TypeAdapter[JobOrder] = TypeAdapter(JobOrder)


async def read_form(request: Request) -> FormData:
    """Return the fields of a submitted form."""
    return await request.form()


OrderForm = Annotated[FormData, Depends(read_form)]


def require_jobs(jobs: ServiceJobs | None) -> ServiceJobs:
    """Return the jobs of the service. Raises `ApiProblem` if it runs none."""
    if jobs is None:
        raise ApiProblem(409, "no_jobs", "this service runs no jobs", fix="use `periplus serve`")
    return jobs


def read_order(form: FormData) -> JobOrder:
    """Return the order of a form. Raises `ApiProblem` with the field that is wrong."""
    kind = _text(form, "kind")
    given: dict[str, Any] = {"kind": kind}
    if kind == "verification":
        given |= {
            "files": [str(each) for each in form.getlist("files")],
            "base_url": _text(form, "base_url") or None,
        }
    else:
        given["website_id"] = _text(form, "website_id")
    if kind == "task":
        given |= {
            "task_id": _text(form, "task_id"),
            "values": _inputs(form),
            "trace": _text(form, "trace") == "yes",
        }
    elif kind == "map":
        given |= {
            "url": _text(form, "url"),
            "update": _text(form, "update") == "yes",
            "load": _text(form, "load") == "yes",
        }
    elif kind == "sentence":
        given |= {
            "sentence": _text(form, "sentence"),
            "plan": _plan(form),
            "values": _inputs(form),
            "allowed": [str(each)[:LONGEST_FIELD] for each in form.getlist("allowed") if each],
        }
    elif kind == "demo":
        given |= {"flow_id": _text(form, "flow_id"), "rehearse": _text(form, "rehearse") == "yes"}
    order: JobOrder = _validated(_ORDERS.validate_python, given)
    return order


def read_schedule(form: FormData) -> ScheduleRequest:
    """Return the schedule of a form, with its order. Raises `ApiProblem` with the field that is wrong."""
    given = {
        "name": _text(form, "name"),
        "cron": _text(form, "cron"),
        "zone": _text(form, "zone") or "UTC",
        "order": read_order(form).model_dump(),
    }
    schedule: ScheduleRequest = _validated(ScheduleRequest.model_validate, given)
    return schedule


def describe_for_people(order: JobOrder, knowledge: KnowledgeBase | None) -> str:
    """Return an order in words, with the names of the website's knowledge."""
    site = order.website_id if not isinstance(order, VerificationOrder) else ""
    if knowledge is not None:
        site = knowledge.website.name or site
    match order:
        case TaskOrder():
            return f"Run “{_name(knowledge, order.task_id)}” on {site}"
        case VerificationOrder():
            return f"Verify {', '.join(order.files)}"
        case MapOrder():
            return f"Look for changes of {site}" if order.update else f"Map {order.url}"
        case DemoOrder():
            flow = knowledge.flows.get(order.flow_id) if knowledge is not None else None
            words = "Rehearse" if order.rehearse else "Film"
            return f"{words} “{flow.name if flow is not None else order.flow_id}” of {site}"
        case SentenceOrder():
            return f"Do “{order.sentence}” on {site}"
        case TeachOrder():
            return f"Learn “{order.name}” on {site}"


def _name(knowledge: KnowledgeBase | None, task_id: str) -> str:
    found = None
    if knowledge is not None:
        found = knowledge.tasks.get(task_id) or knowledge.workflows.get(task_id)
    return found.name if found is not None and found.name else task_id.replace("_", " ")


def _inputs(form: FormData) -> dict[str, str]:
    values = {name.removeprefix(INPUT): _text(form, name) for name in form if name.startswith(INPUT)}
    return {name: value for name, value in values.items() if value}


def _plan(form: FormData) -> JsonValue:
    """Return the plan that the page was made with."""
    text = form.get("plan", "")
    try:
        plan: JsonValue = from_json(text if isinstance(text, str) else "")
    except ValueError as exc:
        wrong = FieldProblem(location="plan", message="it is no JSON", fix="say the sentence again")
        raise build_invalid_problem([wrong]) from exc
    return plan


def _text(form: FormData, name: str) -> str:
    value = form.get(name, "")
    return value.strip()[:LONGEST_FIELD] if isinstance(value, str) else ""


def _validated(read: Any, given: Mapping[str, Any]) -> Any:
    try:
        return read(given)
    except ValidationError as exc:
        wrong = [
            FieldProblem(
                location=".".join(str(part) for part in each["loc"][-1:]) or "kind",
                message=each["msg"],
                fix="correct it in the form",
            )
            for each in exc.errors(include_url=False, include_context=False, include_input=False)
        ]
        raise build_invalid_problem(wrong) from exc
