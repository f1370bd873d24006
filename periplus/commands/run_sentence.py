"""Sentences of `periplus run`: which task or plan a sentence means, asking about it, and teaching it (`--teach`)."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from pathlib import Path

import typer
from rich.console import Console
from rich.markup import escape

from agent.inferencer import InferenceFailed, ModelInferencer
from agent.redaction import REDACTED
from agent.sentence_runs.sentence_variants import MOST, vary_sentence
from agent.sentences.sentence_binding import BoundTask, SentenceMeaning
from kb_schema.run_records import RunResult
from kb_schema.secret_fields import is_secret_name
from kb_schema.workflows import AgentNode, Workflow, walk
from kb_store import Stores
from periplus.commands.synthesis_output import WorkflowRequest, make_workflow
from periplus.errors import UserError
from periplus.exit_codes import ExitCode, exit_code_for
from periplus.language_model import load_inferencer
from periplus.output_folder import SESSION
from periplus.runs.run_report import print_run_result
from periplus.runs.sentence_jobs import SentenceJob, plan_job
from periplus.runs.sentence_tasks import (
    as_input,
    explain_no_task,
    format_command,
    read_meaning,
    suggest_commands,
)
from periplus.runs.task_runs import RESULT
from periplus.settings import load_settings
from periplus.synthesis.workflow_synthesis import read_traces
from periplus.website_selection import list_websites, select_website

LEAST_TAUGHT = 2
"""Doings of a job that tell which of its values vary."""


@dataclass(frozen=True, slots=True)
class SentenceOptions:
    """What the command line says about a sentence."""

    sentence: str
    website: str | None = None
    model: str | None = None
    values: Mapping[str, str] = field(default_factory=dict, repr=False)
    allowed: frozenset[str] = frozenset()
    page_text: bool | None = None
    teach: int | None = None


@dataclass(frozen=True, slots=True)
class SentenceChoice:
    """What a sentence means: a known task, or a job with a model's plan."""

    website_id: str
    task: BoundTask | None = None
    job: SentenceJob | None = None
    model: ModelInferencer | None = None
    """The model that made the plan: the run goes on with its budget."""
    variants: tuple[str, ...] = ()
    """Further sentences by which the job is taught."""

    @property
    def values(self) -> dict[str, str]:
        """Return the values of the sentence as inputs of the task."""
        return {} if self.task is None else {name: as_input(each) for name, each in self.task.values.items()}


async def choose_sentence(
    options: SentenceOptions, opening: AbstractAsyncContextManager[Stores]
) -> SentenceChoice:
    """Return the task that a sentence means, else a model's plan. Raises `UserError` if it has neither."""
    async with opening as stores:
        website_id = select_website(options.website, await list_websites(stores))
        meaning = await read_meaning(options.sentence, stores, website_id)
        if meaning.task is not None:
            if options.teach is not None:
                raise UserError(
                    f"{meaning.task.task_id} does that already", fix="leave out --teach: it needs no model"
                )
            return SentenceChoice(website_id, task=meaning.task)
        model = None if meaning.similar else load_inferencer("plan", options.model)
        if model is None:
            raise UserError(explain_no_task(meaning), fix=suggest_commands(meaning))
        text = load_settings().model_page_text if options.page_text is None else options.page_text
        found = await plan_job(
            options.sentence,
            stores,
            website_id,
            model,
            options.values,
            allowed=options.allowed,
            page_text=text,
        )
    if isinstance(found, BoundTask):
        return SentenceChoice(website_id, task=found, model=model)
    if options.teach is None:
        return SentenceChoice(website_id, job=found, model=model)
    try:
        variants = await vary_sentence(model, options.sentence, options.teach - 1)
    except InferenceFailed as exc:
        raise UserError(str(exc), fix=exc.hint or "teach it with fewer") from exc
    return SentenceChoice(website_id, job=found, model=model, variants=tuple(variants))


def confirm_sentence(
    choice: SentenceChoice, values: Mapping[str, str], console: Console, *, yes: bool
) -> None:
    """Show what a sentence means and ask whether to run it. Raises `UserError` if nobody can be asked.

    `values`: all inputs of the task, with those of `--input`. Those with the name of a secret are not shown.
    """
    if choice.job is not None:
        console.print("No task does it. The model's plan:", highlight=False)
        console.print(escape(choice.job.plan.describe()), soft_wrap=True, highlight=False)
        for each in choice.variants:
            console.print(f"and to learn it: {escape(each)}", soft_wrap=True, highlight=False)
        fix = "add --yes to run the plan"
    else:
        task_id = "" if choice.task is None else choice.task.task_id
        shown: dict[str, str | list[str]] = {
            name: REDACTED if is_secret_name(name) else value for name, value in values.items()
        }
        command = format_command(BoundTask(task_id=task_id, name="", values=shown))
        console.print(f"The sentence means: {escape(command)}", soft_wrap=True, highlight=False)
        fix = f"add --yes, or `{command}`"
    if yes:
        return
    if not sys.stdin.isatty():
        raise UserError("nothing was run: there is nobody to ask", fix=fix)
    typer.confirm("Run it?", abort=True, err=True)


