"""Renames a document or an element; every reference follows, and the old id stays findable."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from kb_schema import KnowledgeBase
from kb_schema.action_types import known_names
from kb_schema.base import CURRENT_SCREEN, Document
from kb_schema.documents import did_you_mean
from kb_schema.former_ids import with_former_ids
from kb_schema.graph_documents import GlobalRecovery, Transition
from kb_schema.rules.reference_names import ANY_ACTION, ANY_WORK
from kb_schema.screens import Screen, UIElement
from kb_schema.selectors import looks_like_css
from kb_schema.websites import Website
from loaders.edits.knowledge_edit import DocumentKey, EditRefused, KnowledgeEdit, check_edit
from loaders.edits.name_references import ELEMENT, NameReference, replace_names

ID_FIELDS: Mapping[str, str] = {
    "screen": "screen_id",
    "task": "task_id",
    "action": "action_id",
    "workflow": "workflow_id",
    "group": "group_id",
    "flow": "flow_id",
}
"""What can be renamed besides elements: the word for it -> the field with its id."""
KINDS: Mapping[str, str] = {"group": "screen_group", "flow": "presentation_flow"}
"""The words whose kind of document is called differently."""
REFERENCE_KINDS: Mapping[str, tuple[str, ...]] = {
    "screen": ("screen",),
    "task": ("task", ANY_WORK, "recovery"),
    "action": ("action", ANY_ACTION),
    "workflow": (ANY_WORK,),
    "group": ("group",),
    "flow": (),
}
"""The word -> the kinds of references (`kb_schema.rules.reference_fields`) that may name it."""
MOST_PLACES = 6
"""The most places that a message lists."""

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.\-]{0,199}")


@dataclass(frozen=True, slots=True)
class EditTarget:
    """What an edit is about: a document, or an element on some screens."""

    what: str
    """`screen`, `task`, ... or `element`."""
    name: str
    screens: frozenset[str] = frozenset()
    """For an element: the screens that have it and are meant."""


def find_target(knowledge: KnowledgeBase, name: str, what: str | None = None) -> EditTarget:
    """Return what a name stands for; `SCREEN/ELEMENT` is an element of one screen.

    `what` restricts the search to one word of `ID_FIELDS`, or `element`. Raises `EditRefused` if nothing, or
    more than one thing, has the name.
    """
    screen, slash, element = name.rpartition("/")
    if slash and what in (None, ELEMENT):
        return _element_target(knowledge, screen, element)
    found = [
        EditTarget(word, name)
        for word in ID_FIELDS
        if what in (None, word) and name in knowledge.by_kind.get(KINDS.get(word, word), {})
    ]
    owners = frozenset(each for each in knowledge.screens if name in knowledge.elements(each))
    if what in (None, ELEMENT) and owners:
        found.append(EditTarget(ELEMENT, name, owners))
    if len(found) > 1:
        words = " and ".join(each.what for each in found)
        raise EditRefused(f"{name!r} is the id of a {words}", f"say which: --kind {found[0].what}")
    if not found:
        known = _list_ids(knowledge, what)
        fix = did_you_mean(name, sorted(known)) or f"known: {', '.join(sorted(known)[:6]) or 'none'}"
        raise EditRefused(f"there is no {what or 'screen, element, task, ...'} {name!r}", fix)
    return found[0]


def _element_target(knowledge: KnowledgeBase, screen: str, element: str) -> EditTarget:
    if screen not in knowledge.screens:
        fix = did_you_mean(screen, knowledge.screens) or "name a screen of the knowledge base"
        raise EditRefused(f"there is no screen {screen!r}", fix)
    here = knowledge.elements(screen)
    if element not in here:
        fix = did_you_mean(element, here) or f"its elements: {', '.join(sorted(here)[:6]) or 'none'}"
        raise EditRefused(f"screen {screen!r} has no element {element!r}", fix)
    return EditTarget(ELEMENT, element, screens_sharing(knowledge, screen, element))


def screens_sharing(knowledge: KnowledgeBase, screen: str, element: str) -> frozenset[str]:
    """Return the screens that have the same element: several if it belongs to a layout."""
    if any(each.element_id == element for each in knowledge.screens[screen].ui_elements):
        return frozenset([screen])
    layouts = {
        name
        for name in knowledge.screens[screen].layouts
        if any(each.element_id == element for each in knowledge.website.layouts.get(name, ()))
    }
    return frozenset(each.screen_id for each in knowledge.screens.values() if layouts & {*each.layouts})


def _list_ids(knowledge: KnowledgeBase, what: str | None) -> set[str]:
    ids = {
        name
        for word in ID_FIELDS
        if what in (None, word)
        for name in knowledge.by_kind.get(KINDS.get(word, word), {})
    }
    if what in (None, ELEMENT):
        ids |= {name for screen in knowledge.screens for name in knowledge.elements(screen)}
    return ids


def to_id(text: str) -> str:
    """Return the id for a name: `New issue` gives `new_issue`. An id stays as it is."""
    if _ID.fullmatch(text):
        return text
    return slug_of(text)


def slug_of(name: str) -> str:
    """Return the id made of a name for people. Raises `EditRefused` if it has neither letters nor digits."""
    made = re.sub(r"[^a-z0-9]+", "_", name.casefold()).strip("_")[:80]
    if not made:
        raise EditRefused(f"no id can be made of {name!r}", "use letters or digits")
    return made


def rename(knowledge: KnowledgeBase, target: EditTarget, new: str, name: str | None = None) -> KnowledgeEdit:
    """Return the knowledge in which the target has the id `new`.

    If `new` is no id (`New issue`), it is the new name for people too, and the id is made of it. `name` is the
    new name for people. Transitions keep their ids, and so what was learned of them. Raises `EditRefused`, and
    `KnowledgeError` if a rule would be broken.
    """
    new_id = to_id(new)
    shown = name or (new if new_id != new else None)
    if new_id == target.name and shown is None:
        raise EditRefused(f"{target.name!r} has this id already", "give another id or a name")
    if target.what == ELEMENT:
        return _rename_element(knowledge, target, new_id, shown)
    return _rename_document(knowledge, target, new_id, shown)


def _rename_document(
    knowledge: KnowledgeBase, target: EditTarget, new_id: str, shown: str | None
) -> KnowledgeEdit:
    kind, field = KINDS.get(target.what, target.what), ID_FIELDS[target.what]
    taken = {*knowledge.by_kind.get(kind, {})} - {target.name}
    if target.what in ("task", "workflow"):
        taken |= {*knowledge.tasks, *knowledge.workflows} - {target.name}
    if new_id in taken or (target.what == "screen" and new_id == CURRENT_SCREEN):
        fix = (
            f"`periplus kb merge {new_id} {target.name}` makes them one"
            if target.what == "screen"
            else "choose another id"
        )
        raise EditRefused(f"there is a {target.what} {new_id!r} already", fix)
    if target.what == "action" and new_id in known_names():
        raise EditRefused(f"{new_id!r} is the name of an action type", "choose another id")

    def named(document: Document) -> Document:
        if (document.kind, document.local_id) != (kind, target.name):
            return document
        shown_name = {} if shown is None else {"name": shown}
        changed = document.model_copy(update={field: new_id, **shown_name})
        return with_former_ids(changed, [target.name], new_id)

    made = [
        named(each)
        for each in replace_documents(knowledge, {target.name: new_id}, REFERENCE_KINDS[target.what])
    ]
    renamed = {(kind, target.name): new_id} | _renamed_edges(knowledge, made)
    moved = (
        {(target.name, each): (new_id, each) for each in knowledge.elements(target.name)}
        if target.what == "screen" and new_id != target.name
        else {}
    )
    return check_edit(knowledge, made, renamed=renamed, moved_elements=moved)


def replace_documents(
    knowledge: KnowledgeBase, ids: Mapping[str, str], kinds: Collection[str]
) -> list[Document]:
    """Return all documents, in order, in which references of these kinds have their new names.

    Edges whose id was derived from their ends state it now, because what was learned is kept under it.
    """

    def new_name(reference: NameReference) -> str:
        return ids.get(reference.name, reference.name) if reference.kind in kinds else reference.name

    return [keep_edge_id(each, replace_names(each, knowledge, new_name)) for each in knowledge.documents()]


def keep_edge_id(before: Document, after: Document) -> Document:
    """Return the edge with the id it had, stated if it was derived."""
    if isinstance(after, Transition | GlobalRecovery) and after.local_id != before.local_id:
        return after.model_copy(update={"transition_id": before.local_id})
    return after


def _renamed_edges(knowledge: KnowledgeBase, made: Collection[Document]) -> dict[DocumentKey, str]:
    """Return the edges whose derived ids changed: memberships, dependencies, triggers, signatures."""
    return {
        (before.kind, before.local_id): after.local_id
        for before, after in zip(knowledge.documents(), made, strict=True)
        if before.local_id != after.local_id
    }


# -- elements ----------------------------------------------------------------------------------------


def _rename_element(
    knowledge: KnowledgeBase, target: EditTarget, new_id: str, shown: str | None
) -> KnowledgeEdit:
    for screen in sorted(target.screens):
        if new_id != target.name and new_id in knowledge.elements(screen):
            fix = f"`periplus kb merge {screen}/{new_id} {screen}/{target.name}` makes them one"
            raise EditRefused(f"screen {screen!r} has an element {new_id!r} already", fix)
    made = [
        _with_renamed_element(each, target, new_id, shown, knowledge)
        for each in replace_element(knowledge, target, new_id)
    ]
    moved = {(each, target.name): (each, new_id) for each in target.screens if new_id != target.name}
    return check_edit(knowledge, made, renamed=_renamed_edges(knowledge, made), moved_elements=moved)


def replace_element(knowledge: KnowledgeBase, target: EditTarget, new_id: str) -> list[Document]:
    """Return all documents, in order, in which references to an element have its new id.

    Raises `EditRefused` if a place may name this element or one of the same id on another screen.
    """
    owners = frozenset(each for each in knowledge.screens if target.name in knowledge.elements(each))
    unclear: list[str] = []

    def new_name(reference: NameReference) -> str:
        if reference.kind != ELEMENT or reference.name != target.name or looks_like_css(reference.name):
            return reference.name
        here = (reference.screens & owners) or owners
        if here <= target.screens:
            return new_id
        if here & target.screens:
            unclear.append(reference.place)
        return reference.name

    made = [keep_edge_id(each, replace_names(each, knowledge, new_name)) for each in knowledge.documents()]
    if unclear and new_id != target.name:
        more = f" and {len(unclear) - MOST_PLACES} more" if len(unclear) > MOST_PLACES else ""
        others = ", ".join(sorted(owners - target.screens)[:MOST_PLACES])
        raise EditRefused(
            f"{'; '.join(unclear[:MOST_PLACES])}{more}: {target.name!r} may be the element of {others} too",
            f"name it everywhere (`{target.name}` without a screen), or state the screen there with an "
            "`on_screen` precondition",
        )
    return made


def _with_renamed_element(
    document: Document, target: EditTarget, new_id: str, shown: str | None, knowledge: KnowledgeBase
) -> Document:
    def renamed(element: UIElement) -> UIElement:
        if element.element_id != target.name:
            return element
        label = {} if shown is None else {"label": shown}
        changed = element.model_copy(update={"element_id": new_id, "metadata": {**element.metadata, **label}})
        return with_former_ids(changed, [target.name], new_id)

    if isinstance(document, Screen) and document.screen_id in target.screens:
        return document.model_copy(update={"ui_elements": tuple(map(renamed, document.ui_elements))})
    if isinstance(document, Website):
        meant = {layout for each in target.screens for layout in knowledge.screens[each].layouts}
        layouts = {
            name: tuple(map(renamed, elements)) if name in meant else elements
            for name, elements in document.layouts.items()
        }
        return document.model_copy(update={"layouts": layouts})
    return document


def find_places(knowledge: KnowledgeBase, kinds: Collection[str], name: str) -> list[str]:
    """Return the places of tasks, workflows and flows that name a document."""
    found: list[str] = []

    def note(reference: NameReference) -> str:
        if reference.kind in kinds and reference.name == name:
            found.append(reference.place)
        return reference.name

    for kind in ("task", "workflow", "presentation_flow", "error_recovery"):
        for document in knowledge.by_kind.get(kind, {}).values():
            replace_names(document, knowledge, note)
    return found
