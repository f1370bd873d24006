"""Describes the diff of two knowledge bases in words for a reviewer.

The words are parts: our own text, and names from the website, which each renderer escapes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from kb_schema import KnowledgeBase
from kb_schema.action_calls import ActionCall
from kb_schema.base import Document
from kb_schema.graph_documents import GlobalRecovery, GroupMembership, ScreenGroup, Transition
from kb_schema.screens import Screen
from kb_schema.selectors import Selector
from loaders.diffs.knowledge_diff import (
    AddedDocument,
    ChangedDocument,
    KnowledgeDiff,
    RemovedDocument,
    ValueChange,
)
from loaders.markup_escapes import format_count

MOST_PARTS = 6
"""The most changes of one document that are described; the rest is only counted."""
LONGEST_VALUE = 80
"""The most characters of a value inside a sentence; for longer ones only the change is stated."""


@dataclass(frozen=True, slots=True)
class WebsiteName:
    """A name from the website."""

    text: str


TextParts = tuple[str | WebsiteName, ...]
DiffEntryKind = Literal["added", "removed", "changed"]

_ING = {
    "click": "clicking",
    "double_click": "double-clicking",
    "right_click": "right-clicking",
    "drag": "dragging",
    "hover": "hovering over",
    "focus": "focusing",
    "fill": "filling in",
    "append_text": "typing into",
    "input_and_submit": "submitting",
    "clear": "clearing",
    "press": "pressing a key in",
    "select_option": "choosing in",
    "check": "checking",
    "uncheck": "unchecking",
    "upload_file": "uploading to",
    "scroll_to_element": "scrolling to",
    "wait_for": "waiting for",
}
_ALONE = {
    "navigate_back": "going back",
    "refresh": "reloading",
    "scroll": "scrolling",
    "press": "pressing a key",
    "wait": "waiting",
    "close_tab": "closing the tab",
}
_PART = re.compile(r"^\$\.(\w+)(?:\[([^\]]*)\])?")
_ELEMENT = "ui_elements"


@dataclass(frozen=True, slots=True)
class DiffEntry:
    """One difference in words, with every changed value."""

    what: DiffEntryKind
    kind: str
    local_id: str
    words: TextParts
    changes: tuple[ValueChange, ...] = ()


@dataclass(frozen=True, slots=True)
class DiffSummary:
    """A whole diff: the headline, then each difference in the order of the diff."""

    headline: TextParts
    entries: tuple[DiffEntry, ...]


def summarise_diff(found: KnowledgeDiff, old: KnowledgeBase | None, new: KnowledgeBase) -> DiffSummary:
    """Return the diff in words. The same knowledge bases always give the same words."""
    entries = tuple(_describe_entry(entry, old, new) for entry in found.entries)
    return DiffSummary(_headline(entries), entries)


def to_plain_text(words: TextParts, name: Callable[[str], str] = lambda text: text) -> str:
    """Return words as text, each name written by the function."""
    return "".join(name(part.text) if isinstance(part, WebsiteName) else part for part in words)


def _headline(entries: tuple[DiffEntry, ...]) -> TextParts:
    """Return `2 screens changed, 1 transition added (Dashboard -> Reports by clicking Reports)`."""
    if not entries:
        return ("no difference",)
    groups: dict[tuple[str, DiffEntryKind], list[DiffEntry]] = {}
    for each in entries:
        groups.setdefault((each.kind, each.what), []).append(each)
    parts: list[TextParts] = []
    for (kind, what), own in groups.items():
        words: TextParts = (f"{format_count(len(own), kind)} {what}",)
        if kind == "transition" and len(own) == 1 and what != "changed":
            words = (*words, " (", *own[0].words, ")")
        parts.append(words)
    return _join_parts(parts, most=len(parts))


def _describe_entry(
    entry: AddedDocument | RemovedDocument | ChangedDocument, old: KnowledgeBase | None, new: KnowledgeBase
) -> DiffEntry:
    what: DiffEntryKind = (
        "added"
        if isinstance(entry, AddedDocument)
        else "removed"
        if isinstance(entry, RemovedDocument)
        else "changed"
    )
    base = old if isinstance(entry, RemovedDocument) else new
    document = None if base is None else base.by_kind.get(entry.kind, {}).get(entry.local_id)
    words: TextParts = (WebsiteName(entry.local_id),)
    if document is not None and base is not None:
        words = describe_document(document, base)
    changes = entry.changes if isinstance(entry, ChangedDocument) else ()
    if changes:
        words = (*words, ": ", *_join_parts(list(_parts(changes))))
    elif isinstance(document, Screen):
        number = len(document.ui_elements)
        words = (*words, f" with {number} element{'' if number == 1 else 's'}")
    return DiffEntry(what, entry.kind, entry.local_id, words, changes)


# -- descriptions ------------------------------------------------------------------------------------


def describe_document(document: Document, knowledge: KnowledgeBase) -> TextParts:
    """Describe a document: its name, or for an edge where it leads and how."""
    match document:
        case Transition():
            ends = (_screen(document.from_screen, knowledge), " -> ", _screen(document.to_screen, knowledge))
            return (*ends, " by ", *describe_action(document.triggered_by, document.from_screen, knowledge))
        case GlobalRecovery():
            to = "the same screen" if document.stays else _screen(document.to_screen, knowledge)
            group = _group(document.from_group, knowledge)
            return (
                "from any screen of ",
                group,
                " to ",
                to,
                " by ",
                *describe_action(document.triggered_by, None, knowledge),
            )
        case GroupMembership():
            return (_screen(document.screen, knowledge), " belongs to ", _group(document.group, knowledge))
    name = getattr(document, "name", None)
    if isinstance(name, str) and name and name != document.local_id:
        return (WebsiteName(name), " (", WebsiteName(document.local_id), ")")
    return (WebsiteName(document.local_id),)


def describe_action(call: ActionCall | None, screen_id: str | None, knowledge: KnowledgeBase) -> TextParts:
    """Describe an action: `clicking Reports`, `opening /reports`."""
    if call is None:
        return ("itself",)
    kind = call.canonical_type
    if kind == "navigate":
        screen = knowledge.screens.get(call.target_screen or "")
        to = call.url or (call.target_screen if screen is None else screen.name)
        return ("opening ", WebsiteName(to)) if to else ("opening an address",)
    if kind == "run_task" and call.task_id:
        return ("doing the task ", WebsiteName(call.task_id))
    if call.target is None:
        return (_ALONE[kind],) if kind in _ALONE else ("the action ", WebsiteName(kind))
    words: TextParts = (f"{_ING[kind]} ",) if kind in _ING else ("the action ", WebsiteName(kind), " on ")
    return (*words, WebsiteName(_target(call.target, screen_id, knowledge)))


def _target(target: str | Selector, screen_id: str | None, knowledge: KnowledgeBase) -> str:
    if isinstance(target, Selector):
        first = target.ordered[0]
        values = getattr(first, "name", None) or getattr(first, "value", None) or first.type
        return str(values)
    element = knowledge.elements(screen_id).get(target) if screen_id else None
    return target if element is None else element.label


def _screen(screen_id: str, knowledge: KnowledgeBase) -> WebsiteName:
    screen = knowledge.screens.get(screen_id)
    return WebsiteName(screen_id if screen is None else screen.name)


def _group(group_id: str, knowledge: KnowledgeBase) -> WebsiteName:
    group = knowledge.by_kind.get("screen_group", {}).get(group_id)
    return WebsiteName(group.name if isinstance(group, ScreenGroup) else group_id)


# -- what changed within one --------------------------------------------------------------------------


def _parts(changes: tuple[ValueChange, ...]) -> Iterator[TextParts]:
    """Return each changed part of a document once, in the order of the document."""
    parts: dict[tuple[str, str | None], list[ValueChange]] = {}
    for change in changes:
        found = _PART.match(change.path)
        key = (found[1], found[2]) if found else (change.path, None)
        parts.setdefault(key, []).append(change)
    for (field, item), own in parts.items():
        yield _part(field, item, own)


def _part(field: str, item: str | None, own: list[ValueChange]) -> TextParts:
    if len(own) == 1 and own[0].path.endswith("(order)"):
        return (f"another order of {_field(field)}",)
    if item is not None and not item.isdigit():
        return _item(field, item, own)
    if item is None and len(own) == 1 and own[0].path == f"$.{field}":
        change = own[0]
        if isinstance(change.before, dict | list) or isinstance(change.after, dict | list):
            return (_field(field), _describe_value_change(change))
        values = ["nothing" if each is None else str(each) for each in (change.before, change.after)]
        if max(map(len, values)) > LONGEST_VALUE:
            return (_field(field), _describe_value_change(change))
        return (f"{_field(field)} ", WebsiteName(values[0]), " -> ", WebsiteName(values[1]))
    return (_field(field),)


def _item(field: str, item: str, own: list[ValueChange]) -> TextParts:
    one = "element" if field == _ELEMENT else _field(field).removesuffix("s")
    whole = f"$.{field}[{item}]"
    if len(own) == 1 and own[0].path == whole:
        return (f"{one} ", WebsiteName(item), _describe_value_change(own[0]))
    inner = sorted({_inner(change.path, whole) for change in own})
    return (f"{one} ", WebsiteName(item), f" ({', '.join(inner)})")


def _describe_value_change(change: ValueChange) -> str:
    return " added" if change.before is None else " removed" if change.after is None else " changed"


def _inner(path: str, whole: str) -> str:
    found = re.match(r"\.(\w+)", path[len(whole) :])
    return _field(found[1]) if found else "itself"


def _field(name: str) -> str:
    return "signature" if name == "state_signature" else name.replace("_", " ")


def _join_parts(parts: list[TextParts], *, most: int = MOST_PARTS) -> TextParts:
    joined: list[str | WebsiteName] = []
    for number, part in enumerate(parts[:most]):
        joined += [*((", ",) if number else ()), *part]
    if len(parts) > most:
        joined.append(f", and {len(parts) - most} more")
    return tuple(joined)
