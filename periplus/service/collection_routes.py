"""REST routes of collections (MA 1): run a task many times and keep a trace of each run."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request, Response
from fastapi import Path as InPath
from pydantic import BaseModel, ConfigDict, Field, JsonValue

from kb_schema.run_records import EvidenceLevel, RunStatus
from periplus.secret_names import find_secret_name
from periplus.service.collection_runner import (
    CollectionOrder,
    CollectionProgress,
    CollectionRunner,
    CollectionState,
)
from periplus.service.operation_links import document_links
from periplus.service.problem_details import ApiProblem, document_problems
from periplus.service.refusals import translate_refusals

MOST_ROWS, MOST_WORKERS, MOST_WAIT_S = 1_000, 8, 60
COLLECTION_ID = r"^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$"

router = APIRouter()


class CollectionRequest(BaseModel):
    """A task to run many times."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {
                    "website_id": "shop",
                    "task_id": "add_product",
                    "inputs": [{"name": "Lamp"}, {"name": "Desk"}],
                }
            ]
        },
    )

    website_id: str = Field(min_length=1, max_length=200)
    task_id: str = Field(min_length=1, max_length=200, description="A task or a workflow of the website.")
    inputs: list[dict[str, JsonValue]] = Field(
        default_factory=list,
        max_length=MOST_ROWS,
        description="One object per run; without it inputs are made.",
    )
    runs: int | None = Field(
        default=None, ge=1, le=MOST_ROWS, description="Runs with made inputs; default: 5."
    )
    make: dict[str, str | list[str]] = Field(
        default_factory=dict,
        description="What to make for an input: a kind (name, email, date, ...), or values.",
    )
    values: dict[str, JsonValue] = Field(
        default_factory=dict, description="Inputs with the same value in every run; they are not stored."
    )
    workers: int = Field(default=1, ge=1, le=MOST_WORKERS, description="Runs in parallel.")


class CollectedRow(BaseModel):
    """One run."""

    row: int
    run_id: str | None = None
    status: RunStatus | None = None
    evidence: EvidenceLevel | None = None
    error: str | None = None


class CollectionView(BaseModel):
    """A collection and its rows that have ended, in the order of the rows."""

    collection_id: str
    website_id: str
    task_id: str
    state: CollectionState
    total: int
    done: int = Field(description="Rows of which every step was done.")
    rows: list[CollectedRow]
    error: str | None = None
    traces: str = Field(description="Relative to the server's folder of runs: for `periplus synthesize`.")


def get_collection_runner(request: Request) -> CollectionRunner:
    """Return the runner of the app. Raises `ApiProblem` if this service collects nothing."""
    found: CollectionRunner | None = request.app.state.collections
    if found is None:
        raise ApiProblem(404, "not_found", "this service has no collections", fix="use `periplus serve`")
    return found


Runner = Annotated[CollectionRunner, Depends(get_collection_runner)]
CollectionId = Annotated[
    str, InPath(pattern=COLLECTION_ID, description="As `POST /api/collections` returned it.")
]


@router.post(
    "/collections",
    status_code=202,
    response_model=CollectionView,
    summary="Run a task many times",
    tags=["collections"],
    responses={
        202: document_links("collection_id", "get_collection", "cancel_collection"),
        **document_problems(401, 403, 404, 413, 422, 429, 503),
    },
)
async def begin_collection(body: CollectionRequest, runner: Runner, response: Response) -> CollectionView:
    """Collections run one after the other. The traces are made into a workflow with `periplus synthesize`."""
    _check(body)
    order = CollectionOrder(
        body.website_id,
        body.task_id,
        tuple(body.inputs),
        body.runs,
        {name: kind if isinstance(kind, str) else tuple(kind) for name, kind in body.make.items()},
        body.values,
        body.workers,
    )
    with translate_refusals():
        progress = await runner.submit(order)
    response.headers["Location"] = f"/api/collections/{progress.collection.collection_id}"
    return _view(progress)


@router.get(
    "/collections/{collection_id}",
    response_model=CollectionView,
    summary="Get a collection's progress",
    tags=["collections"],
    responses=document_problems(401, 404, 422, 429, 503),
)
async def get_collection(
    collection_id: CollectionId,
    runner: Runner,
    wait: Annotated[
        float, Query(ge=0, le=MOST_WAIT_S, description="Seconds to wait for the end of the collection.")
    ] = 0,
) -> CollectionView:
    """The rows that have ended so far; with `wait`, as soon as all have."""
    return _view(await runner.wait(collection_id, wait))


@router.post(
    "/collections/{collection_id}/cancel",
    response_model=CollectionView,
    summary="Cancel a collection",
    tags=["collections"],
    responses=document_problems(401, 403, 404, 409, 422, 429, 503),
)
async def cancel_collection(collection_id: CollectionId, runner: Runner) -> CollectionView:
    """Each run ends after its current step."""
    return _view(await runner.cancel(collection_id))


def _check(body: CollectionRequest) -> None:
    if body.inputs and (body.runs is not None or body.make):
        raise ApiProblem(
            422,
            "invalid_request",
            "`runs` and `make` make inputs, and `inputs` has them already",
            fix="leave out one or the other",
        )
    wrong = find_secret_name(body, "$")
    if wrong is not None:
        raise ApiProblem(
            422,
            "invalid_request",
            wrong,
            fix="leave the input out: secrets are found on the server (PERIPLUS_SECRET_NAME)",
        )


def _view(progress: CollectionProgress) -> CollectionView:
    rows = [
        CollectedRow(
            row=each.row,
            run_id=each.ran.run_id if each.ran else None,
            status=each.ran.status if each.ran else None,
            evidence=each.ran.evidence if each.ran else None,
            error=each.ran.error if each.ran else each.trouble.message if each.trouble else None,
        )
        for each in sorted(progress.results, key=lambda each: each.row)
    ]
    collection = progress.collection
    return CollectionView(
        collection_id=collection.collection_id,
        website_id=collection.website_id,
        task_id=collection.task_id,
        state=progress.state,
        total=progress.total,
        done=sum(each.succeeded for each in progress.results),
        rows=rows,
        error=progress.error,
        traces=f"{progress.folder.parent.name}/{progress.folder.name}/runs",
    )
