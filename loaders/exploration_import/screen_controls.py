"""Merges the offers of a screen's pages: the same control of several pages is one."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from kb_schema.explorations import Danger, Offer
from kb_schema.selectors import Selector, ValueStrategy
from kb_schema.text_similarity import without_glyphs
from loaders.exploration_import.explored_pages import ExploredPage
from loaders.exploration_import.row_names import class_of, list_named_by_data, strip_row_words
from loaders.exploration_import.screen_addresses import ScreenAddresses
from loaders.screen_learner.url_patterns import is_open, place, segments
from web_pages.field_words import mask_sent_name

MOST = 0.5
"""The share of a screen's pages that have an element of it; rarer ones belong to a page."""
MOST_WORDS = 4
"""The most words of a button that is on few pages of its screen; a longer name may be a record's."""
_ACTING: frozenset[Danger] = frozenset(["submits", "deletes", "sends", "pays", "unknown_method"])
ControlPlace = tuple[str, str]
"""A page and one of its offers."""
ControlKey = tuple[str, ...]

NAMED_BY_DATA = "named by data"
"""The first part of the key of controls in rows whose names are those of the rows."""
REPEATED = "repeated"
"""The first part of the key of controls that a page has several times with one name, beside what is marked as rows."""

_DOING = frozenset(
    {
        "button",
        "link",
        "tab",
        "menuitem",
        "menuitemcheckbox",
        "menuitemradio",
        "option",
        "treeitem",
        "checkbox",
        "switch",
        "radio",
        "textbox",
        "searchbox",
        "combobox",
        "listbox",
        "spinbutton",
        "slider",
    }
)
"""Roles of interactive elements: a clickable heading or table is mostly part of one, or around it."""
HELD_BACK = "unknown_method"
"""The danger of a control whose request was held back when it was tried."""
_SWITCH = re.compile(r"(?:^|[-_ ])(?:toggle|switch|checkbox|star)(?:$|[-_ ])", re.IGNORECASE)
_SURE = ("data-qa", "data-testid", "id")


_COUNT = re.compile(r"\s\(\d+\+?\)$")
"""A count beside the name of a control: `Helpful (89)`."""


@dataclass(frozen=True, slots=True, eq=False)
class ScreenControl:
    """One control of a screen."""

    key: ControlKey
    seen: tuple[tuple[ExploredPage, Offer], ...]
    """Where it was seen. For a row control: every row of every page."""
    pages: Mapping[bool, int]
    """The number of the screen's pages, signed in or not, without those on which something lies."""
    in_rows: bool = False
    """Whether it is in every row of a list, so that the row must be given."""

    @property
    def offer(self) -> Offer:
        """The offer that represents it."""
        return self.seen[0][1]

    @property
    def lasting(self) -> bool:
        """Whether most pages of its screen have it, signed in or signed out, or something that lies on one of them."""
        having = Counter({look.page_id: look.page.signed_in for look, _ in self.seen}.values())
        often = any(having[signed_in] >= MOST * pages for signed_in, pages in self.pages.items())
        return often or any(look.page.layer for look, _ in self.seen)

    @property
    def acts(self) -> bool:
        """Whether it would change something, by words that are no data: `Approve`, which only a draft has."""
        words = self.called.split()
        return (
            not (self.in_rows and (self.of_data or self.named_by_data))
            and any(offer.danger in _ACTING for _, offer in self.seen)
            and 0 < len(words) <= MOST_WORDS
            and not any(character.isdigit() for character in self.called)
        )

    @property
    def region(self) -> str:
        """The most frequent region."""
        return Counter(offer.region for _, offer in self.seen).most_common(1)[0][0]

    @property
    def called(self) -> str:
        """The most frequent label, without the signs of icons beside words."""
        names = (
            strip_row_words(offer) if self.in_rows else offer.label or offer.name for _, offer in self.seen
        )
        counts = Counter(names)
        told = without_repetition(counts.most_common(1)[0][0])
        return without_glyphs(told) or told

    @property
    def unnamed(self) -> bool:
        """Whether it is a switch without a name: only what stands beside it tells what it does."""
        return is_unnamed_switch(self.offer)

    @property
    def of_data(self) -> bool:
        """Whether its label differs in each row."""
        return self.in_rows and len({strip_row_words(offer) for _, offer in self.seen}) > 1

    @property
    def named_by_data(self) -> bool:
        """Whether its name differs in each row, so that the page must show which text leads to it."""
        return self.key[0] == NAMED_BY_DATA

    @property
    def repeated(self) -> bool:
        """Whether only its name says that it is in rows, so that these must be found on the page."""
        return self.key[0] == REPEATED

    def separate(self) -> Iterator[ScreenControl]:
        """Yield each of its elements on one page as a control of its own: no text of a row tells one from another.

        Of a repeated control, the first ones of all pages are one, and the second ones, and so on.
        """
        if self.repeated:
            yield from self._by_number()
            return
        if self.named_by_data:
            yield from self._by_name()
            return
        page_id = self.seen[0][0].page_id
        for look, offer in self.seen:
            if look.page_id == page_id:
                yield ScreenControl((*self.key, offer.offer_id), ((look, offer),), {look.page.signed_in: 1})

    def _by_name(self) -> Iterator[ScreenControl]:
        found: dict[ControlKey, list[tuple[ExploredPage, Offer]]] = defaultdict(list)
        for look, offer in self.seen:
            found[_key(offer)].append((look, offer))
        for key, seen in found.items():
            yield ScreenControl(key, tuple(seen), self.pages)

    def _by_number(self) -> Iterator[ScreenControl]:
        times: Counter[str] = Counter()
        found: dict[int, list[tuple[ExploredPage, Offer]]] = defaultdict(list)
        for look, offer in self.seen:
            times[look.page_id] += 1
            found[times[look.page_id]].append((look, offer))
        for number, seen in found.items():
            key = _key(seen[0][1])
            yield ScreenControl(key if key[0] == "by" else (*key, str(number)), tuple(seen), self.pages)

    @property
    def selector(self) -> Selector | None:
        """The strategies that match it on most of its pages."""
        stated = [offer.selector for _, offer in self.seen if offer.selector is not None]
        if not stated:
            return None
        holds = Counter(each.model_dump_json() for selector in stated for each in selector.strategies)
        first = max(stated, key=lambda each: sum(holds[s.model_dump_json()] for s in each.strategies))
        kept = tuple(s for s in first.strategies if holds[s.model_dump_json()] >= MOST * len(stated))
        return first.model_copy(update={"strategies": kept or first.strategies})


