"""Converts controls to elements with affordances and readable ids."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from kb_schema import action_types
from kb_schema.base import Metadata
from kb_schema.explorations import Offer
from kb_schema.screens import Affordance, UIElement
from kb_schema.url_patterns import ANY
from loaders.exploration_import.readable_ids import make_unique_id, to_id_words
from loaders.exploration_import.row_controls import RowControlSelector
from loaders.exploration_import.screen_controls import ScreenControl
from loaders.screen_learner.url_patterns import place


@dataclass(frozen=True, slots=True)
class ControlKind:
    """The element type of a control, and the suffix of its id."""

    type: str
    ending: str


_BY_INPUT = {
    "checkbox": ControlKind("checkbox", "checkbox"),
    "radio": ControlKind("radio", "option"),
    "file": ControlKind("file_input", "file"),
    "submit": ControlKind("button", "button"),
    "button": ControlKind("button", "button"),
    "reset": ControlKind("button", "button"),
    "image": ControlKind("button", "button"),
}
_BY_ROLE = {
    "link": ControlKind("link", "link"),
    "button": ControlKind("button", "button"),
    "tab": ControlKind("tab", "tab"),
    "menuitem": ControlKind("menu_item", "item"),
    "option": ControlKind("option", "option"),
    "checkbox": ControlKind("checkbox", "checkbox"),
    "switch": ControlKind("checkbox", "switch"),
    "radio": ControlKind("radio", "option"),
}
_BY_TAG = {
    "a": ControlKind("link", "link"),
    "select": ControlKind("dropdown", "dropdown"),
    "textarea": ControlKind("textarea", "field"),
    "summary": ControlKind("button", "button"),
}
_FIELD = ControlKind("input", "field")
_OTHER = ControlKind("button", "control")
_FURTHER = {"fill": ("clear",), "check": ("uncheck",)}
"""Further affordances that come with an affordance."""
_UNSAID = frozenset({"", ANY, "#"})
_IRREVERSIBLE = frozenset({"deletes", "pays"})


def kind_of(offer: Offer) -> ControlKind:
    """Return the kind of a control."""
    by_input = _BY_INPUT.get(offer.kind) if offer.tag == "input" else None
    named = by_input or _BY_TAG.get(offer.tag) or _BY_ROLE.get(offer.role)
    return named or (_FIELD if _canonical(offer) in ("fill", "select_option") else _OTHER)


def element_of(
    control: ScreenControl, taken: Collection[str], rows: RowControlSelector | None = None
) -> UIElement | None:
    """Return a control as an element with an unused id; None if no selector leads to it."""
    selector = rows.selector if rows is not None else control.selector
    if selector is None:
        return None
    offer, kind = control.offer, kind_of(control.offer)
    wanted = (
        _id_of(control, kind),
        _id_of(control, kind, numbers=True),
        _id_of(control, kind, beside=to_id_words(control.region.partition(":")[2])),
    )
    element_id = next((each for each in wanted if each not in taken), None) or make_unique_id(
        wanted[0], taken
    )
    metadata: Metadata = {
        "label": control.called if control.called and not control.of_data else element_id.replace("_", " "),
        **({"region": control.region} if control.region else {}),
        **({"example": {"row": rows.row}} if rows is not None and rows.row is not None else {}),
        **({"not_tried": offer.why or offer.danger} if offer.danger is not None else {}),
    }
    return UIElement(
        element_id=element_id,
        type="dynamic_list_item" if control.in_rows else kind.type,
        selector=selector,
        affordances=_affordances(control),
        metadata=metadata,
    )


def _id_of(control: ScreenControl, kind: ControlKind, *, numbers: bool = False, beside: str = "") -> str:
    """Return an id. `beside`: the region, used to distinguish it."""
    words = to_id_words(control.called, numbers=numbers)
    ending = f"row_{kind.ending}" if control.in_rows else kind.ending
    if control.in_rows and control.offer.href is not None:
        # The texts of its rows are data of the site; its address says what they are.
        words = to_id_words(" ".join(_below(control)))
    if not words:
        words = to_id_words(" ".join(control.key[2:3])) if control.key[0] == "by" else ""
    if not words:
        return ending if ending[0].isalpha() else f"e_{ending}"
    words = f"{words}_{beside}" if beside else words
    words = words if words[0].isalpha() else f"n_{words}"
    return words if words == ending or words.endswith(f"_{ending}") else f"{words}_{ending}"


def _below(control: ScreenControl) -> list[str]:
    """Return the words of its rows' addresses, from where they differ from the page's own address."""
    look = control.seen[0][0]
    parts = next((part.split("/") for part in control.key if "/" in part), [])
    own = [part for part in place(look.observed.path) if part not in _UNSAID]
    words = [part for part in parts if part not in _UNSAID]
    same = next(
        (at for at, (a, b) in enumerate(zip(words, own, strict=False)) if a != b), min(len(words), len(own))
    )
    return words[max(0, same - 1) :]


def _affordances(control: ScreenControl) -> tuple[Affordance, ...]:
    offer = control.offer
    options = {option.value: option for _, each in control.seen for option in each.options}
    main = Affordance(
        action_type=_canonical(offer),
        required=any(each.required for _, each in control.seen),
        validation=offer.validation,
        options=tuple(options.values()),
        options_as_seen=bool(options),
        idempotent=True if kind_of(offer).type == "link" and offer.danger is None else None,
        destructive=offer.danger in _IRREVERSIBLE,
    )
    return (main, *(Affordance(action_type=each) for each in _FURTHER.get(main.action_type, ())))


def _canonical(offer: Offer) -> str:
    return action_types.canonical(offer.action_type) or offer.action_type
