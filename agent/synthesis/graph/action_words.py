"""Says in words what an action does: "choose 'testing' in 'status'"."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from kb_schema.fingerprints import Fingerprint
from kb_schema.selectors import NameStrategy, Selector

_FORMS = {
    "navigate": "open {value}",
    "navigate_back": "go back",
    "refresh": "reload the page",
    "click": "press {target}",
    "double_click": "press {target} twice",
    "right_click": "press {target} with the right button",
    "drag": "drag {target}",
    "hover": "point at {target}",
    "fill": "type {value} into {target}",
    "append_text": "add {value} to {target}",
    "input_and_submit": "type {value} into {target} and send it",
    "clear": "empty {target}",
    "select_option": "choose {value} in {target}",
    "check": "tick {target}",
    "uncheck": "untick {target}",
    "upload_file": "upload {value} to {target}",
    "press": "press the key {value}",
    "wait": "wait {value} s",
}


def write_action(
    action_type: str, args: Mapping[str, Any], target: str, secrets: Collection[str] = ()
) -> str:
    """Return what an action does to what people call `target`; `secrets` are the names of secret inputs.

    >>> write_action("select_option", {"value": "testing"}, "'status'")
    "choose 'testing' in 'status'"
    """
    given = next((args[key] for key in ("value", "url", "duration") if key in args), None)
    value = "" if given is None else ", ".join(map(str, given)) if isinstance(given, list) else str(given)
    if value.strip("{}") in secrets:
        value = f"the secret {value}"
    elif action_type not in ("navigate", "press", "wait") and not value.startswith("{"):
        value = repr(value)
    form = _FORMS.get(action_type, f"{action_type.replace('_', ' ')} {{target}}")
    return form.format_map({"value": value, "target": target}).strip()


def name_element(known: Fingerprint | None, target: Any) -> str | None:
    """Return what people call an element, with its role: `button 'Save'`; None if nothing says it."""
    words = next(iter(() if known is None else known.words), None)
    role = "" if known is None or known.role is None else f"{known.role} "
    if words is None and isinstance(target, Selector):
        named = [each for each in target.strategies if isinstance(each, NameStrategy)]
        words = named[0].name if named else None
        role = f"{named[0].role} " if named and named[0].role else ""
    if words is None and known is not None:
        words = known.attributes.get("name") or known.attributes.get("id")
    return None if words is None else f"{role}{words!r}"
