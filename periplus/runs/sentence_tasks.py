"""The task that a sentence asks for, of those in the store; for `periplus run` and the agent's MCP server."""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agent.sentences.sentence_binding import BoundTask, SentenceMeaning
    from kb_schema.knowledge_base import KnowledgeBase
    from kb_store import Stores


def is_sentence(text: str | None) -> bool:
    """Whether a command's argument is a sentence: ids have no spaces."""
    return text is not None and bool(text.strip()) and any(map(str.isspace, text.strip()))


def find_meaning(sentence: str, knowledge: KnowledgeBase) -> SentenceMeaning:
    """Return which task or workflow of a website a sentence means."""
    from agent.sentences.sentence_binding import bind_sentence  # noqa: PLC0415 - decision 0140

    return bind_sentence(sentence, [*knowledge.workflows.values(), *knowledge.tasks.values()])


async def read_meaning(sentence: str, stores: Stores, website_id: str) -> SentenceMeaning:
    """Return which task or workflow of a website in the store a sentence means."""
    from kb_store import read_knowledge  # noqa: PLC0415 - decision 0140

    knowledge, _ = await read_knowledge(stores.documents, stores.graph, website_id)
    return find_meaning(sentence, knowledge)


def explain_no_task(meaning: SentenceMeaning) -> str:
    """Return why a sentence was not bound."""
    sentence = meaning.sentence if len(meaning.sentence) <= 200 else f"{meaning.sentence[:200]}..."
    if not meaning.similar:
        return f"no task does what the sentence says: {sentence!r}{_name_nearest(meaning)}"
    one = meaning.similar[0]
    if len(meaning.similar) > 1:
        return f"the sentence may mean more than one task: {sentence!r}"
    if one.missing:
        return f"the sentence has no value for {', '.join(one.missing)} of {one.task_id}: {sentence!r}"
    return f"it is not certain that the sentence means {one.task_id}: {sentence!r}"


def _name_nearest(meaning: SentenceMeaning) -> str:
    near = meaning.nearest
    if near is None:
        return ""
    return f"; the nearest is {near.task_id}, which needs {' and '.join(near.needs) or 'no value'}"


def suggest_commands(meaning: SentenceMeaning) -> str:
    """Return what to do instead."""
    if not meaning.similar:
        return (
            "name the task by its id, or use the words of its name and its inputs, with values in quotes;"
            " `periplus kb status` shows what is in the store; with --model a language model plans it (docs/models.md)"
        )
    return "; ".join(f"`{format_command(each)}`" for each in meaning.similar)


def format_command(task: BoundTask) -> str:
    """Return the command that runs a task with its values, and `NAME=...` for those that are missing."""
    given = [f"-i {shlex.quote(f'{name}={as_input(value)}')}" for name, value in task.values.items()]
    return " ".join(["periplus run", task.task_id, *given, *(f"-i {name}=..." for name in task.missing)])


def as_input(value: str | list[str]) -> str:
    """Return a value as `-i NAME=VALUE` takes it."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
