"""A `CandidateDecider` on a language model: it chooses among elements that are too similar, and its evidence is checked.

For an action that cannot be undone, its word is not enough: texts that only the chosen element shares with the known one
must show it. For others, the step's postconditions decide afterwards whether it was the right one.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from pydantic import BaseModel, Field

from agent.healing.healer import CandidateChoice
from agent.inferencer import InferenceFailed, ModelInferencer
from agent.language_models.prompt_files import load_prompt, mark_page_text
from kb_schema.fingerprints import Fingerprint

NAMES = frozenset({"role", "name", "label", "tag", "icon"})
"""What is sent of an element without the page's texts."""
LEFT_OUT = frozenset({"box", "xpath"})
LEAST_EVIDENCE = 2
"""Characters of a text that counts."""


class ElementChoice(BaseModel):
    """A model's answer."""

    choice: int | None = None
    evidence: list[str] = Field(default_factory=list, max_length=10)
    reason: str = Field(default="", max_length=500)


class ModelDecider:
    """Asks a model which of several elements is the known one."""

    def __init__(self, model: ModelInferencer, *, page_text: bool = True) -> None:
        """`page_text` False: only roles and names of the elements are sent."""
        self._model, self._page_text = model, page_text

    async def choose(
        self, known: Fingerprint, candidates: Sequence[Fingerprint], *, strict: bool
    ) -> CandidateChoice | None:
        """Return the element that is meant; None if the model does not tell, or does not show it where it must."""
        prompt = load_prompt("choose_element")
        listed = [f"{number}: {self._describe(each)}" for number, each in enumerate(candidates, start=1)]
        text = prompt.render(
            known=mark_page_text(self._describe(known)), candidates=mark_page_text("\n".join(listed))
        )
        try:
            answer = await self._model.infer_as(text, ElementChoice, label=prompt.label)
        except InferenceFailed:
            return None
        if answer.choice is None or not 1 <= answer.choice <= len(candidates):
            return None
        at = answer.choice - 1
        others = [each for number, each in enumerate(candidates) if number != at]
        shown = [each for each in answer.evidence if _tells(each, known, candidates[at], others)]
        if strict and not shown:
            return None
        told = f"; only this one also has {', '.join(map(repr, shown))}" if shown else ""
        return CandidateChoice(at, f"chosen by the language model{told}: {answer.reason}")

    def _describe(self, element: Fingerprint) -> str:
        said = element.model_dump(mode="json", exclude_defaults=True)
        kept = {
            name: value
            for name, value in said.items()
            if name not in LEFT_OUT and (self._page_text or name in NAMES)
        }
        return json.dumps(kept, ensure_ascii=False)


def _tells(text: str, known: Fingerprint, chosen: Fingerprint, others: Sequence[Fingerprint]) -> bool:
    """Whether a text is of the known and the chosen element, and of no other one."""
    said = text.strip().casefold()
    return (
        len(said) >= LEAST_EVIDENCE
        and all(said in _list_texts(each) for each in (known, chosen))
        and not any(said in _list_texts(each) for each in others)
    )


def _list_texts(element: Fingerprint) -> frozenset[str]:
    """Return the texts of an element and around it, folded."""
    found: set[str] = set()

    def collect(value: object) -> None:
        if isinstance(value, str):
            found.add(value.strip().casefold())
        elif isinstance(value, dict):
            for each in value.values():
                collect(each)
        elif isinstance(value, list | tuple):
            for each in value:
                collect(each)

    said = element.model_dump(mode="json", exclude_defaults=True)
    collect([value for name, value in said.items() if name not in {*LEFT_OUT, "tag", "role"}])
    return frozenset(found)
