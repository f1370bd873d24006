"""From controls to elements of the knowledge: what one can do with each, and an id that people can read."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from kb_schema import vocabulary
from kb_schema.base import Metadata
from kb_schema.mapping import Offer
from kb_schema.screens import Affordance, UIElement
from loaders.cartography.controls import Control
from loaders.cartography.rows import InRows
from loaders.cartography.wording import free, words_of
from loaders.signatures.addresses import ANY, place


@dataclass(frozen=True, slots=True)
class Kind:
    """What an element is called in the knowledge, and how its id ends."""

    type: str
    ending: str


_BY_INPUT = {
    "checkbox": Kind("checkbox", "checkbox"),
    "radio": Kind("radio", "option"),
    "file": Kind("file_input", "file"),
    "submit": Kind("button", "button"),
    "button": Kind("button", "button"),
    "reset": Kind("button", "button"),
    "image": Kind("button", "button"),
}
_BY_ROLE = {
    "link": Kind("link", "link"),
    "button": Kind("button", "button"),
    "tab": Kind("tab", "tab"),
    "menuitem": Kind("menu_item", "item"),
    "option": Kind("option", "option"),
    "checkbox": Kind("checkbox", "checkbox"),
    "switch": Kind("checkbox", "switch"),
    "radio": Kind("radio", "option"),
}
_BY_TAG = {
    "a": Kind("link", "link"),
    "select": Kind("dropdown", "dropdown"),
    "textarea": Kind("textarea", "field"),
    "summary": Kind("button", "button"),
}
_FIELD = Kind("input", "field")
_OTHER = Kind("button", "control")
_FURTHER = {"fill": ("clear",), "check": ("uncheck",)}
"""What else an element affords that affords this."""
_UNSAID = frozenset({"", ANY, "#"})
_IRREVERSIBLE = frozenset({"deletes", "pays"})


def kind_of(offer: Offer) -> Kind:
    """What a control is."""
    by_input = _BY_INPUT.get(offer.kind) if offer.tag == "input" else None
    named = by_input or _BY_TAG.get(offer.tag) or _BY_ROLE.get(offer.role)
    return named or (_FIELD if _canonical(offer) in ("fill", "select_option") else _OTHER)


def element_of(control: Control, taken: Collection[str], rows: InRows | None = None) -> UIElement | None:
    """A control as an element with an id that is not taken; None where nothing leads to it."""
    selector = rows.selector if rows is not None else control.selector
    if selector is None:
        return None
    offer, kind = control.offer, kind_of(control.offer)
    wanted = (
        _id_of(control, kind),
        _id_of(control, kind, numbers=True),
        _id_of(control, kind, beside=words_of(control.region.partition(":")[2])),
    )
    element_id = next((each for each in wanted if each not in taken), None) or free(wanted[0], taken)
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


def _id_of(control: Control, kind: Kind, *, numbers: bool = False, beside: str = "") -> str:
    """`beside`: where it stands."""
    said = words_of(control.called, numbers=numbers)
    ending = f"row_{kind.ending}" if control.in_rows else kind.ending
    if control.in_rows and control.offer.href is not None:
        # What its rows say is the data of the site: its address says what they are.
        said = words_of(" ".join(_below(control)))
    if not said:
        said = words_of(" ".join(control.key[2:3])) if control.key[0] == "by" else ""
    if not said:
        return ending if ending[0].isalpha() else f"e_{ending}"
    said = f"{said}_{beside}" if beside else said
    said = said if said[0].isalpha() else f"n_{said}"
    return said if said == ending or said.endswith(f"_{ending}") else f"{said}_{ending}"


def _below(control: Control) -> list[str]:
    """What the addresses of its rows say, from where its page's own address parts from them."""
    look = control.seen[0][0]
    parts = next((part.split("/") for part in control.key if "/" in part), [])
    own = [part for part in place(look.observed.path) if part not in _UNSAID]
    said = [part for part in parts if part not in _UNSAID]
    same = next(
        (at for at, (a, b) in enumerate(zip(said, own, strict=False)) if a != b), min(len(said), len(own))
    )
    return said[max(0, same - 1) :]


def _affordances(control: Control) -> tuple[Affordance, ...]:
    offer = control.offer
    options = {option.value: option for _, each in control.seen for option in each.options}
    main = Affordance(
        action_type=_canonical(offer),
        required=any(each.required for _, each in control.seen),
        validation=offer.validation,
        options=tuple(options.values()),
        idempotent=True if kind_of(offer).type == "link" and offer.danger is None else None,
        destructive=offer.danger in _IRREVERSIBLE,
    )
    return (main, *(Affordance(action_type=each) for each in _FURTHER.get(main.action_type, ())))


def _canonical(offer: Offer) -> str:
    return vocabulary.canonical(offer.action_type) or offer.action_type
