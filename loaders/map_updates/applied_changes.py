"""Makes the changes of a website in its knowledge. What people edited stays: ids, names, descriptions, groups, tasks.

A change that a task, workflow or flow stands against, or that would break a rule, is left and told.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType

from kb_schema import KnowledgeBase, KnowledgeError
from kb_schema.base import Document
from kb_schema.explorations import Offer
from kb_schema.former_ids import list_former_ids
from kb_schema.graph_documents import GroupMembership, Transition
from kb_schema.screens import Affordance, Screen, UIElement
from kb_schema.selectors import Selector
from kb_schema.tasks import Task
from kb_schema.websites import Website
from loaders.edits.deletion import delete
from loaders.edits.knowledge_edit import EditRefused, KnowledgeEdit, check_edit
from loaders.edits.name_references import ELEMENT
from loaders.edits.renaming import EditTarget, find_places, screens_sharing
from loaders.exploration_import import ExploredKnowledge
from loaders.exploration_import.readable_ids import make_unique_id
from loaders.map_updates.map_changes import MapChange, MapComparison

CONTROL_CHANGES = frozenset({"renamed", "options", "required", "optional", "selector"})
"""The changes of a control that is still there."""
NEW_SCREENS = frozenset({"screen_new", "screen_added"})


def apply_map_changes(
    knowledge: KnowledgeBase,
    comparison: MapComparison,
    built: ExploredKnowledge,
    drafts: Mapping[str, Task] = MappingProxyType({}),
) -> KnowledgeEdit:
    """Return the knowledge with the changes. `left` of the edit has those that were not made, and why.

    `built`: the knowledge of the updated exploration, from which new elements, screens and transitions are taken.
    `drafts`: the tasks as they were drafted for the map, by id; those that are still so go with their screens.
    """
    made, left = knowledge, list[str]()
    new_ids = _name_new_screens(knowledge, comparison, built)
    steps: list[tuple[str, Callable[[KnowledgeBase], KnowledgeBase]]] = [
        (f"{each.kind} {each.name}", step)
        for each in comparison.changes
        if (step := _step_for(each, comparison, built, new_ids, drafts)) is not None
    ]
    names = _match_names(knowledge, comparison, built, new_ids)
    steps += [
        (f"transition {each.local_id}", _adding_transition(each, names, built.knowledge))
        for each in _list_new_transitions(comparison, built, new_ids)
    ]
    for what, step in steps:
        try:
            made = step(made)
        except EditRefused as refused:
            left.append(f"{what}: {refused.message}; {refused.fix}")
        except KnowledgeError as broken:
            left.append(f"{what}: {broken.problems[0].message}")
    return check_edit(made, made.documents(), left=left)


def _step_for(
    change: MapChange,
    comparison: MapComparison,
    built: ExploredKnowledge,
    new_ids: Mapping[str, str],
    drafts: Mapping[str, Task],
) -> Callable[[KnowledgeBase], KnowledgeBase] | None:
    """Return what makes a change; None if it changes no knowledge."""
    if change.kind == "screen_gone":
        return lambda known: _without_screen(known, change.screens[0], drafts)
    if change.kind in NEW_SCREENS:
        return lambda known: _with_new_screen(known, change.screens[0], built, new_ids)
    if change.kind == "new":
        return lambda known: _with_new_element(known, change, built)
    if change.kind == "gone":
        return lambda known: _without_element(known, change, comparison)
    if change.kind in CONTROL_CHANGES:
        return lambda known: _with_changed_element(known, change, built)
    return None


# -- elements --------------------------------------------------------------------------------------------


def _replaced(
    knowledge: KnowledgeBase, screens: Collection[str], element_id: str, new: UIElement | None
) -> list[Document]:
    """Return the documents with another element, or without it, on these screens and their layouts."""
    own = {
        screen_id
        for screen_id in screens
        if any(each.element_id == element_id for each in knowledge.screens[screen_id].ui_elements)
    }
    layouts = {name for each in {*screens} - own for name in knowledge.screens[each].layouts}

    def changed(elements: Iterable[UIElement]) -> tuple[UIElement, ...]:
        kept = (new if each.element_id == element_id else each for each in elements)
        return tuple(each for each in kept if each is not None)

    found: list[Document] = []
    for each in knowledge.documents():
        if isinstance(each, Screen) and each.screen_id in own:
            found.append(each.model_copy(update={"ui_elements": changed(each.ui_elements)}))
        elif isinstance(each, Website):
            told = {
                name: changed(elements) if name in layouts else elements
                for name, elements in each.layouts.items()
            }
            found.append(each.model_copy(update={"layouts": told}))
        else:
            found.append(each)
    return found


def _with_changed_element(
    knowledge: KnowledgeBase, change: MapChange, built: ExploredKnowledge
) -> KnowledgeBase:
    for screen_id in change.screens:
        known = knowledge.elements(screen_id)[change.element_id]
        new = _changed(known, change, _built_element(change, built))
        if new != known:
            knowledge = check_edit(
                knowledge, _replaced(knowledge, [screen_id], change.element_id, new)
            ).knowledge
    return knowledge


def _changed(element: UIElement, change: MapChange, built: UIElement | None) -> UIElement:
    """Return the element as it is now; a label that people gave stays."""
    control = change.control
    assert control is not None  # noqa: S101 - a change of a control has one
    assert control.after is not None  # noqa: S101 - it is still there
    told: dict[str, object] = {}
    if change.kind == "renamed" and element.metadata.get("label") == change.before:
        told["metadata"] = {**element.metadata, "label": change.name}
    if change.kind in ("renamed", "selector") and not change.still_found:
        told["selector"] = _selector_of(control.after, built) or element.selector
    if change.kind in ("options", "required", "optional"):
        told["affordances"] = tuple(
            _changed_affordance(each, change, control.after) for each in element.affordances
        )
    return element.model_copy(update=told)


def _changed_affordance(affordance: Affordance, change: MapChange, offer: Offer) -> Affordance:
    if change.kind == "options" and affordance.options:
        return affordance.model_copy(update={"options": offer.options})
    if change.kind in ("required", "optional") and affordance.action_type == offer.action_type:
        return affordance.model_copy(update={"required": offer.required})
    return affordance


def _selector_of(offer: Offer, built: UIElement | None) -> Selector | None:
    return built.selector if built is not None else offer.selector


def _built_element(change: MapChange, built: ExploredKnowledge) -> UIElement | None:
    """Return the element that the control became in the knowledge of the updated exploration."""
    control = change.control
    if control is None or control.after is None:
        return None
    placed = built.elements.get((change.page_id, control.after.offer_id))
    return None if placed is None else built.knowledge.elements(placed[0]).get(placed[1])


def _without_element(knowledge: KnowledgeBase, change: MapChange, comparison: MapComparison) -> KnowledgeBase:
    """Return the knowledge without an element and the transitions that it triggers.

    Raises `EditRefused` if something that people wrote names it, or a screen with the same layout still has it.
    """
    element_id = change.element_id
    screens = tuple(each for each in change.screens if element_id in knowledge.elements(each))
    sharing = {each for screen_id in screens for each in screens_sharing(knowledge, screen_id, element_id)}
    missing = {
        each
        for other in comparison.changes
        if other.kind in ("gone", "not_found") and other.element_id == element_id
        for each in other.screens
    }
    still = (sharing & {*comparison.found}) - missing
    if still:
        others = ", ".join(sorted(still)[:3])
        raise EditRefused(
            f"{element_id!r} is gone from {', '.join(screens[:3])}, but belongs to a layout of {others} too",
            "look whether it is gone there too",
        )
    places = find_places(knowledge, (ELEMENT,), element_id)
    if places:
        raise EditRefused(f"{places[0]} names element {element_id!r}", "change that first")
    triggered = {
        each.local_id
        for each in knowledge.transitions.values()
        if each.from_screen in sharing and each.triggered_by.target == element_id
    }
    documents = [
        each
        for each in _replaced(knowledge, screens, element_id, None)
        if not (isinstance(each, Transition) and each.local_id in triggered)
    ]
    return check_edit(knowledge, documents).knowledge


def _with_new_element(knowledge: KnowledgeBase, change: MapChange, built: ExploredKnowledge) -> KnowledgeBase:
    """Return the knowledge with a new element on each screen, or on the layout that all of them have."""
    element = _built_element(change, built)
    if element is None:
        raise EditRefused("no selector leads to it", "record it, or write the element")
    layout = _find_layout(knowledge, change.screens)
    if layout is not None:
        taken = {name for each in knowledge.screens for name in knowledge.elements(each)}
        named = element.model_copy(update={"element_id": make_unique_id(element.element_id, taken)})
        layouts = {**knowledge.website.layouts, layout: (*knowledge.website.layouts[layout], named)}
        return _with_documents(knowledge, [knowledge.website.model_copy(update={"layouts": layouts})])
    screens = []
    for screen_id in change.screens:
        taken = set(knowledge.elements(screen_id))
        named = element.model_copy(update={"element_id": make_unique_id(element.element_id, taken)})
        screen = knowledge.screens[screen_id]
        screens.append(screen.model_copy(update={"ui_elements": (*screen.ui_elements, named)}))
    return _with_documents(knowledge, screens)


def _find_layout(knowledge: KnowledgeBase, screens: Sequence[str]) -> str | None:
    """Return the layout of just these screens, if they are several."""
    for name in knowledge.website.layouts if len(screens) > 1 else ():
        if {each.screen_id for each in knowledge.screens.values() if name in each.layouts} == {*screens}:
            return name
    return None


def _with_documents(knowledge: KnowledgeBase, changed: Sequence[Document]) -> KnowledgeBase:
    """Return the knowledge in which these documents replace those with their ids, or are new."""
    new = {(each.kind, each.local_id): each for each in changed}
    kept = [new.pop((each.kind, each.local_id), each) for each in knowledge.documents()]
    return check_edit(knowledge, [*kept, *new.values()]).knowledge


def _without_screen(knowledge: KnowledgeBase, screen_id: str, drafts: Mapping[str, Task]) -> KnowledgeBase:
    """Return the knowledge without a screen and the drafted tasks that begin there and are as they were drafted.

    Raises `EditRefused` if anything else names it.
    """
    for task in list(knowledge.tasks.values()):
        draft = drafts.get(task.task_id)
        begins = next((step.action.target_screen for step in task.steps), None)
        if draft is not None and begins == screen_id and draft.to_json() == task.to_json():
            knowledge = delete(knowledge, EditTarget("task", task.task_id)).knowledge
    return delete(knowledge, EditTarget("screen", screen_id)).knowledge


# -- screens ---------------------------------------------------------------------------------------------


def _name_new_screens(
    knowledge: KnowledgeBase, comparison: MapComparison, built: ExploredKnowledge
) -> dict[str, str]:
    """Return unused ids for the new screens: id in `built` -> id in the knowledge. Former ids stay reserved."""
    taken = {*knowledge.screens}
    taken |= {each for screen in knowledge.screens.values() for each in list_former_ids(screen.metadata)}
    wanted = {each.screens[0] for each in comparison.changes if each.kind in NEW_SCREENS}
    found: dict[str, str] = {}
    for screen_id in comparison.new_screens:
        if screen_id in wanted and screen_id in built.knowledge.screens:
            found[screen_id] = make_unique_id(screen_id, taken | {*found.values()})
    return found


def _with_new_screen(
    knowledge: KnowledgeBase, screen_id: str, built: ExploredKnowledge, new_ids: Mapping[str, str]
) -> KnowledgeBase:
    screen = built.knowledge.screens[screen_id]
    layouts = tuple(each for each in screen.layouts if each in knowledge.website.layouts)
    inherited = {each.element_id for name in layouts for each in knowledge.website.layouts[name]}
    missing = [
        each
        for each in built.knowledge.elements(screen_id).values()
        if each.element_id not in inherited and each not in screen.ui_elements
    ]
    new = screen.model_copy(
        update={
            "screen_id": new_ids[screen_id],
            "layouts": layouts,
            "ui_elements": (*screen.ui_elements, *missing),
            "website_id": knowledge.website.website_id,
        }
    )
    memberships = [
        GroupMembership.model_validate({"type": "belongs_to", "_from": new.screen_id, "_to": each.group})
        for each in built.knowledge.by_kind.get("group_membership", {}).values()
        if isinstance(each, GroupMembership)
        and each.screen == screen_id
        and each.group in knowledge.by_kind.get("screen_group", {})
    ]
    return _with_documents(knowledge, [new, *memberships])


def _match_names(
    knowledge: KnowledgeBase,
    comparison: MapComparison,
    built: ExploredKnowledge,
    new_ids: Mapping[str, str],
) -> dict[str, str]:
    """Return the screen of the knowledge for each screen of `built`: both have the same first page."""
    by_page = {page: screen_id for screen_id, pages in built.screens.items() for page in pages}
    known = {
        by_page[page]: screen.screen_id
        for screen in reversed([*knowledge.screens.values()])
        if (page := str(screen.metadata.get("seen_as", ""))) in by_page
    }
    gone = {each.screens[0] for each in comparison.changes if each.kind == "screen_gone"}
    return {mine: its for mine, its in known.items() if its not in gone} | dict(new_ids)


def _list_new_transitions(
    comparison: MapComparison, built: ExploredKnowledge, new_ids: Mapping[str, str]
) -> Iterator[Transition]:
    """Yield the transitions from or to a new screen, and those of a new control."""
    new_controls = set()
    for change in comparison.changes:
        after = change.control.after if change.control is not None else None
        if change.kind == "new" and after is not None:
            new_controls.add(built.elements.get((change.page_id, after.offer_id)))
    for edge in built.knowledge.transitions.values():
        if {edge.from_screen, edge.to_screen} & {*new_ids} or (
            (edge.from_screen, str(edge.triggered_by.target)) in new_controls
        ):
            yield edge


def _adding_transition(
    edge: Transition, names: Mapping[str, str], built: KnowledgeBase
) -> Callable[[KnowledgeBase], KnowledgeBase]:
    def add(knowledge: KnowledgeBase) -> KnowledgeBase:
        ends = names.get(edge.from_screen, ""), names.get(edge.to_screen, "")
        if not {*ends} <= {*knowledge.screens}:
            return knowledge
        element_id = _find_trigger(edge, knowledge, ends[0], built)
        if element_id is None:
            return knowledge  # people deleted it
        known = (
            (each.from_screen, each.to_screen, each.triggered_by.target)
            for each in knowledge.transitions.values()
        )
        if (*ends, element_id) in known:
            return knowledge
        told = {
            "from_screen": ends[0],
            "to_screen": ends[1],
            "triggered_by": edge.triggered_by.model_copy(update={"target": element_id}),
            "transition_id": make_unique_id(f"{ends[0]}.to.{ends[1]}", set(knowledge.transitions)),
            "website_id": knowledge.website.website_id,
        }
        return _with_documents(knowledge, [edge.model_copy(update=told)])

    return add


def _find_trigger(
    edge: Transition, knowledge: KnowledgeBase, screen_id: str, built: KnowledgeBase
) -> str | None:
    """Return the id that the element of a transition has in the knowledge: that with its selector, else its id."""
    element_id = str(edge.triggered_by.target)
    element, known = built.elements(edge.from_screen).get(element_id), knowledge.elements(screen_id)
    same = [
        each.element_id
        for each in known.values()
        if element is not None and each.selector == element.selector
    ]
    return element_id if element_id in same else next(iter(same), element_id if element_id in known else None)
