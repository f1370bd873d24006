"""Merges events into actions: keystrokes into one input, a click into a field with its input, two clicks into a double
click.

Events must arrive in chronological order. An action that a later event may still change is held back.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from agent.page.page_refusals import RefusalSigns
from agent.recording.recorded_events import PageBeforeEvent, RecordedEvent
from agent.recording.recorded_side_effects import RecordedSideEffects
from kb_schema.page_snapshots import CHECKED_ATTRIBUTE, VALUE_ATTRIBUTE, PageSnapshot
from web_pages.accessible_names import is_interactive
from web_pages.stored_pages import StoredPage
from web_pages.visibility import visible

_PRESSED_AGAIN_MS = 700
"""Maximum milliseconds between the two clicks of a double click."""


@dataclass(frozen=True, slots=True)
class RecordedAction:
    """One action of a person."""

    action_type: str
    tab: int
    url: str
    time: float
    """Milliseconds since the epoch."""
    seen: PageBeforeEvent | None = None
    args: dict[str, Any] = field(default_factory=dict)
    secret: str | None = None
    """The typed text if it is a secret; no other field contains it."""
    field_id: str | None = None
    what: RecordedEvent | None = None
    html_after: str | None = None
    url_after: str | None = None
    """Address of the idle page after it; None if another action came before."""
    signs_after: RefusalSigns | None = None
    """Signs of a refusal on the idle page after it; None if another action came before."""
    beside: RecordedSideEffects = field(default_factory=RecordedSideEffects)

    @property
    def element(self) -> object:
        """A key that is equal for actions on the same element, by its selectors."""
        selector = None if self.seen is None else self.seen.selector
        return None if selector is None else (self.tab, selector.model_dump_json())


class ActionMerger:
    """Takes actions and returns those that are final."""

    def __init__(self) -> None:
        self._held: list[RecordedAction] = []

    @property
    def last(self) -> RecordedAction | None:
        """The current action, which may still change."""
        return self._held[-1] if self._held else None

    def add(self, action: RecordedAction) -> list[RecordedAction]:
        """Add an action; return the actions that are final now."""
        if action.field_id is not None and self.last is not None and self.last.field_id == action.field_id:
            self._held[-1] = replace(action, seen=self.last.seen or action.seen)
            self._forget_what_was_typed_over()
            return []
        if self._moves_the_caret(action):
            return []
        if action.action_type == "double_click":
            return self._double(action)
        if action.action_type == "fill" and self.last is not None and _is_caret_click(self.last, action):
            before = self._held.pop().seen
            action = replace(action, seen=before or action.seen)
        self._held.append(action)
        if len(self._held) <= 2:
            return []
        return [self._held.pop(0)]

    def beside(self, tab: int, beside: RecordedSideEffects) -> bool:
        """Add a side effect to the last action in a tab; return False if there is none."""
        for at in range(len(self._held) - 1, -1, -1):
            held = self._held[at]
            if held.tab == tab:
                self._held[at] = replace(held, beside=held.beside.joined(beside))
                return True
        return False

    def settled(self, html: str, url: str | None = None, signs: RefusalSigns | None = None) -> None:
        """Store the idle page after the last action."""
        if self._held:
            self._held[-1] = replace(self._held[-1], html_after=html, url_after=url, signs_after=signs)

    def finish(self) -> list[RecordedAction]:
        """Return the remaining actions."""
        held, self._held = self._held, []
        return held

    def _moves_the_caret(self, action: RecordedAction) -> bool:
        """Whether it continues the typing into a field after a click in the same field; merges it if so."""
        if len(self._held) < 2 or not _is_caret_click(self._held[1], self._held[0]):
            return False
        typed, click = self._held
        if action.field_id is not None and action.field_id == typed.field_id:
            self._held = [replace(action, seen=typed.seen or action.seen)]
            return True
        again = _is_caret_click(action, typed) and action.tab == click.tab
        if again:
            self._held[1] = replace(action, seen=click.seen or action.seen)
        return again

    def _forget_what_was_typed_over(self) -> None:
        """Leave out a character that was taken back where another one was typed afterwards."""
        if len(self._held) == 2:
            first, last = self._held
            typed_over = first.action_type == last.action_type == "fill" and first.element is not None
            if typed_over and first.element == last.element and (last.secret or last.args.get("value")):
                self._held = [replace(last, seen=first.seen)]

    def _double(self, action: RecordedAction) -> list[RecordedAction]:
        clicks = [each for each in self._held if _is_part_of_double_click(each, action)]
        if clicks or action.seen is not None:
            seen = action.seen or clicks[0].seen
            self._held = [each for each in self._held if each not in clicks]
            self._held.append(replace(action, seen=seen, url=clicks[0].url if clicks else action.url))
        return []


def _is_part_of_double_click(each: RecordedAction, double: RecordedAction) -> bool:
    """Whether it is one of the two clicks of a double click.

    The first click on an option of a list is a choice of its own, and so is a click that led to this page.
    """
    if double.time - each.time >= _PRESSED_AGAIN_MS or each.tab != double.tab:
        return False
    if each.action_type == "click":
        one, other = each.what, double.what
        return one is None or other is None or (one.url, one.tag) == (other.url, other.tag)
    chosen = (what.chosen for action in (each, double) if (what := action.what) is not None)
    return each.action_type == "select_option" and len({*chosen}) == 1


def _is_caret_click(click: RecordedAction, fill: RecordedAction) -> bool:
    """Whether a click only placed the caret in the field. A page may mark what is clicked, so its selector may be another."""
    if (
        fill.action_type != "fill"
        or click.action_type != "click"
        or click.what is None
        or not click.what.field
    ):
        return False
    same = click.what.node is not None and fill.what is not None and click.what.node == fill.what.node
    return same or (click.element is not None and click.element == fill.element)


def had_no_effect(action: RecordedAction, html_after: str | None, url_after: str | None) -> bool:
    """Whether an action had no target and no effect, such as a click on an empty area.

    What changes the address alone, and what a script keeps where no snapshot shows it, are effects too. A
    surface that is being drawn in or out changes without the action, and so does what an earlier press moves: after a
    click between controls, only words and controls count.
    """
    if action.beside or action.what is None or action.seen is None or action.what.drawing is not None:
        return False
    if not _shows_no_effect(action, action.seen.html, html_after) or action.url != url_after:
        return False
    if action.action_type == "drag":
        return not action.what.accepted
    if action.what.pointer:
        return False
    if action.action_type not in ("click", "press") or (action.action_type == "press" and action.what.field):
        return False
    fingerprint = action.seen.fingerprint or {}
    return fingerprint.get("role") not in _OPERABLE and action.what.tag not in _OPERABLE_TAGS


def as_key_press(action: RecordedAction, html_after: str | None, url_after: str | None) -> RecordedAction:
    """Return a click that a key made as a press of that key, if the page shows no effect of it.

    A control that listens to the pointer alone does nothing then; a click would act.
    """
    key = None if action.what is None else action.what.key
    if action.action_type != "click" or key is None or action.seen is None or action.beside:
        return action
    if action.url != url_after or not _shows_no_effect(action, action.seen.html, html_after):
        return action
    return replace(action, action_type="press", args={"value": key})


def _shows_no_effect(action: RecordedAction, before: str, after: str | None) -> bool:
    """Whether the page shows the same after an action, apart from what changes without it."""
    if before == after or (action.what is not None and action.what.fading):
        return True
    if action.action_type != "click" or action.what is None or not action.what.around or after is None:
        return False
    return read_words_and_controls(before, action.url) == read_words_and_controls(after, action.url)


def read_words_and_controls(html: str, url: str) -> tuple[str, list[tuple[str | None, ...]]]:
    """Return the visible text of a snapshot, and its visible controls with their states."""
    stored = StoredPage(PageSnapshot(url=url, html=html, annotated=True))
    controls = [
        (element.tag, *(element.get(name) for name in _STATES))
        for root in stored.roots
        for element in root.elements
        if is_interactive(element) and visible(element)
    ]
    return stored.text, controls


_STATES = (
    "aria-checked",
    "aria-expanded",
    "aria-pressed",
    "aria-selected",
    VALUE_ATTRIBUTE,
    CHECKED_ATTRIBUTE,
)
_OPERABLE_TAGS = frozenset({"a", "button", "input", "select", "textarea", "summary", "option"})
_OPERABLE = frozenset(
    {
        "button",
        "link",
        "checkbox",
        "radio",
        "switch",
        "tab",
        "menuitem",
        "option",
        "combobox",
        "textbox",
        "treeitem",
        "gridcell",
    }
)
