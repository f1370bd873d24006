"""One call of an action, wherever the knowledge states one.

Task steps, affordance recoveries, transition and recovery edges and the execution steps of action documents
all use `ActionCall`.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, JsonValue, model_validator

from kb_schema import action_types
from kb_schema.base import Model, ScreenRef, Seconds, TaskRef
from kb_schema.conditions import Condition
from kb_schema.fingerprints import Fingerprint
from kb_schema.selectors import Selector
from kb_schema.wait_triggers import ObservabilityTrigger

_TARGET_NAMES = ("field_selector", "element_selector", "element_id", "field_id", "selector")
_VALUE_NAMES = ("text", "option_value", "option", "keys", "file_path")
_OTHER_NAMES = frozenset({"action", "typing_speed", *_TARGET_NAMES, *_VALUE_NAMES})
"""Names that are read as another field: a call that was stored has none."""


def _is_jump(name: Any, target: Any) -> bool:
    """Return whether an action word is a jump to another step (KS 10.1)."""
    return isinstance(name, str) and (
        name in action_types.JUMPS or (name == "goto" and isinstance(target, int))
    )


class DialogAnswer(Model):
    """How to answer a dialog of the page. Short form: `accept` or `dismiss`."""

    accept: bool
    text: str | None = None
    """The text to enter into a prompt."""

    @model_validator(mode="before")
    @classmethod
    def _in_short(cls, data: Any) -> Any:
        return {"accept": data == "accept"} if data in ("accept", "dismiss") else data


Modifier = Literal["Alt", "Control", "Meta", "Shift"]
Place = Annotated[tuple[float, ...], Field(min_length=2, max_length=2)]
"""Across and down, in fractions of an element's width and height."""


class DropPlace(Model):
    """Where a `drag` ends, and where it takes hold."""

    target: Selector
    """The element over which the pointer lets go. The dragged element itself if it is only moved."""
    at: Place = (0.5, 0.5)
    """The place in it; below 0 and above 1 it is outside."""
    grab: Place = (0.5, 0.5)
    """The place in the dragged element at which it is held."""


class ActionCall(Model):
    """An action type (or the id of an action document) and what it is applied to.

    KS has many words for the target (`field_selector`, `element_selector`, `element_id`, ...) and for the
    value (`text`, `option_value`, ...). Each is one field here.
    """

    action_type: Annotated[str, Field(min_length=1, max_length=200)]
    target: str | Selector | None = None
    """An element id of the current screen, literal CSS, or a whole selector."""
    value: JsonValue = None
    url: str | None = None
    target_screen: ScreenRef | None = None
    method: Literal["direct_url", "path", "any"] | None = None
    """How `navigate` reaches a screen: by its URL, along transitions, or either."""
    task_id: TaskRef | None = None
    inputs: dict[str, JsonValue] = Field(default_factory=dict)
    narration: str | None = None
    duration: Seconds | None = None
    """The duration of a `wait`."""
    speed: JsonValue = None
    """Milliseconds between keystrokes when a person is watching.

    Without an audience, text is entered at once.
    """
    clear_first: JsonValue = None
    iterator_spec: str | None = None
    """`{iterator_spec}`: the iterator of the task itself."""
    observability_trigger: ObservabilityTrigger | None = None
    on_dialog: DialogAnswer | None = None
    """The answer if the page shows a dialog (`confirm`, `prompt`). None: the step fails if it does."""
    new_tab: Literal["follow", "close"] | None = None
    """What to do if the action opens a new tab: continue there, or close it. None: the step fails if it does.
    """
    download: Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$", max_length=200)] | None = None
    """The variable that receives the path of the file this action downloads."""
    modifiers: tuple[Modifier, ...] = ()
    """Keys held down during a click."""
    place: Place | None = None
    """The place in the target that a click presses, as on a drawing (canvas). None: one that shows, near its middle."""
    drop: DropPlace | None = None
    """The place to which `drag` drags the target."""
    parameters: dict[str, JsonValue] = Field(default_factory=dict)
    """Further parameters of an action document, and values of `{{x}}` in parameterised selectors."""
    fingerprint: Fingerprint | None = None
    """What recordings show of the target besides its selector.

    It helps to find the element again, and the words of the element must not contradict it.
    """
    fallback_actions: tuple[ActionCall, ...] = ()
    """Tried in order if the action itself fails (KS 4.4)."""

    @model_validator(mode="before")
    @classmethod
    def _one_name_each(cls, data: Any) -> Any:
        if isinstance(data, str):
            return {"action_type": data}
        if not isinstance(data, dict) or _OTHER_NAMES.isdisjoint(data):
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
        """The canonical action type; the id of an action document stays as it is."""
        return action_types.canonical(self.action_type) or self.action_type


class ExecutionStep(ActionCall):
    """One step of an action document (KS 4.2)."""

    step: int = Field(ge=1)
    condition: str | Condition | None = None
    """`{parameter}` that must be true, or a condition. Otherwise the step is skipped."""
