"""What a visitor may be told: sentences of the knowledge with the place each comes from.

Only what its owner wrote to be read or said: narration, descriptions, labels, choices, what a task takes and
does. Selectors, conditions and recoveries are nobody's answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, Literal

from agent.errors import NotInKnowledge
from agent.presenting.visitor.languages import Language
from agent.session import Session
from kb_schema.marks import without_marks
from kb_schema.presentation import PresentationFlow, Segment
from kb_schema.screens import Option, Screen, UIElement
from kb_schema.tasks import Task
from kb_schema.templates import MissingVariable, fill

NOTES = ("help_text", "description", "purpose", "business_meaning")
"""Of an element's metadata: what its author says about it."""
Kind = Literal["told", "note", "choices", "limit", "steps", "answer"]
FEWEST_WORDS, FEWEST_STEPS = 5, 2
"""Of a sentence, and of a way to do something, that says anything by itself."""
_SENTENCE = re.compile(r"(?<=[.!?…])\s+(?=[^\s])")
_SHOWN = ("navigate", "fill", "select_option", "check", "click", "upload_file")


@dataclass(frozen=True, slots=True)
class Passage:
    """Something that is known, in words."""

    text: str
    place: str
    """Where it comes from, as a visitor would call it."""
    source: str
    """`screen/agent_create`: what it is in the knowledge."""
    context: str = ""
    """Words that say what it is about, though they are not in it."""
    after: str = ""
    """The sentence that was meant to follow."""
    label: str = ""
    """The field that it is about."""
    kind: Kind = "told"
    """A sentence somebody wrote; what a field is for; what it offers; how much it takes; how a task is done; what
    is said to a question like `context`."""


def of_flow(flow: PresentationFlow, values: Mapping[str, Any]) -> Iterator[Passage]:
    """Every sentence of its narration that can be said now, with those right after it in the same breath."""
    for segment in flow.ordered_segments:
        title = segment.heading
        for text in _told(segment):
            with suppress(MissingVariable):
                sentences = [each.strip() for each in _SENTENCE.split(without_marks(fill(text, values)))]
                for sentence, after in zip_longest(sentences, sentences[1:], fillvalue=""):
                    if len(sentence.split()) >= FEWEST_WORDS:
                        yield Passage(sentence, title, f"segment/{segment.segment_id}", title, after)


def _told(segment: Segment) -> Iterator[str]:
    yield segment.narration_template
    for variant in segment.depths.values():
        yield variant.narration_template or ""
    for hook in segment.narrative_hooks:
        yield hook.narration


def of_answers(flow: PresentationFlow, values: Mapping[str, Any]) -> Iterator[Passage]:
    """What its author says to questions, once for every way to ask."""
    for answer in flow.answers:
        with suppress(MissingVariable):
            text = without_marks(fill(answer.narration, values))
            for asked in answer.asked:
                yield Passage(text, "", "flow", context=asked, kind="answer")


def of_screen(screen: Screen, language: Language) -> Iterator[Passage]:
    """What is said about a screen and about what is on it."""
    source = f"screen/{screen.screen_id}"
    if screen.description:
        yield Passage(_sentence(screen.description), screen.name, source, context=screen.name)
    for element in screen.ui_elements:
        context = f"{screen.name} {element.element_id}"
        for text, kind in _about(element, language):
            yield Passage(_sentence(text), screen.name, source, context, label=element.label, kind=kind)


def _about(element: UIElement, language: Language) -> Iterator[tuple[str, Kind]]:
    for name in NOTES:
        note = element.metadata.get(name)
        if isinstance(note, str) and note:
            yield language.facts["note"].format(label=element.label, note=note), "note"
    for affordance in element.affordances:
        options = [_option(option) for option in affordance.options]
        if options:
            choices = _joined(options, language)
            yield language.facts["options"].format(label=element.label, options=choices), "choices"
        longest = None if affordance.validation is None else affordance.validation.max_length
        if longest is not None:
            yield language.facts["longest"].format(label=element.label, most=longest), "limit"


async def of_task(task: Task, session: Session, language: Language) -> list[Passage]:
    """What a task is for, what it takes, and how it is done."""
    source, name = f"task/{task.task_id}", task.name or task.task_id.replace("_", " ")
    context = f"{name} {task.task_id}"
    passages = (
        [Passage(_sentence(task.description), name, source, context=context)] if task.description else []
    )
    for given in task.io_spec.inputs:
        if given.description and not given.secret:
            label = given.name.replace("_", " ").capitalize()
            text = language.facts["input"].format(label=label, note=given.description)
            passages.append(Passage(_sentence(text), name, source, context, label=label, kind="note"))
    steps = await _steps(task, session, language)
    if len(steps) >= FEWEST_STEPS:
        text = language.facts["how"].format(task=name, steps=language.facts["then"].join(steps))
        context = f"{context} {task.description}"
        passages.append(Passage(_sentence(text), name, source, context, kind="steps"))
    return passages


async def _steps(task: Task, session: Session, language: Language) -> list[str]:
    """What a person would do, in words; what has no words is left out."""
    words: list[str] = []
    screen: Screen | None = None
    for step in task.ordered_steps:
        call = step.action
        kind = call.canonical_type
        if call.target_screen is not None:
            with suppress(NotInKnowledge):
                screen = await session.knowledge.screen(call.target_screen)
                words.append(language.facts["navigate"].format(name=screen.name))
            continue
        document = await session.knowledge.action(call.action_type)
        if document is not None:
            recipe = (each.canonical_type for each in document.execution_steps)
            kind = next((each for each in recipe if each in _SHOWN), kind)
        element = _named(screen, call.target)
        if element is not None and kind in _SHOWN:
            words.append(language.facts[kind].format(name=element.label))
    return words


def _named(screen: Screen | None, target: Any) -> UIElement | None:
    elements = () if screen is None or not isinstance(target, str) else screen.ui_elements
    return next((element for element in elements if element.element_id == target), None)


def _option(option: Option) -> str:
    """As a person would say it: the words beside it, and its value where that is a word, too."""
    if not option.label or option.value in option.label or not option.value.istitle():
        return option.label or option.value
    return f"{option.value} ({option.label})"


def _joined(words: list[str], language: Language) -> str:
    if len(words) < 2:
        return "".join(words)
    return ", ".join(words[:-1]) + language.facts["or"] + words[-1]


def _sentence(text: str) -> str:
    text = " ".join(text.split())
    return text if text.endswith((".", "!", "?", "…")) else f"{text}."
