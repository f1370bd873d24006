"""Makes two screens, or two elements of one screen, one; every reference follows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import zip_longest
from typing import Literal, TypeVar

from kb_schema import KnowledgeBase
from kb_schema.base import Document
from kb_schema.conditions import BaseCondition, Combined, Condition, UrlMatches
from kb_schema.former_ids import list_former_ids, with_former_ids
from kb_schema.graph_documents import ActionTrigger, Transition
from kb_schema.screens import Affordance, Screen, Signature, StateSignature, UIElement
from kb_schema.selectors import Selector
from kb_schema.websites import Website
from loaders.edits.knowledge_edit import EditRefused, KnowledgeEdit, check_edit
from loaders.edits.name_references import ELEMENT
from loaders.edits.renaming import EditTarget, replace_documents, replace_element

ItemT = TypeVar("ItemT")


def merge(knowledge: KnowledgeBase, kept: EditTarget, other: EditTarget) -> KnowledgeEdit:
    """Return the knowledge in which `other` is a part of `kept`, which keeps its id and name.

    Raises `EditRefused`, and `KnowledgeError` if a rule would be broken.
    """
    if kept == other:
        raise EditRefused(f"{kept.name!r} is given twice", "name two screens, or two elements of one screen")
    if (kept.what, other.what) == ("screen", "screen"):
        return _merge_screens(knowledge, kept.name, other.name)
    if (kept.what, other.what) != (ELEMENT, ELEMENT):
        raise EditRefused(
            f"{kept.name!r} is a {kept.what}, {other.name!r} a {other.what}",
            "name two screens, or two elements of one screen: SCREEN/ELEMENT SCREEN/ELEMENT",
        )
    return _merge_elements(knowledge, kept, other)


# -- screens -----------------------------------------------------------------------------------------


def _merge_screens(knowledge: KnowledgeBase, kept: str, other: str) -> KnowledgeEdit:
    same = _list_same_elements(knowledge, kept, other)
    moved = {(other, each): (kept, same.get(each, each)) for each in knowledge.elements(other)}
    for old, new in same.items():
        target = EditTarget(ELEMENT, old, frozenset([other]))
        knowledge = _with(knowledge, _renamed_element(knowledge, target, new))
    left: list[str] = []
    made: list[Document] = []
    documents = replace_documents(knowledge, {other: kept}, ("screen",))
    for before, after in zip(knowledge.documents(), documents, strict=True):
        if isinstance(before, Transition) and isinstance(after, Transition) and _became_loop(before, after):
            left.append(f"transition {before.local_id} led from one to the other and is removed")
        elif not (isinstance(before, Screen | StateSignature) and before.screen_id == other):
            made.append(_joined(knowledge, before, after, kept, other))
    made = _without_orphans(_without_twins(made))
    return check_edit(knowledge, made, renamed={("screen", other): kept}, moved_elements=moved, left=left)


def _became_loop(before: Transition, after: Transition) -> bool:
    return after.from_screen == after.to_screen and before.from_screen != before.to_screen


def _joined(knowledge: KnowledgeBase, before: Document, after: Document, kept: str, other: str) -> Document:
    """Return what a document becomes: the kept screen and its signature take over those of the other."""
    if isinstance(before, Screen) and before.screen_id == kept:
        return _joined_screen(knowledge, kept, other)
    if isinstance(before, StateSignature) and before.screen_id == kept and before.active:
        return before.model_copy(update=dict(_joined_signature(knowledge, kept, other) or {}))
    return after


def _list_same_elements(knowledge: KnowledgeBase, kept: str, other: str) -> dict[str, str]:
    """Return the elements of `other` that have the selector of an element of `kept` under another id."""
    here, there = knowledge.elements(kept), knowledge.elements(other)
    known = {each.selector.model_dump_json(): name for name, each in here.items() if name not in there}
    twins = {
        each.element_id: known.pop(each.selector.model_dump_json(), None)
        for each in knowledge.screens[other].ui_elements
        if each.element_id not in here
    }
    return {old: new for old, new in twins.items() if new is not None}


def _renamed_element(knowledge: KnowledgeBase, target: EditTarget, new_id: str) -> list[Document]:
    def renamed(document: Document) -> Document:
        if not isinstance(document, Screen) or document.screen_id not in target.screens:
            return document
        elements = tuple(
            each.model_copy(update={"element_id": new_id}) if each.element_id == target.name else each
            for each in document.ui_elements
        )
        return document.model_copy(update={"ui_elements": elements})

    return [renamed(each) for each in replace_element(knowledge, target, new_id)]


def _with(knowledge: KnowledgeBase, documents: Iterable[Document]) -> KnowledgeBase:
    """Return the knowledge with these documents, not checked yet."""
    by_kind: dict[str, dict[str, Document]] = {}
    website = knowledge.website
    for each in documents:
        by_kind.setdefault(each.kind, {})[each.local_id] = each
        website = each if isinstance(each, Website) else website
    return KnowledgeBase(website, by_kind, knowledge.sources)


def _joined_screen(knowledge: KnowledgeBase, kept: str, other: str) -> Screen:
    one, two = knowledge.screens[kept], knowledge.screens[other]
    inherited = {
        each.element_id for layout in one.layouts for each in knowledge.website.layouts.get(layout, ())
    }
    elements = _joined_elements(
        one.ui_elements, [e for e in two.ui_elements if e.element_id not in inherited]
    )
    open_pattern = not one.url_patterns or not two.url_patterns
    joined = one.model_copy(
        update={
            "url_patterns": () if open_pattern else _each_once(one.url_patterns, two.url_patterns),
            "url": one.url or two.url,
            "layouts": _each_once(one.layouts, two.layouts),
            "ui_elements": elements,
            "available_actions": _each_once(one.available_actions, two.available_actions),
            "state_signature": _joined_signature(knowledge, kept, other)
            if _has_own_signature(knowledge, kept)
            else None,
        }
    )
    return with_former_ids(joined, [*list_former_ids(two.metadata), other], kept)


def _has_own_signature(knowledge: KnowledgeBase, screen: str) -> bool:
    """Return whether the screen's signature is, or will be, a part of its document."""
    return not isinstance(knowledge.signatures.get(screen), StateSignature)


