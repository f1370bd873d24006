"""The REST route of sentences: which task or plan one means, as an order that `POST /api/jobs` runs.

Reading a sentence runs nothing; sending the order back is the yes.
"""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Body
from pydantic import BaseModel, ConfigDict, Field

from agent.sentences.sentence_binding import BoundTask
from kb_schema.base import LocalId
from kb_schema.model_use import ModelUse
from kb_schema.service_records import LONGEST_SENTENCE, MOST_VALUES, JobOrder, SentenceOrder, TaskOrder
from mcp_server.knowledge.view_cache import ViewCache
from periplus.errors import UserError
from periplus.language_model import load_inferencer
from periplus.runs.sentence_jobs import SentenceJob, plan_known_job
from periplus.runs.sentence_tasks import explain_no_task, find_meaning
from periplus.secret_names import check_no_secret_names
from periplus.service.job_routes import Jobs
from periplus.service.problem_details import ApiProblem, document_problems
from periplus.service.refusals import translate_refusals

router = APIRouter()

NO_TASK = "use the words of a task's name and inputs, with values in quotes; with PERIPLUS_MODEL a language model plans it"
COMPLETE = "complete one of `similar`, and send it to POST /api/jobs"


class SentenceRequest(BaseModel):
    """A sentence to read."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"website_id": "shop", "sentence": 'add the product "Lamp"'}]},
    )

    website_id: LocalId
    sentence: str = Field(min_length=1, max_length=LONGEST_SENTENCE)
    values: dict[str, str] = Field(
        default_factory=dict,
        max_length=MOST_VALUES,
        description="Inputs beside the sentence. They replace values of it.",
    )


class SimilarTask(BaseModel):
    """A task that a sentence may mean."""

    name: str
    order: TaskOrder = Field(description="With the values that were found.")
    missing: list[str] = Field(description="Required inputs without a value.")


class SentenceMeaningView(BaseModel):
    """What a sentence means. Nothing was run."""

    meaning: Literal["task", "plan", "unclear", "none"] = Field(
        description="`task`: a known task. `plan`: no task does it, and a language model planned it."
        " `unclear`: at most two tasks in `similar`. `none`: no task, and no model."
    )
    order: JobOrder | None = Field(description="To run it, send this to POST /api/jobs.")
    plan: str | None = Field(description="The plan of `order` in lines, to be read before it is run.")
    similar: list[SimilarTask]
    explanation: str | None = Field(description="Why nothing is meant.")
    fix: str | None = Field(description="What to do about it.")
    model_use: ModelUse = Field(description="What reading the sentence cost; 0 calls are the usual.")


@router.post(
    "/sentences",
    response_model=SentenceMeaningView,
    summary="Read a sentence",
    tags=["jobs"],
    responses=document_problems(401, 403, 404, 413, 422, 429, 503),
)
async def read_sentence(jobs: Jobs, body: Annotated[SentenceRequest, Body()]) -> SentenceMeaningView:
    """Without a model first: a task is meant if every word is explained. A model is asked only if none is, and if one is configured."""
    return await read_meaning(jobs.checker.views, body)


async def read_meaning(views: ViewCache, asked: SentenceRequest) -> SentenceMeaningView:
    """Return what a sentence means. Raises `ApiProblem` for an unknown website and for a model that fails, and `StoreError`."""
    with translate_refusals():
        check_no_secret_names({"values": asked.values, "sentence": asked.sentence})
        knowledge = (await views.current(asked.website_id)).view.knowledge
    sentence = asked.sentence.strip()
    meaning = find_meaning(sentence, knowledge)
    if meaning.task is not None:
        return _view("task", order=_as_order(meaning.task, asked))
    if meaning.similar:
        similar = [_as_similar(each, asked) for each in meaning.similar]
        return _view("unclear", similar=similar, explanation=explain_no_task(meaning), fix=COMPLETE)
    with translate_refusals():
        model = load_inferencer("plan")
    if model is None:
        return _view("none", explanation=explain_no_task(meaning), fix=NO_TASK)
    try:
        found = await plan_known_job(sentence, knowledge, model, asked.values)
    except UserError as exc:
        raise ApiProblem(503, "model_unavailable", exc.message, fix=exc.fix or "try again") from exc
    return _view_of_model(found, asked, sentence, model.meter.use)


def _view_of_model(
    found: SentenceJob | BoundTask, asked: SentenceRequest, sentence: str, use: ModelUse
) -> SentenceMeaningView:
    if isinstance(found, SentenceJob):
        order = SentenceOrder(
            website_id=asked.website_id, sentence=sentence, plan=found.plan, values=asked.values
        )
        return _view("plan", order=order, plan=found.plan.describe(), use=use)
    if missing := [name for name in found.missing if name not in asked.values]:
        explanation = f"the sentence has no value for {', '.join(missing)} of {found.task_id}"
        similar = [_as_similar(found, asked)]
        return _view("unclear", similar=similar, explanation=explanation, fix=COMPLETE, use=use)
    return _view("task", order=_as_order(found, asked), use=use)


def _view(
    meaning: Literal["task", "plan", "unclear", "none"],
    *,
    order: TaskOrder | SentenceOrder | None = None,
    plan: str | None = None,
    similar: list[SimilarTask] | None = None,
    explanation: str | None = None,
    fix: str | None = None,
    use: ModelUse | None = None,
) -> SentenceMeaningView:
    return SentenceMeaningView(
        meaning=meaning,
        order=order,
        plan=plan,
        similar=similar or [],
        explanation=explanation,
        fix=fix,
        model_use=use or ModelUse(),
    )


def _as_order(task: BoundTask, asked: SentenceRequest) -> TaskOrder:
    order = {
        "website_id": asked.website_id,
        "task_id": task.task_id,
        "values": {**task.values, **asked.values},
    }
    return TaskOrder.model_validate(order)


def _as_similar(task: BoundTask, asked: SentenceRequest) -> SimilarTask:
    missing = [name for name in task.missing if name not in asked.values]
    return SimilarTask(name=task.name, order=_as_order(task, asked), missing=missing)
