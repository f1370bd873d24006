"""Texts that the last pages of all traces have in common and no earlier page shows.

Words that vary become a gap, input values their `{variable}`. Numbers that are the same in every trace, and the
words beside them, are left out: they may be a date or a count of the demonstrations. After a number that varies, a
plural may be a singular in a run. Rows of lists and tables are data: only an input value in them counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from enum import IntEnum

from agent.synthesis.patterns.trace_ends import NUMBER, TraceEnd
from agent.synthesis.traces.list_rows import find_list_row
from kb_schema.conditions import Combined, Condition, ContextEquals, DomContains
from kb_schema.number_formats import NUMBER_FORMATS, format_numbers
from kb_schema.templates import fill
from web_pages.accessible_names import role_of
from web_pages.element_tree import Element
from web_pages.page_texts import own_texts, squeeze, text_of
from web_pages.visibility import visible

LONGEST_TEXT = 160
MOST_LINES = 60
LEAST_SHOWN = 3
"""Minimum length of a number with its currency that is looked for."""
LEAST_LETTERS = 3
"""Minimum number of letters of a text."""
_MESSAGE_ROLES = frozenset({"status", "alert", "log"})
_MESSAGE_CLASSES = frozenset(
    [
        "alert",
        "banner",
        "callout",
        "feedback",
        "flash",
        "flashes",
        "infobox",
        "message",
        "messagelist",
        "messages",
        "notice",
        "notification",
        "notifications",
        "snackbar",
        "success",
        "toast",
    ]
)
"""Parts of classes and ids with which pages mark messages."""
_HEADINGS = frozenset({"h1", "h2", "h3"})
_DATA = frozenset({"td", "th", "dd", "dt", "time", "option", "label", "a", "button"})
_SILENT = frozenset({"script", "style", "title", "template", "noscript", "option", "textarea"})
_ICON_NAME = re.compile(r"[a-z]+(?:_[a-z]+)+")
"""Icon fonts draw such words as a picture: `check_circle`."""
_CURRENCIES = ("$", "€", "£", "¥", "₹", "")
_VARIABLE = re.compile(r"\{\w+\}")
CLOSING = frozenset({"dismiss", "close", "hide", "x", "\u00d7", "\u2715"})
"""Words with which a message is closed, if they are no buttons in the markup."""
_ENDS = " .!\u2026"
"""What a sentence ends with: it differs between releases, and says nothing."""
_AGREEING = frozenset({"has", "have", "is", "are", "was", "were"})
"""Words that differ after "1 page" and "2 pages"."""
_COUNT = "000"
"""Stands for numbers that vary."""
_PLURAL = re.compile(r"(?P<stem>[A-Za-z]{2,}?)(?P<end>ies|(?<=[xz])es|(?<=ch)es|(?<=sh)es|(?<=ss)es|(?<!s)s)")
_NOUN_WORDS = 3
"""Words after a number among which its noun is."""
_Words = list[str | None]
"""Words; None is a gap."""


class TextPlace(IntEnum):
    """Where a text is on the page, the most telling first."""

    MESSAGE = 0
    HEADING = 1
    PLAIN = 2
    ROW = 3
    DATA = 4


@dataclass(frozen=True, slots=True)
class EndText:
    """A text that only the last page of a trace shows."""

    place: TextPlace
    tag: str
    words: tuple[str, ...]


def find_message_texts(ends: Sequence[TraceEnd], *, other_evidence: bool = False) -> list[Condition]:
    """Return what the messages and headings at the ends have in common.

    With other evidence, a text without a variable is not asked of runs that leave a field empty which all traces fill in:
    it may be about the field ("note added, issue changed").
    """
    found = _common(ends, (TextPlace.MESSAGE, TextPlace.HEADING))
    typed = sorted(frozenset.intersection(*(end.typed for end in ends)))
    if not other_evidence or not typed:
        return found
    return [_unless_empty(each, typed) if _is_fixed(each) else each for each in found]


def _is_fixed(condition: Condition) -> bool:
    if isinstance(condition, Combined):
        return all(map(_is_fixed, condition.conditions))
    return isinstance(condition, DomContains) and not _VARIABLE.search(condition.value)


def _unless_empty(condition: Condition, names: Sequence[str]) -> Condition:
    """Return the condition that holds, or one of the variables is empty."""
    given = tuple(ContextEquals(type="context_equals", name=name) for name in names)
    every = Combined(type="all_of", conditions=given) if len(given) > 1 else given[0]
    return Combined(type="any_of", conditions=(condition, Combined(type="none_of", conditions=(every,))))


def find_plain_texts(ends: Sequence[TraceEnd]) -> list[Condition]:
    """Return what other texts at the ends have in common; texts with numbers, and single words, are left out."""
    return [
        each
        for each in _common(ends, (TextPlace.PLAIN,))
        if not isinstance(each, DomContains) or len(each.value.split()) > 1 or _VARIABLE.search(each.value)
    ]


def find_value_texts(ends: Sequence[TraceEnd]) -> list[DomContains]:
    """Return the input values that a row, or another part of every last page shows."""
    names = sorted(set.intersection(*(set(end.values) for end in ends))) if ends else []
    found = []
    for name in names:
        for selector in ("tr", "li", "article", "[role=row]", None):
            condition = DomContains(type="dom_contains", value=f"{{{name}}}", selector=selector)
            if all(end.proves(condition) for end in ends):
                found.append(condition)
                break
    return sorted(found, key=lambda each: each.selector is None)


def find_number_texts(ends: Sequence[TraceEnd]) -> list[Condition]:
    """Return the input numbers that every last page shows, those with a currency first."""
    found = []
    for name in _number_names(ends):
        shown = (in_notations(f"{symbol}{{{name}}}", ends) for symbol in _CURRENCIES)
        proven = next((each for each in shown if each is not None), None)
        if proven is not None:
            found.append(proven)
    return found


def has_number(condition: Condition) -> bool:
    """Whether a condition asks for an input number."""
    parts = condition.conditions if isinstance(condition, Combined) else (condition,)
    return any(isinstance(each, DomContains) and each.number_format is not None for each in parts)


def in_notations(text: str, ends: Sequence[TraceEnd], selector: str | None = None) -> Condition | None:
    """Return the condition that a text with an input number is shown, in the notations that all ends allow.

    With `selector` it is the whole text of the element.

    Numbers below one thousand do not tell whether a page groups thousands: then any of the notations must be seen.
    """
    shown = [
        DomContains(
            type="dom_contains", value=text, selector=selector, number_format=each, exact=selector is not None
        )
        for each in NUMBER_FORMATS
    ]
    proven = tuple(each for each in shown if all(_shows_number(end, each) for end in ends))
    if len(proven) < 2:
        return proven[0] if proven else None
    return Combined(type="any_of", conditions=proven)


def _number_names(ends: Sequence[TraceEnd]) -> list[str]:
    """Return the inputs whose values are numbers in every trace."""
    names = sorted(set.intersection(*(set(end.values) for end in ends))) if ends else []
    return [name for name in names if all(NUMBER.fullmatch(end.values[name]) for end in ends)]


def _shows_number(end: TraceEnd, condition: DomContains) -> bool:
    """Whether only the last page shows a number, long enough to be no other one by chance."""
    shown = format_numbers(fill(condition.value, end.every_value), condition.number_format or "1234")
    return (condition.exact or len(shown) >= LEAST_SHOWN) and end.proves(condition)


def _common(ends: Sequence[TraceEnd], places: Sequence[TextPlace]) -> list[Condition]:
    """Return the conditions of the texts that all ends have. Single words count only if there is no phrase:
    between varying parts they may belong to an optional part of a message.
    """
    first, *others = [_new_texts(end) for end in ends]
    numbers = [f"{{{name}}}" for name in _number_names(ends)]
    found: dict[str, Condition] = {}
    for line in sorted((each for each in first if each.place in places), key=lambda each: each.place):
        for said, counted in _pieces(line, others):
            if any(each in said for each in numbers):
                condition = in_notations(said, ends) if len(_VARIABLE.findall(said)) == 1 else None
            else:
                shown = _text_condition(said, counted=counted)
                condition = shown if all(end.proves(shown) for end in ends) else None
            if condition is not None:
                found.setdefault(said, condition)
    told = [said for said in found if not any(said != other and said in other for other in found)]
    phrases = [said for said in told if " " in said or _VARIABLE.search(said)]
    return [found[said] for said in phrases or told]


def _text_condition(said: str, *, counted: bool) -> Condition:
    """Return the condition that a text is shown; what is `counted`, also of one: "1 run deleted"."""
    singular = _singular(said) if counted else said
    texts = [DomContains(type="dom_contains", value=each) for each in dict.fromkeys((said, singular))]
    return texts[0] if len(texts) == 1 else Combined(type="any_of", conditions=tuple(texts))


def _singular(text: str) -> str:
    """Return the text of a number above one as it is for one: the first plural near its beginning is changed.

    >>> _singular("flow runs deleted")
    'flow run deleted'
    """
    words = text.split()
    for at, word in enumerate(words[:_NOUN_WORDS]):
        found = _PLURAL.fullmatch(word)
        if found is not None:
            words[at] = f"{found['stem']}{'y' if found['end'] == 'ies' else ''}"
            return " ".join(words)
    return text


def _pieces(line: EndText, others: Iterable[Sequence[EndText]]) -> Iterator[tuple[str, bool]]:
    """Yield the texts that a line shares with a line of every other trace, and whether a number that varies is before."""
    words: _Words = list(line.words)
    for lines in others:
        alike = [
            _shared(words, each.words) for each in lines if each.tag == line.tag and each.place == line.place
        ]
        words = max(alike, key=_size, default=[])
    if line.place is TextPlace.PLAIN and any(map(_has_digit, line.words)):
        return
    for piece, counted in _split(words):
        while piece and piece[-1].casefold() in CLOSING:
            piece.pop()
        said = " ".join(piece).rstrip(_ENDS)
        if _ICON_NAME.fullmatch(said):
            continue
        if sum(map(str.isalpha, _VARIABLE.sub("", said))) >= LEAST_LETTERS or _VARIABLE.search(said):
            yield said, counted


def _shared(words: _Words, others: Sequence[str]) -> _Words:
    """Return the common words in order, with a gap wherever one side has others."""
    blocks = SequenceMatcher(None, words, list(others), autojunk=False).get_matching_blocks()
    made: _Words = []
    at = other_at = 0
    for block in blocks:
        gap = [*words[at : block.a], *others[other_at : block.b]]
        if gap and (made == [] or made[-1] is not None):
            made.append(_COUNT if all(each is not None and each.isdecimal() for each in gap) else None)
        made += words[block.a : block.a + block.size]
        at, other_at = block.a + block.size, block.b + block.size
    return made


def _split(words: _Words) -> Iterator[tuple[list[str], bool]]:
    """Yield the pieces between gaps, without numbers and the words beside them, and those that agree with a number.

    With each piece: whether a number that varies is right before it.
    """
    numbers = {at for at, word in enumerate(words) if word is not None and _has_digit(word)}
    beside = {at + step for at in numbers for step in ((0,) if words[at] == _COUNT else (-1, 0, 1))}
    beside |= {
        at + step for at in numbers for step in (1, 2) if at + 2 < len(words) and words[at + 2] in _AGREEING
    }
    piece: list[str] = []
    counted = False
    for at, word in enumerate([*words, None]):
        if word is not None and at not in beside:
            piece.append(word)
            continue
        if piece:
            yield piece, counted
        piece, counted = [], word == _COUNT


def _has_digit(word: str) -> bool:
    return any(map(str.isdigit, _VARIABLE.sub("", word)))


def _size(words: _Words) -> int:
    return sum(len(word) for word in words if word is not None)


def _new_texts(end: TraceEnd) -> list[EndText]:
    """Return the texts of the last page that no earlier page of the trace shows."""
    found: dict[EndText, None] = {}
    for root in end.page.stored.roots:
        for element in root.elements:
            said = _without_buttons(element, read_own_text(element))
            if said is None or _is_in_a_button(element) or any(said in text for text in end.earlier_texts):
                continue
            told = end.generalized(said)
            if told is not None:
                found.setdefault(EndText(_place(element), element.tag, tuple(told.split())))
            if len(found) >= MOST_LINES:
                return list(found)
    return list(found)


def read_own_text(element: Element, longest: int = LONGEST_TEXT) -> str | None:
    """Return the text of an element with words of its own; None if it has none, is hidden, or says more."""
    if element.tag in _SILENT or not own_texts(element):
        return None
    said = squeeze(text_of(element)) if visible(element) else ""
    return said if 0 < len(said) <= longest else None


def _without_buttons(element: Element, said: str | None) -> str | None:
    """Return the longest part of a text that is not on a button inside: a message has one that closes it."""
    if said is None:
        return None
    parts = [said]
    for node in element.descendants():
        if _is_button(node) and (name := squeeze(text_of(node))):
            whole = rf"(?<!\w){re.escape(name)}(?!\w)"
            parts = [each.strip() for part in parts for each in re.split(whole, part)]
    return max(parts, key=len, default="") or None


def _is_button(element: Element) -> bool:
    """Whether it is a button, or a link that leads nowhere and does what a button does."""
    return role_of(element) == "button" or element.get("href") == "#"


def _is_in_a_button(element: Element) -> bool:
    return any(map(_is_button, (element, *element.ancestors())))


def _place(element: Element) -> TextPlace:
    around = [element, *element.ancestors()]
    if any(map(_is_message, around[:4])):
        return TextPlace.MESSAGE
    if find_list_row(element) is not None:
        return TextPlace.ROW
    if element.tag in _HEADINGS or element.get("role") == "heading":
        return TextPlace.HEADING
    return TextPlace.DATA if any(each.tag in _DATA for each in around) else TextPlace.PLAIN


def _is_message(element: Element) -> bool:
    if element.get("role") in _MESSAGE_ROLES or element.get("aria-live") in ("polite", "assertive"):
        return True
    named = f"{element.get('class') or ''} {element.get('id') or ''}".casefold()
    return bool(_MESSAGE_CLASSES & set(re.split(r"[^a-z]+", named)))
