"""Adds an author's answer to a visitor's question to a flow (`PresentationFlow.answers`)."""

from __future__ import annotations

from kb_schema import KnowledgeBase
from kb_schema.documents import did_you_mean
from kb_schema.presentation_flows import AuthoredAnswer, PresentationFlow
from loaders.edits.knowledge_edit import EditRefused, KnowledgeEdit, check_edit


def add_answer(knowledge: KnowledgeBase, flow_id: str, question: str, answer: str) -> KnowledgeEdit:
    """Return the edit that answers a question in a flow; an answer of the same words joins it, or is replaced.

    Raises `EditRefused` for an unknown flow or an empty text, and `KnowledgeError` for an answer that names unknown variables.
    """
    flow = knowledge.flows.get(flow_id)
    if flow is None:
        meant = did_you_mean(flow_id, sorted(knowledge.flows))
        raise EditRefused(
            f"no flow {flow_id!r}", meant or f"one of {', '.join(sorted(knowledge.flows)) or 'none'}"
        )
    question, answer = " ".join(question.split()), answer.strip()
    if not question or not answer:
        raise EditRefused(f"the {'answer' if question else 'question'} is empty", "write a text")
    documents = [
        _answered(each, question, answer) if each is flow else each for each in knowledge.documents()
    ]
    return check_edit(knowledge, documents)


def _answered(flow: PresentationFlow, question: str, answer: str) -> PresentationFlow:
    kept: list[AuthoredAnswer] = []
    asked: tuple[str, ...] = (question,)
    for each in flow.answers:
        others = tuple(text for text in each.asked if text.casefold() != question.casefold())
        if each.narration == answer:
            asked = (*others, question)
        elif others:
            kept.append(each.model_copy(update={"asked": others}))
    kept.append(AuthoredAnswer(asked=asked, narration=answer))
    return PresentationFlow.model_validate(flow.model_copy(update={"answers": tuple(kept)}).to_json())