def _joined_signature(knowledge: KnowledgeBase, kept: str, other: str) -> Signature | None:
    """Return a signature for the pages of both: all that must hold of one, or all that must hold of the other.

    The weighted indicators are paired, so that a page of either scores as before. None if both screens are
    known by their address alone.
    """
    known = [knowledge.signatures.get(each) for each in (kept, other)]
    if known == [None, None]:
        return None
    one, two = (each or Signature() for each in known)
    primary = _paired(one.primary_indicators, two.primary_indicators)
    optional = _paired(one.optional_indicators, two.optional_indicators)
    required = _either(
        *(_must_hold(knowledge.screens[each], sign) for each, sign in ((kept, one), (other, two)))
    )
    plain = {name: getattr(one, name) for name in Signature.model_fields}
    return Signature(**plain).model_copy(
        update={
            "required_indicators": required,
            "primary_indicators": primary,
            "optional_indicators": optional,
            "negative_indicators": _in_both(one.negative_indicators, two.negative_indicators),
            "exclusion_indicators": _in_both(one.exclusion_indicators, two.exclusion_indicators),
            "confidence_threshold": min(one.confidence_threshold, two.confidence_threshold),
        }
    )


def _must_hold(screen: Screen, signature: Signature) -> tuple[Condition, ...]:
    """Return what decides for a screen: its address, its required indicators, and that none against it holds."""
    against = (*signature.negative_indicators, *signature.exclusion_indicators)
    decisive = signature.required_indicators or signature.positive
    addresses = tuple(UrlMatches(type="url_matches", pattern=each) for each in screen.url_patterns)
    return (
        *((_one_of("any_of", addresses),) if addresses else ()),
        *decisive,
        *((Combined(type="none_of", conditions=against),) if against else ()),
    )


def _either(one: Sequence[Condition], two: Sequence[Condition]) -> tuple[Condition, ...]:
    """Return what must hold in both, and one condition for the rest: all of the one or all of the other."""
    shared = [each for each in one if each in two]
    rests = [[each for each in part if each not in shared] for part in (one, two)]
    if not all(rests):
        return tuple(shared)
    return (*shared, Combined(type="any_of", conditions=tuple(_one_of("all_of", rest) for rest in rests)))


def _one_of(kind: Literal["all_of", "any_of"], conditions: Sequence[Condition]) -> Condition:
    """Return several conditions as one."""
    return conditions[0] if len(conditions) == 1 else Combined(type=kind, conditions=tuple(conditions))