def without_repetition(label: str) -> str:
    """Return a label without words at its end that are said twice: by two labels, or label and placeholder.

    >>> [without_repetition(each) for each in ("New code Code", "Keep history keep history", "Code")]
    ['New code', 'Keep history', 'Code']
    """
    words = label.split()
    for count in range(len(words) // 2, 0, -1):
        told, again = words[-2 * count : -count], words[-count:]
        if [each.casefold() for each in told] == [each.casefold() for each in again]:
            return " ".join(words[:-count])
    return label


def controls_of(
    looks: Sequence[ExploredPage], addresses: ScreenAddresses, used: Collection[ControlPlace]
) -> list[ScreenControl]:
    """Return the controls of a screen's pages, in the order in which they occur.

    Controls on few of the pages are left out, unless they were `used` and led somewhere.
    """
    found: dict[ControlKey, list[tuple[ExploredPage, Offer]]] = defaultdict(list)
    rows: set[ControlKey] = set()
    leading = _find_leading_kinds(looks, used)
    looks = _without_names_of_records(looks)
    for look in looks:
        named = {each.offer_id for same in list_named_by_data(look.page.offers) for each in same}
        offers = [
            offer
            for offer, beside in _beside(look.page.offers)
            if offer.selector is not None
            and (
                not beside
                or (look.page_id, offer.offer_id) in used
                or is_unnamed_switch(offer)
                or (offer.offer_id in named and _named_by_data_key(offer) in leading)
            )
        ]
        kinds = _row_kinds(offers, addresses)
        times: Counter[ControlKey] = Counter()
        for offer in offers:
            kind = kinds.get(offer.offer_id)
            if kind is not None:
                rows.add(kind)
                found[kind].append((look, offer))
                continue
            key = _key(offer)
            times[key] += 1
            found[key if times[key] == 1 else (*key, str(times[key]))].append((look, offer))
    plain = [look for look in looks if not look.page.layer] or looks
    pages = Counter(look.page.signed_in for look in plain)
    controls = [ScreenControl(key, tuple(seen), pages, key in rows) for key, seen in found.items()]
    return [
        control
        for control in controls
        if control.lasting
        or control.acts
        or any((look.page_id, offer.offer_id) in used for look, offer in control.seen)
    ]


def _without_names_of_records(looks: Sequence[ExploredPage]) -> list[ExploredPage]:
    """Return the pages with regions whose name most pages do not have by their kind only.

    The main region of a record is often called by its heading: `main:Edit Theme: Standard`.
    """
    plain = [look for look in looks if not look.page.layer]
    shown = Counter(region for look in plain for region in {offer.region for offer in look.page.offers})
    kinds = {
        region: {"region": region.partition(":")[0]}
        for region, times in shown.items()
        if times <= MOST * len(plain)
    }
    found = []
    for look in looks:
        offers = tuple(
            offer.model_copy(update=kinds[offer.region]) if offer.region in kinds else offer
            for offer in look.page.offers
        )
        page = look.page.model_copy(update={"offers": offers})
        found.append(look if look.page.layer or len(plain) < 2 else replace(look, page=page))
    return found


def _find_leading_kinds(looks: Sequence[ExploredPage], used: Collection[ControlPlace]) -> set[ControlKey]:
    """Return the kinds of row controls named by data of which one was used and led somewhere: the others do the same.

    Else the link of a row is redundant if the row's check box has its name.
    """
    return {
        _named_by_data_key(each)
        for look in looks
        for same in list_named_by_data(look.page.offers)
        for each in same
        if (look.page_id, each.offer_id) in used
    }


def _named_by_data_key(offer: Offer) -> ControlKey:
    return (NAMED_BY_DATA, offer.role or offer.tag, offer.kind, offer.first_class)


def _key(offer: Offer) -> ControlKey:
    """Return the key by which controls of different pages are the same."""
    assert offer.selector is not None  # noqa: S101 - others were left out
    for strategy in offer.selector.strategies:
        if isinstance(strategy, ValueStrategy) and strategy.type in _SURE:
            return ("by", strategy.type, strategy.value, offer.selector.frame or "")
    return _named_key(offer)


def _named_key(offer: Offer) -> ControlKey:
    label = _COUNT.sub("", " ".join((offer.label or offer.name).casefold().split()))
    return ("named", offer.role or offer.tag, offer.kind, label, offer.region)


def _beside(offers: Sequence[Offer]) -> Iterator[tuple[Offer, bool]]:
    """Yield each offer, and whether it is redundant: without a label, or with the label of one around or
    before it.
    """
    labels = {
        (part, each)
        for offer in offers
        if offer.role in _DOING
        for part in (offer.region.partition(":")[0],)
        for each in (_normalise_text(offer.label or offer.name),)
    }
    for offer in offers:
        name = _normalise_text(offer.name)
        label = (offer.region.partition(":")[0], name)
        own = offer.role in _DOING or offer.action_type != "click" or offer.href is not None
        yield offer, not own and (not name or (label in labels and not _is_called_by_developers(offer)))
        if not offer.in_row:
            labels.add(label)


def _is_called_by_developers(offer: Offer) -> bool:
    """Whether a control has an id or a data attribute of its own: then it is none that only lies around another one."""
    told = {} if offer.fingerprint is None else offer.fingerprint.attributes
    return any(value and (name == "id" or name.startswith("data-")) for name, value in told.items())


def is_unnamed_switch(offer: Offer) -> bool:
    """Whether a control without a name does something: it is called a switch by its class, or what it sent was held back."""
    if (offer.label or offer.name).strip() or offer.action_type != "click" or offer.href is not None:
        return False
    return offer.danger == HELD_BACK or _SWITCH.search(class_of(offer)) is not None


def is_named_switch(offer: Offer) -> bool:
    """Whether a control in words that is none of a browser's switches something on and off: its class calls it so."""
    plain = offer.action_type == "click" and offer.href is None and offer.role not in ("button", "link")
    return (
        plain
        and any(map(str.isalpha, offer.label or offer.name))
        and _SWITCH.search(class_of(offer)) is not None
    )


def _normalise_text(text: str) -> str:
    return "".join(text.split()).casefold()


# -- rows ------------------------------------------------------------------------------------------------


def _row_kinds(offers: Sequence[Offer], addresses: ScreenAddresses) -> dict[str, ControlKey]:
    """Return which offers of a page are the same control in different rows, by offer id.

    Links are if their addresses differ in an id only, or all known ones lead to one screen; others if several
    have one name.
    """
    alike: dict[ControlKey, list[Offer]] = defaultdict(list)
    for offer in offers:
        if offer.region.startswith("navigation"):
            continue
        if offer.in_row:
            alike[_row_key(offer, addresses)].append(offer)
        elif offer.action_type == "click" and offer.href is None:
            key = _key(offer) if (offer.label or offer.name).strip() else _named_key(offer)
            if key[0] == "named":
                alike[REPEATED, *key[1:]].append(offer)
    named = {
        offer.offer_id: _named_by_data_key(offer) for same in list_named_by_data(offers) for offer in same
    }
    return named | {
        offer.offer_id: key
        for key, same in alike.items()
        if (key[0] in ("rows", REPEATED) and len(same) > 1) or (key[0] == "rows" and key[-1] == "id")
        for offer in same
    }


def find_sent_name(offer: Offer) -> str:
    """Return the name under which a form sends a field; empty for other controls."""
    if offer.action_type == "click" or offer.fingerprint is None:
        return ""
    return offer.fingerprint.attributes.get("name", "")


def _row_key(offer: Offer, addresses: ScreenAddresses) -> ControlKey:
    role = offer.role or offer.tag
    if offer.href is None:
        called = (
            strip_row_words(offer).casefold() or _list_marks(offer),
            mask_sent_name(find_sent_name(offer)),
        )
        return ("rows", offer.action_type, role, offer.kind, *called, "name")
    path = addresses.path(offer.href)
    parts = place(path)
    if is_open(parts):
        return ("rows", offer.action_type, role, "/".join(parts), "id")
    screen = addresses.screen(offer.href)
    own = [part for part in segments(path) if part]
    if screen is None or len(own) < 2:
        return ("one", offer.offer_id)
    return ("rows", offer.action_type, role, "/".join(own[:-1]), str(len(own)), screen, "screen")


def _list_marks(offer: Offer) -> str:
    """Return what developers call a control without a name, `data-action=bookmark`: without what numbers its row."""
    told = {} if offer.fingerprint is None else offer.fingerprint.attributes
    marks = (f"{name}={value}" for name, value in sorted(told.items()) if name.startswith("data-"))
    return " ".join(each for each in marks if not any(map(str.isdigit, each)))
