"""Events become actions: keystrokes one input, a click into a field its filling, two clicks a double one.

Pure; what comes in is in the order in which it happened. An action that a later event may still change
is held back.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from agent.recording.beside import Beside
from agent.recording.heard import Seen, What

_PRESSED_AGAIN_MS = 700
"""Two clicks further apart make no double click on any system."""


@dataclass(frozen=True, slots=True)
class Action:
    """One action of a person."""

    action_type: str
    tab: int
    url: str
    time: float
    """Milliseconds since the epoch."""
    seen: Seen | None = None
    args: dict[str, Any] = field(default_factory=dict)
    secret: str | None = None
    """What was typed, where it must not be written down; it is in no other field."""
    field_id: str | None = None
    what: What | None = None
    html_after: str | None = None
    beside: Beside = field(default_factory=Beside)

    @property
    def element(self) -> object:
        """Equal for two actions on the same element, as far as its selectors tell."""
        selector = None if self.seen is None else self.seen.selector
        return None if selector is None else (self.tab, selector.model_dump_json())


class Merging:
    """Takes events, gives actions that are final."""

    def __init__(self) -> None:
        self._held: list[Action] = []

    @property
    def last(self) -> Action | None:
        """The action under way."""
        return self._held[-1] if self._held else None

    def add(self, action: Action) -> list[Action]:
        """One more; returns those that nothing can change any more."""
        if action.field_id is not None and self.last is not None and self.last.field_id == action.field_id:
            self._held[-1] = replace(action, seen=self.last.seen or action.seen)
            return []
        if self._moves_the_caret(action):
            return []
        if action.action_type == "double_click":
            return self._double(action)
        if action.action_type == "fill" and self.last is not None and _enters(self.last, action):
            before = self._held.pop().seen
            action = replace(action, seen=before or action.seen)
        self._held.append(action)
        if len(self._held) <= 2:
            return []
        return [self._held.pop(0)]

    def beside(self, tab: int, beside: Beside) -> bool:
        """Something came of the last action in a tab; False where there is none."""
        for at in range(len(self._held) - 1, -1, -1):
            held = self._held[at]
            if held.tab == tab:
                self._held[at] = replace(held, beside=held.beside.joined(beside))
                return True
        return False

    def settled(self, html: str) -> None:
        """How the page looks when it has come to rest after the last action."""
        if self._held:
            self._held[-1] = replace(self._held[-1], html_after=html)

    def finish(self) -> list[Action]:
        """What is left."""
        held, self._held = self._held, []
        return held

    def _moves_the_caret(self, action: Action) -> bool:
        """Whether it belongs to the typing into one field that a click in the same field interrupts; then it
        is merged.
        """
        if len(self._held) < 2 or not _enters(self._held[1], self._held[0]):
            return False
        typed, click = self._held
        if action.field_id is not None and action.field_id == typed.field_id:
            self._held = [replace(action, seen=typed.seen or action.seen)]
            return True
        again = _enters(action, typed) and action.tab == click.tab
        if again:
            self._held[1] = replace(action, seen=click.seen or action.seen)
        return again

    def _double(self, action: Action) -> list[Action]:
        clicks = [each for each in self._held if _is_part(each, action)]
        if clicks or action.seen is not None:
            seen = action.seen or clicks[0].seen
            self._held = [each for each in self._held if each not in clicks]
            self._held.append(replace(action, seen=seen, url=clicks[0].url if clicks else action.url))
        return []


def _is_part(each: Action, double: Action) -> bool:
    """Whether it is one of the two clicks: of those on an option of a list the first one is the choice.

    A quick person's last click on the page before is none: it is what led here.
    """
    if double.time - each.time >= _PRESSED_AGAIN_MS or each.tab != double.tab:
        return False
    if each.action_type == "click":
        one, other = each.what, double.what
        return one is None or other is None or (one.url, one.tag) == (other.url, other.tag)
    chosen = (what.chosen for action in (each, double) if (what := action.what) is not None)
    return each.action_type == "select_option" and len({*chosen}) == 1


def _enters(click: Action, fill: Action) -> bool:
    """Whether a click only put the caret where the text goes."""
    if (
        fill.action_type != "fill"
        or click.action_type != "click"
        or click.what is None
        or not click.what.field
    ):
        return False
    return click.element is not None and click.element == fill.element


def did_nothing(action: Action, html_after: str | None) -> bool:
    """Whether an action hit nothing and changed nothing: a click on the empty page, a stray key."""
    if action.beside or action.what is None or action.seen is None or action.seen.html != html_after:
        return False
    if action.action_type == "click":
        fingerprint = action.seen.fingerprint or {}
        return fingerprint.get("role") not in _OPERABLE and action.what.tag not in _OPERABLE_TAGS
    return action.action_type == "press" and not action.what.field


_OPERABLE_TAGS = frozenset({"a", "button", "input", "select", "textarea", "summary", "option"})
_OPERABLE = frozenset({
    "button", "link", "checkbox", "radio", "switch", "tab", "menuitem", "option", "combobox", "textbox", "treeitem",
})  # fmt: skip
