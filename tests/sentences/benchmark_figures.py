"""Measures binding on the function tasks of WebArena-Infinity: `python -m tests.sentences.benchmark_figures`.

Each job of the zoo has a workflow here with what synthesis keeps of its first demonstrations: the template of their
sentences, and an input for each slot. Nothing runs in a browser. Every sentence is bound twice: with all workflows of
its application, and without its own.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rich.console import Console

from agent.sentences.sentence_binding import bind_sentence
from agent.sentences.shown_sentences import add_shown_sentences
from agent.synthesis.utterances.utterance_templates import (
    UtterancesTooDifferent,
    expand_value_forms,
    learn_template,
)
from agent.synthesis.utterances.value_forms import build_identifier
from agent.synthesis.utterances.written_templates import write_template
from kb_schema.workflows import ShownSentence, Workflow
from tests.zoo.applications import APPLICATIONS
from tests.zoo.single_page.benchmark import MAKE
from tests.zoo.zoo_jobs import Instance, Job


@dataclass(slots=True)
class BenchmarkFigures:
    """How the sentences of one application were bound. Keys: right, wrong, asked, refused."""

    shown: Counter[str] = field(default_factory=Counter)
    """Sentences of demonstrations: the workflow was learned from them."""
    unseen: Counter[str] = field(default_factory=Counter)
    """Sentences of the benchmark that no demonstration had."""
    ours: Counter[str] = field(default_factory=Counter)
    """Sentences of the zoo that no demonstration had."""
    without: Counter[str] = field(default_factory=Counter)
    """Sentences of the benchmark without the workflow that does it: right is that none was bound."""
    notes: list[str] = field(default_factory=list)


def build_workflow(application: str, job: Job) -> Workflow:
    """Return a workflow with what synthesis keeps of the demonstrations' sentences.

    If they differ too much for a template, its inputs are the values that were given, as where sentences are set aside.
    """
    shown = job.demonstrations
    values = [list(each.given.values()) for each in shown]
    try:
        template = learn_template([each.sentence for each in shown], values, values)
    except UtterancesTooDifferent:
        given = [{build_identifier(name): text for name, text in each.given.items()} for each in shown]
        inputs = [{"name": each, "type": "string"} for each in given[0]]
        return _build(application, job, None, inputs, given)
    told = [template.texts(each.sentence) for each in shown]
    inputs = [
        {"name": slot.name, "type": "array" if slot.many else "string"}
        for slot in template.slots
        if all(_is_given(each[slot], one) for each, one in zip(told, shown, strict=True))
    ]
    names = [each["name"] for each in inputs]
    text = write_template(template, [each.sentence for each in shown], names)
    parsed = [template.parse(each.sentence) for each in shown]
    return _build(application, job, text, inputs, [{name: each[name] for name in names} for each in parsed])


def _build(
    application: str,
    job: Job,
    template: str | None,
    inputs: Sequence[Mapping[str, str]],
    values: Sequence[Mapping[str, Any]],
) -> Workflow:
    workflow = Workflow.model_validate(
        {
            "type": "workflow",
            "website_id": application,
            "workflow_id": job.name,
            "name": job.name.replace("_", " ").capitalize(),
            "sentences": [] if template is None else [template],
            "io_spec": {"inputs": inputs},
            "nodes": [{"node_id": "do", "type": "task", "task_id": job.name}],
            "provenance": {},
        }
    )
    shown = [
        ShownSentence(sentence=each.sentence, values=dict(one))
        for each, one in zip(job.demonstrations, values, strict=True)
        if each.sentence
    ]
    return add_shown_sentences(workflow, shown)


def measure_application(application: str, jobs: list[Job]) -> BenchmarkFigures:
    """Return the figures of one application."""
    figures = BenchmarkFigures()
    workflows = {job.name: build_workflow(application, job) for job in jobs}
    for job in jobs:
        shown = {each.name for each in job.demonstrations}
        for instance in job.instances:
            if not instance.sentence:
                continue
            ours = not instance.name.startswith("task_")
            counts = figures.ours if ours else figures.shown if instance.name in shown else figures.unseen
            if ours and instance.name in shown:
                continue
            counts[_outcome(figures, instance, job, workflows)] += 1
            if not ours:
                rest = [each for name, each in workflows.items() if name != job.name]
                meaning = bind_sentence(instance.sentence, rest)
                bound = "right" if meaning.task is None else "wrong"
                figures.without[bound] += 1
                if meaning.task is not None:
                    figures.notes.append(f"without {job.name}: {instance.sentence!r} -> {meaning.task}")
    return figures


def _outcome(figures: BenchmarkFigures, instance: Instance, job: Job, workflows: dict[str, Workflow]) -> str:
    meaning = bind_sentence(instance.sentence, workflows.values())
    if meaning.task is None:
        figures.notes.append(f"not bound, {job.name}: {instance.sentence!r} {[*map(str, meaning.similar)]}")
        return "asked" if meaning.similar else "refused"
    if meaning.task.task_id != job.name or not _has_values(
        meaning.task.values, instance, workflows[job.name]
    ):
        figures.notes.append(f"wrong, {job.name}: {instance.sentence!r} -> {meaning.task}")
        return "wrong"
    return "right"


def _has_values(values: dict[str, str | list[str]], instance: Instance, workflow: Workflow) -> bool:
    """Whether every input has one of the job's own values."""
    texts = {name: value if isinstance(value, str) else " ".join(value) for name, value in values.items()}
    return texts.keys() == {spec.name for spec in workflow.io_spec.inputs} and all(
        isinstance(values[name], list) or _is_given(text, instance) for name, text in texts.items()
    )


def _is_given(text: str, instance: Instance) -> bool:
    """Whether a text of the sentence, in one of its forms, is one of the instance's values."""
    forms = {str(form).casefold() for form in expand_value_forms({"text": text}).values()}
    given = [each.casefold() for each in instance.given.values()]
    return any(
        form == each or form in re.split(r", | and ", each) or (each and each in form)
        for form in forms
        for each in given
    )


def measure_benchmark() -> dict[str, BenchmarkFigures]:
    """Return the figures by application. Skips if the archive is absent."""
    found = [each for each in APPLICATIONS.values() if each.make == MAKE]
    return {each.name: measure_application(each.name, list(each.jobs)) for each in found}


def main() -> None:
    """Print the figures."""
    console = Console(highlight=False, markup=False, soft_wrap=True)
    totals = [Counter[str]() for _ in range(4)]
    for name, figures in measure_benchmark().items():
        rows = (figures.shown, figures.unseen, figures.ours, figures.without)
        console.print(name, *map(dict, rows), sep="\n   ")
        console.print(*figures.notes, sep="\n")
        for total, row in zip(totals, rows, strict=True):
            total.update(row)
    for label, total in zip(("shown", "unseen", "ours", "without"), totals, strict=True):
        console.print(label, dict(total))


if __name__ == "__main__":
    main()
