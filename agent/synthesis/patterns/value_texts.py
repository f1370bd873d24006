"""How values stand in texts: with constant text around them, in other letters, as beginnings, or somewhere in a page."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

from agent.synthesis.alignment.aligned_traces import RowKey
from kb_schema.templates import MOST_WORDS, as_text, list_telling_words
from kb_schema.transforms import ungroup_number


def find_text_around(given: Mapping[RowKey, Any], texts: Mapping[RowKey, str]) -> tuple[str, str] | None:
    """Return the texts before and after the given value, if they are equal in all rows, else None."""
    found: tuple[str, str] | None = None
    for row, text in texts.items():
        value = given.get(row)
        if value is None or as_text(value) == "":
            return None
        before, part, after = text.partition(as_text(value))
        if not part or (found is not None and found != (before, after)):
            return None
        found = (before, after)
    if found is not None and any("{" in part or "}" in part for part in found):
        return None
    return found


def match_other_letters(given: Mapping[RowKey, Any], texts: Mapping[RowKey, str]) -> tuple[str, str] | None:
    """Return ("", "") if the texts equal the given values apart from case or grouped thousands, else None."""
    same = all(_letters(as_text(given[row])) == _letters(text) for row, text in texts.items())
    return ("", "") if same and any(texts.values()) else None


def _letters(text: str) -> str:
    return ungroup_number(text).casefold()


def are_beginnings(whole: Mapping[RowKey, str], texts: Mapping[RowKey, str]) -> bool:
    """Whether each text is the beginning of its whole one, apart from case."""
    return all(whole[row].casefold().startswith(text.strip().casefold()) for row, text in texts.items())


def may_contain(page: str, value: str) -> bool:
    """Whether the markup of a page, in lower case, has a value, or its words in any order: "Rodriguez, James"."""
    if _contains_text(page, value.lower()):
        return True
    words = list_telling_words(value)
    return 1 < len(words) <= MOST_WORDS and all(_contains_text(page, each) for each in words)


def _contains_text(page: str, text: str) -> bool:
    """Whether the markup of a page has a text outside attribute values. Both must be lower case."""
    for told in {text, escape(text, quote=False)}:
        at = page.find(told)
        while at >= 0:
            if page[at - 1 : at] not in ('"', "'"):
                return True
            at = page.find(told, at + 1)
    return False
