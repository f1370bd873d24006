"""Asks a language model about conditions whose author wants that (`judged_by: model`), last and seldom.

It is asked only when all other conditions hold, once for each text of the page. Its yes counts only with words that it quotes from
the page.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from playwright.async_api import Error as PlaywrightError
from playwright.async_api import Page
from pydantic import BaseModel, Field

from agent.inferencer import InferenceFailed, ModelInferencer
from agent.language_models.prompt_files import load_prompt, mark_page_text
from kb_schema.conditions import BaseCondition, JudgedText
from kb_schema.probes import Verdict, VerdictStatus, held, unknown

MOST_REFUSALS = 4
"""Answers of no, one after the other, after which a statement is not asked about again in this run."""
LEAST_QUOTE = 3
_TEXT = (
    "css => { const at = css ? document.querySelector(css) : document.body; return at ? at.innerText : '' }"
)


class TextJudgement(BaseModel):
    """A model's answer."""

    holds: bool
    quote: str = Field(default="", max_length=1_000)
    reason: str = Field(default="", max_length=500)


@dataclass(slots=True)
class TextJudgements:
    """The judgements of one run."""

    model: ModelInferencer
    redact: Callable[[Any], Any] = lambda text: text
    """Takes secrets out of what is sent, beside those that the model's own call takes out."""
    _known: dict[tuple[str, str], Verdict] = field(default_factory=dict)
    """Statement and the text it was judged by -> the verdict."""
    _refused: Counter[str] = field(default_factory=Counter)

    async def complete(
        self, page: Page, conditions: Sequence[BaseCondition], verdicts: Sequence[Verdict]
    ) -> list[Verdict]:
        """Return the verdicts with those of judged conditions, if all others hold."""
        found = list(verdicts)
        for at, condition in enumerate(conditions):
            if not isinstance(condition, JudgedText) or found[at].status is not VerdictStatus.UNKNOWN:
                continue
            others = (
                verdict
                for verdict, each in zip(found, conditions, strict=True)
                if each.success is not False and not isinstance(each, JudgedText)
            )
            if all(each.held for each in others):
                found[at] = await self._judge(page, condition)
        return found

    async def _judge(self, page: Page, condition: JudgedText) -> Verdict:
        text = str(self.redact(await _read_text(page, condition.selector)))
        if not text:
            return unknown("the page has no text to judge")
        key = condition.statement, text
        if key not in self._known:
            if self._refused[condition.statement] >= MOST_REFUSALS:
                return held(False, f"the language model said no {MOST_REFUSALS} times")
            verdict = await self._ask(condition, text)
            if verdict.status is VerdictStatus.UNKNOWN:
                return verdict
            self._refused[condition.statement] = 0 if verdict.held else self._refused[condition.statement] + 1
            self._known[key] = verdict
        return self._known[key]

    async def _ask(self, condition: JudgedText, text: str) -> Verdict:
        prompt = load_prompt("judge_text")
        asked = prompt.render(statement=self.redact(condition.statement), page=mark_page_text(text))
        try:
            answer = await self.model.infer_as(asked, TextJudgement, label=prompt.label)
        except InferenceFailed as exc:
            return unknown(f"not judged: {exc}")
        quote = " ".join(answer.quote.split())
        if answer.holds and (len(quote) < LEAST_QUOTE or quote.casefold() not in text.casefold()):
            return held(False, "the language model says yes, and quotes nothing that the page says")
        told = (
            f"the language model says {'yes' if answer.holds else 'no'}: {answer.reason or 'no reason given'}"
        )
        return held(answer.holds, f'{told} (the page says "{quote}")' if answer.holds else told)


async def _read_text(page: Page, selector: str | None) -> str:
    with suppress(PlaywrightError):
        return " ".join(str(await page.evaluate(_TEXT, selector)).split())
    return ""
