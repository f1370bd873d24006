"""Collects what a visitor may hear: sentences of the knowledge base, each with its source.

Only text that its owner wrote for readers or listeners is included: narration, descriptions, labels, choices,
inputs and purpose of tasks. Selectors, conditions and recovery edges are never included.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, Literal

from agent.presentation.visitor.languages import Language
from agent.presentation.visitor.task_steps import clean_label, describe_steps
from agent.presentation.visitor.word_similarity import split_words
from agent.session import Session
from kb_schema.narration_marks import without_marks
from kb_schema.presentation_flows import PresentationFlow, Segment
from kb_schema.screens import Option, Screen, UIElement
from kb_schema.tasks import Task
from kb_schema.templates import MissingVariable, fill

NOTES = ("help_text", "description", "purpose", "business_meaning")
"""Keys of an element's metadata that contain notes of the author."""
PassageKind = Literal["told", "note", "choices", "limit", "steps", "answer", "figure"]
FEWEST_WORDS, FEWEST_STEPS = 5, 2
"""Minimum number of words of a sentence, and of a description of steps."""
_ONE_OF = "one of "
"""How a map describes an input with few values."""
_SENTENCE = re.compile(r"(?<=[.!?…])\s+(?=[^\s])")


@dataclass(frozen=True, slots=True)
class KnowledgePassage:
    """A piece of knowledge in words."""

    text: str
    place: str
    """Name of the source, as a visitor would say it."""
    source: str
    """Key of the source in the knowledge base: `screen/agent_create`."""
    context: str = ""
    """Words about its subject that the text does not contain."""
    after: str = ""
    """The sentence that continues it."""
    label: str = ""
    """The field it is about."""
    kind: PassageKind = "told"
    """A sentence of the author; the purpose of a field; its choices; its limits; how to do a task; the answer
    to a question of type `context`; a figure on the page.
    """


def collect_flow_passages(flow: PresentationFlow, values: Mapping[str, Any]) -> Iterator[KnowledgePassage]:
    """Return the sentences of a segment's narration whose values are known, each with the one that follows
    it.
    """
    for segment in flow.ordered_segments:
        title = segment.heading
        for text in _list_narration_texts(segment):
            with suppress(MissingVariable):
                sentences = [each.strip() for each in _SENTENCE.split(without_marks(fill(text, values)))]
                source, asked = f"segment/{segment.segment_id}", ""
                for sentence, after in zip_longest(sentences, sentences[1:], fillvalue=""):
                    if sentence.endswith("?"):  # the next sentence answers what the presenter asks
                        asked = sentence
                        continue
                    if len(sentence.split()) >= FEWEST_WORDS:
                        yield KnowledgePassage(sentence, title, source, f"{title} {asked}".strip(), after)
                    asked = ""


def _list_narration_texts(segment: Segment) -> Iterator[str]:
    yield segment.narration_template
    for variant in segment.depths.values():
        yield variant.narration_template or ""
    for hook in segment.narrative_hooks:
        yield hook.narration


def collect_answer_passages(flow: PresentationFlow, values: Mapping[str, Any]) -> Iterator[KnowledgePassage]:
    """Return the author's answers to questions, once for each phrasing."""
    for answer in flow.answers:
        with suppress(MissingVariable):
            text = without_marks(fill(answer.narration, values))
            for asked in answer.asked:
                yield KnowledgePassage(text, "", "flow", context=asked, kind="answer")


def collect_screen_passages(screen: Screen, language: Language) -> Iterator[KnowledgePassage]:
    """Return the sentences about a screen and its elements."""
    source = f"screen/{screen.screen_id}"
    if screen.description:
        yield KnowledgePassage(_sentence(screen.description), screen.name, source, context=screen.name)
    for element in screen.ui_elements:
        context = f"{screen.name} {element.element_id}"
        for text, kind in _build_passage(element, language):
            yield KnowledgePassage(
                _sentence(text), screen.name, source, context, label=clean_label(element.label), kind=kind
            )


def _build_passage(element: UIElement, language: Language) -> Iterator[tuple[str, PassageKind]]:
    label = clean_label(element.label)
    for name in NOTES:
        note = element.metadata.get(name)
        if isinstance(note, str) and _adds_to(label, note):
            yield language.facts["note"].format(label=label, note=note), "note"
    for affordance in element.affordances:
        options = [_option(option) for option in affordance.options]
        if options:
            choices = _joined(options, language)
            yield language.facts["options"].format(label=label, options=choices), "choices"
        longest = None if affordance.validation is None else affordance.validation.max_length
        if longest is not None:
            yield language.facts["longest"].format(label=label, most=longest), "limit"


def _without_label(note: str, label: str) -> str:
    """Return a note without the label that it repeats: `bank-type: one of Checking, Savings`."""
    named, colon, rest = note.partition(":")
    return rest.strip() if colon and split_words(named) == split_words(label) else note


def _adds_to(label: str, note: str) -> bool:
    """Return whether a note says more than the label: `Payment terms: Payment Terms` answers nothing."""
    return not set(split_words(note)) <= set(split_words(label))


async def collect_task_passages(task: Task, session: Session, language: Language) -> list[KnowledgePassage]:
    """Return what a task is for, what inputs it takes, and how it is done."""
    source, name = f"task/{task.task_id}", task.name or task.task_id.replace("_", " ")
    context = f"{name} {task.task_id}"
    drafted = "draft" in task.metadata  # its descriptions say what a map saw, and nothing to visitors
    passages = (
        [KnowledgePassage(_sentence(task.description), name, source, context=context)]
        if task.description and not drafted
        else []
    )
    for given in task.io_spec.inputs:
        label = given.name.replace("_", " ").capitalize()
        note = _without_label(given.description, label)
        kind: PassageKind = "choices" if note.startswith(_ONE_OF) else "note"
        if not given.secret and _adds_to(label, note) and (kind == "choices" or not drafted):
            text = language.facts["input"].format(label=label, note=note)
            passages.append(KnowledgePassage(_sentence(text), name, source, context, label=label, kind=kind))
    steps = await describe_steps(task, session, language)
    if len(steps) >= FEWEST_STEPS:
        text = language.facts["how"].format(task=name, steps=language.facts["then"].join(steps))
        context = f"{context} {task.description}"
        passages.append(KnowledgePassage(_sentence(text), name, source, context, kind="steps"))
    return passages


def _option(option: Option) -> str:
    """Return an action in words: its label, and its value if that is text."""
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
