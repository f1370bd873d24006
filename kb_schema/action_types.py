"""The registry of action types: canonical names, aliases, and what each type takes.

KS, MA, PACTS and OL name the same actions differently; each exists once here. The page layer *performs* an
action type; an action document of a knowledge base is a recipe made of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

TargetRequirement = Literal["required", "optional", "none"]


@dataclass(frozen=True, slots=True)
class ActionType:
    """One canonical action type."""

    name: str
    summary: str
    target: TargetRequirement = "required"
    takes_value: bool = False
    idempotent: bool = True
    """Whether doing it twice has the effect of doing it once. False for a click, which may submit."""
    on_page: bool = True
    """Whether it is performed on the page; else the engine performs it."""
    may_lead_on: bool = True
    """Whether it may lead to another screen without a change of the page's content."""
    types_text: bool = False
    """Whether it types its value into a field: only such a value may be secret."""
    aliases: tuple[str, ...] = ()


ACTION_TYPES: dict[str, ActionType] = {}
_BY_NAME: dict[str, str] = {}


def register(action: ActionType) -> ActionType:
    """Register an action type. Raises `ValueError` if a name is taken."""
    for name in (action.name, *action.aliases):
        if name in _BY_NAME:
            raise ValueError(f"action name {name!r} is taken by {_BY_NAME[name]!r}")
        _BY_NAME[name] = action.name
    ACTION_TYPES[action.name] = action
    return action


def canonical(name: str) -> str | None:
    """Return the canonical name of an action, or None if it is unknown."""
    return _BY_NAME.get(name)


def action_type(name: str) -> ActionType | None:
    """Return the action type of a canonical name or an alias, or None if it is unknown."""
    found = _BY_NAME.get(name)
    return None if found is None else ACTION_TYPES[found]


def known_names() -> tuple[str, ...]:
    """Return every canonical name and alias, sorted."""
    return tuple(sorted(_BY_NAME))


for _action in (
    ActionType(
        "click", "Click an element", idempotent=False, aliases=("click_button", "ElementInteraction.Click")
    ),
    ActionType("double_click", "Click an element twice", idempotent=False),
    ActionType(
        "right_click", "Click an element with the right button", idempotent=False, aliases=("context_click",)
    ),
    ActionType("drag", "Drag an element to the place that `drop` names", idempotent=False),
    ActionType("hover", "Move the pointer over an element"),
    ActionType("focus", "Give an element the keyboard focus", may_lead_on=False, aliases=("focus_element",)),
    ActionType(
        "fill",
        "Replace a field's text",
        takes_value=True,
        types_text=True,
        may_lead_on=False,
        aliases=("type", "type_text", "input_text", "enter_text", "ElementInteraction.InputText"),
    ),
    ActionType(
        "append_text",
        "Add text to a field",
        takes_value=True,
        types_text=True,
        idempotent=False,
        may_lead_on=False,
        aliases=("ElementInteraction.AppendText",),
    ),
    ActionType(
        "input_and_submit",
        "Replace a field's text and press Enter",
        takes_value=True,
        types_text=True,
        idempotent=False,
        aliases=("ElementInteraction.InputAndSubmit",),
    ),
    ActionType("clear", "Empty a field", may_lead_on=False, aliases=("clear_field", "clear_if_needed")),
    ActionType(
        "press",
        "Press keys, e.g. `Enter` or `Control+A`",
        target="optional",
        takes_value=True,
        idempotent=False,
        aliases=("press_key",),
    ),
    ActionType(
        "select_option",
        "Choose an option of a list by value or label",
        takes_value=True,
        may_lead_on=False,
        aliases=("select", "select_dropdown"),
    ),
    ActionType("check", "Tick a checkbox or radio button"),
    ActionType("uncheck", "Untick a checkbox"),
    ActionType(
        "upload_file", "Give a file to a file field", takes_value=True, aliases=("upload", "set_input_files")
    ),
    ActionType(
        "scroll",
        "Scroll the page or an element",
        target="optional",
        takes_value=True,
        may_lead_on=False,
        aliases=("ElementInteraction.Scroll",),
    ),
    ActionType(
        "scroll_to_element",
        "Bring an element into view",
        may_lead_on=False,
        aliases=("scroll_up_to_element", "ElementInteraction.ScrollUpToElement"),
    ),
    ActionType(
        "navigate",
        "Open a URL, or find the way to a screen",
        target="none",
        aliases=("visit_url", "goto", "navigate_to_screen"),
    ),
    ActionType("navigate_back", "Go back in history", target="none", idempotent=False, aliases=("go_back",)),
    ActionType("refresh", "Load the page again", target="none", aliases=("reload", "refresh_page")),
    ActionType(
        "call_page_tool",
        "Call a tool that the page offers (WebMCP); the value is its name and a JSON object",
        target="none",
        takes_value=True,
        idempotent=False,
    ),
    ActionType(
        "get_screen_content",
        "Read what the page says",
        target="optional",
        may_lead_on=False,
        aliases=("read_screen", "extract"),
    ),
    ActionType(
        "wait", "Wait a time, or for a person", target="none", on_page=False, aliases=("UserInputsRequired",)
    ),
    ActionType("wait_for", "Wait for an observability trigger", target="none", on_page=False),
    ActionType(
        "close_tab",
        "Close the tab that was followed, and go on in the one it was opened from",
        target="none",
        idempotent=False,
        on_page=False,
        aliases=("close_window",),
    ),
    ActionType("no_op", "Do nothing", target="none", on_page=False),
    ActionType(
        "run_task",
        "Run another task",
        target="none",
        on_page=False,
        idempotent=False,
        aliases=("execute_task",),
    ),
    ActionType("execute_iterator", "Run the task's iterator", target="none", on_page=False, idempotent=False),
):
    register(_action)


JUMPS = frozenset({"goto_step", "go_to_step", "goto", "jump_to_step", "loop_to"}) - frozenset(_BY_NAME)
"""Action words that would jump to another step. The No-Graph-Loops rule refuses them (KS 10.1)."""

RECOVERIES: dict[str, str] = {
    "fix_validation_errors": "correct the fields the page complains about and submit again",
    "identify_and_fix_errors": "the same as fix_validation_errors",
    "fix_errors": "the same as fix_validation_errors",
    "refresh_and_retry": "load the page again and repeat the step",
    "try_alternative_selector": "use the element's next selector strategy",
    "wait_and_retry": "wait, then repeat the step",
    "retry": "repeat the step",
    "check_current_state": "look whether it already happened before doing it again",
    "verify_current_state": "identify the current screen and go on from there",
    "navigate_manually": "find another way to the step's screen",
    "dismiss_overlay": "close what covers the page by its own control",
    "skip_step": "go on without this step",
    "abort": "stop here",
}
"""The named recoveries of KS. A document may also name an `error_recovery` document or a task."""
