"""Reduces what was typed into an editor with formatted text to what was added to it.

To replace the whole text would lose its paragraphs, lists and marks.
"""

from __future__ import annotations

from dataclasses import replace

from agent.recording.recorded_actions import RecordedAction


class AddedTexts:
    """Knows what each editor held when it was typed into last."""

    def __init__(self) -> None:
        self._held: dict[str, str] = {}
        """By field id."""
        self._entered: set[int] = set()
        """The tabs in which Enter was pressed since a field was typed into."""

    def reduce(self, action: RecordedAction) -> RecordedAction:
        """Return the action; an `append_text` if it only added to what the editor held."""
        if action.action_type in ("navigate", "navigate_back", "refresh"):
            self._entered.discard(action.tab)
        if action.action_type == "press" and action.args.get("value") == "Enter":
            self._entered.add(action.tab)
        what, field_id = action.what, action.field_id
        if (
            action.action_type != "fill"
            or what is None
            or field_id is None
            or what.former is None
            or action.secret
        ):
            return action
        now = _spaced(str(action.args.get("value", "")))
        former = self._held.get(field_id, _spaced(what.former))
        self._held[field_id] = now
        kept = former.rstrip("\n")
        after_enter = action.tab in self._entered
        self._entered.discard(action.tab)
        if not (kept or after_enter) or not now.startswith(kept) or now == kept:
            return action
        added = now[len(kept) :]
        if after_enter:
            added = added.lstrip("\n")
        return (
            replace(action, action_type="append_text", args={**action.args, "value": added})
            if added
            else action
        )


def _spaced(text: str) -> str:
    """Return it with plain spaces, and without the signs by which editors hold their caret (U+FEFF)."""
    return text.replace("\u00a0", " ").replace("\ufeff", "")
