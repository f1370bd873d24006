"""Jobs in words that no task does: the plan of a language model, before a browser opens, and the run that follows it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from agent.events import Event, TaskEnded, TaskStarted
from agent.execution.task_runner import TaskRunner
from agent.inferencer import InferenceFailed, ModelInferencer
from agent.run_records.session_trace import SessionTrace
from agent.sentence_runs.act_permissions import ActPermissions
from agent.sentence_runs.sentence_plan import KnownWork, is_said, keep_founded, plan_sentence
from agent.sentence_runs.sentence_run import SENTENCE, SentenceBudget, SentenceRun
from agent.sentences.sentence_binding import BoundTask
from kb_schema.knowledge_base import KnowledgeBase
from kb_schema.run_records import RunResult
from kb_schema.secret_fields import is_secret_name
from kb_schema.sentence_plans import SentencePlan, fold
from kb_schema.service_records import SentenceOrder
from kb_schema.tasks import Task
from kb_schema.workflows import Workflow
from kb_store import Stores, read_knowledge
from periplus.errors import UserError
from periplus.secret_names import FIX, check_no_secret_names
from periplus.settings import PeriplusSettings, load_settings


@dataclass(frozen=True, slots=True)
class SentenceJob:
    """A job in words with its plan, and what the person allows."""

    sentence: str
    plan: SentencePlan
    values: Mapping[str, str] = field(default_factory=dict)
    """What the person gave beside the sentence, without secrets."""
    allowed: frozenset[str] = frozenset()
    """Names of `--allow`."""
    page_text: bool = True


async def plan_job(
    sentence: str,
    stores: Stores,
    website_id: str,
    model: ModelInferencer,
    values: Mapping[str, str],
    *,
    allowed: frozenset[str] = frozenset(),
    page_text: bool = True,
) -> SentenceJob | BoundTask:
    """Return the plan of a sentence, or the known task by which the model would do it. Raises `UserError`.

    `values`: of `--input`; those of the sign-in and secrets are not sent.
    """
    knowledge, _ = await read_knowledge(stores.documents, stores.graph, website_id)
    return await plan_known_job(sentence, knowledge, model, values, allowed=allowed, page_text=page_text)


async def plan_known_job(
    sentence: str,
    knowledge: KnowledgeBase,
    model: ModelInferencer,
    values: Mapping[str, str],
    *,
    allowed: frozenset[str] = frozenset(),
    page_text: bool = True,
) -> SentenceJob | BoundTask:
    """Return the plan of a sentence, as `plan_job` does, for knowledge that is read already."""
    told = select_told(values, knowledge)
    try:
        plan = await plan_sentence(model, sentence, _list_known_work(knowledge), told)
    except InferenceFailed as exc:
        raise UserError(f"no plan: {exc}", fix=exc.hint or "`periplus doctor` tries the model") from exc
    if plan.task_id is not None:
        return _bind_task(plan, sentence, knowledge, told)
    return SentenceJob(sentence, plan, told, frozenset(map(fold, allowed)), page_text)


def check_order(order: SentenceOrder, knowledge: KnowledgeBase) -> None:
    """Raise `UserError` for an order with a secret, or with a plan that planning would not have made."""
    check_no_secret_names(order.values)
    secret = next((name for name in order.values if is_secret_name(name)), None)
    if secret is not None:
        raise UserError(f"{secret} is a secret", fix=FIX)
    if order.plan.task_id is not None:
        raise UserError(
            f"the plan runs the task {order.plan.task_id}",
            fix="order the task: kind `task` instead of `sentence`",
        )
    told = select_told(order.values, knowledge)
    kept = keep_founded(order.plan, order.sentence, _list_known_work(knowledge), told)
    wrong = [name for name in SentencePlan.model_fields if getattr(order.plan, name) != getattr(kept, name)]
    if wrong:
        raise UserError(
            f"plan.{wrong[0]} names a screen that {knowledge.website.website_id} does not have, a text that does not"
            " stand in the sentence, or one that is too long",
            fix="order the plan as POST /api/sentences returned it",
        )


def restore_job(order: SentenceOrder) -> SentenceJob:
    """Return the job of an order of the service."""
    return SentenceJob(
        order.sentence,
        order.plan,
        order.values,
        frozenset(map(fold, order.allowed)),
        load_settings().model_page_text,
    )


def select_told(values: Mapping[str, str], knowledge: KnowledgeBase) -> dict[str, str]:
    """Return the values that a model is told: no secrets, also of names that no task has, and nothing of the sign-in."""
    private = _list_private_inputs(knowledge)
    return {name: value for name, value in values.items() if name not in private and not is_secret_name(name)}


def _list_private_inputs(knowledge: KnowledgeBase) -> frozenset[str]:
    """Return the inputs that are never sent to a model: secrets, and those of signing in."""
    works: list[Task | Workflow] = [*knowledge.tasks.values(), *knowledge.workflows.values()]
    login = knowledge.website.login_task_id
    return frozenset(
        spec.name
        for work in works
        for spec in work.io_spec.inputs
        if spec.secret or is_secret_name(spec.name) or work.local_id == login
    )


def _list_known_work(knowledge: KnowledgeBase) -> KnownWork:
    works: dict[str, Task | Workflow] = {**knowledge.tasks, **knowledge.workflows}
    works.pop(knowledge.website.login_task_id or "", None)
    return KnownWork(
        website=knowledge.website.name or knowledge.website.website_id,
        screens={screen.screen_id: screen.name or screen.screen_id for screen in knowledge.screens.values()},
        tasks={
            name: [spec.name for spec in sorted(work.io_spec.inputs, key=lambda spec: not spec.required)]
            for name, work in works.items()
        },
        task_names={name: work.name or name for name, work in works.items()},
    )


def _bind_task(
    plan: SentencePlan, sentence: str, knowledge: KnowledgeBase, told: Mapping[str, str]
) -> BoundTask:
    """Return the known task that a model chose, with values that stand in the sentence. Raises `UserError`."""
    task_id = plan.task_id or ""
    work = knowledge.workflows.get(task_id) or knowledge.tasks[task_id]
    specs = {spec.name: spec for spec in work.io_spec.inputs}
    said = fold(" ".join([sentence, *told.values()]))
    wrong = [
        name for name, value in plan.task_values.items() if name not in specs or not is_said(value, said)
    ]
    if wrong:
        raise UserError(
            f"the model would run {task_id}, with a value for {wrong[0]} that does not stand in the sentence",
            fix=f"`periplus run {task_id} -i {wrong[0]}=...`, or write the sentence with its values in quotes",
        )
    missing = tuple(
        name
        for name, spec in specs.items()
        if spec.required and spec.default is None and not spec.secret and name not in plan.task_values
    )
    return BoundTask(
        task_id=task_id, name=work.name or task_id, values=dict(plan.task_values), missing=missing
    )


async def run_job(
    engine: TaskRunner, job: SentenceJob, model: ModelInferencer, settings: PeriplusSettings
) -> RunResult:
    """Run a job in words; see `SentenceRun.run`."""
    run = SentenceRun(
        engine,
        model,
        job.plan,
        ActPermissions(job.sentence, job.plan, job.values, job.allowed),
        SentenceBudget(settings.model_max_acts, settings.model_max_seconds),
        page_text=job.page_text,
    )
    return await run.run()


@dataclass(slots=True)
class SentenceTrace:
    """Hands the events of a job to its trace: one turn with all acts, without the way to the first page."""

    trace: SessionTrace
    _begun: bool = False

    def __call__(self, event: Event) -> None:
        """Handle one event of the session's bus."""
        if isinstance(event, TaskStarted | TaskEnded) and event.task_id != SENTENCE:
            return
        self._begun = self._begun or isinstance(event, TaskStarted)
        if self._begun:
            self.trace(event)
        if isinstance(event, TaskEnded):
            self._begun = False
