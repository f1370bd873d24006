"""The page of a sentence: which task or plan it means, with the form that runs it. Reading it runs nothing."""

from __future__ import annotations

import json
from typing import Annotated

from fastapi import APIRouter, Depends, Form, Request
from fastapi.responses import Response

from kb_schema.service_records import LONGEST_SENTENCE, SentenceOrder, TaskOrder
from periplus.console.console_framework import ConsoleContextParam, render, require_role
from periplus.console.job_orders import require_jobs
from periplus.service.sentence_routes import SentenceRequest, SimilarTask, read_meaning

NEEDS_YES = (
    ("deletes", "delete something"),
    ("pays", "pay or order something"),
    ("sends", "send something to others"),
    ("signs_out", "sign out"),
    ("elsewhere", "press a control although another one of this name stands beside a text of the sentence"),
    ("repeats", "press the same control of the same page again"),
    ("values", "enter texts that are neither in the sentence nor in the plan"),
)
"""Names of what is allowed only with a yes (`agent.sentence_runs.act_permissions`), in words."""

router = APIRouter()


@router.post("/sites/{site}/sentence", dependencies=[Depends(require_role("operate"))])
async def sentence(
    request: Request,
    site: str,
    parts: ConsoleContextParam,
    sentence: Annotated[str, Form(min_length=1, max_length=LONGEST_SENTENCE)],
) -> Response:
    """Show what a sentence means. Raises `UnknownName`, `SourceDown`, `ApiProblem` if the model fails."""
    jobs = require_jobs(parts.jobs)
    asked = SentenceRequest(website_id=site, sentence=sentence)
    found = await read_meaning(jobs.checker.views, asked)
    tasks = [_task_form(each) for each in found.similar]
    if isinstance(found.order, TaskOrder):
        tasks = [_task_form(SimilarTask(name="", order=found.order, missing=[]))]
    knowledge = (await jobs.checker.views.current(site)).view.knowledge
    names = {key: each.name for key, each in knowledge.tasks.items()}
    names |= {key: each.name for key, each in knowledge.workflows.items()}
    return render(
        request,
        "sentence.html.j2",
        site=site,
        sentence=sentence,
        longest=LONGEST_SENTENCE,
        found=found,
        tasks=tasks,
        names=names,
        plan=found.order.plan if isinstance(found.order, SentenceOrder) else None,
        needs_yes=NEEDS_YES,
    )


def _task_form(similar: SimilarTask) -> tuple[str, list[tuple[str, str, bool]]]:
    """Return a task's id, and its inputs as name, value and whether it is missing."""
    given = [
        (name, value if isinstance(value, str) else json.dumps(value, ensure_ascii=False), False)
        for name, value in similar.order.values.items()
    ]
    return similar.order.task_id, [*given, *((name, "", True) for name in similar.missing)]
