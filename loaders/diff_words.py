"""A diff of two knowledge bases in words, as a reviewer wants to read it: what became of what, by its name.

Words are parts: what we say, and names that websites gave, which whoever shows them escapes in his own way.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from kb_schema import KnowledgeBase
from kb_schema.base import Document
from kb_schema.calls import ActionCall
from kb_schema.graph import GlobalRecovery, GroupMembership, ScreenGroup, Transition
from kb_schema.screens import Screen
from kb_schema.selectors import Selector
from loaders.diff import Added, Change, Changed, KnowledgeDiff, Removed

MOST_PARTS = 6
"""Things told of one document before the rest is only counted."""
LONGEST_VALUE = 80
"""Characters of a value that is told within a sentence; of longer ones only that they changed."""


@dataclass(frozen=True, slots=True)
class Name:
    """A name that is not ours."""

    text: str


Words = tuple[str | Name, ...]
What = Literal["added", "removed", "changed"]

_ING = {
    "click": "clicking", "double_click": "double-clicking", "hover": "hovering over", "focus": "focusing",
    "fill": "filling in", "append_text": "typing into", "input_and_submit": "submitting", "clear": "clearing",
    "press": "pressing a key in", "select_option": "choosing in", "check": "checking", "uncheck": "unchecking",
    "upload_file": "uploading to", "scroll_to_element": "scrolling to", "wait_for": "waiting for",
}  # fmt: skip
_ALONE = {"navigate_back": "going back", "refresh": "reloading", "scroll": "scrolling", "press": "pressing a key",
          "wait": "waiting", "close_tab": "closing the tab"}  # fmt: skip
_PART = re.compile(r"^\$\.(\w+)(?:\[([^\]]*)\])?")
_ELEMENT = "ui_elements"


@dataclass(frozen=True, slots=True)
class Told:
    """One difference in words, with every value for those who look closer."""

    what: What
    kind: str
    local_id: str
    words: Words
    changes: tuple[Change, ...] = ()


@dataclass(frozen=True, slots=True)
class DiffWords:
    """A whole diff: the headline, then each difference in the order of the diff."""

    headline: Words
    told: tuple[Told, ...]


def in_words(found: KnowledgeDiff, old: KnowledgeBase | None, new: KnowledgeBase) -> DiffWords:
    """What a diff of these two says. The same two always give the same words."""
    told = tuple(_told(entry, old, new) for entry in found.entries)
    return DiffWords(_headline(told), told)


def plain(words: Words, name: Callable[[str], str] = lambda text: text) -> str:
    """Words as text, each name as the function writes it."""
    return "".join(name(part.text) if isinstance(part, Name) else part for part in words)


def _headline(told: tuple[Told, ...]) -> Words:
    """`2 screens changed, 1 transition added (Dashboard -> Reports by clicking Reports)`."""
    if not told:
        return ("no difference",)
    groups: dict[tuple[str, What], list[Told]] = {}
    for each in told:
        groups.setdefault((each.kind, each.what), []).append(each)
    said: list[Words] = []
    for (kind, what), own in groups.items():
        words: Words = (f"{counted(len(own), kind)} {what}",)
        if kind == "transition" and len(own) == 1 and what != "changed":
            words = (*words, " (", *own[0].words, ")")
        said.append(words)
    return _joined(said, most=len(said))


def counted(number: int, kind: str) -> str:
    """`1 screen`, `1,200 group memberships`: a number and a kind of document."""
    name = kind.replace("_", " ")
    many = f"{name[:-1]}ies" if name.endswith("y") else f"{name}s"
    return f"{number:,} {name if number == 1 else many}"


def _told(entry: Added | Removed | Changed, old: KnowledgeBase | None, new: KnowledgeBase) -> Told:
    what: What = (
        "added" if isinstance(entry, Added) else "removed" if isinstance(entry, Removed) else "changed"
    )
    base = old if isinstance(entry, Removed) else new
    document = None if base is None else base.by_kind.get(entry.kind, {}).get(entry.local_id)
    words: Words = (Name(entry.local_id),)
    if document is not None and base is not None:
        words = described(document, base)
    changes = entry.changes if isinstance(entry, Changed) else ()
    if changes:
        words = (*words, ": ", *_joined(list(_parts(changes))))
    elif isinstance(document, Screen):
        number = len(document.ui_elements)
        words = (*words, f" with {number} element{'' if number == 1 else 's'}")
    return Told(what, entry.kind, entry.local_id, words, changes)


# -- what a document is ------------------------------------------------------------------------------


def described(document: Document, knowledge: KnowledgeBase) -> Words:
    """What a document is called: its name, or for an edge where it leads and how."""
    match document:
        case Transition():
            ends = (_screen(document.from_screen, knowledge), " -> ", _screen(document.to_screen, knowledge))
            return (*ends, " by ", *doing(document.triggered_by, document.from_screen, knowledge))
        case GlobalRecovery():
            to = "the same screen" if document.stays else _screen(document.to_screen, knowledge)
            group = _group(document.from_group, knowledge)
            return (
                "from any screen of ",
                group,
                " to ",
                to,
                " by ",
                *doing(document.triggered_by, None, knowledge),
            )
        case GroupMembership():
            return (_screen(document.screen, knowledge), " belongs to ", _group(document.group, knowledge))
    name = getattr(document, "name", None)
    if isinstance(name, str) and name and name != document.local_id:
        return (Name(name), " (", Name(document.local_id), ")")
    return (Name(document.local_id),)


def doing(call: ActionCall | None, screen_id: str | None, knowledge: KnowledgeBase) -> Words:
    """An action as one does it: `clicking Reports`, `opening /reports`."""
    if call is None:
        return ("itself",)
    kind = call.canonical_type
    if kind == "navigate":
        to = call.url or (knowledge.screens[call.target_screen].name
                          if call.target_screen in knowledge.screens else call.target_screen)  # fmt: skip
        return ("opening ", Name(to)) if to else ("opening an address",)
    if kind == "run_task" and call.task_id:
        return ("doing the task ", Name(call.task_id))
    if call.target is None:
        return (_ALONE[kind],) if kind in _ALONE else ("the action ", Name(kind))
    said: Words = (f"{_ING[kind]} ",) if kind in _ING else ("the action ", Name(kind), " on ")
    return (*said, Name(_target(call.target, screen_id, knowledge)))


def _target(target: str | Selector, screen_id: str | None, knowledge: KnowledgeBase) -> str:
    if isinstance(target, Selector):
        first = target.ordered[0]
        said = getattr(first, "name", None) or getattr(first, "value", None) or first.type
        return str(said)
    element = knowledge.elements(screen_id).get(target) if screen_id else None
    return target if element is None else element.label


def _screen(screen_id: str, knowledge: KnowledgeBase) -> Name:
    screen = knowledge.screens.get(screen_id)
    return Name(screen_id if screen is None else screen.name)


def _group(group_id: str, knowledge: KnowledgeBase) -> Name:
    group = knowledge.by_kind.get("screen_group", {}).get(group_id)
    return Name(group.name if isinstance(group, ScreenGroup) else group_id)


# -- what changed within one --------------------------------------------------------------------------


def _parts(changes: tuple[Change, ...]) -> Iterator[Words]:
    """Each part of a document that changed, once, in the order of the document."""
    parts: dict[tuple[str, str | None], list[Change]] = {}
    for change in changes:
        found = _PART.match(change.path)
        key = (found[1], found[2]) if found else (change.path, None)
        parts.setdefault(key, []).append(change)
    for (field, item), own in parts.items():
        yield _part(field, item, own)


def _part(field: str, item: str | None, own: list[Change]) -> Words:
    if len(own) == 1 and own[0].path.endswith("(order)"):
        return (f"another order of {_field(field)}",)
    if item is not None and not item.isdigit():
        return _item(field, item, own)
    if item is None and len(own) == 1 and own[0].path == f"$.{field}":
        change = own[0]
        if isinstance(change.before, dict | list) or isinstance(change.after, dict | list):
            return (_field(field), _became(change))
        said = ["nothing" if each is None else str(each) for each in (change.before, change.after)]
        if max(map(len, said)) > LONGEST_VALUE:
            return (_field(field), _became(change))
        return (f"{_field(field)} ", Name(said[0]), " -> ", Name(said[1]))
    return (_field(field),)


def _item(field: str, item: str, own: list[Change]) -> Words:
    one = "element" if field == _ELEMENT else _field(field).removesuffix("s")
    whole = f"$.{field}[{item}]"
    if len(own) == 1 and own[0].path == whole:
        return (f"{one} ", Name(item), _became(own[0]))
    inner = sorted({_inner(change.path, whole) for change in own})
    return (f"{one} ", Name(item), f" ({', '.join(inner)})")


def _became(change: Change) -> str:
    return " added" if change.before is None else " removed" if change.after is None else " changed"


def _inner(path: str, whole: str) -> str:
    found = re.match(r"\.(\w+)", path[len(whole) :])
    return _field(found[1]) if found else "itself"


def _field(name: str) -> str:
    return "signature" if name == "state_signature" else name.replace("_", " ")


def _joined(parts: list[Words], *, most: int = MOST_PARTS) -> Words:
    joined: list[str | Name] = []
    for number, part in enumerate(parts[:most]):
        joined += [*((", ",) if number else ()), *part]
    if len(parts) > most:
        joined.append(f", and {len(parts) - most} more")
    return tuple(joined)
