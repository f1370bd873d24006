"""Goals in words of `run_task`: the task that a sentence means, else a model's plan, which is shown before it may be run."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from agent.inferencer import ModelInferencer
from agent.sentences.sentence_binding import BoundTask
from kb_schema.knowledge_base import KnowledgeBase
from kb_schema.sentence_plans import fold
from kb_store import Stores
from mcp_server.errors import BadRequest
from periplus.errors import UserError
from periplus.language_model import load_inferencer
from periplus.runs.sentence_jobs import SentenceJob, plan_job
from periplus.runs.sentence_tasks import explain_no_task, find_meaning, is_sentence

MOST_PLANS = 50
"""Plans that are kept for a confirmation; the oldest is dropped."""
CONFIRM = "if that is meant, call run_task again with confirmed: true"


@dataclass(frozen=True, slots=True)
class PlannedJob:
    """A job in words with the model that planned it: the run goes on with its budget."""

    job: SentenceJob
    model: ModelInferencer


@dataclass(slots=True)
class ShownPlans:
    """The plans that a client was shown and has not confirmed yet."""

    _plans: dict[tuple[str, str, str], PlannedJob] = field(default_factory=dict)

    def keep(self, website_id: str, sentence: str, inputs: Mapping[str, object], planned: PlannedJob) -> None:
        """Keep a plan that is shown now."""
        self._plans[_key(website_id, sentence, inputs)] = planned
        while len(self._plans) > MOST_PLANS:
            del self._plans[next(iter(self._plans))]

    def take(self, website_id: str, sentence: str, inputs: Mapping[str, object]) -> PlannedJob | None:
        """Return the plan that was shown for this sentence and these inputs, once; None if there is none."""
        return self._plans.pop(_key(website_id, sentence, inputs), None)


def _key(website_id: str, sentence: str, inputs: Mapping[str, object]) -> tuple[str, str, str]:
    return website_id, fold(sentence), json.dumps(dict(inputs), sort_keys=True, default=str)


async def read_goal(
    goal: str | None,
    knowledge: KnowledgeBase,
    stores: Stores,
    plans: ShownPlans,
    inputs: Mapping[str, Any],
    *,
    confirmed: bool,
) -> BoundTask | PlannedJob:
    """Return the task that a sentence means, or the plan that was shown for it.

    Raises `BadRequest` with what the sentence means if that is not confirmed, and if nothing is meant.
    """
    if goal is None or not is_sentence(goal):
        raise BadRequest(
            "run_task needs task_id, or a sentence in goal",
            hint="give task_id, or a goal such as 'create an agent named Ada'",
        )
    website_id = knowledge.website.website_id
    meaning = find_meaning(goal.strip(), knowledge)
    found: BoundTask | PlannedJob | None = meaning.task
    if found is None and confirmed and (shown := plans.take(website_id, goal, inputs)) is not None:
        return shown
    model = None if found is not None or meaning.similar else load_inferencer("plan")
    if model is not None:
        found = await _plan(goal.strip(), stores, website_id, model, inputs)
    if found is None:
        calls = " or ".join(map(_render_call, meaning.similar))
        hint = (
            f"call run_task with {calls}" if calls else "list_tasks of the knowledge server lists all tasks"
        )
        raise BadRequest(explain_no_task(meaning), hint=hint)
    if isinstance(found, PlannedJob):
        plans.keep(website_id, goal, inputs, found)
        raise BadRequest(
            f"nothing was run: no task does it. The model's plan:\n{found.job.plan.describe()}", hint=CONFIRM
        )
    if not confirmed or model is not None:  # what a model chose is shown first
        raise BadRequest(
            f"nothing was run: the sentence means {_render_call(found)}",
            hint="if that is meant, call run_task with this task_id and these inputs"
            if model is not None
            else f"{CONFIRM}, or with this task_id and inputs",
        )
    return found


async def _plan(
    sentence: str, stores: Stores, website_id: str, model: ModelInferencer, inputs: Mapping[str, Any]
) -> BoundTask | PlannedJob:
    given = {name: value if isinstance(value, str) else json.dumps(value) for name, value in inputs.items()}
    try:
        found = await plan_job(sentence, stores, website_id, model, given)
    except UserError as exc:
        raise BadRequest(exc.message, hint=exc.fix or "give task_id instead") from exc
    return found if isinstance(found, BoundTask) else PlannedJob(found, model)


def _render_call(task: BoundTask) -> str:
    given = json.dumps({**task.values, **dict.fromkeys(task.missing, "...")}, ensure_ascii=False)
    return f"task_id {task.task_id!r} and inputs {given}"
