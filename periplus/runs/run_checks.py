"""Checks a run's request against the knowledge base before a browser opens and anything is recorded."""

from __future__ import annotations

from dataclasses import replace

from agent.errors import AgentError, InputMissing, UnknownToKnowledge
from agent.execution.values.input_resolution import check_required_inputs
from agent.execution.workflow_runner import find_workflow
from agent.knowledge_client import KnowledgeClient
from agent.run_context import InputProvider, RunContext
from kb_schema.tasks import Task
from kb_schema.websites import Website
from kb_schema.workflows import Workflow
from kb_store import Stores
from periplus.agent_failures import to_user_error
from periplus.errors import UserError
from periplus.knowledge_server import connect_knowledge_client
from periplus.runs.input_names import check_inputs_used
from periplus.runs.task_runs import TaskRunRequest
from periplus.secret_names import check_no_secret_names
from periplus.vault_setup import open_vault


async def check_run_request(
    run_request: TaskRunRequest, stores: Stores, asker: InputProvider | None = None
) -> TaskRunRequest:
    """Return the request, with the secrets of signing in that a person was asked for.

    Raises `UserError` for an unknown website, task, screen or input, for an input without a value, and for one with
    `{secret:NAME}`. `asker`: asks a
    person for inputs that have no value, so they may be missing; the task's own are asked for when it begins.
    """
    check_no_secret_names(run_request.values)
    async with connect_knowledge_client(stores) as client:
        knowledge = KnowledgeClient(client, run_request.website_id)
        website = await _find_website(knowledge)
        context = RunContext(global_values={**website.global_context, **run_request.values})
        context.said, context.vault = (
            dict(run_request.values),
            open_vault(run_request.website_id, audited=False),
        )
        try:
            if run_request.goal is not None:
                await knowledge.screen(run_request.goal)
            if run_request.task_id is None and run_request.job is None:
                await check_inputs_used(stores, run_request.website_id, (), run_request.values)
            elif run_request.task_id is not None:
                work = await _find_work(knowledge, run_request.task_id)
                await check_inputs_used(stores, run_request.website_id, (work.local_id,), run_request.values)
                if asker is None:
                    await check_required_inputs(work.local_id, work.io_spec, run_request.values, context)
                answers = await _complete_sign_in(knowledge, work, run_request, context, asker)
                return replace(run_request, values={**run_request.values, **answers})
        except AgentError as exc:
            raise to_user_error(exc, context) from exc
    return run_request


async def _complete_sign_in(
    knowledge: KnowledgeClient,
    work: Task | Workflow,
    run_request: TaskRunRequest,
    context: RunContext,
    asker: InputProvider | None,
) -> dict[str, str]:
    """Return the answers for secrets of the sign-in that the first step needs, by input.

    A new browser is signed out, so that a first step which must be signed in begins with that task. Raises
    `InputMissing` if nobody can be asked, or does not answer.
    """
    first = work.steps[0] if isinstance(work, Task) and work.steps else None
    if first is None or run_request.storage is not None:
        return {}
    remedies = {
        each.remediation_task_id
        for each in first.preconditions
        if each.type == "authenticated" and each.auto_remediate and each.remediation_task_id
    }
    answers: dict[str, str] = {}
    for task_id in sorted(remedies):
        io_spec = (await knowledge.task(task_id)).io_spec
        try:
            await check_required_inputs(task_id, io_spec, {**run_request.values, **answers}, context)
        except InputMissing as exc:
            for spec in (each for each in io_spec.inputs if each.secret and each.name in exc.names):
                said = (
                    await asker.ask(spec.name, spec.description or spec.name, secret=True) if asker else None
                )
                if said is None:
                    raise
                answers[spec.name] = said
    return answers


async def check_task_known(stores: Stores, website_id: str, task_id: str, *, what: str = "task") -> None:
    """Raise `UserError` if the website has no task or workflow of this id; `what` names it in the message."""
    async with connect_knowledge_client(stores) as client:
        knowledge = KnowledgeClient(client, website_id)
        try:
            await _find_work(knowledge, task_id)
        except UnknownToKnowledge as exc:
            raise UserError(f"no {what} {task_id!r}", fix=exc.hint) from exc


async def _find_website(knowledge: KnowledgeClient) -> Website:
    try:
        return await knowledge.website()
    except UnknownToKnowledge as exc:
        fix = exc.hint or "load its knowledge base first: periplus kb load DIR"
        raise UserError(str(exc), fix=fix) from exc


async def _find_work(knowledge: KnowledgeClient, task_id: str) -> Task | Workflow:
    return await find_workflow(knowledge, task_id) or await knowledge.task(task_id)
