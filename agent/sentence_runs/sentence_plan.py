"""The plan of a job in words. It is made from the sentence before any page is seen, so that no page can change what is implied."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from agent.inferencer import ModelInferencer
from agent.language_models.prompt_files import load_prompt
from agent.sentences.sentence_words import SMALL, stem
from kb_schema.sentence_plans import LONGEST, ControlChange, SentencePlan, fold, stands_in
from kb_schema.sentence_quotes import list_quotes
from kb_schema.text_similarity import words

MOST_LISTED = 200
"""Screens, and tasks, that are listed for a plan."""


@dataclass(frozen=True, slots=True)
class KnownWork:
    """What a plan may name: the website's screens and tasks."""

    website: str
    screens: Mapping[str, str]
    """Id -> name."""
    tasks: Mapping[str, Sequence[str]]
    """Id -> the names of its inputs, required ones first."""
    task_names: Mapping[str, str]


async def plan_sentence(
    model: ModelInferencer, sentence: str, known: KnownWork, values: Mapping[str, str]
) -> SentencePlan:
    """Return the plan for a sentence. `values`: what the person gave beside it. Raises `InferenceFailed`."""
    prompt = load_prompt("plan_sentence")
    screens = [f"{screen}: {name}" for screen, name in list(known.screens.items())[:MOST_LISTED]]
    tasks = [
        f"{task}: {known.task_names[task]} ({', '.join(inputs)})"
        for task, inputs in list(known.tasks.items())[:MOST_LISTED]
    ]
    text = prompt.render(
        website=known.website,
        sentence=sentence,
        values=", ".join(f"{name} = {value}" for name, value in values.items()) or "none",
        screens="\n".join(screens) or "none",
        tasks="\n".join(tasks) or "none",
    )
    found = await model.infer_as(text, SentencePlan, label=prompt.label)
    return keep_founded(found, sentence, known, values)


def keep_founded(
    plan: SentencePlan, sentence: str, known: KnownWork, values: Mapping[str, str]
) -> SentencePlan:
    """Return the plan without unknown ids and evidence that does not stand in the sentence, with its texts cut off."""
    said = fold(" ".join([sentence, *values.values()]))
    start = plan.start_screen if plan.start_screen in known.screens else None
    return plan.model_copy(
        update={
            "task_id": plan.task_id if plan.task_id in known.tasks else None,
            "start_screen": start,
            "screens": [each for each in plan.screens if each in known.screens],
            "steps": [each[:LONGEST] for each in plan.steps],
            "controls": [each[:LONGEST] for each in plan.controls],
            "changed_when_done": [
                each for each in plan.changed_when_done if _is_founded(each, plan, sentence, said)
            ],
            **{
                name: [each for each in getattr(plan, name) if _tells_something(each, said)]
                for name in ("shown_when_done", "gone_when_done", "on_when_done", "off_when_done")
            },
        }
    )


def is_said(text: str, said: str) -> bool:
    """Return whether a text stands in a sentence with whole words. `said`: the sentence, folded."""
    wanted = fold(text)
    return bool(wanted) and stands_in(wanted, said)


def _tells_something(text: str, said: str) -> bool:
    """Whether a text stands in a sentence, and is more than small words such as `an`, or stands there in quotes."""
    return is_said(text, said) and (
        not SMALL.issuperset(fold(text).split()) or fold(text) in list_quotes(said)
    )


def _is_founded(change: ControlChange, plan: SentencePlan, sentence: str, said: str) -> bool:
    """Whether the sentence names the place of a control that is to change, and the sentence or the plan the control itself.

    Without a place, the sentence has all words of the control. `said`: the sentence with its values, folded.
    """
    control = fold(change.control)
    if change.beside:
        named = control in said or control in map(fold, plan.controls)
        return bool(control) and named and all(_tells_something(each, said) for each in change.beside)
    called = {stem(each) for each in words(control)}
    return bool(called) and called <= {stem(each) for each in words(sentence)}
