"""A `ReplanInferencer` on a language model: WR 4.3's prompt, with what the page shows as marked data."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from pydantic import BaseModel, Field

from agent.inferencer import ModelInferencer, ReplanContext
from agent.language_models.prompt_files import load_prompt, mark_page_text
from kb_schema.action_calls import ActionCall

ACTIONS = ("click", "double_click", "fill", "select_option", "check", "uncheck", "hover", "press")
"""What a model may suggest."""
MOST = 3
_REFERENCE = re.compile(r"e\d+")
_CONTROL = re.compile(r"\s*e\d+ ")
_ROW = re.compile(r" @ (?:row|after) .*")
"""Where a control is, by a text of the page."""


class SuggestedStep(BaseModel):
    """One step that a model suggests."""

    action: str = Field(max_length=40)
    element: str = Field(max_length=200, description="A reference (e5) or an element id")
    value: str | None = Field(default=None, max_length=2_000)


class SuggestedSteps(BaseModel):
    """A model's answer."""

    steps: list[SuggestedStep] = Field(max_length=MOST)


class ModelReplanner:
    """Asks a model for other approaches to a failed step."""

    def __init__(self, model: ModelInferencer, *, page_text: bool = True) -> None:
        """`page_text` False: only roles and names of controls are sent."""
        self._model, self._page_text = model, page_text

    async def suggest(self, context: ReplanContext) -> Sequence[ActionCall]:
        """Return actions, the best first. Raises `InferenceFailed`."""
        prompt = load_prompt("replan")
        text = prompt.render(
            goal=context.original_goal,
            done=", ".join(context.completed_steps) or "nothing",
            step=mark_page_text(json.dumps(context.failed_step, ensure_ascii=False)),
            reason=mark_page_text(context.failure_reason),
            data=mark_page_text(json.dumps(context.accumulated_data, ensure_ascii=False, default=str)),
            screen=context.current_screen or "unknown",
            url=context.current_url,
            elements=", ".join(context.elements) or "none",
            page=mark_page_text(choose_page_text(context.page, page_text=self._page_text)),
            failed=mark_page_text("\n".join(context.failed_approaches) or "none"),
            attempt=context.attempt_number,
            most=context.most_attempts,
            actions=", ".join(ACTIONS),
        )
        answer = await self._model.infer_as(text, SuggestedSteps, label=prompt.label)
        return [
            ActionCall(action_type=each.action, target=each.element, value=each.value)
            for each in answer.steps
            if each.action in ACTIONS
            and (_REFERENCE.fullmatch(each.element) or each.element in context.elements)
        ]


def choose_page_text(outline: str, *, page_text: bool) -> str:
    """Return what is sent of a page's outline; without texts of the page only its controls."""
    if page_text:
        return outline
    return "\n".join(_ROW.sub("", line) for line in outline.splitlines() if _CONTROL.match(line))
