"""What the pages of one screen offer, put together: the same control of several pages is one."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from kb_schema.mapping import Offer
from kb_schema.selectors import Selector, ValueStrategy
from loaders.cartography.addresses import Addresses
from loaders.cartography.looks import Look
from loaders.signatures.addresses import place, segments

MOST = 0.5
"""Share of a screen's pages that have an element of it; what fewer have is of that page."""
Place = tuple[str, str]
"""A page, and an offer of it."""
Key = tuple[str, ...]

_DOING = frozenset({
    "button", "link", "tab", "menuitem", "menuitemcheckbox", "menuitemradio", "option", "treeitem", "checkbox",
    "switch", "radio", "textbox", "searchbox", "combobox", "listbox", "spinbutton", "slider",
})  # fmt: skip
"""Roles that something is done with: a heading or a table that one can click is mostly part of such, or around it."""
_SURE = ("data-qa", "data-testid", "id")


@dataclass(frozen=True, slots=True, eq=False)
class Control:
    """One control of a screen."""

    key: Key
    seen: tuple[tuple[Look, Offer], ...]
    """Where it was seen. Of a row control: every row of every page."""
    pages: int
    """Of its screen."""
    in_rows: bool = False
    """Whether it is in every row of a list: which row has to be said."""

    @property
    def offer(self) -> Offer:
        """The one that stands for it."""
        return self.seen[0][1]

    @property
    def lasting(self) -> bool:
        """Whether most pages of its screen have it."""
        return len({look.page_id for look, _ in self.seen}) >= MOST * self.pages

    @property
    def region(self) -> str:
        """Where most of its kind stand."""
        return Counter(offer.region for _, offer in self.seen).most_common(1)[0][0]

    @property
    def called(self) -> str:
        """What most of its pages call it."""
        names = (said_of_row(offer) if self.in_rows else offer.label or offer.name for _, offer in self.seen)
        said = Counter(names)
        return said.most_common(1)[0][0]

    @property
    def of_data(self) -> bool:
        """Whether what it says is another thing in each row."""
        return self.in_rows and len({said_of_row(offer) for _, offer in self.seen}) > 1

    @property
    def selector(self) -> Selector | None:
        """The strategies that lead to it on most of its pages."""
        stated = [offer.selector for _, offer in self.seen if offer.selector is not None]
        if not stated:
            return None
        holds = Counter(each.model_dump_json() for selector in stated for each in selector.strategies)
        first = max(stated, key=lambda each: sum(holds[s.model_dump_json()] for s in each.strategies))
        kept = tuple(s for s in first.strategies if holds[s.model_dump_json()] >= MOST * len(stated))
        return first.model_copy(update={"strategies": kept or first.strategies})


def controls_of(looks: Sequence[Look], addresses: Addresses, used: Collection[Place]) -> list[Control]:
    """The controls of a screen that was seen in these pages, in the order in which they stand there.

    What few of the pages have is left out, unless it was `used` and led somewhere.
    """
    found: dict[Key, list[tuple[Look, Offer]]] = defaultdict(list)
    rows: set[Key] = set()
    for look in looks:
        offers = [
            offer
            for offer, beside in _beside(look.page.offers)
            if offer.selector is not None and (not beside or (look.page_id, offer.offer_id) in used)
        ]
        kinds = _row_kinds(offers, addresses)
        times: Counter[Key] = Counter()
        for offer in offers:
            kind = kinds.get(offer.offer_id)
            if kind is not None:
                rows.add(kind)
                found[kind].append((look, offer))
                continue
            key = _key(offer)
            times[key] += 1
            found[key if times[key] == 1 else (*key, str(times[key]))].append((look, offer))
    controls = [Control(key, tuple(seen), len(looks), key in rows) for key, seen in found.items()]
    return [
        control
        for control in controls
        if control.lasting or any((look.page_id, offer.offer_id) in used for look, offer in control.seen)
    ]


def _key(offer: Offer) -> Key:
    """What says that two controls of different pages are the same."""
    assert offer.selector is not None  # noqa: S101 - others were left out
    for strategy in offer.selector.strategies:
        if isinstance(strategy, ValueStrategy) and strategy.type in _SURE:
            return ("by", strategy.type, strategy.value, offer.selector.frame or "")
    said = " ".join((offer.label or offer.name).casefold().split())
    return ("named", offer.role or offer.tag, offer.kind, said, offer.region)


def _beside(offers: Sequence[Offer]) -> Iterator[tuple[Offer, bool]]:
    """Each with whether it is no control of its own: it says nothing, or what a control or one before it says."""
    said = {"", *(_bare(each.label or each.name) for each in offers if each.role in _DOING)}
    for offer in offers:
        name = _bare(offer.name)
        own = offer.role in _DOING or offer.action_type != "click" or offer.href is not None
        yield offer, not own and name in said
        if not offer.in_row:
            said.add(name)


def _bare(text: str) -> str:
    return "".join(text.split()).casefold()


def said_of_row(offer: Offer) -> str:
    """What a control of a row is called without the words of its row: `Delete`, not `Delete Ada`."""
    said = offer.label or offer.name
    for words in sorted(() if offer.fingerprint is None else offer.fingerprint.row, key=len, reverse=True):
        if words and words != said:
            said = said.replace(words, " ")
    return " ".join(said.split())


# -- rows ------------------------------------------------------------------------------------------------


def _row_kinds(offers: Sequence[Offer], addresses: Addresses) -> dict[str, Key]:
    """Which offers of a page are the same control in another row, by offer id.

    Links are where their addresses differ in an id only, or all that are known lead to one screen; others
    where several have one name.
    """
    alike: dict[Key, list[Offer]] = defaultdict(list)
    for offer in offers:
        if offer.in_row and not offer.region.startswith("navigation"):
            alike[_row_key(offer, addresses)].append(offer)
    return {
        offer.offer_id: key
        for key, same in alike.items()
        if key[0] == "rows" and (len(same) > 1 or key[-1] == "id")
        for offer in same
    }


def _row_key(offer: Offer, addresses: Addresses) -> Key:
    role = offer.role or offer.tag
    if offer.href is None:
        return ("rows", offer.action_type, role, offer.kind, said_of_row(offer).casefold(), "name")
    path = addresses.path(offer.href)
    parts = place(path)
    if "*" in parts:
        return ("rows", offer.action_type, role, "/".join(parts), "id")
    screen = addresses.screen(offer.href)
    own = [part for part in segments(path) if part]
    if screen is None or len(own) < 2:
        return ("one", offer.offer_id)
    return ("rows", offer.action_type, role, "/".join(own[:-1]), str(len(own)), screen, "screen")
