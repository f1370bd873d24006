"""One call of an action, wherever the knowledge states one: task steps, affordance recoveries,
transition and recovery edges, execution steps of action documents.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, JsonValue, model_validator

from kb_schema import vocabulary
from kb_schema.base import Model, ScreenRef, Seconds, TaskRef
from kb_schema.conditions import Condition
from kb_schema.selectors import Selector
from kb_schema.triggers import ObservabilityTrigger

_TARGET_NAMES = ("field_selector", "element_selector", "element_id", "field_id", "selector")
_VALUE_NAMES = ("text", "option_value", "option", "keys", "file_path")


def _loops(name: Any, target: Any) -> bool:
    """Whether an action word is a jump to another step (KS 10.1)."""
    return isinstance(name, str) and (
        name in vocabulary.JUMPS or (name == "goto" and isinstance(target, int))
    )


class DialogAnswer(Model):
    """How a dialog of the page is answered. In short: `accept` or `dismiss`."""

    accept: bool
    text: str | None = None
    """Of a prompt: what is typed into it."""

    @model_validator(mode="before")
    @classmethod
    def _in_short(cls, data: Any) -> Any:
        return {"accept": data == "accept"} if data in ("accept", "dismiss") else data


class ActionCall(Model):
    """An action type (or an action document's id) with what it is applied to.

    KS's many words for the target (`field_selector`, `element_selector`, `element_id`, ...) and
    for the value (`text`, `option_value`, ...) are one field each here.
    """

    action_type: Annotated[str, Field(min_length=1, max_length=200)]
    target: str | Selector | None = None
    """Element id of the screen one is on, literal CSS, or a whole selector."""
    value: JsonValue = None
    url: str | None = None
    target_screen: ScreenRef | None = None
    method: Literal["direct_url", "path", "any"] | None = None
    """How `navigate` gets to a screen: by its URL, along transitions, or whichever works."""
    task_id: TaskRef | None = None
    inputs: dict[str, JsonValue] = Field(default_factory=dict)
    narration: str | None = None
    duration: Seconds | None = None
    """Of a `wait`."""
    speed: JsonValue = None
    """Milliseconds between keystrokes where somebody watches; without an audience text is put in
    at once."""
    clear_first: JsonValue = None
    iterator_spec: str | None = None
    """`{iterator_spec}`: the task's own."""
    observability_trigger: ObservabilityTrigger | None = None
    on_dialog: DialogAnswer | None = None
    """Where the page asks something (`confirm`, `prompt`): what to answer; None: such a step is refused."""
    new_tab: Literal["follow", "close"] | None = None
    """Where it opens another tab: go on there, or close it; None: such a step is refused."""
    download: Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$", max_length=200)] | None = None
    """It leads to a download, which is kept: the variable that has its path then."""
    parameters: dict[str, JsonValue] = Field(default_factory=dict)
    """Further parameters of an action document, and `{{x}}` of parameterised selectors."""
    fallback_actions: tuple[ActionCall, ...] = ()
    """Tried in order when the action itself fails (KS 4.4)."""

    @model_validator(mode="before")
    @classmethod
    def _one_name_each(cls, data: Any) -> Any:
        if isinstance(data, str):
            return {"action_type": data}
        if not isinstance(data, dict):
            return data
        data = dict(data)
        if "action_type" not in data and "action" in data:
            data["action_type"] = data.pop("action")
        for canonical, names in (("target", _TARGET_NAMES), ("value", _VALUE_NAMES)):
            for name in names:
                if name in data and canonical not in data:
                    data[canonical] = data.pop(name)
        if "typing_speed" in data and "speed" not in data:
            data["speed"] = data.pop("typing_speed")
        return data

    @property
    def canonical_type(self) -> str:
        """The canonical action type; an action document's id stays as it is."""
        return vocabulary.canonical(self.action_type) or self.action_type


class ExecutionStep(ActionCall):
    """One step of an action document (KS 4.2)."""

    step: int = Field(ge=1)
    condition: str | Condition | None = None
    """`{parameter}` that must be true, or a condition; else the step is left out."""


ActionCall.model_rebuild()
ExecutionStep.model_rebuild()