def check_teach(teach: int | None) -> None:
    """Raise `UserError` for a number of doings that teaches nothing, or too much."""
    if teach is not None and not LEAST_TAUGHT <= teach <= MOST + 1:
        raise UserError(
            f"--teach {teach}: expected a number from {LEAST_TAUGHT} to {MOST + 1}",
            fix="two show which values vary; three are usual",
        )


def teach_sentence(
    choice: SentenceChoice,
    options: SentenceOptions,
    perform: Callable[[SentenceChoice, Path], RunResult],
    reopen: Callable[[], AbstractAsyncContextManager[Stores]],
    request: WorkflowRequest,
    folder: Path,
    console: Console,
) -> ExitCode:
    """Do the job once for each sentence, make a workflow of the traces and publish it: only after runs that were all
    verified. Returns the exit code. `perform` runs a job with its folder, `reopen` opens the stores.
    """
    todo = [options.sentence, *choice.variants]
    for number, sentence in enumerate(todo, start=1):
        own = choice
        if number > 1:
            model = load_inferencer("plan", options.model)
            planned = asyncio.run(_plan_again(choice, options, sentence, reopen, model)) if model else None
            if not isinstance(planned, SentenceJob):
                raise UserError(
                    f"{sentence!r} is not a job of the same kind for the model",
                    fix="teach it again; nothing was published",
                )
            own = SentenceChoice(choice.website_id, job=planned, model=model)
        console.print(f"{number} of {len(todo)}: {escape(sentence)}", soft_wrap=True, highlight=False)
        result = perform(own, folder / str(number))
        print_run_result(console, result, folder / str(number) / RESULT)
        if not result.succeeded:
            console.print("nothing was published: only verified runs teach a workflow", highlight=False)
            return exit_code_for(result.status)
    traces = read_traces([folder / str(number) / SESSION for number in range(1, len(todo) + 1)])
    made = make_workflow(console, traces, request)
    if made.failed:
        return ExitCode.FAILED
    if made.result.lowered is not None:
        meaning = asyncio.run(_read_meaning(choice, options.sentence, reopen))
        told = describe_next_run(made.result.lowered.workflow, meaning)
        console.print(escape(told), soft_wrap=True, highlight=False)
    return ExitCode.DONE


def describe_next_run(workflow: Workflow, meaning: SentenceMeaning) -> str:
    """Return whether the next run of a taught workflow needs a model, and how it is called: it does where the doings went different ways that
    nothing explains. `meaning`: of the sentence by which it was taught, with the workflow in the store.
    """
    goals = [each.goal for each in walk(workflow.nodes) if isinstance(each, AgentNode)]
    if goals:
        return f"the next run asks a model or a person, as the doings differ: {'; '.join(goals)}"
    known = [each for each in (meaning.task, *meaning.similar) if each is not None]
    own = next((each for each in known if each.task_id == workflow.workflow_id), None)
    if own is not None and own == meaning.task:
        return f"the next run needs no model: periplus run {meaning.sentence!r}"
    needed = tuple(each.name for each in workflow.io_spec.inputs if each.required and each.default is None)
    own = own or BoundTask(task_id=workflow.workflow_id, name=workflow.name, values={}, missing=needed)
    return (
        "the next run needs no model, called by its id, as the sentence does not say it with certainty:"
        f" {format_command(own)}"
    )


async def _read_meaning(
    choice: SentenceChoice, sentence: str, reopen: Callable[[], AbstractAsyncContextManager[Stores]]
) -> SentenceMeaning:
    async with reopen() as stores:
        return await read_meaning(sentence, stores, choice.website_id)


async def _plan_again(
    choice: SentenceChoice,
    options: SentenceOptions,
    sentence: str,
    reopen: Callable[[], AbstractAsyncContextManager[Stores]],
    model: ModelInferencer,
) -> SentenceJob | BoundTask:
    page_text = choice.job is None or choice.job.page_text
    async with reopen() as stores:
        return await plan_job(
            sentence,
            stores,
            choice.website_id,
            model,
            options.values,
            allowed=options.allowed,
            page_text=page_text,
        )
