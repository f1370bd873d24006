"""Finds the controls of a page again when it is opened later: the same one keeps its id, also under another name.

A control that may be another one gets a new id: that a control is gone and a new one came is a smaller mistake than
to take one for another.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Iterator, Sequence

from agent.exploration.pages.page_addresses import build_place, normalize_address
from agent.exploration.pages.page_digests import mask_numbers
from kb_schema.explorations import SHARED, Offer
from kb_schema.selectors import ValueStrategy
from kb_schema.text_similarity import are_opposite, words_likeness

ALIKE_WORDS = 0.6
"""The likeness of two names from which they mean one control, as in healing (`agent.healing.fingerprint_comparison`)."""
SAME_SHARE = 0.3
"""The share of a page's controls that must be there again, as for pages of one screen (`SAME_PLACE` in
`loaders.screen_learner.page_clusters`)."""
_SURE = ("data-qa", "data-testid", "id")
_SUBMITS = frozenset({"submit", "image"})

_Key = Callable[[Offer], Hashable | None]
"""What is equal for the same control; None: it says nothing about this one."""


def keep_offer_ids(
    known: Sequence[Offer], shown: Sequence[Offer], used: Collection[str] = ()
) -> tuple[Offer, ...]:
    """Return the controls that a page shows now: those that are known have their known ids, others unused ones.

    `used`: further ids that were given on this page. A danger that was found out by trying is kept.
    """
    same = _match(known, shown)
    taken = {*used, *(offer.offer_id for offer in known)}
    numbers = iter(range(1, len(shown) + len(taken) + 1))
    found = []
    for at, offer in enumerate(shown):
        before = same.get(at)
        if before is None:
            new_id = next(name for number in numbers if (name := f"n{number}") not in taken)
            found.append(offer.model_copy(update={"offer_id": new_id}))
            continue
        told: dict[str, str | None] = {"offer_id": before.offer_id}
        if before.danger is not None and offer.danger is None:
            told |= {"danger": before.danger, "why": before.why}
        found.append(offer.model_copy(update=told))
    return tuple(found)


def is_known_page(known: Sequence[Offer], kept: Sequence[Offer]) -> bool:
    """Whether enough of a page's own controls are there again (`kept` have their ids from `keep_offer_ids`)."""
    own = [each for each in known if not each.in_row and each.region.partition(":")[0] not in SHARED]
    own = own or [each for each in known if not each.in_row] or list(known)
    there = {offer.offer_id for offer in kept}
    return not own or sum(each.offer_id in there for each in own) >= SAME_SHARE * len(own)


def _match(known: Sequence[Offer], shown: Sequence[Offer]) -> dict[int, Offer]:
    """Return the known control of each shown one, by place; the surest signs first."""
    found: dict[int, Offer] = {}
    left = list(known)
    for key, only_one in (
        (_whole, False),
        (_called, False),
        (_identified, True),
        (_sent, True),
        (_linked, True),
        (_row, False),
        (_submitting, True),
    ):
        for at, offer in _pairs(left, shown, found, key, only_one=only_one):
            found[at] = offer
            left.remove(offer)
    found.update(_alike(left, shown, found))
    return found


def _pairs(
    left: Sequence[Offer], shown: Sequence[Offer], found: Collection[int], key: _Key, *, only_one: bool
) -> Iterator[tuple[int, Offer]]:
    """Yield pairs with an equal key, in page order. `only_one`: only if each side has one."""
    ours: defaultdict[Hashable, list[Offer]] = defaultdict(list)
    theirs: defaultdict[Hashable, list[int]] = defaultdict(list)
    for offer in left:
        if (known := key(offer)) is not None:
            ours[known].append(offer)
    for at, offer in enumerate(shown):
        if at not in found and (known := key(offer)) is not None:
            theirs[known].append(at)
    for known, places in theirs.items():
        if not only_one or len(places) == len(ours[known]) == 1:
            yield from zip(places, ours[known], strict=False)


def _alike(
    left: Sequence[Offer], shown: Sequence[Offer], found: Collection[int]
) -> Iterator[tuple[int, Offer]]:
    """Yield pairs of controls of one kind whose names mean the same: `Save` and `Save changes`."""
    for offer in left:
        if offer.in_row:
            continue
        close = [
            at
            for at, each in enumerate(shown)
            if at not in found and not each.in_row and _kind(each) == _kind(offer)
            and words_likeness(_name(offer), _name(each)) >= ALIKE_WORDS
            and not are_opposite(_name(offer), _name(each))
        ]  # fmt: skip
        if len(close) == 1 and not any(
            other is not offer
            and _kind(other) == _kind(offer)
            and words_likeness(_name(other), _name(shown[close[0]])) >= ALIKE_WORDS
            for other in left
        ):
            yield close[0], offer


# -- keys ------------------------------------------------------------------------------------------------


def _name(offer: Offer) -> str:
    return offer.label or offer.name


def _landmark(offer: Offer) -> str:
    return offer.region.partition(":")[0]


def _kind(offer: Offer) -> tuple[str, ...]:
    return (offer.action_type, offer.role, offer.tag, offer.kind, _landmark(offer), _form(offer))


def _form(offer: Offer) -> str:
    method, _, action = (offer.form or "").partition(" ")
    return f"{method} {build_place(action)}"


def _whole(offer: Offer) -> Hashable:
    href = normalize_address(offer.href) if offer.href else ""
    return (*_kind(offer), offer.region, _name(offer), href, offer.in_row)


def _called(offer: Offer) -> Hashable | None:
    """Its name without numbers, where its address may differ in ids: `Inbox (3)`."""
    if offer.in_row:
        return None
    return (*_kind(offer), mask_numbers(_name(offer)), build_place(offer.href or ""))


def _identified(offer: Offer) -> Hashable | None:
    for strategy in offer.selector.strategies if offer.selector is not None else ():
        if isinstance(strategy, ValueStrategy) and strategy.type in _SURE:
            return (offer.action_type, offer.tag, offer.kind, strategy.type, strategy.value)
    return None


def _sent(offer: Offer) -> Hashable | None:
    """The name under which its form sends a field."""
    name = offer.fingerprint.attributes.get("name") if offer.fingerprint is not None else None
    value = offer.fingerprint.attributes.get("value") if offer.fingerprint is not None else None
    if not name or offer.action_type == "click" or offer.in_row:
        return None
    return (offer.tag, offer.kind, _form(offer), name, value if offer.action_type == "check" else None)


def _linked(offer: Offer) -> Hashable | None:
    if offer.href is None or offer.in_row:
        return None
    return (offer.role, _landmark(offer), normalize_address(offer.href))


def _row(offer: Offer) -> Hashable | None:
    """What the rows of one list have in common: their texts are data."""
    if not offer.in_row:
        return None
    name = "" if offer.href else mask_numbers(_name(offer))
    return (*_kind(offer), build_place(offer.href or ""), name)


def _submitting(offer: Offer) -> Hashable | None:
    """The one button that sends a form of another name now."""
    sends = offer.action_type == "click" and offer.form is not None and (
        offer.kind in _SUBMITS or (offer.tag == "button" and offer.kind == "")
    )  # fmt: skip
    return ("submits", _form(offer), _landmark(offer)) if sends and not offer.in_row else None