def _paired(one: Sequence[Condition], two: Sequence[Condition]) -> tuple[Condition, ...]:
    """Return one indicator for each pair, the heaviest first: either holds. Indicators of both stay alone."""
    shared = [each for each in one if each in two]
    rests = [
        sorted((each for each in part if each not in shared), key=_weight, reverse=True)
        for part in (one, two)
    ]
    pairs = [
        Combined(type="any_of", conditions=pair, weight=pair[0].weight)
        for pair in zip_longest(*rests)
        if None not in pair
    ]
    return (*shared, *pairs)


def _weight(condition: BaseCondition) -> float:
    weight = getattr(condition, "weight", None)
    return 0.0 if weight is None else float(weight)


def _in_both(one: Sequence[Condition], two: Sequence[Condition]) -> tuple[Condition, ...]:
    return tuple(each for each in one if each in two)


def _without_twins(documents: Iterable[Document]) -> list[Document]:
    """Return the documents without edges that another one repeats; the first is kept."""
    seen: set[object] = set()
    made = []
    for each in documents:
        key: object = (each.kind, each.local_id)
        if isinstance(each, Transition):
            key = ("transition", each.from_screen, each.to_screen, each.triggered_by.model_dump_json())
        if key not in seen:
            seen.add(key)
            made.append(each)
    return made


def _without_orphans(documents: Sequence[Document]) -> list[Document]:
    """Return the documents without triggers of transitions that are gone."""
    transitions = {each.local_id for each in documents if isinstance(each, Transition)}
    return [
        each for each in documents if not isinstance(each, ActionTrigger) or each.transition in transitions
    ]


# -- elements ----------------------------------------------------------------------------------------


def _merge_elements(knowledge: KnowledgeBase, kept: EditTarget, other: EditTarget) -> KnowledgeEdit:
    if kept.screens != other.screens:
        raise EditRefused(
            f"{kept.name!r} and {other.name!r} are not on the same screens",
            "merge elements of one screen, or of one layout: SCREEN/ELEMENT SCREEN/ELEMENT",
        )

    def joined(document: Document) -> Document:
        if isinstance(document, Screen) and document.screen_id in kept.screens:
            pair = _joined_pair(document.ui_elements, kept.name, other.name)
            return document.model_copy(update={"ui_elements": pair})
        if isinstance(document, Website):
            layouts = {
                name: _joined_pair(elements, kept.name, other.name)
                for name, elements in document.layouts.items()
            }
            return document.model_copy(update={"layouts": layouts})
        return document

    made = [joined(each) for each in replace_element(knowledge, other, kept.name)]
    moved = {(screen, other.name): (screen, kept.name) for screen in kept.screens}
    return check_edit(knowledge, _without_orphans(_without_twins(made)), moved_elements=moved)


def _joined_pair(elements: Sequence[UIElement], kept: str, other: str) -> tuple[UIElement, ...]:
    by_id = {each.element_id: each for each in elements}
    if kept not in by_id or other not in by_id:
        return tuple(elements)
    joined = _joined_element(by_id[kept], by_id[other])
    return tuple(joined if each.element_id == kept else each for each in elements if each.element_id != other)


def _joined_elements(one: Sequence[UIElement], two: Sequence[UIElement]) -> tuple[UIElement, ...]:
    """Return the elements of both; those with the same id become one."""
    others = {each.element_id: each for each in two}
    known = {each.element_id for each in one}
    return (
        *(_joined_element(each, others.get(each.element_id, each)) for each in one),
        *(each for each in two if each.element_id not in known),
    )


def _joined_element(one: UIElement, two: UIElement) -> UIElement:
    """Return the first element with the strategies and affordances of the second after its own."""
    if one is two or one == two:
        return one
    kinds = {each.action_type for each in one.affordances}
    added: list[Affordance] = [each for each in two.affordances if each.action_type not in kinds]
    joined = one.model_copy(
        update={
            "selector": _joined_selector(one.selector, two.selector),
            "affordances": (*one.affordances, *added),
        }
    )
    return with_former_ids(joined, [*list_former_ids(two.metadata), two.element_id], one.element_id)


def _joined_selector(one: Selector, two: Selector) -> Selector:
    if one == two or one.model_copy(update={"strategies": two.strategies}) != two:
        return one  # in another frame, for example: its strategies mean something else there
    return one.model_copy(update={"strategies": _each_once(one.strategies, two.strategies)})


def _each_once(one: Sequence[ItemT], two: Sequence[ItemT]) -> tuple[ItemT, ...]:
    return (*one, *(each for each in two if each not in one))
