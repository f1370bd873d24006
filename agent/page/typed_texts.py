"""Whether a field shows what was typed into it: masks, pickers and formatters write something else, or nothing."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from kb_schema.transforms import ungroup_number

_SIGN = re.compile(r"[\W_]+")
_BRACKETS = "()[]{}"


@dataclass(frozen=True, slots=True)
class ShownText:
    """What a field shows after it was typed into."""

    shown: str
    before: str | None
    """What it showed before; None if that is not known."""
    beside: bool
    """Whether it is empty and its form shows the text elsewhere: as a tag, for instance."""
    most: int
    """Maximum length in characters; -1: none."""
    exact: bool = False
    """Whether it must show this text and no more: an editor neither completes it nor writes it otherwise."""
    lines: bool = False
    """Whether it must show these lines as they are, with their indentation."""
    editor: bool = False
    """Whether it belongs to an editor: it may show a part of a long text, and has all brackets that were typed."""

    @classmethod
    def read(cls, said: dict[str, Any] | None) -> ShownText | None:
        """Return the page's answer (`fieldText` in js/7_guard.js) as a value; None if the field is gone."""
        return (
            None
            if said is None
            else cls(
                said["shown"],
                said.get("before"),
                said["beside"],
                said["most"],
                said["exact"],
                said["lines"],
                said["editor"],
            )
        )

    @property
    def takes_paste(self) -> bool:
        """Whether what it shows is worth a second try by pasting: editors indent and close brackets while one types."""
        return self.lines or self.editor

    def has(self, text: str) -> bool:
        """Whether it shows a text: also in another notation, cut off, completed, or beside the field."""
        if self.beside or not text:
            return True
        if self.exact:
            return self.shown.split() == text.split()
        if self.lines or self._has_other_brackets(text):
            return self.lines and self._has_lines(text)
        shown, wanted = _plain(self.shown), _plain(text)
        completed = wanted and not wanted.isdecimal() and shown.startswith(wanted)  # 1 is not 10
        if shown == wanted or completed:
            return True
        if self.most > 0 and len(self.shown) <= self.most < len(text):
            return bool(shown) and wanted.startswith(shown)
        return _number(self.shown) is not None and _number(self.shown) == _number(text)

    def added_otherwise(self, whole: str) -> bool:
        """Whether an editor, or a field with lines, does not hold `whole` after something was added to its text."""
        return not self._has_lines(whole) if self.lines else self._has_other_brackets(whole)

    def is_refused(self, text: str, first: ShownText) -> bool:
        """Whether the text was not taken, after it was typed again by keys; `first` is what the field showed at first.

        A field that twice shows the same other text writes it in a notation of its own.
        """
        if self.has(text):
            return False
        if self.lines or self._has_other_brackets(text):
            return True
        return self.shown in ("", self.before, first.before) or self.shown != first.shown

    def _has_lines(self, text: str) -> bool:
        shown, wanted = _lines(self.shown), _lines(text)
        if shown == wanted:
            return True
        if self.most > 0 and len(self.shown) <= self.most < len(text):
            return text.startswith(self.shown)
        parts = (wanted[at : at + len(shown)] for at in range(len(wanted)))
        return self.editor and len(shown) > 1 and shown in parts

    def _has_other_brackets(self, text: str) -> bool:
        """Whether an editor closed brackets by itself, or left some out."""
        return self.editor and any(self.shown.count(each) != text.count(each) for each in _BRACKETS)


def _lines(text: str) -> list[str]:
    """Return the lines without white space at their ends, and without empty ones at the end."""
    return [line.replace("\u00a0", " ").rstrip().casefold() for line in text.rstrip().splitlines()]


def _plain(text: str) -> str:
    return _SIGN.sub("", text).casefold() or text.strip()


def _number(text: str) -> float | None:
    try:
        return float(ungroup_number(text.strip()))
    except ValueError:
        return None
