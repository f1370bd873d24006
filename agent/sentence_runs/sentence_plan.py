"""The plan of a job in words. It is made from the sentence before any page is seen, so that no page can change what is implied."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pydantic import BaseModel, Field

from agent.inferencer import ModelInferencer
from agent.language_models.prompt_files import load_prompt

LONGEST = 300
"""Characters of one text of a plan."""
MOST_LISTED = 200
"""Screens, and tasks, that are listed for a plan."""


class SentencePlan(BaseModel):
    """What a model answers; texts that are too long are cut off, unknown ids and unfounded evidence are dropped."""

    name: str = Field(default="", max_length=LONGEST)
    task_id: str | None = None
    task_values: dict[str, str] = Field(default_factory=dict)
    start_screen: str | None = None
    screens: list[str] = Field(default_factory=list, max_length=20)
    steps: list[str] = Field(default_factory=list, max_length=20)
    controls: list[str] = Field(default_factory=list, max_length=40)
    entered: list[str] = Field(default_factory=list, max_length=40)
    shown_when_done: list[str] = Field(default_factory=list, max_length=5)
    gone_when_done: list[str] = Field(default_factory=list, max_length=5)

    @property
    def named_screens(self) -> tuple[str, ...]:
        """Return the screens that the job may go to."""
        return tuple(dict.fromkeys([*([self.start_screen] if self.start_screen else []), *self.screens]))

    def name_for(self, sentence: str) -> str:
        """Return a name for a workflow that does it: the plan's, else the first words of the sentence."""
        return self.name.strip() or " ".join(sentence.split()[:5])

    def describe(self) -> str:
        """Return the plan in lines, as a person and the model are shown it."""
        lines = [f"{number}. {step}" for number, step in enumerate(self.steps, start=1)]
        for what, texts in (
            ("presses", self.controls),
            ("enters", self.entered),
            ("done when the page shows", self.shown_when_done),
            ("done when the page no longer shows", self.gone_when_done),
        ):
            if texts:
                lines.append(f"{what}: {', '.join(texts)}")
        return "\n".join(lines) or "no steps"


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
    return _keep_founded(found, sentence, known, values)


def _keep_founded(
    plan: SentencePlan, sentence: str, known: KnownWork, values: Mapping[str, str]
) -> SentencePlan:
    """Return the plan without unknown ids, and without evidence that does not stand in the sentence."""
    said = fold(" ".join([sentence, *values.values()]))
    start = plan.start_screen if plan.start_screen in known.screens else None
    return plan.model_copy(
        update={
            "task_id": plan.task_id if plan.task_id in known.tasks else None,
            "start_screen": start,
            "screens": [each for each in plan.screens if each in known.screens],
            "steps": [each[:LONGEST] for each in plan.steps],
            "controls": [each[:LONGEST] for each in plan.controls],
            "shown_when_done": [each for each in plan.shown_when_done if fold(each) and fold(each) in said],
            "gone_when_done": [each for each in plan.gone_when_done if fold(each) and fold(each) in said],
        }
    )


def fold(text: str) -> str:
    """Return a text for comparison: without case and repeated white space."""
    return " ".join(text.split()).casefold()
