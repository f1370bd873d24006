"""Splits a screen into two by an address pattern, an element or a text that only some of its pages have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from kb_schema import KnowledgeBase
from kb_schema.base import Document
from kb_schema.conditions import Condition, DomContains, ElementVisible, UrlMatches
from kb_schema.graph_documents import GroupMembership, Transition
from kb_schema.screens import Screen, Signature, StateSignature
from kb_schema.url_patterns import compile_pattern, matches_pattern, resolve
from loaders.edits.knowledge_edit import EditRefused, KnowledgeEdit, check_edit
from loaders.edits.renaming import REFERENCE_KINDS, EditTarget, find_places, to_id

SignatureT = TypeVar("SignatureT", bound=Signature)


@dataclass(frozen=True, slots=True)
class SplitSign:
    """What tells the pages of the new screen from the rest: one of the three."""

    pattern: str | None = None
    """An RE2 pattern of the address."""
    element: str | None = None
    """An element of the screen that only pages of the new screen have; it moves there."""
    text: str | None = None
    """A text that only pages of the new screen show."""


def split(knowledge: KnowledgeBase, target: EditTarget, new: str, sign: SplitSign) -> KnowledgeEdit:
    """Return the knowledge in which the pages of a screen that have the sign are a screen of their own.

    `new` is its id, or its name, of which the id is made. Both keep the elements, layouts, groups and outgoing
    transitions; incoming transitions lead to either with half of their reliability. Tasks, workflows and flows
    keep the old screen and are listed. Raises `EditRefused`, and `KnowledgeError` if a rule would be broken.
    """
    if target.what != "screen":
        raise EditRefused(f"{target.name!r} is a {target.what}", "only a screen can be split")
    if [sign.pattern, sign.element, sign.text].count(None) != 2:
        raise EditRefused(
            f"screen {target.name!r}: what tells the new screen from the rest is not stated, or stated twice",
            "give one of --pattern, --element, --text",
        )
    new_id = to_id(new)
    if new_id in knowledge.screens:
        raise EditRefused(f"there is a screen {new_id!r} already", "choose another id")
    screen = knowledge.screens[target.name]
    shown = _condition(screen, sign)
    rest, made = _divide(knowledge, screen, sign)
    made = made.model_copy(
        update={"screen_id": new_id, "name": new if new != new_id else new.replace("_", " ")}
    )
    documents: list[Document] = []
    for document in knowledge.documents():
        documents += _divided(knowledge, document, rest, made, sign, shown)
    left = [
        f"{place} still names {screen.screen_id}"
        for place in find_places(knowledge, REFERENCE_KINDS["screen"], screen.screen_id)
    ]
    moved = {(screen.screen_id, sign.element): (new_id, sign.element)} if sign.element else {}
    return check_edit(knowledge, documents, moved_elements=moved, left=left)


def _condition(screen: Screen, sign: SplitSign) -> Condition:
    if sign.pattern is not None:
        try:
            compile_pattern(sign.pattern)
        except ValueError as exc:
            raise EditRefused(
                f"--pattern {sign.pattern!r}: {exc}", "write an RE2 pattern, e.g. ^/orders/new$"
            ) from exc
        return UrlMatches(type="url_matches", pattern=sign.pattern)
    if sign.text is not None:
        return DomContains(type="dom_contains", value=sign.text)
    own = {each.element_id: each for each in screen.ui_elements}
    if sign.element not in own:
        known = ", ".join(sorted(own)[:6]) or "none"
        raise EditRefused(
            f"screen {screen.screen_id!r} has no element {sign.element!r} of its own", f"known: {known}"
        )
    return ElementVisible(type="element_visible", element=own[sign.element or ""].selector)


def _divide(knowledge: KnowledgeBase, screen: Screen, sign: SplitSign) -> tuple[Screen, Screen]:
    """Return the screen as it stays, and the new one, which still has its id."""
    if sign.element is not None:
        kept = tuple(each for each in screen.ui_elements if each.element_id != sign.element)
        return screen.model_copy(update={"ui_elements": kept}), screen
    if sign.pattern is None:
        return screen, screen
    patterns = tuple(each for each in screen.url_patterns if each != sign.pattern)
    if screen.url_patterns and not patterns:
        raise EditRefused(
            f"--pattern {sign.pattern!r} is the only pattern of {screen.screen_id!r}",
            "write a pattern of fewer addresses",
        )
    base = knowledge.website.base_url
    is_new = screen.url is not None and matches_pattern(
        sign.pattern, resolve(screen.url, authored_base=base, base=base), authored_base=base
    )
    return (
        screen.model_copy(update={"url_patterns": patterns, "url": None if is_new else screen.url}),
        screen.model_copy(update={"url_patterns": (sign.pattern,), "url": screen.url if is_new else None}),
    )


def _divided(
    knowledge: KnowledgeBase,
    document: Document,
    rest: Screen,
    made: Screen,
    sign: SplitSign,
    shown: Condition,
) -> Sequence[Document]:
    """Return what a document becomes: itself, itself and a copy for the new screen, or the copy."""
    old, new = rest.screen_id, made.screen_id
    by_sign = sign.pattern is None
    if isinstance(document, Screen) and document.screen_id == old:
        own = document.state_signature or (None if old in knowledge.signatures else Signature())
        if own is None:
            return (rest, made.model_copy(update={"state_signature": None}))
        return (
            rest.model_copy(update={"state_signature": _against(own, shown)}),
            made.model_copy(
                update={"state_signature": _for(own, shown) if by_sign else document.state_signature}
            ),
        )
    if isinstance(document, StateSignature) and document.screen_id == old and document.active:
        copy = document.model_copy(update={"screen_id": new, "signature_id": None})
        return (_against(document, shown), _for(copy, shown) if by_sign else copy)
    if isinstance(document, GroupMembership) and document.screen == old:
        return (document, document.model_copy(update={"screen": new}))
    if isinstance(document, Transition):
        return _divided_transition(document, old, new, sign.element)
    return (document,)


def _against(signature: SignatureT, shown: Condition) -> SignatureT:
    return signature.model_copy(update={"negative_indicators": (*signature.negative_indicators, shown)})


def _for(signature: SignatureT, shown: Condition) -> SignatureT:
    return signature.model_copy(update={"required_indicators": (*signature.required_indicators, shown)})


def _divided_transition(edge: Transition, old: str, new: str, element: str | None) -> Sequence[Transition]:
    if edge.from_screen == old and element is not None and edge.triggered_by.target == element:
        return (edge.model_copy(update={"from_screen": new, "transition_id": edge.local_id}),)
    ways = [edge]
    if edge.to_screen == old:
        halved = edge.model_copy(update={"reliability_score": round(edge.reliability / 2, 3)})
        copy = halved.model_copy(
            update={"to_screen": new, "transition_id": f"{edge.local_id}.to.{new}"[:200]}
        )
        ways = [halved, copy]
    if edge.from_screen == old:
        ways += [
            each.model_copy(update={"from_screen": new, "transition_id": f"{each.local_id}.from.{new}"[:200]})
            for each in ways
        ]
    return ways
