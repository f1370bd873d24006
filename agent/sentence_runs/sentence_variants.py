"""Further sentences for the same job with other values, by which it is taught."""

from __future__ import annotations

from pydantic import BaseModel, Field

from agent.inferencer import InferenceFailed, ModelInferencer
from agent.language_models.prompt_files import load_prompt
from kb_schema.sentence_plans import LONGEST, fold

MOST = 10


class SentenceVariants(BaseModel):
    """What a model answers."""

    sentences: list[str] = Field(max_length=MOST)


async def vary_sentence(model: ModelInferencer, sentence: str, count: int) -> list[str]:
    """Return that many further sentences, each another one. Raises `InferenceFailed` if the model has fewer."""
    prompt = load_prompt("vary_sentence")
    answer = await model.infer_as(
        prompt.render(sentence=sentence, count=count), SentenceVariants, label=prompt.label
    )
    found: dict[str, str] = {}
    for each in answer.sentences:
        text = " ".join(each.split())[:LONGEST]
        if text and fold(text) != fold(sentence):
            found.setdefault(fold(text), text)
    if len(found) < count:
        raise InferenceFailed(
            f"{len(found)} of {count} further sentences", hint="teach it with fewer, or again"
        )
    return list(found.values())[:count]
